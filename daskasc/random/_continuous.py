"""Continuous distributions: mostly one formula over a uniform, exponential or normal number.

A row takes the source, the shape and the torch dtype of the result, and its parameters as tensors
that broadcast to that shape.
"""

from __future__ import annotations

import math
from typing import Any

from daskasc.array._dtypes import torch
from daskasc.random._rejection import flat, rejection
from daskasc.random._words import Source

Shape = tuple[int, ...]


def uniform(source: Source, shape: Shape, dtype: Any, low: Any, high: Any) -> Any:
    """Uniform on [low, high)."""
    return source.random(shape, dtype).mul_(high - low).add_(low)


def normal(source: Source, shape: Shape, dtype: Any, loc: Any, scale: Any) -> Any:
    """Normal."""
    return source.normal(shape, dtype).mul_(scale).add_(loc)


def lognormal(source: Source, shape: Shape, dtype: Any, mean: Any, sigma: Any) -> Any:
    """Exponential function of a normal number."""
    return normal(source, shape, dtype, mean, sigma).exp_()


def exponential(source: Source, shape: Shape, dtype: Any, scale: Any) -> Any:
    """Exponential."""
    return source.exponential(shape, dtype).mul_(scale)


def laplace(source: Source, shape: Shape, dtype: Any, loc: Any, scale: Any) -> Any:
    """Two exponentials back to back."""
    u = source.open(shape, dtype)
    size = torch.log(torch.where(u < 0.5, 2.0 * u, 2.0 - 2.0 * u)).mul_(scale)
    return torch.where(u < 0.5, loc + size, loc - size)


def logistic(source: Source, shape: Shape, dtype: Any, loc: Any, scale: Any) -> Any:
    """Logarithm of the odds of a uniform number."""
    u = source.open(shape, dtype)
    return torch.log(u).sub_(torch.log1p(-u)).mul_(scale).add_(loc)


def gumbel(source: Source, shape: Shape, dtype: Any, loc: Any, scale: Any) -> Any:
    """Minus logarithm of an exponential."""
    waits = -torch.log1p(-source.open(shape, dtype))
    return loc - waits.log_().mul_(scale)


def rayleigh(source: Source, shape: Shape, dtype: Any, scale: Any) -> Any:
    """Length of two normal numbers."""
    return source.exponential(shape, dtype).mul_(2.0).sqrt_().mul_(scale)


def weibull(source: Source, shape: Shape, dtype: Any, a: Any) -> Any:
    """Power of an exponential; 0 for a = 0."""
    drawn = source.exponential(shape, dtype).pow_(1.0 / a)
    return torch.where(a == 0.0, torch.zeros_like(drawn), drawn)


def pareto(source: Source, shape: Shape, dtype: Any, a: Any) -> Any:
    """Pareto of the second kind (Lomax)."""
    return source.exponential(shape, dtype).div_(a).expm1_()


def power(source: Source, shape: Shape, dtype: Any, a: Any) -> Any:
    """Power of a uniform number."""
    return source.exponential(shape, dtype).neg_().expm1_().neg_().pow_(1.0 / a)


def standard_cauchy(source: Source, shape: Shape, dtype: Any) -> Any:
    """Tangent of a uniform angle."""
    return source.open(shape, dtype).sub_(0.5).mul_(math.pi).tan_()


def triangular(source: Source, shape: Shape, dtype: Any, left: Any, mode: Any, right: Any) -> Any:
    """Inverse of the distribution function, one root on each side of the mode."""
    base = right - left
    u = source.random(shape, dtype)
    rising = left + torch.sqrt(u * base * (mode - left))
    falling = right - torch.sqrt((1.0 - u) * base * (right - mode))
    return torch.where(u * base <= mode - left, rising, falling)


def wald(source: Source, shape: Shape, dtype: Any, mean: Any, scale: Any) -> Any:
    """Inverse Gaussian by the method of Michael, Schucany and Haas, as NumPy's."""
    # the smaller root of the quadratic equation, in a form without cancellation
    q = source.normal(shape, dtype).square_().mul_(mean / scale)
    x = 4.0 * mean / torch.square(torch.sqrt(q) + torch.sqrt(q + 4.0))
    u = source.random(shape, dtype)
    return torch.where(u <= mean / (mean + x), x, mean * mean / x)


def vonmises(source: Source, shape: Shape, dtype: Any, mu: Any, kappa: Any) -> Any:
    """Best and Fisher's rejection; nearly uniform and nearly normal cases as NumPy's."""

    def propose(count: int, kappa: Any) -> tuple[Any, Any]:
        root = 1.0 + torch.sqrt(1.0 + 4.0 * kappa * kappa)
        rho = (root - torch.sqrt(2.0 * root)) / (2.0 * kappa)
        s = torch.where(kappa < 1e-5, 1.0 / kappa + kappa, (1.0 + rho * rho) / (2.0 * rho))
        z = torch.cos(math.pi * source.open((count,), dtype))
        w = (1.0 + s * z) / (s + z)
        y = kappa * (s - w)
        v = source.open((count,), dtype)
        refused = (y * (2.0 - y) - v < 0.0) & (torch.log(y / v) + 1.0 - y < 0.0)
        return torch.acos(w.clamp(-1.0, 1.0)), refused.logical_not()

    (usual,) = flat(shape, kappa.clamp(1e-8, 1e6))
    angle = rejection(propose, math.prod(shape), usual).reshape(shape)
    u = source.random(shape, dtype)
    angle = torch.where(u < 0.5, -angle, angle)
    narrow = source.normal(shape, dtype).div_(torch.sqrt(kappa))
    angle = torch.where(kappa > 1e6, narrow, angle)
    angle = torch.where(kappa < 1e-8, math.pi * (2.0 * u - 1.0), angle) + mu
    return torch.remainder(angle + math.pi, math.tau) - math.pi

"""Distributions over the integers, computed in float64.

Few events: the inverse of the distribution function, summed term by term. Many: Hörmann's
transformed rejection (PTRS for Poisson, BTRS for binomial). Both as NumPy has them, or nearly so.
Means and counts above 2**31 go to the host: the differences of log-gamma functions lose too many
digits there.
"""

from __future__ import annotations

import math
from typing import Any

from daskasc.array._dispatch import NeedsHost
from daskasc.array._dtypes import torch
from daskasc.random._rejection import flat, rejection
from daskasc.random._words import Source

Shape = tuple[int, ...]
_FEW = 10.0
_LARGEST = 2.0**31
# the chance of more events than this, at a mean of 10, is below 1e-60
_TERMS = 112
_LOOK_EVERY = 8


class TooLarge(NeedsHost):
    """Parameters beyond what these methods hold for; NumPy's own take over."""


def _limited(name: str, tensor: Any) -> None:
    if tensor.numel() and bool((tensor > _LARGEST).any()):
        raise TooLarge(f"{name} with a mean or count above 2**31")


def _inverse(u: Any, first: Any, ratio: Any) -> Any:
    """Smallest k with ``u <= P(0) + ... + P(k)``; ``ratio(k)`` is P(k) / P(k - 1)."""
    term = first.expand(u.shape).clone()
    total = term.clone()
    k = torch.zeros_like(u)
    for i in range(1, _TERMS):
        beyond = u > total
        if i % _LOOK_EVERY == 1 and not bool(beyond.any()):
            break
        k.add_(beyond)
        term = term * ratio(float(i))
        total.add_(term)
    return k


def _by_size(
    source: Source, shape: Shape, mean: Any, few: Any, many: Any, parameters: list[Any]
) -> Any:
    """Draw small means by one method and the others by another."""
    count = math.prod(shape)
    if not mean.ndim:
        chosen = few if bool(mean < _FEW) else many
        return chosen(count, *parameters).reshape(shape)
    out = torch.empty(count, dtype=torch.float64, device=source.place)
    mean, *parameters = flat(shape, mean, *parameters)
    small = mean < _FEW
    for method, mask in ((few, small), (many, small.logical_not())):
        place = mask.nonzero().reshape(-1)
        if place.numel():
            some = [p if not p.ndim else p.index_select(0, place) for p in parameters]
            out.index_copy_(0, place, method(place.numel(), *some))
    return out.reshape(shape)


def poisson(source: Source, shape: Shape, dtype: Any, lam: Any) -> Any:
    """Poisson; int64."""
    _limited("poisson", lam)

    def few(count: int, lam: Any) -> Any:
        u = source.open((count,), torch.float64)
        return _inverse(u, torch.exp(-lam), lambda k: lam / k)

    def propose(count: int, lam: Any) -> tuple[Any, Any]:
        b = 0.931 + 2.53 * torch.sqrt(lam)
        a = -0.059 + 0.02483 * b
        u = source.open((count,), torch.float64).sub_(0.5)
        v = source.open((count,), torch.float64)
        us = 0.5 - torch.abs(u)
        k = torch.floor((2.0 * a / us + b) * u + lam + 0.43)
        quick = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
        outside = (k < 0.0) | ((us < 0.013) & (v > us))
        height = torch.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
        slow = height <= k * torch.log(lam) - lam - torch.lgamma(k + 1.0)
        return k, quick | (outside.logical_not() & slow)

    def many(count: int, lam: Any) -> Any:
        return rejection(propose, count, lam)

    lam = lam.to(torch.float64)
    return _by_size(source, shape, lam, few, many, [lam]).to(torch.int64)


def binomial(source: Source, shape: Shape, dtype: Any, n: Any, p: Any) -> Any:
    """Binomial; int64."""
    _limited("binomial", n)
    n, p = torch.broadcast_tensors(n.to(torch.float64), p.to(torch.float64))
    turned = p > 0.5
    less = torch.where(turned, 1.0 - p, p)

    def few(count: int, n: Any, p: Any) -> Any:
        u = source.open((count,), torch.float64)
        odds = p / (1.0 - p)
        none = torch.exp(n * torch.log1p(-p))
        return torch.minimum(_inverse(u, none, lambda k: odds * (n - (k - 1.0)) / k), n)

    def propose(count: int, n: Any, p: Any) -> tuple[Any, Any]:
        spread = torch.sqrt(n * p * (1.0 - p))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * p
        mode = torch.floor((n + 1.0) * p)
        u = source.open((count,), torch.float64).sub_(0.5)
        v = source.open((count,), torch.float64)
        us = 0.5 - torch.abs(u)
        k = torch.floor((2.0 * a / us + b) * u + n * p + 0.5)
        quick = (us >= 0.07) & (v <= 0.92 - 4.2 / b)
        outside = (k < 0.0) | (k > n)
        inside = torch.where(outside, mode, k)
        height = torch.log(v * ((2.83 + 5.1 / b) * spread) / (a / (us * us) + b))
        wanted = (
            torch.lgamma(mode + 1.0)
            + torch.lgamma(n - mode + 1.0)
            - torch.lgamma(inside + 1.0)
            - torch.lgamma(n - inside + 1.0)
            + (inside - mode) * torch.log(p / (1.0 - p))
        )
        return k, outside.logical_not() & (quick | (height <= wanted))

    def many(count: int, n: Any, p: Any) -> Any:
        return rejection(propose, count, n, p)

    drawn = _by_size(source, shape, n * less, few, many, [n, less])
    return torch.where(turned, n - drawn, drawn).to(torch.int64)


def geometric(source: Source, shape: Shape, dtype: Any, p: Any) -> Any:
    """Trials up to the first success; int64, at most its largest number."""
    waits = source.exponential(shape, torch.float64).div_(-torch.log1p(-p))
    return to_int64(torch.ceil(waits).clamp_(min=1.0))


def to_int64(values: Any) -> Any:
    """Whole numbers as int64, the largest one for what is beyond it."""
    beyond = values >= 2.0**63
    return values.masked_fill(beyond, 0.0).to(torch.int64).masked_fill(beyond, 2**63 - 1)


def logseries(source: Source, shape: Shape, dtype: Any, p: Any) -> Any:
    """Logarithmic series by Kemp's method, as NumPy's; int64."""

    def propose(count: int, p: Any) -> tuple[Any, Any]:
        v = source.open((count,), torch.float64)
        q = -torch.expm1(torch.log1p(-p) * source.open((count,), torch.float64))
        long = torch.floor(1.0 + torch.log(v) / torch.log(q))
        short = torch.where(v >= q, 1.0, 2.0)
        found = torch.where(v <= q * q, long, short)
        return torch.where(v >= p, 1.0, found), (v >= p) | (found >= 1.0)

    (p,) = flat(shape, p)
    return to_int64(rejection(propose, math.prod(shape), p)).reshape(shape)


def zipf(source: Source, shape: Shape, dtype: Any, a: Any) -> Any:
    """Zipf by Devroye's rejection, as NumPy's; int64."""

    def propose(count: int, a: Any) -> tuple[Any, Any]:
        less = a - 1.0
        least = torch.pow(torch.full_like(less, 2.0**63), -less)
        u = source.open((count,), torch.float64)
        u = u + (1.0 - u) * least
        v = source.open((count,), torch.float64)
        x = torch.floor(torch.pow(u, -1.0 / less))
        ratio = torch.pow(1.0 + 1.0 / x, less)
        b = torch.pow(torch.full_like(less, 2.0), less)
        good = (x >= 1.0) & (x < 2.0**63) & (v * x * (ratio - 1.0) / (b - 1.0) <= ratio / b)
        steep = a >= 1025.0
        return torch.where(steep, 1.0, x), good | steep

    (a,) = flat(shape, a)
    return to_int64(rejection(propose, math.prod(shape), a)).reshape(shape)

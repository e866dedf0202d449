"""The gamma distribution and those made of it.

Marsaglia and Tsang's method, as NumPy's. Shapes below 1 draw with shape + 1 and multiply by
``U ** (1 / shape)``; that underflows long before a ratio of two such numbers does, so beta and
Dirichlet work with logarithms there.
"""

from __future__ import annotations

import math
from typing import Any

from daskasc.array._dtypes import torch
from daskasc.random._rejection import flat, rejection
from daskasc.random._words import Source

Shape = tuple[int, ...]


def _at_least_one(source: Source, shape: Shape, dtype: Any, k: Any) -> Any:
    """Gamma of shapes of 1 and more."""

    def propose(count: int, d: Any) -> tuple[Any, Any]:
        x = source.normal((count,), dtype)
        u = source.open((count,), dtype)
        v = (x / torch.sqrt(9.0 * d)).add_(1.0)
        v = v * v * v
        # the logarithm of a negative number is NaN, which must not accept
        refused = (v <= 0) | (
            torch.log(u) >= 0.5 * x * x + d - d * v + d * torch.log(v.clamp(min=0.0))
        )
        return d * v, refused.logical_not()

    (d,) = flat(shape, k - 1.0 / 3.0)
    return rejection(propose, math.prod(shape), d).reshape(shape)


def standard_gamma(source: Source, shape: Shape, dtype: Any, k: Any) -> Any:
    """Gamma with scale 1."""
    below = k < 1.0
    drawn = _at_least_one(source, shape, dtype, torch.where(below, k + 1.0, k))
    power = source.open(shape, dtype).pow_(1.0 / k)
    drawn = torch.where(below, drawn * power, drawn)
    return torch.where(k == 0.0, torch.zeros_like(drawn), drawn)


def log_gamma(source: Source, shape: Shape, dtype: Any, k: Any) -> Any:
    """Logarithm of a gamma with scale 1, also where the number itself underflows."""
    below = k < 1.0
    drawn = _at_least_one(source, shape, dtype, torch.where(below, k + 1.0, k)).log_()
    boost = source.exponential(shape, dtype).div_(k)
    return torch.where(below, drawn - boost, drawn)


def gamma(source: Source, shape: Shape, dtype: Any, k: Any, scale: Any) -> Any:
    """Gamma."""
    return standard_gamma(source, shape, dtype, k).mul_(scale)


def chisquare(source: Source, shape: Shape, dtype: Any, df: Any) -> Any:
    """Chi-square: twice a gamma of half the degrees of freedom."""
    return standard_gamma(source, shape, dtype, df / 2.0).mul_(2.0)


def f(source: Source, shape: Shape, dtype: Any, dfnum: Any, dfden: Any) -> Any:
    """Ratio of two chi-squares over their degrees of freedom."""
    top = chisquare(source, shape, dtype, dfnum).div_(dfnum)
    return top.div_(chisquare(source, shape, dtype, dfden).div_(dfden))


def standard_t(source: Source, shape: Shape, dtype: Any, df: Any) -> Any:
    """Normal over the root of a chi-square over its degrees of freedom."""
    spread = standard_gamma(source, shape, dtype, df / 2.0)
    return source.normal(shape, dtype).mul_(torch.sqrt(df / 2.0)).div_(spread.sqrt_())


def beta(source: Source, shape: Shape, dtype: Any, a: Any, b: Any) -> Any:
    """Share of one gamma in two."""
    first, second = (log_gamma(source, shape, dtype, k) for k in (a, b))
    # x / (x + y) without x and y
    return torch.sigmoid(first - second)


def dirichlet(source: Source, shape: Shape, dtype: Any, alpha: Any) -> Any:
    """Gammas along the last axis over their sum; a zero alpha gives 0."""
    return torch.softmax(log_gamma(source, shape, dtype, alpha), -1)

"""Distributions whose parameter is itself drawn: gammas of Poisson numbers and the reverse."""

from __future__ import annotations

from typing import Any

from daskasc.random._counts import poisson
from daskasc.random._gamma import chisquare, standard_gamma
from daskasc.random._words import Source

Shape = tuple[int, ...]


def noncentral_chisquare(source: Source, shape: Shape, dtype: Any, df: Any, nonc: Any) -> Any:
    """Chi-square whose degrees of freedom grow by twice a Poisson number."""
    more = poisson(source, shape, dtype, nonc / 2.0).to(dtype)
    return chisquare(source, shape, dtype, df + 2.0 * more)


def noncentral_f(
    source: Source, shape: Shape, dtype: Any, dfnum: Any, dfden: Any, nonc: Any
) -> Any:
    """Ratio of a noncentral and a central chi-square over their degrees of freedom."""
    top = noncentral_chisquare(source, shape, dtype, dfnum, nonc).div_(dfnum)
    return top.div_(chisquare(source, shape, dtype, dfden).div_(dfden))


def negative_binomial(source: Source, shape: Shape, dtype: Any, n: Any, p: Any) -> Any:
    """Poisson numbers whose means are gammas; int64."""
    mean = standard_gamma(source, shape, dtype, n).mul_((1.0 - p) / p)
    return poisson(source, shape, dtype, mean)

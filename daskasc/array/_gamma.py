"""The gamma function of tensors, which torch lacks: ``exp(lgamma(x))`` loses 5 digits.

The method and the coefficients are those of Cephes (S. L. Moshier, ``gamma.c``), which SciPy uses
too. The recurrence ``gamma(x + 1) = x gamma(x)`` carries small arguments into [2, 3), where a
rational function approximates; large ones take Stirling's formula, negative ones the reflection

    gamma(x) gamma(-x) = -pi / (x sin(pi x))
"""

from __future__ import annotations

import math
from typing import Any

from daskasc.array._dtypes import torch

_TOP = (
    1.60119522476751861407e-4,
    1.19135147006586384913e-3,
    1.04213797561761569935e-2,
    4.76367800457137231464e-2,
    2.07448227648435975150e-1,
    4.94214826801497100753e-1,
    9.99999999999999996796e-1,
)
_BOTTOM = (
    -2.31581873324120129819e-5,
    5.39605580493303397842e-4,
    -4.45641913851797240494e-3,
    1.18139785222060435552e-2,
    3.58236398605498653373e-2,
    -2.34591795718243348568e-1,
    7.14304917030273074085e-2,
    1.00000000000000000320,
)
_STIRLING = (
    7.87311395793093628397e-4,
    -2.29549961613378126380e-4,
    -2.68132617805781232825e-3,
    3.47222221605458667310e-3,
    8.33333333333482257126e-2,
)
_LARGE = 33.0
_SPLIT = 143.01608  # from here x ** x overflows before exp(-x) makes it small again


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    value = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _stirling(x: Any) -> Any:
    inverse = 1 / x
    series = 1 + inverse * _polynomial(inverse, _STIRLING)
    half = torch.pow(x, 0.5 * x - 0.25)
    power = torch.where(
        x > _SPLIT, half * (half / torch.exp(x)), torch.pow(x, x - 0.5) / torch.exp(x)
    )
    return math.sqrt(2 * math.pi) * power * series


def _moderate(x: Any) -> Any:
    """Arguments below ``_LARGE`` in size, by the recurrence; waits for the card to see how far."""
    factor = torch.ones_like(x)
    if not x.numel():
        return factor
    least, largest = (float(edge) for edge in torch.aminmax(x))
    for _ in range(max(0, math.floor(largest) - 2)):
        high = x >= 3
        x = torch.where(high, x - 1, x)
        factor = torch.where(high, factor * x, factor)
    for _ in range(max(0, 2 - math.floor(least))):
        low = x < 2
        factor = torch.where(low, factor / x, factor)
        x = torch.where(low, x + 1, x)
    y = x - 2
    return factor * _polynomial(y, _TOP) / _polynomial(y, _BOTTOM)


def gamma(x: Any) -> Any:
    """Gamma function of a float tensor, as :func:`scipy.special.gamma`.

    NaN at the negative integers and -inf, an infinity of the zero's sign at zero.
    """
    size = torch.abs(x)
    moderate = _moderate(torch.where(size <= _LARGE, x, torch.ones_like(x)))
    large = _stirling(torch.clamp(size, min=_LARGE, max=200.0))
    # sin(pi x) of the distance to the nearest integer, with the sign of the integer's parity
    whole = torch.floor(size)
    rest = size - whole
    rest = torch.where(rest > 0.5, rest - 1, rest)
    sine = torch.abs(size * torch.sin(math.pi * rest))
    odd = torch.fmod(whole, 2) == 1
    negative = math.pi / (sine * large)
    negative = torch.where(odd, negative, -negative)
    found = torch.where(size <= _LARGE, moderate, torch.where(x > 0, large, negative))
    found = torch.where(x == math.inf, x, found)
    pole = ((x < 0) & (x == torch.floor(x))) | torch.isnan(x)
    return torch.where(x == 0, 1 / x, found.masked_fill(pole, math.nan))

"""SciPy's special functions on tensors: one row a ufunc of ``scipy.special``.

These ufuncs reach ``__array_ufunc__`` as NumPy's own do; :func:`find` recognises them by identity,
never by name alone, since names of the two libraries collide. A row gets tensors of the ufunc's
own loop, float32 or float64. SciPy computes float32 in float64 inside, and so do the rows where
the card has float64. torch computes; a row repairs special values and poles where torch's differ.

A missing row means the host. Left there on purpose, with what torch gives for them: ``j0``,
``j1``, ``y0``, ``y1`` (wrong by 1e-7), ``gammaincc`` (by 1e-4 of its small values) and
``gammainc`` of float64 (by 1e-9), ``beta`` and ``betaln`` (differences of ``lgamma`` cancel).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _complex
from daskasc.array._dispatch import MissingKernel, NeedsHost, name_of
from daskasc.array._dtypes import COMPLEX, torch
from daskasc.array._elementwise import ROWS as NUMPY_ROWS
from daskasc.array._gamma import gamma

Row = Callable[..., Any]
_PREFIX = "scipy.special."
_ROOT_HALF = math.sqrt(0.5)
_LARGEST_LOG = 709.782712893384  # log of the largest float64


def find(ufunc: np.ufunc) -> tuple[str, Row] | None:
    """Full name and row of one of SciPy's ufuncs, or None."""
    name = name_of(ufunc)
    row = ROWS.get(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None
    return None if row is None else (name, row)


def _has_float64() -> bool:
    return device.current().supports("multiply", "float64")


def _wide(row: Row) -> Row:
    """Compute float32 in float64 where the card has it; complex numbers on the host."""

    @functools.wraps(row)
    def computed(*operands: Any) -> Any:
        dtype = operands[0].dtype
        if dtype in COMPLEX:
            raise NeedsHost("complex special functions")
        if dtype is torch.float64 or not _has_float64():
            return row(*operands)
        return row(*(x.double() for x in operands)).to(dtype)

    return computed


def _only_wide(row: Row) -> Row:
    """Functions that lose digits, or overflow on the way, in float32."""
    wide = _wide(row)

    def computed(*operands: Any) -> Any:
        if operands[0].dtype is torch.float32 and not _has_float64():
            raise MissingKernel("mul", "float64")
        return wide(*operands)

    return computed


def _float32_only(row: Row) -> Row:
    """Functions whose error in torch is too large for float64."""
    wide = _only_wide(row)

    def computed(*operands: Any) -> Any:
        if operands[0].dtype is not torch.float32:
            raise NeedsHost("too inaccurate in torch")
        return wide(*operands)

    return computed


def _nan_where(condition: Any, value: Any) -> Any:
    return value.masked_fill(condition, math.nan)


# -- error functions and the normal distribution


def _erfinv(y: Any) -> Any:
    return torch.where(y == 0, y, torch.erfinv(y))


def _erfcinv(y: Any) -> Any:
    return -_ROOT_HALF * torch.special.ndtri(0.5 * y)


def _ndtr(x: Any) -> Any:
    # torch's formula loses the lower tail
    z = x * _ROOT_HALF
    inner = 0.5 + 0.5 * torch.erf(z)
    tail = 0.5 * torch.erfc(torch.abs(z))
    return torch.where(torch.abs(z) < 1, inner, torch.where(z > 0, 1 - tail, tail))


# -- gamma and zeta functions


def _gammaln(x: Any) -> Any:
    return torch.where(x == -math.inf, x, torch.lgamma(x))


def _loggamma(x: Any) -> Any:
    return _nan_where(x < 0, torch.lgamma(x))


def _gammainc(a: Any, x: Any) -> Any:
    return _nan_where(torch.isnan(a) | torch.isnan(x), torch.special.gammainc(a, x))


def _zeta(x: Any, q: Any) -> Any:
    return torch.where((q == math.inf) & (x > 1), torch.zeros_like(q), torch.special.zeta(x, q))


def _riemann_zeta(x: Any) -> Any:
    if bool((x < 1).any()):
        raise NeedsHost("zeta below 1")
    return torch.special.zeta(x, torch.ones_like(x))


# -- logistic functions and logarithms


def _log_expit(x: Any) -> Any:
    rest = -torch.log1p(torch.exp(-torch.abs(x)))
    return torch.where(x < 0, x + rest, rest)


def _cosm1(x: Any) -> Any:
    half = torch.sin(x / 2)
    return torch.where(torch.abs(x) <= math.pi / 4, 0 - 2 * half * half, torch.cos(x) - 1)


def _exp10(x: Any) -> Any:
    return torch.pow(torch.full_like(x, 10.0), x)


def _rel_entr(x: Any, y: Any) -> Any:
    ratio = x / y
    tiny = torch.finfo(x.dtype).tiny
    near = x * torch.log1p((x - y) / y)
    far = torch.where((ratio > tiny) & (ratio < math.inf), x * ratio.log(), x * (x.log() - y.log()))
    inside = torch.where((ratio > 0.5) & (ratio < 2), near, far)
    found = torch.where((x > 0) & (y > 0), inside, torch.full_like(ratio, math.inf))
    found = torch.where((x == 0) & (y >= 0), torch.zeros_like(ratio), found)
    return _nan_where(torch.isnan(x) | torch.isnan(y), found)


def _kl_div(x: Any, y: Any) -> Any:
    found = torch.where((x > 0) & (y > 0), x * torch.log(x / y) - x + y, math.inf)
    found = torch.where((x == 0) & (y >= 0), y, found)
    return _nan_where(torch.isnan(x) | torch.isnan(y), found)


# -- losses and transformations


def _huber(delta: Any, r: Any) -> Any:
    size = torch.abs(r)
    found = torch.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return torch.where(delta < 0, math.inf, found)


def _pseudo_huber(delta: Any, r: Any) -> Any:
    ratio = r / delta
    # delta^2 (sqrt(1 + ratio^2) - 1), without cancellation
    found = delta * delta * torch.expm1(0.5 * torch.log1p(ratio * ratio))
    found = torch.where((delta == 0) | (r == 0), 0.0, found)
    return torch.where(delta < 0, math.inf, found)


def _boxcox(x: Any, power: Any) -> Any:
    log = torch.log(x)
    scaled = power * log
    sign = torch.sign(power)
    large = sign * torch.exp(scaled - torch.log(torch.abs(power))) - 1 / power
    found = torch.where(scaled < _LARGEST_LOG, torch.expm1(scaled) / power, large)
    return torch.where(torch.abs(power) < 1e-19, log, found)


def _boxcox1p(x: Any, power: Any) -> Any:
    log = torch.log1p(x)
    scaled = power * log
    sign = torch.sign(power)
    large = sign * torch.exp(scaled - torch.log(torch.abs(power))) - 1 / power
    found = torch.where(scaled < _LARGEST_LOG, torch.expm1(scaled) / power, large)
    small = (torch.abs(power) < 1e-19) | ((torch.abs(log) < 1e-289) & (torch.abs(power) < 1e273))
    return torch.where(small, log, found)


def _log_of_inverse(y: Any, power: Any) -> Any:
    """Logarithm of 1 + power * y, over power; also where the product overflows."""
    product = power * y
    sign = torch.sign(power)
    large = torch.log(sign * (y + 1 / power)) + torch.log(torch.abs(power))
    return torch.where(product < math.inf, torch.log1p(product), large) / power


def _inv_boxcox(y: Any, power: Any) -> Any:
    return torch.where(power == 0, torch.exp(y), torch.exp(_log_of_inverse(y, power)))


def _inv_boxcox1p(y: Any, power: Any) -> Any:
    found = torch.expm1(_log_of_inverse(y, power))
    found = torch.where(torch.abs(power * y) < 1e-154, y, found)
    return torch.where(power == 0, torch.expm1(y), found)


def _or_complex(row: Row, complex_row: Row) -> Row:
    real = _wide(row)
    return lambda x: complex_row(x) if x.dtype in COMPLEX else real(x)


ROWS: dict[str, Row] = {
    "erf": _wide(torch.erf),
    "erfc": _wide(torch.erfc),
    "erfcx": _only_wide(torch.special.erfcx),
    "erfinv": _wide(_erfinv),
    "erfcinv": _wide(_erfcinv),
    "ndtr": _only_wide(_ndtr),
    "ndtri": _wide(torch.special.ndtri),
    "log_ndtr": _only_wide(torch.special.log_ndtr),
    "gamma": _only_wide(gamma),
    "gammaln": _wide(_gammaln),
    "loggamma": _wide(_loggamma),
    "_zeta": _wide(_zeta),
    "_riemann_zeta": _wide(_riemann_zeta),
    "psi": _only_wide(torch.digamma),
    "gammainc": _float32_only(_gammainc),
    "i0": _only_wide(torch.special.i0),
    "i0e": _wide(torch.special.i0e),
    "i1": _only_wide(torch.special.i1),
    "i1e": _wide(torch.special.i1e),
    "k0": _wide(torch.special.modified_bessel_k0),
    "k1": _wide(torch.special.modified_bessel_k1),
    "k0e": _wide(torch.special.scaled_modified_bessel_k0),
    "k1e": _wide(torch.special.scaled_modified_bessel_k1),
    "expit": _wide(torch.sigmoid),
    "log_expit": _wide(_log_expit),
    "logit": _only_wide(torch.logit),
    "exp2": _wide(torch.exp2),
    "exp10": _wide(_exp10),
    "expm1": _or_complex(torch.expm1, torch.expm1),
    "log1p": _or_complex(torch.log1p, _complex.log1p),
    "cbrt": _wide(NUMPY_ROWS["cbrt"]),
    "cosm1": _only_wide(_cosm1),
    "xlogy": _wide(torch.xlogy),
    "xlog1py": _wide(torch.special.xlog1py),
    "entr": _wide(torch.special.entr),
    "rel_entr": _wide(_rel_entr),
    "kl_div": _only_wide(_kl_div),
    "huber": _wide(_huber),
    "pseudo_huber": _only_wide(_pseudo_huber),
    "boxcox": _only_wide(_boxcox),
    "boxcox1p": _only_wide(_boxcox1p),
    "inv_boxcox": _only_wide(_inv_boxcox),
    "inv_boxcox1p": _only_wide(_inv_boxcox1p),
}

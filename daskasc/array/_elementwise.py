"""NumPy's elementwise functions on tensors: one row a ufunc.

Operands arrive as tensors that already have the dtypes of NumPy's loop (see ``_kernels``), on
one device. A row therefore only says which torch function computes it, and repairs what torch
does differently: integer division by zero, signs of zero, NaN in sign, shifts beyond the width.
``ROWS`` maps a ufunc's name to a function of tensors; a missing row means the host.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _complex
from daskasc.array._division import divmod_, floor_divide, fmod, remainder, safe_divisor
from daskasc.array._dtypes import COMPLEX, FLOATS, NUMPY, UNSIGNED, is_float, is_integer, torch

Row = Callable[..., Any]


def _bits(dtype: Any) -> int:
    return int(dtype.itemsize) * 8


def _by_parts(function: Row) -> Row:
    """Sums of complex numbers by their parts.

    torch multiplies an operand by 1 + 0j first, which makes NaN of infinities.
    """

    def row(a: Any, b: Any) -> Any:
        if a.dtype in COMPLEX:
            return torch.view_as_complex(function(torch.view_as_real(a), torch.view_as_real(b)))
        return function(a, b)

    return row


def _left_shift(a: Any, b: Any) -> Any:
    outside = b >= _bits(a.dtype)
    if b.dtype not in UNSIGNED:
        outside = outside | (b < 0)
    return torch.bitwise_left_shift(a, b.masked_fill(outside, 0)).masked_fill(outside, 0)


def _right_shift(a: Any, b: Any) -> Any:
    outside = b >= _bits(a.dtype)
    if b.dtype not in UNSIGNED:
        outside = outside | (b < 0)
    shifted = torch.bitwise_right_shift(a, b.masked_fill(outside, 0))
    if a.dtype in UNSIGNED:
        return shifted.masked_fill(outside, 0)
    return torch.where(outside, torch.where(a < 0, -1, 0).to(a.dtype), shifted)


def _power(a: Any, b: Any) -> Any:
    if is_integer(a):
        if a.dtype not in UNSIGNED and a.numel() and bool((b < 0).any()):
            raise ValueError("Integers to negative integer powers are not allowed.")
        return torch.pow(a, b)
    if a.dtype in COMPLEX:
        return _complex.power(a, b)
    return torch.pow(a, b)


def _roots(dtype: Any, operator: bool) -> bool:
    x = np.array([-0.0, 1.0], dtype)
    return bool(np.signbit((x**0.5 if operator else np.power(x, 0.5))[0]))


# dtypes in which the installed NumPy takes a power of one half as a square root, -0 and all
ROOT_OPERATOR = frozenset(d for d in FLOATS if d is torch.bfloat16 or _roots(NUMPY[d], True))
ROOT_POWER = frozenset(d for d in FLOATS if d is not torch.bfloat16 and _roots(NUMPY[d], False))


def _differs(exponent: complex) -> bool:
    x = np.array([complex(-math.inf, 0.0), complex(-0.0, 0.0)])
    with np.errstate(all="ignore"):
        return (x**exponent).tobytes() != np.power(x, exponent).tobytes()


# Python numbers, with their types, to which the installed NumPy's operator does not raise complex
# numbers by np.power, but by ufuncs of their own
COMPLEX_OPERATOR = frozenset(
    (kind, kind(n)) for kind in (int, float) for n in (-1, 1, 2) if _differs(kind(n))
) | {(float, 0.5)}


def root_or_power(a: Any, b: Any) -> Any:
    """Power in a dtype of ``ROOT_POWER``: an exponent without axes may be one half."""
    found = torch.pow(a, b)
    return found if b.ndim else torch.where(b == 0.5, torch.sqrt(a), found)


# -- signs, roundings, special values


def _sign(a: Any) -> Any:
    if a.dtype in COMPLEX:
        return _complex.sign(a)
    if is_float(a):
        return torch.where(torch.isnan(a), a, torch.sign(a))
    return torch.sign(a)


def _identity_or(function: Row) -> Row:
    """Rounding: the identity on integers and bool."""

    def row(a: Any) -> Any:
        return function(a) if is_float(a) else a.clone()

    return row


def _constant_unless_float(function: Row, value: bool) -> Row:
    """Tests for special values: constant on integers and bool."""

    def row(a: Any) -> Any:
        if a.dtype in FLOATS or a.dtype in COMPLEX:
            return function(a)
        return torch.full(a.shape, value, dtype=torch.bool, device=a.device)

    return row


def _cbrt(a: Any) -> Any:
    if a.dtype is not torch.float64:
        wide = a.double()
        return _cbrt(wide).to(a.dtype)
    root = torch.copysign(torch.pow(torch.abs(a), 1 / 3), a)
    # one Newton step makes perfect cubes exact
    square = root * root
    better = root - (square * root - a) / (3 * square)
    return torch.where((root == 0) | torch.isinf(root) | torch.isnan(better), root, better)


def _maximum(a: Any, b: Any) -> Any:
    if a.dtype in COMPLEX:
        return _complex.extreme(a, b, True, False)
    return torch.logical_or(a, b) if a.dtype is torch.bool else torch.maximum(a, b)


def _minimum(a: Any, b: Any) -> Any:
    if a.dtype in COMPLEX:
        return _complex.extreme(a, b, False, False)
    return torch.logical_and(a, b) if a.dtype is torch.bool else torch.minimum(a, b)


def _fmax(a: Any, b: Any) -> Any:
    if a.dtype in COMPLEX:
        return _complex.extreme(a, b, True, True)
    return torch.fmax(a, b) if is_float(a) else _maximum(a, b)


def _fmin(a: Any, b: Any) -> Any:
    if a.dtype in COMPLEX:
        return _complex.extreme(a, b, False, True)
    return torch.fmin(a, b) if is_float(a) else _minimum(a, b)


def _logical(function: Row) -> Row:
    def row(*operands: Any) -> Any:
        return function(*(x if x.dtype is torch.bool else x != 0 for x in operands))

    return row


def _ordered(function: Row, complex_form: Row) -> Row:
    """Comparisons by order, which torch lacks for complex numbers."""

    def row(a: Any, b: Any) -> Any:
        return complex_form(a, b) if a.dtype in COMPLEX else function(a, b)

    return row


def _unless_complex(function: Row, complex_form: Row) -> Row:
    """Functions with an own form for complex numbers."""

    def row(*operands: Any) -> Any:
        return (complex_form if operands[0].dtype in COMPLEX else function)(*operands)

    return row


def _rint(a: Any) -> Any:
    return torch.complex(torch.round(a.real), torch.round(a.imag))


def _spacing(a: Any) -> Any:
    away = torch.full_like(a, math.inf)
    if a.dtype is not torch.float16:  # whose spacing is always the one upwards
        away = torch.where(a < 0, -away, away)  # upwards from -0.0
    gap = torch.nextafter(a, away) - a
    return torch.where(torch.isinf(a), a * math.nan, gap)


def _bitwise_count(a: Any) -> Any:
    # NumPy counts the bits of the absolute value
    bits = a if a.dtype in UNSIGNED or a.dtype is torch.bool else torch.abs(a)
    mask = (1 << _bits(a.dtype)) - 1
    x = bits.to(torch.int64)
    if _bits(a.dtype) < 64:
        x = x & mask
    for shift, pattern in ((1, 0x5555555555555555), (2, 0x3333333333333333)):
        x = (x & pattern) + ((x >> shift) & pattern)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    total = x & 0xFF
    for shift in range(8, 64, 8):
        total = total + ((x >> shift) & 0xFF)
    return total.to(torch.uint8)


def _logaddexp(a: Any, b: Any) -> Any:
    return torch.logaddexp(a, b)


def _logaddexp2(a: Any, b: Any) -> Any:
    return torch.where(a == b, a + 1, torch.logaddexp2(a, b))


def _heaviside(a: Any, b: Any) -> Any:
    return torch.where(torch.isnan(a), a, torch.heaviside(a, b))


def _reciprocal(a: Any) -> Any:
    if is_integer(a):
        quotient = torch.div(torch.ones_like(a), safe_divisor(a), rounding_mode="trunc")
        if a.dtype not in UNSIGNED:
            quotient = torch.where(a == -1, a, quotient)
        return quotient.masked_fill(a == 0, _inverse_of_zero(NUMPY[a.dtype]))
    return _complex.reciprocal(a) if a.dtype in COMPLEX else torch.reciprocal(a)


@functools.cache
def _inverse_of_zero(dtype: np.dtype[Any]) -> int:
    # a conversion of infinity to an integer, which every processor does in its own way
    with np.errstate(all="ignore"):
        return int(np.reciprocal(np.zeros(1, dtype))[0])


def _conjugate(a: Any) -> Any:
    return torch.conj(a).resolve_conj() if a.dtype in COMPLEX else a.clone()


def _scaled(factor: float) -> Row:
    def row(a: Any) -> Any:
        return a * factor

    return row


def _square(a: Any) -> Any:
    return a * a


def _negative(a: Any) -> Any:
    if a.dtype in COMPLEX:  # torch takes them from 0, which leaves no zero negative
        return torch.view_as_complex(torch.neg(torch.view_as_real(a)))
    return torch.neg(a)


def _positive(a: Any) -> Any:
    return a.clone()


def _modf(a: Any) -> tuple[Any, Any]:
    whole = torch.trunc(a)
    part = torch.where(torch.isinf(a), torch.zeros_like(a), a - whole)
    return torch.copysign(part, a), whole


def _ldexp(a: Any, b: Any) -> Any:
    # torch.ldexp takes a power of two in float32; four factors never leave float64's range early
    rest = b.clamp(-2200, 2200).to(torch.int64)
    wide = a.double()
    for parts in (4, 3, 2, 1):
        exponent = torch.div(rest, parts, rounding_mode="trunc")
        wide = wide * torch.pow(torch.full_like(wide, 2.0), exponent.double())
        rest = rest - exponent
    return wide.to(a.dtype)


def _gcd(a: Any, b: Any) -> Any:
    return torch.abs(torch.gcd(a, b)) if a.dtype not in UNSIGNED else torch.gcd(a, b)


def _lcm(a: Any, b: Any) -> Any:
    # |a| / gcd * |b|, which wraps: so the result may be negative
    if a.dtype in UNSIGNED:
        divisor = torch.gcd(a, b)
        return torch.div(a, divisor.clamp_min(1), rounding_mode="floor") * b
    if a.dtype is not torch.int64:
        return _lcm(a.to(torch.int64), b.to(torch.int64)).to(a.dtype)
    found = torch.div(torch.abs(a), _gcd(a, b).clamp_min(1), rounding_mode="floor") * torch.abs(b)
    # 2**63, which int64 cannot hold: its multiples are 0 and itself
    least = torch.iinfo(torch.int64).min
    lowest = ((a == least) & (b != 0)) | ((b == least) & (a != 0))
    return found.masked_fill(lowest, least)


def _frexp(a: Any) -> tuple[Any, Any]:
    mantissa, exponent = torch.frexp(a)
    return mantissa, exponent.to(torch.int32)


def _abs(a: Any) -> Any:
    return a.clone() if a.dtype is torch.bool or a.dtype in UNSIGNED else torch.abs(a)


def _invert(a: Any) -> Any:
    return torch.bitwise_not(a)


def _isfinite(a: Any) -> Any:
    return torch.isfinite(a)


ROWS: dict[str, Row] = {
    "add": _by_parts(torch.add),
    "subtract": _by_parts(torch.sub),
    "multiply": torch.mul,
    "divide": torch.true_divide,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "fmod": fmod,
    "divmod": divmod_,
    "power": _power,
    "float_power": _power,
    "negative": _negative,
    "positive": _positive,
    "absolute": _abs,
    "fabs": torch.abs,
    "sign": _sign,
    "square": _square,
    "sqrt": torch.sqrt,
    "cbrt": _cbrt,
    "reciprocal": _reciprocal,
    "conjugate": _conjugate,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": _unless_complex(torch.log1p, _complex.log1p),
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "hypot": torch.hypot,
    "arctan2": torch.atan2,
    "copysign": torch.copysign,
    "nextafter": torch.nextafter,
    "heaviside": _heaviside,
    "rint": _unless_complex(torch.round, _rint),
    "floor": _identity_or(torch.floor),
    "ceil": _identity_or(torch.ceil),
    "trunc": _identity_or(torch.trunc),
    "modf": _modf,
    "frexp": _frexp,
    "ldexp": _ldexp,
    "deg2rad": _scaled(math.pi / 180),
    "radians": _scaled(math.pi / 180),
    "rad2deg": _scaled(180 / math.pi),
    "degrees": _scaled(180 / math.pi),
    "maximum": _maximum,
    "minimum": _minimum,
    "fmax": _fmax,
    "fmin": _fmin,
    "isnan": _constant_unless_float(torch.isnan, False),
    "isinf": _constant_unless_float(torch.isinf, False),
    "isfinite": _constant_unless_float(_isfinite, True),
    "signbit": torch.signbit,
    "equal": torch.eq,
    "not_equal": torch.ne,
    "less": _ordered(torch.lt, _complex.less),
    "less_equal": _ordered(torch.le, _complex.less_equal),
    "greater": _ordered(torch.gt, lambda a, b: _complex.less(b, a)),
    "greater_equal": _ordered(torch.ge, lambda a, b: _complex.less_equal(b, a)),
    "logical_and": _logical(torch.logical_and),
    "logical_or": _logical(torch.logical_or),
    "logical_xor": _logical(torch.logical_xor),
    "logical_not": _logical(torch.logical_not),
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "invert": _invert,
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    "gcd": _gcd,
    "lcm": _lcm,
    "spacing": _spacing,
    "bitwise_count": _bitwise_count,
}
_ANGLES = {
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}
for _name, _torch_name in _ANGLES.items():
    ROWS[_name] = getattr(torch, _torch_name)
ROWS["arccos"] = _unless_complex(torch.acos, _complex.arccos)

# the bare functions, for operands that need no look at their dtype (the fast path); of two
# spellings the one that torch takes quicker
REAL_ROWS: dict[str, Row] = {
    "add": torch.add,
    "subtract": torch.sub,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
_METHODS = "exp exp2 expm1 log log2 log10 log1p sqrt floor ceil trunc isnan isinf isfinite".split()
FLOAT_ROWS: dict[str, Row] = {
    **REAL_ROWS,
    **{name: getattr(torch.Tensor, name) for name in _METHODS},
    **{name: getattr(torch.Tensor, method) for name, method in _ANGLES.items()},
    "negative": operator.neg,
    "absolute": torch.abs,
    "rint": torch.round,
    "power": torch.pow,
    "float_power": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
}

# same bits on the signed twin: these run on a view for uint16, uint32 and uint64
WRAPPING = frozenset(
    "add subtract multiply negative positive square conjugate bitwise_and bitwise_or bitwise_xor "
    "invert left_shift equal not_equal logical_and logical_or logical_xor logical_not".split()
)
# same order after flipping the sign bit: these run on int64 for uint64
ORDERED = frozenset("less less_equal greater greater_equal".split())
ORDERED_VALUES = frozenset("maximum minimum fmax fmin".split())
# the answer depends on the dtype's own grid of numbers: never computed in a wider one
OWN_GRID = frozenset(("nextafter", "spacing"))
COMPARISONS = ORDERED | {"equal", "not_equal"}
# rows that take a Python scalar as their second (or first) operand as it is
SCALAR_ROWS: dict[str, Row] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
NAMES: dict[np.ufunc, str] = {
    getattr(np, name): name for name in ROWS if isinstance(getattr(np, name, None), np.ufunc)
}

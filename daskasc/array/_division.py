"""Division with a whole quotient: floor_divide, remainder, fmod and divmod.

Integers: NumPy gives 0 for ``x // 0`` and ``x % 0``, torch raises; the least integer divided by -1
traps on x86, so -1 never reaches torch either.

Floating-point numbers: torch's remainders are exact, as NumPy's, but NaN where the quotient
overflows, in some places of some arrays. That is looked for in their sum, for which the host waits;
a number of at least 1 as the divisor needs no look (``BY_LARGE``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from daskasc.array import _guard
from daskasc.array._dtypes import UNSIGNED, is_float, torch

_HALVES = (torch.float16, torch.bfloat16)


def safe_divisor(b: Any) -> Any:
    """Divisor with 1 in the place of those that integers are not to be divided by."""
    bad = b == 0
    if b.dtype not in UNSIGNED:
        bad = bad | (b == -1)
    return torch.where(bad, torch.ones_like(b), b)


def floor_divide(a: Any, b: Any) -> Any:
    """NumPy's ``a // b``."""
    if a.dtype in _HALVES:  # NumPy rounds the quotient once
        return floor_divide(a.float(), b.float()).to(a.dtype)
    if is_float(a):
        # torch's formula is NumPy's, but for the NaN of quotients of finite numbers that overflow
        quotient = torch.div(a, b, rounding_mode="floor")
        return torch.where(quotient == quotient, quotient, a / b + (a - a))
    quotient = torch.div(a, safe_divisor(b), rounding_mode="floor")
    if b.dtype not in UNSIGNED:
        quotient = torch.where(b == -1, torch.neg(a), quotient)
    return quotient.masked_fill(b == 0, 0)


def _exact_fmod(a: Any, b: Any) -> Any:
    rest = torch.fmod(a, b)
    if math.isnan(rest.sum().item()):
        overflows = torch.isnan(rest) & torch.isfinite(a) & (b != 0) & ~torch.isnan(b)
        if bool(overflows.any()):
            rest = torch.where(overflows, _fmod_in_steps(a, b), rest)
    return rest


@_guard.guarded
def _fmod_in_steps(a: Any, b: Any) -> Any:
    """Return fmod by way of multiples of `b`, so that no quotient overflows."""
    if b.dtype is not torch.float64:
        return torch.fmod(a.double(), b.double()).to(b.dtype)
    # a multiple that overflows is an infinity, which leaves a as it is
    near = b * 2.0**700
    return torch.fmod(torch.fmod(torch.fmod(a, near * 2.0**700), near), b)


def _no_integer_rest(b: Any) -> Any:
    return (b == 0) if b.dtype in UNSIGNED else (b == 0) | (b == -1)


def _remainder_with(float_fmod: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def row(a: Any, b: Any) -> Any:
        if is_float(a):
            rest = float_fmod(a, b)
            rest = torch.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)
            return torch.where(rest == 0, torch.copysign(rest, b), rest)
        return torch.remainder(a, safe_divisor(b)).masked_fill(_no_integer_rest(b), 0)

    return row


remainder = _remainder_with(_exact_fmod)


def fmod(a: Any, b: Any) -> Any:
    """NumPy's fmod: the rest has the sign of `a`."""
    if is_float(a):
        return _exact_fmod(a, b)
    return torch.fmod(a, safe_divisor(b)).masked_fill(_no_integer_rest(b), 0)


def divmod_(a: Any, b: Any) -> tuple[Any, Any]:
    """NumPy's ``divmod(a, b)``."""
    return floor_divide(a, b), remainder(a, b)


def _floor_divide_by_large(a: Any, b: Any) -> Any:
    if a.dtype in _HALVES:
        return _floor_divide_by_large(a.float(), b.float()).to(a.dtype)
    return torch.div(a, b, rounding_mode="floor")


_remainder_by_large = _remainder_with(torch.fmod)
# rows for floating-point numbers and a divisor of at least 1, whose quotient overflows nowhere
BY_LARGE: dict[str, Callable[[Any, Any], Any]] = {
    "fmod": torch.fmod,
    "remainder": _remainder_by_large,
    "floor_divide": _floor_divide_by_large,
    "divmod": lambda a, b: (_floor_divide_by_large(a, b), _remainder_by_large(a, b)),
}

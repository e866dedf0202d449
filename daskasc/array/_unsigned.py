"""Division of uint64, on int64: torch has no kernels for it, and no wider integers.

For a divisor below 2**63, half the dividend is divided as a signed number; doubling the quotient
leaves at most one more to subtract. A larger divisor goes once into what is not less, else not.
"""

from __future__ import annotations

from typing import Any

from daskasc.array._dtypes import flip_order, torch

_LARGEST = 2**63 - 1


def _not_less(a: Any, b: Any) -> Any:
    return flip_order(a) >= flip_order(b)


def divmod_(a: Any, b: Any) -> tuple[Any, Any]:
    """Quotient and remainder of uint64 tensors, as int64 of the same bits; 0 and 0 over 0."""
    a, b = torch.broadcast_tensors(a.view(torch.int64), b.view(torch.int64))
    divisor = torch.where(b <= 0, torch.ones_like(b), b)
    half = torch.bitwise_and(torch.bitwise_right_shift(a, 1), _LARGEST)
    quotient = 2 * torch.div(half, divisor, rounding_mode="floor")
    quotient = quotient + _not_less(a - quotient * divisor, divisor).to(torch.int64)
    quotient = torch.where(b < 0, _not_less(a, b).to(torch.int64), quotient).masked_fill(b == 0, 0)
    return quotient, (a - quotient * b).masked_fill(b == 0, 0)


def floor_divide(a: Any, b: Any) -> Any:
    """Quotient alone."""
    return divmod_(a, b)[0]


def remainder(a: Any, b: Any) -> Any:
    """Remainder alone."""
    return divmod_(a, b)[1]


ROWS: dict[str, Any] = {
    "divmod": divmod_,
    "floor_divide": floor_divide,
    "fmod": remainder,
    "remainder": remainder,
}

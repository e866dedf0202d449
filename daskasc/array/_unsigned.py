"""Division, powers and shifts of uint64, on int64: torch has no kernels for them.

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


def reciprocal(a: Any) -> Any:
    """1 for 1, else 0."""
    return (a.view(torch.int64) == 1).to(torch.int64)


def right_shift(a: Any, b: Any) -> Any:
    """Shift in zeros; 0 for 64 places and more."""
    a, b = torch.broadcast_tensors(a.view(torch.int64), b.view(torch.int64))
    outside = (b < 0) | (b >= 64)
    places = b.masked_fill(outside | (b == 0), 1)
    half = torch.bitwise_and(torch.bitwise_right_shift(a, 1), _LARGEST)
    found = torch.bitwise_right_shift(half, places - 1)
    return torch.where(b == 0, a, found).masked_fill(outside, 0)


def power(a: Any, b: Any) -> Any:
    """Power modulo 2**64, by the bits of the exponent."""
    a, b = torch.broadcast_tensors(a.view(torch.int64), b.view(torch.int64))
    found, factor = torch.ones_like(a), a
    for bit in range(64):
        taken = torch.bitwise_and(torch.bitwise_right_shift(b, bit), 1) == 1
        found = torch.where(taken, found * factor, found)
        factor = factor * factor
    return found


def gcd(a: Any, b: Any) -> Any:
    """Greatest common divisor by Euclid's steps; waits for the card once a step."""
    a, b = (
        t.contiguous() for t in torch.broadcast_tensors(a.view(torch.int64), b.view(torch.int64))
    )
    while bool(b.any()):
        a, b = torch.where(b == 0, a, b), remainder(a, b)
    return a


def lcm(a: Any, b: Any) -> Any:
    """Least common multiple modulo 2**64; 0 beside 0."""
    return floor_divide(a, gcd(a, b)) * b.view(torch.int64)


def sign(a: Any) -> Any:
    """1 for all but 0."""
    return (a.view(torch.int64) != 0).to(torch.int64)


def _keys(a: Any) -> tuple[Any, Any]:
    """Whether elements are negative, and their bits in an order that counts among like signs."""
    negative = a < 0 if a.dtype is torch.int64 else torch.zeros_like(a, dtype=torch.bool)
    return negative, flip_order(a)


def _less(a: Any, b: Any) -> Any:
    (negative, key), (other_negative, other_key) = _keys(a), _keys(b)
    return (negative & ~other_negative) | ((negative == other_negative) & (key < other_key))


def _equal(a: Any, b: Any) -> Any:
    (negative, key), (other_negative, other_key) = _keys(a), _keys(b)
    return (negative == other_negative) & (key == other_key)


# comparisons by value of int64 with uint64, which no dtype holds both
MIXED: dict[str, Any] = {
    "equal": _equal,
    "greater": lambda a, b: _less(b, a),
    "greater_equal": lambda a, b: ~_less(a, b),
    "less": _less,
    "less_equal": lambda a, b: ~_less(b, a),
    "not_equal": lambda a, b: ~_equal(a, b),
}
ROWS: dict[str, Any] = {
    "divmod": divmod_,
    "floor_divide": floor_divide,
    "fmod": remainder,
    "gcd": gcd,
    "lcm": lcm,
    "power": power,
    "reciprocal": reciprocal,
    "remainder": remainder,
    "right_shift": right_shift,
    "sign": sign,
}

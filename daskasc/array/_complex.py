"""Complex numbers where torch and NumPy differ: order, powers, and a few special values.

NumPy orders complex numbers by real part, then imaginary part, with NaN last in the order
``R+Rj, R+nanj, nan+Rj, nan+nanj``. torch has no order for them, so :func:`ranks` maps each element
to its place in that order; sorting, extremes and distinct values then work on the ranks.
"""

from __future__ import annotations

import math
from typing import Any

from daskasc.array._dtypes import torch


def log1p(a: Any) -> Any:
    """Logarithm of 1 + a, by NumPy's formula."""
    real = a.real + 1
    size = torch.hypot(real, a.imag)
    return torch.complex(torch.log(size), torch.atan2(a.imag, real))


def arccos(a: Any) -> Any:
    """Arc cosine; torch loses the sign of a zero imaginary part."""
    found = torch.acos(a)
    return torch.complex(found.real.contiguous(), torch.copysign(found.imag, -a.imag))


def sign(a: Any) -> Any:
    """Unit number in the same direction; NumPy's values at infinities."""
    real, imag = a.real, a.imag
    size = torch.hypot(real, imag)  # NumPy takes the axis of what overflows
    zero = torch.zeros_like(size)
    infinite, far = torch.isinf(real), torch.isinf(size)
    on_axis = torch.complex(
        torch.where(infinite, torch.sign(real), zero),
        torch.where(infinite, zero, torch.sign(imag)),
    )
    undefined = torch.full_like(a, complex(math.nan, math.nan))
    found = torch.complex(real / size, imag / size).masked_fill(size == 0, 0)
    found = torch.where(far, on_axis, found)
    return torch.where(torch.isnan(size) | (infinite & torch.isinf(imag)), undefined, found)


def bounded(a: Any, b: Any, above: bool) -> Any:
    """`a`, or `b` where it lies below (`above`) or above it, as NumPy's clip by two bounds orders.

    Unlike in :func:`extreme`, a NaN in one part of the bound alone does not decide.
    """
    same = a.real == b.real
    if above:
        inside = torch.where(same, a.imag > b.imag, a.real > b.real)
    else:
        inside = torch.where(same, a.imag < b.imag, a.real < b.real)
    return torch.where(inside | isnan(a), a, b)


def reciprocal(a: Any) -> Any:
    """Inverse by NumPy's formula (Smith's division), which decides its values at infinities."""
    real, imag = a.real, a.imag
    flat = torch.abs(imag) <= torch.abs(real)
    ratio = torch.where(flat, imag / real, real / imag)
    divisor = torch.where(flat, real + imag * ratio, real * ratio + imag)
    one = torch.ones_like(ratio)
    return torch.complex(
        torch.where(flat, one, ratio) / divisor, torch.where(flat, -ratio, -one) / divisor
    )


def _small_power(a: Any, exponent: Any) -> Any:
    """Power by products, in NumPy's order: `exponent` is an int64 tensor from -127 to 127."""
    count, square = torch.abs(exponent), a * a
    found, factor = torch.ones_like(a), a
    for bit in range(7):
        taken = torch.bitwise_and(torch.bitwise_right_shift(count, bit), 1) == 1
        found = torch.where(taken, found * factor, found)
        factor = factor * factor
    found = torch.where(exponent < 0, reciprocal(found), found)
    found = torch.where(exponent == 3, a * square, found)
    found = torch.where(exponent == 2, square, found)
    return torch.where(exponent == 1, a, found)


def power(a: Any, b: Any) -> Any:
    """Power, by products for integers below 100, with NumPy's values at zeros and infinities."""
    a, b = torch.broadcast_tensors(a, b)
    whole = (b.imag == 0) & (b.real == torch.trunc(b.real)) & (b.real.abs() < 100)
    exponent = torch.where(whole, b.real, torch.zeros_like(b.real)).to(torch.int64)
    found = torch.where(whole, _small_power(a, exponent), torch.pow(a, b))
    zero, exponent_zero = a == 0, b == 0
    nothing = torch.zeros_like(found)
    undefined = torch.full_like(found, complex(math.nan, math.nan))
    at_zero = torch.where(b.real > 0, nothing, undefined)
    found = torch.where(zero, at_zero, found)
    return torch.where(exponent_zero, torch.ones_like(found), found)


def isnan(a: Any) -> Any:
    """Whether either part is NaN."""
    return torch.isnan(a.real) | torch.isnan(a.imag)


def less(a: Any, b: Any) -> Any:
    """NumPy's ``a < b``."""
    known = ~(torch.isnan(a.imag) | torch.isnan(b.imag))
    return ((a.real < b.real) & known) | ((a.real == b.real) & (a.imag < b.imag))


def less_equal(a: Any, b: Any) -> Any:
    """NumPy's ``a <= b``."""
    known = ~(torch.isnan(a.imag) | torch.isnan(b.imag))
    return ((a.real < b.real) & known) | ((a.real == b.real) & (a.imag <= b.imag))


def extreme(a: Any, b: Any, largest: bool, skip_nan: bool) -> Any:
    """Larger (smaller) of two; NaN wins, or with `skip_nan` loses."""
    wins = less_equal(b, a) if largest else less_equal(a, b)
    first = (wins | isnan(b)) if skip_nan else (wins | isnan(a))
    if skip_nan:
        first &= ~isnan(a) | isnan(b)
    return torch.where(first, a, b)


def order(flat: Any) -> Any:
    """Stable sorting permutation of a 1-D complex tensor, in NumPy's order."""
    real_nan, imag_nan = torch.isnan(flat.real), torch.isnan(flat.imag)
    zero = torch.zeros((), dtype=flat.real.dtype, device=flat.device)
    keys = (
        torch.where(imag_nan, zero, flat.imag),
        torch.where(real_nan, zero, flat.real),
        real_nan.to(torch.uint8) * 2 + imag_nan.to(torch.uint8),
    )
    places = torch.arange(flat.shape[0], device=flat.device)
    for key in keys:
        places = places[torch.sort(key[places], stable=True).indices]
    return places


def ranks(tensor: Any) -> Any:
    """int64 tensor of the same shape: each element's place in the order, equal ones alike."""
    flat = tensor.reshape(-1)
    places = order(flat)
    ordered = flat[places]
    new = torch.ones(flat.shape, dtype=torch.bool, device=flat.device)
    if flat.shape[0] > 1:
        parts = torch.view_as_real(ordered)
        same = (parts[1:] == parts[:-1]) | (torch.isnan(parts[1:]) & torch.isnan(parts[:-1]))
        new[1:] = ~same.all(-1)
    found = torch.empty_like(places)
    found[places] = torch.cumsum(new, 0)
    return found.reshape(tensor.shape)


def extreme_keys(tensor: Any, largest: bool) -> Any:
    """Ranks in which NaN wins a maximum (`largest`) or a minimum."""
    found = ranks(tensor)
    winner = tensor.numel() + 1 if largest else 0
    return found.masked_fill(isnan(tensor), winner)


def extreme_over(tensor: Any, axes: Any, largest: bool) -> Any:
    """Maximum or minimum over the axes of a reduction, the first NaN winning."""
    keys = axes.merged(extreme_keys(tensor, largest))
    pick = torch.argmax if largest else torch.argmin
    places = pick(keys, dim=-1, keepdim=True)
    return axes.unmerged(axes.merged(tensor).gather(-1, places).squeeze(-1))

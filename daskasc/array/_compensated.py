"""Sums in pairs of floating-point numbers: twice the precision without a wider dtype.

A sum keeps two numbers of the elements' own dtype, the rounded sum and the sum of its rounding
errors. :func:`two_sum` gives both exactly, with no branch and no wider arithmetic, so it runs with
the plain kernels of any card. Blocks of the axis are added to each other, then blocks of the
result, until one element is left::

    x  ->  fan-in blocks, added pairwise with their errors  ->  again  ->  (high, low)

With unit roundoff u and d levels of additions the error of high + low is at most about
(d u)^2 sum|x|, with d about 4 log4(n): for 1e6 float32 elements about 1e-14 of sum|x| in practice.

Sources: two_sum is Theorem B of Knuth, The Art of Computer Programming, vol. 2, section 4.2.2;
the sum of values with a separate sum of errors is algorithm 4.4 (Sum2) of Ogita, Rump and Oishi,
Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), here in a tree.

Infinities, NaN and overflow: `high` is what plain addition gives; `low` is only used where it is
finite and `high` is.
"""

from __future__ import annotations

from typing import Any

from daskasc.array._dtypes import torch

_FAN_IN = 4


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Rounded sum of two tensors and its rounding error: a + b == sum + error, exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def pair_sum(tensor: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Sum of a real tensor over some axes, kept with length 1.

    Returns
    -------
    high, low : torch.Tensor
        The sum is high + low; `low` is 0 where `high` is not finite.
    """
    high, low = tensor, None
    # long axes first: they leave the least to do
    for axis in sorted(axes, key=lambda i: -int(tensor.shape[i])):
        high, low = _along(high, low, axis)
    if low is None:
        return high, torch.zeros_like(high)
    usable = torch.isfinite(low) & torch.isfinite(high)
    return high, torch.where(usable, low, torch.zeros_like(low))


def _along(high: Any, low: Any, axis: int) -> tuple[Any, Any]:
    if not high.shape[axis]:
        shape = [1 if i == axis else n for i, n in enumerate(high.shape)]
        return torch.zeros(shape, dtype=high.dtype, device=high.device), None
    while high.shape[axis] > 1:
        length = int(high.shape[axis])
        width = -(-length // _FAN_IN)
        total = high.narrow(axis, 0, width)
        errors = None if low is None else low.narrow(axis, 0, width)
        for start in range(width, length, width):
            count = min(width, length - start)
            added = None if low is None else low.narrow(axis, start, count)
            block = high.narrow(axis, start, count)
            total, errors = _added(total, errors, block, added, axis, count)
        high, low = total, errors
    return high, low


def _added(
    total: Any, errors: Any, block: Any, block_errors: Any, axis: int, count: int
) -> tuple[Any, Any]:
    """Add a block of `count` elements along `axis` to the first elements of a running sum."""
    width = int(total.shape[axis])
    found, error = two_sum(total.narrow(axis, 0, count), block)
    for more in (None if errors is None else errors.narrow(axis, 0, count), block_errors):
        if more is not None:
            error = error + more
    if count == width:
        return found, error
    rest = total.narrow(axis, count, width - count)
    rest_errors = (
        torch.zeros_like(rest) if errors is None else errors.narrow(axis, count, width - count)
    )
    return torch.cat([found, rest], axis), torch.cat([error, rest_errors], axis)

"""Sums in pairs of floating-point numbers: twice the precision without a wider dtype.

A sum keeps two numbers of the elements' own dtype, the rounded sum and the sum of its rounding
errors. :func:`two_sum` gives both exactly, with no branch and no wider arithmetic, so it runs with
the plain kernels of any card. Blocks of the axis are added to each other, then blocks of the
result, until one element is left::

    x  ->  4 to 64 blocks, added to each other with their errors  ->  again  ->  (high, low)

With unit roundoff u and additions d deep the error of high + low is at most about (d u)^2 sum|x|;
d is below 100 for 1e6 float32 elements, and as rounding errors cancel, the error is below 1e-15 of
sum|x| in practice.

Sources: two_sum is Theorem B of Knuth, The Art of Computer Programming, vol. 2, section 4.2.2;
the sum of values with a separate sum of errors is algorithm 4.4 (Sum2) of Ogita, Rump and Oishi,
Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), here in a tree.

Infinities, NaN and overflow: `high` is what plain addition gives; `low` is only used where it is
finite and `high` is.
"""

from __future__ import annotations

from typing import Any

from daskasc.array._dtypes import torch

# blocks that are added one after the other: more of them keep the buffers in a processor's cache,
# fewer of them keep the tree deep, and its errors small
_FEWEST, _MOST = 4, 64
_CACHED = 1 << 15  # elements of a block


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
        high, low = _folded(high, low, axis, _width(high, axis))
    return high, low


def _width(tensor: Any, axis: int) -> int:
    """Length of the blocks that are added to each other."""
    length = int(tensor.shape[axis])
    cached = max(_CACHED * length // int(tensor.numel()), 1) if tensor.numel() else length
    return max(-(-length // _MOST), min(-(-length // _FEWEST), cached))


def _folded(high: Any, low: Any, axis: int, width: int) -> tuple[Any, Any]:
    """Sum of all blocks of length `width`, the last of which may be shorter.

    Four buffers of a block's size are written again and again: :func:`two_sum`, in place.
    """
    length = int(high.shape[axis])
    total = high.narrow(axis, 0, width).clone()
    errors = torch.zeros_like(total) if low is None else low.narrow(axis, 0, width).clone()
    buffers = [torch.empty_like(total) for _ in range(3)]
    for start in range(width, length, width):
        count = min(width, length - start)
        a, lost, found, part, rest = (
            t if count == width else t.narrow(axis, 0, count) for t in (total, errors, *buffers)
        )
        b = high.narrow(axis, start, count)
        torch.add(a, b, out=found)
        torch.sub(found, a, out=part)
        torch.sub(found, part, out=rest)
        torch.sub(a, rest, out=rest)
        torch.sub(b, part, out=part)
        lost.add_(rest.add_(part))
        if low is not None:
            lost.add_(low.narrow(axis, start, count))
        if count == width:
            total, buffers[0] = found, total
        else:
            a.copy_(found)
    return total, errors

"""What lies beyond the edges of an array, by the boundary modes of ``scipy.ndimage``.

The modes arrive as the numbers that SciPy's Python code hands to its compiled functions. For
filters ``grid-wrap`` and ``grid-constant`` are ``wrap`` and ``constant``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _indexing
from daskasc.array._dispatch import MissingKernel, NeedsHost, is_array
from daskasc.array._dtypes import COMPLEX, NUMPY, torch

NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
FILLED = (CONSTANT, GRID_CONSTANT)

_REFUSED = frozenset((torch.float16, torch.bfloat16, *COMPLEX))


def places(positions: np.ndarray[Any, Any], length: int, mode: int) -> np.ndarray[Any, Any]:
    """Elements of a line that stand at positions inside and outside of it.

    Parameters
    ----------
    positions : array of int
    length : int
        Length of the line, at least 1.
    mode : int
        A mode that takes elements of the line, not a constant.

    Returns
    -------
    array of int, shaped like `positions`
    """
    if mode == NEAREST or length == 1:
        return np.clip(positions, 0, length - 1)
    if mode in (WRAP, GRID_WRAP):
        return positions % length
    if mode == REFLECT:
        inside = positions % (2 * length)
        return np.minimum(inside, 2 * length - 1 - inside)
    inside = positions % (2 * length - 2)
    return np.minimum(inside, 2 * length - 2 - inside)


def extended(tensor: Any, axis: int, before: int, after: int, mode: int, fill: float) -> Any:
    """Tensor with `before` and `after` more elements at the ends of an axis."""
    length = tensor.shape[axis]
    parts = [tensor]
    for at, start, count in ((0, -before, before), (2, length, after)):
        if not count:
            continue
        if mode in FILLED:
            shape = list(tensor.shape)
            shape[axis] = count
            part = torch.full(shape, fill, dtype=tensor.dtype, device=tensor.device)
        else:
            taken = places(np.arange(start, start + count), length, mode)
            part = tensor.index_select(axis, torch.from_numpy(taken).to(tensor.device))
        parts.insert(at, part)
    return torch.cat(parts, dim=axis) if len(parts) > 1 else tensor


def computed(array: Any, output: Any) -> Any:
    """Elements of an array in the dtype that the filters compute in.

    SciPy computes everything in float64. On a card without it float32 stays what it is, and
    integers, whose results are truncated, go to the host.

    Raises
    ------
    RuntimeError
        SciPy does not take the dtype.
    NeedsHost
        The card cannot compute this.
    """
    tensor = array._t
    for dtype in (tensor.dtype, output._t.dtype):
        if dtype in _REFUSED:
            raise RuntimeError(f"array type {NUMPY[dtype]} not supported")
    if device.current().supports("multiply", "float64"):
        return tensor.to(torch.float64)
    if tensor.dtype is torch.float32 and output._t.dtype is torch.float32:
        return tensor
    raise MissingKernel("mul", "float64")


def store(output: Any, values: Any) -> None:
    """Write computed values into an array, converted as C does: integers are truncated."""
    target = output._t
    if target.dtype.is_floating_point or target.dtype.is_complex:
        _indexing.store(target, values.to(target.dtype))
        return
    whole = torch.trunc(values)
    if target.dtype is torch.uint64:
        high = whole >= 2.0**63
        bits = torch.where(high, whole - 2.0**63, whole).to(torch.int64)
        bits = torch.where(high, torch.bitwise_xor(bits, -(2**63)), bits)
        _indexing.store(target, bits.view(torch.uint64))
        return
    narrow = whole.to(torch.int64)
    if target.dtype is torch.bool:
        narrow = torch.bitwise_and(narrow, 255) != 0
    _indexing.store(target, narrow.to(target.dtype))


def refuse_bool(input: Any, output: Any) -> None:
    """Raise NeedsHost for the second pass over bool: SciPy's holds numbers other than 0 and 1."""
    if input._t.dtype is torch.bool and input is output:
        raise NeedsHost("several passes over bool")


def refuse_nan(tensor: Any) -> None:
    """Raise NeedsHost where elements are NaN: what order makes of them is SciPy's own way.

    Waits for the card.
    """
    if bool(torch.isnan(tensor).any()):
        raise NeedsHost("NaN in a filter by order")


def on_host(value: Any) -> Any:
    """Weights, footprints and matrices: small, and read on the host; copied down if on a card."""
    return value.asnumpy() if is_array(value) else value

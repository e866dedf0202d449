"""Repeats, tiles, flips, rolls, rotations and windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._dispatch import implements, is_array
from daskasc.array._dtypes import torch
from daskasc.array._readonly import freeze, stand_in
from daskasc.array._reductions import listed_axes, normalize_axes, normalize_axis, strict_axis
from daskasc.array._shaping import moved
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import host_indices, whole_numbers


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """As :func:`numpy.repeat`."""
    tensor = tensor_of(a)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    number = strict_axis(axis, tensor.ndim, scalars=True)
    tensor = tensor if tensor.ndim else tensor.reshape(1)
    length = tensor.shape[number]
    if is_array(repeats):
        places = _repeated_places(repeats, length)
        return wrap(moved(tensor, lambda t: t.index_select(number, places)))
    counts = host_indices(repeats, "safe")
    if counts.size and length and int(counts.min()) < 0:
        raise ValueError("repeats may not contain negative values.")
    if counts.size == 1:
        counts = np.broadcast_to(counts.reshape(-1), (length,))
    elif counts.shape != (length,):
        raise ValueError(f"operands could not be broadcast together: {counts.shape} ({length},)")
    # index_select, because repeat_interleave is documented to stop at 2^22 outputs on Atlas A2
    places = torch.from_numpy(np.repeat(np.arange(length), counts)).to(tensor.device)
    return wrap(moved(tensor, lambda t: t.index_select(number, places)))


def _repeated_places(repeats: Any, length: int) -> Any:
    """Where each element of a repetition comes from; the counts stay on the card."""
    if not np.can_cast(repeats.dtype, np.int64, "safe"):
        raise TypeError(
            f"Cannot cast array data from {repeats.dtype!r} to dtype('int64') according to the "
            "rule 'safe'"
        )
    counts = tensor_of(repeats, torch.int64)
    if counts.numel() == 1:
        counts = counts.reshape(1).expand(length)
    elif tuple(counts.shape) != (length,):
        shape = tuple(counts.shape)
        raise ValueError(f"operands could not be broadcast together: {shape} ({length},)")
    if not length:
        return torch.empty(0, dtype=torch.int64, device=counts.device)
    ends = counts.cumsum(0)
    least, total = wrap(torch.stack([counts.min(), ends[-1]])).tolist()
    if least < 0:
        raise ValueError("repeats may not contain negative values.")
    return torch.searchsorted(ends, torch.arange(total, device=ends.device), right=True)


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """As :func:`numpy.tile`."""
    counts = whole_numbers(reps)
    if min(counts, default=0) < 0:
        raise ValueError(f"negative dimensions are not allowed; reps is {reps!r}")
    return wrap(moved(tensor_of(A), lambda t: t.tile(counts)))


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """As :func:`numpy.flip`, but a copy."""
    tensor = tensor_of(m)
    axes = tuple(range(tensor.ndim)) if axis is None else normalize_axes(axis, tensor.ndim)
    flipped = moved(tensor, lambda t: t.flip(axes))
    return wrap(stand_in(flipped, tensor, lambda view: np.flip(view, axes)))


@implements(np.flipud)
def flipud(m: Any) -> Any:
    """As :func:`numpy.flipud`."""
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Any) -> Any:
    """As :func:`numpy.fliplr`."""
    return flip(m, 1)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """As :func:`numpy.rot90`; a copy."""
    ndim = tensor_of(m).ndim
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if any(not -ndim <= axis < ndim for axis in axes):
        raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={ndim}.")
    if (axes[0] - axes[1]) % ndim == 0:
        raise ValueError("Axes must be different.")
    tensor, plane = tensor_of(m), tuple(axes)
    if len(plane) != 2:
        raise ValueError(f"axes are {plane}; len(axes) must be 2")
    if plane[0] == plane[1] or abs(plane[0] - plane[1]) == tensor.ndim:
        raise ValueError(f"axes are {plane}; they must be different")
    if any(not -tensor.ndim <= axis < tensor.ndim for axis in plane):
        raise ValueError(f"axes={plane} out of range for an array of ndim={tensor.ndim}")
    turned = moved(tensor, lambda t: torch.rot90(t, k, plane))
    return wrap(stand_in(turned, tensor, lambda view: np.rot90(view, k, plane)))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """As :func:`numpy.roll`."""
    tensor = tensor_of(a)
    if axis is None:
        total = sum(shift) if isinstance(shift, tuple | list) else int(shift)
        return wrap(moved(tensor.reshape(-1), lambda t: t.roll(int(total))).reshape(tensor.shape))
    axes = [normalize_axis(i, tensor.ndim) for i in listed_axes(axis)]
    pairs = np.broadcast(np.asarray(shift), np.asarray(axes))
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    shifts = [(int(s), int(i)) for s, i in pairs]
    if not shifts:
        return wrap(tensor.clone())
    amounts, numbers = zip(*shifts, strict=True)
    return wrap(moved(tensor, lambda t: t.roll(amounts, numbers)))


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """As :func:`numpy.lib.stride_tricks.sliding_window_view`."""
    tensor = tensor_of(x)
    sizes = tuple(window_shape) if isinstance(window_shape, tuple | list) else (window_shape,)
    if axis is None:
        axes: Any = tuple(range(tensor.ndim))
        if len(axes) != len(sizes):
            raise ValueError("Since axis is None, must provide window_shape for all dimensions")
    else:
        given = axis if isinstance(axis, tuple | list) else (axis,)
        axes = tuple(normalize_axis(i, tensor.ndim) for i in given)
        if len(axes) != len(sizes):
            raise ValueError("Must provide matching length window_shape and axis")
    if writeable:
        raise ValueError(
            "windows on a card are read-only, because they overlap: writeable=True is not "
            "supported. Write into the array itself"
        )
    for number, width in zip(axes, sizes, strict=True):
        if width < 0:
            raise ValueError("`window_shape` cannot contain negative values")
        if width > tensor.shape[number]:
            raise ValueError("window shape cannot be larger than input array shape")
        tensor = tensor.unfold(number, int(width), 1)
    return wrap(freeze(tensor))

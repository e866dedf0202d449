"""Padding: constants, edges, reflections, statistics and ramps around an array."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from daskasc.array import _indexing
from daskasc.array import _ranges as ranges
from daskasc.array import _shaping as shaping
from daskasc.array._dispatch import NeedsHost, implements, is_array
from daskasc.array._dtypes import torch
from daskasc.array._reductions import normalize_axis
from daskasc.array._shaping import moved
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import value_for

_STATISTICS: dict[str, Any] = {
    "maximum": np.max,
    "minimum": np.min,
    "mean": np.mean,
    "median": np.median,
}
_OPTIONS: dict[str, set[str]] = {
    **{key: set() for key in ("empty", "edge", "wrap")},
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    **{key: {"stat_length"} for key in _STATISTICS},
    **{key: {"reflect_type"} for key in ("reflect", "symmetric")},
}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """As :func:`numpy.pad`; modes that are functions go to the host."""
    tensor = tensor_of(array)
    widths = _widths(pad_width, tensor.ndim)
    if callable(mode):
        raise NeedsHost("pad arguments")
    if mode not in _OPTIONS:
        raise ValueError(f"mode is {mode!r}; allowed: {', '.join(_OPTIONS)}")
    if unknown := kwargs.keys() - _OPTIONS[mode]:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if mode in ("constant", "empty"):
        values = _pairs(kwargs.get("constant_values", 0), tensor.ndim)
        return wrap(_pad_constant(tensor, widths, values))
    for axis, pair in enumerate(widths):
        if not tensor.shape[axis] and any(pair):
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
    if not tensor.numel():
        shape = [n + sum(pair) for n, pair in zip(tensor.shape, widths, strict=True)]
        return wrap(tensor.new_empty(shape))
    if mode == "linear_ramp":
        return _pad_ramps(wrap(tensor), widths, _pairs(kwargs.get("end_values", 0), tensor.ndim))
    if mode in _STATISTICS:
        lengths = _lengths(kwargs.get("stat_length"), tensor.ndim)
        return _pad_statistics(wrap(tensor), widths, lengths, mode)
    if mode in ("reflect", "symmetric") and kwargs.get("reflect_type", "even") == "odd":
        for axis, pair in enumerate(widths):
            if any(pair):
                tensor = _reflect_oddly(tensor, axis, pair, mode)
        return wrap(tensor)
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        # NumPy pads the axis numbers; the same elements are then taken on the card
        places = np.pad(np.arange(tensor.shape[axis]), (before, after), mode=mode)
        index = torch.from_numpy(places).to(tensor.device)
        tensor = moved(tensor, functools.partial(torch.index_select, dim=axis, index=index))
    return wrap(tensor)


def _widths(given: Any, ndim: int) -> list[tuple[int, int]]:
    """How many elements come before and after each axis."""
    if isinstance(given, dict):
        widths: list[Any] = [(0, 0)] * ndim
        for axis, width in given.items():
            widths[normalize_axis(axis, ndim)] = (
                width if isinstance(width, tuple) else (width, width)
            )
        given = widths
    given = given.asnumpy() if is_array(given) else np.asarray(given)
    if given.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    return _checked(_pairs(given, ndim))


def _lengths(given: Any, ndim: int) -> list[tuple[int, int]] | None:
    """How many elements next to each end a statistic is of; None for all."""
    if given is None:
        return None
    given = given.asnumpy() if is_array(given) else given
    return _checked(_pairs(np.round(given).astype(np.intp), ndim))


def _pairs(value: Any, ndim: int) -> list[Any]:
    """Two values an axis: one or two for all of them as NumPy's scalars, more as Python's."""
    host = value.asnumpy() if is_array(value) else np.asarray(value)
    if host.ndim < 3 and host.size in (1, 2) and host.shape != (2, 1):
        flat = host.reshape(-1)
        return [(flat[0], flat[-1])] * ndim
    return [tuple(pair) for pair in np.broadcast_to(host, (ndim, 2)).tolist()]


def _checked(pairs: list[Any]) -> list[tuple[int, int]]:
    counts = [(int(first), int(second)) for first, second in pairs]
    if any(count < 0 for pair in counts for count in pair):
        raise ValueError("index can't contain negative values")
    return counts


def _reflect_oddly(tensor: Any, axis: int, pair: tuple[int, int], mode: str) -> Any:
    """Pad with twice the edge less the reflected elements, in the steps of :func:`numpy.pad`.

    A step extends each end by at most the length so far, cut to whole periods of the original.
    """
    array = wrap(tensor.movedim(axis, 0))
    period = array.shape[0]
    if period == 1:  # NumPy repeats a single element
        places = torch.zeros(1 + pair[0] + pair[1], dtype=torch.int64, device=tensor.device)
        return moved(tensor, lambda t: torch.index_select(t, axis, places))
    shared = 1 if mode == "reflect" else 0  # the edge is not repeated
    before, after = pair
    while before or after:
        length = (array.shape[0] - shared) // (period - shared) * (period - shared)
        if before:
            count = min(length, before)
            left = (2 * array[:1] - array[shared : shared + count][::-1]).astype(array.dtype)
            before -= count
            array = shaping.concatenate([left, array], 0)
        if after:
            count = min(length, after)
            end = array.shape[0] - shared
            right = (2 * array[-1:] - array[end - count : end][::-1]).astype(array.dtype)
            after -= count
            array = shaping.concatenate([array, right], 0)
    return array._t.movedim(0, axis)


def _pad_statistics(
    array: Any, widths: list[tuple[int, int]], lengths: list[tuple[int, int]] | None, mode: str
) -> Any:
    """Pad with a statistic of the elements next to each end."""
    for axis, pair in enumerate(widths):
        length = array.shape[axis]
        taken = [min(n, length) for n in lengths[axis]] if lengths else [length] * 2
        if 0 in taken and mode in ("maximum", "minimum"):
            raise ValueError(f"stat_length is 0 for axis {axis}; mode '{mode}' needs at least 1")
        blocks = [
            _statistic(array, mode, axis, start, count).expand(
                [n if i == axis else m for i, m in enumerate(array.shape)]
            )
            for start, count, n in zip((0, length - taken[1]), taken, pair, strict=True)
            if n
        ]
        array = _joined(array, axis, pair, [wrap(block) for block in blocks])
    return array


def _statistic(array: Any, mode: str, axis: int, start: int, count: int) -> Any:
    """Tensor of a statistic of `count` elements of an axis from `start` on, in their dtype."""
    found = _STATISTICS[mode](wrap(array._t.narrow(axis, start, count)), axis=axis, keepdims=True)
    if array.dtype.kind in "iu" and found.dtype.kind == "f":
        found = np.rint(found)
    return found.astype(array.dtype, copy=False)._t


def _pad_ramps(array: Any, widths: list[tuple[int, int]], ends: list[Any]) -> Any:
    """Pad with even steps from the edges to the end values."""
    for axis, pair in enumerate(widths):
        blocks = []
        for at, count in enumerate(pair):
            if not count:
                continue
            edge = wrap(array._t.select(axis, at * (array.shape[axis] - 1)))
            ramp = ranges.linspace(
                ends[axis][at], edge, count, endpoint=False, dtype=array.dtype, axis=axis
            )
            blocks.append(wrap(_indexing.flip(ramp._t, (axis,))) if at else ramp)
        array = _joined(array, axis, pair, blocks)
    return array


def _joined(array: Any, axis: int, pair: tuple[int, int], blocks: list[Any]) -> Any:
    """The array between the blocks of those ends that have any."""
    if not blocks:
        return array
    at = 1 if pair[0] else 0
    return shaping.concatenate([*blocks[:at], array, *blocks[at:]], axis)


def _pad_constant(tensor: Any, widths: list[Any], values: list[Any]) -> Any:
    for axis in range(tensor.ndim):
        parts = [tensor]
        for at, (count, value) in enumerate(zip(widths[axis], values[axis], strict=True)):
            if not count:
                continue
            shape = list(tensor.shape)
            shape[axis] = count
            block = value_for(value, tensor.dtype).to(tensor.device).expand(shape)
            parts.insert(0 if at == 0 else len(parts), block)
        if len(parts) > 1:
            tensor = torch.cat(parts, dim=axis)
    return tensor

"""What runs on the workers for rows whose partials dask's own functions do not merge well enough.

Dask's functions for the place of an extreme (``argmax`` and its kin) keep the first of equal values
in the order of the *chunks*; over a flattened array of several dimensions that is not the first
in NumPy's order. They cannot take chunks without elements either. Those of ``argtopk`` fail where
fewer elements than wanted are there. Here a partial of an extreme is the value, its place in the
whole array, and (where NaN is skipped) whether there was any value; of equal values the lowest
place wins, whatever the order of merging. The sum of partial products has the dtype that dask
promises for it also where there is but one, and that of booleans counts no chunks.

All functions take a nested list of partials, as dask's do, and work on any array library.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import dask.array.reductions as dask_reductions
import numpy as np
from dask.array import chunk
from dask.core import flatten

_LAST = np.iinfo(np.int64).max
_WITH_NAN = "fcmMV"  # V: bfloat16


def _partials(nested: Any) -> list[Any]:
    return list(flatten(nested, container=list)) if isinstance(nested, list) else [nested]


def _empty_along(array: Any, axis: Sequence[int]) -> bool:
    return any(array.shape[index] == 0 for index in axis)


# -- places of extremes


def arg_leaf(
    extreme: str, skip_nan: bool, x: Any, axis: tuple[int, ...], offset_info: Any
) -> dict[str, Any]:
    """Task: the partial of one chunk; in the place of dask's ``arg_chunk``.

    Parameters
    ----------
    extreme : {"max", "min"}
        Which extreme is looked for.
    skip_nan : bool
        NaN counts as the opposite extreme, as in ``np.nanargmax``.
    x : array
        The chunk.
    axis : tuple of int
        Reduced axes: one, or all.
    offset_info : int or (offset, shape)
        Where the chunk begins along the axis; for all axes where it begins, and the shape of the
        whole array.

    Returns
    -------
    dict
        ``vals`` and ``arg`` of length 1 along the reduced axes (0 where the chunk is empty), and
        ``some`` where NaN is skipped.
    """
    whole = len(axis) == x.ndim or x.ndim == 1
    if _empty_along(x, axis):
        vals = x[tuple(slice(0, 1) if index in axis else slice(None) for index in range(x.ndim))]
        piece = {"vals": vals, "arg": np.zeros_like(vals, dtype=np.int64)}
        if skip_nan and x.dtype.kind in "fcV":
            piece["some"] = np.zeros_like(vals, dtype=bool)
        return piece
    along = None if whole else axis[0]
    some = None
    if skip_nan and x.dtype.kind in "fcV":
        missing = np.isnan(x)
        if isinstance(x, np.ma.MaskedArray):
            missing = missing.filled(True)
            x = np.ma.masked_array(x, mask=missing)
        else:
            x = np.where(missing, -np.inf if extreme == "max" else np.inf, x)
        some = np.any(~missing, axis=along, keepdims=True)
    if isinstance(x, np.ma.MaskedArray):
        functions = getattr(chunk, extreme), getattr(chunk, f"arg{extreme}")
        found = dask_reductions.arg_chunk(*functions, x, axis, offset_info)
        vals, arg = found["vals"], found["arg"]
    else:
        vals = getattr(np, extreme)(x, axis=along, keepdims=True)
        arg = getattr(np, f"arg{extreme}")(x, axis=along, keepdims=True)
        if x.ndim and whole:
            arg = _in_the_whole(arg, x.shape, *offset_info)
        elif x.ndim:
            arg = arg + offset_info
    piece = {"vals": vals, "arg": arg}
    if some is not None:
        piece["some"] = some
    return piece


def _in_the_whole(
    arg: Any, shape: Sequence[int], offset: Sequence[int], whole: Sequence[int]
) -> Any:
    """Flat place in the whole array of a flat place in a chunk, both in C order."""
    found, rest, stride = 0, arg, 1
    for size, start, extent in reversed(list(zip(shape, offset, whole, strict=True))):
        found = found + (rest % size + start) * stride
        rest = rest // size
        stride *= extent
    return found


def arg_merge(
    extreme: str, partials: Any, axis: tuple[int, ...], keepdims: bool = True
) -> dict[str, Any]:
    """Merge partials of an extreme's place into one."""
    pieces = _partials(partials)
    some = [piece for piece in pieces if not _empty_along(piece["vals"], axis)]
    if len(some) < 2:
        return dict((some or pieces)[0])
    along = axis[0] if axis else 0
    joined = {name: np.concatenate([piece[name] for piece in some], axis=along) for name in some[0]}
    vals = joined["vals"]
    best = getattr(np, extreme)(vals, axis=along, keepdims=True)
    equal = vals == best
    if vals.dtype.kind in _WITH_NAN:
        equal = equal | (np.isnan(vals) & np.isnan(best))
    arg = np.min(np.where(equal, joined["arg"], _LAST), axis=along, keepdims=True)
    merged = {"vals": best, "arg": arg}
    if "some" in joined:
        merged["some"] = np.any(joined["some"], axis=along, keepdims=True)
    return merged


def arg_finish(extreme: str, partials: Any, axis: tuple[int, ...], keepdims: bool = False) -> Any:
    """Place of an extreme out of the last partials.

    Raises
    ------
    ValueError
        There was no element, or nothing but NaN where NaN is skipped; as in NumPy.
    """
    merged = arg_merge(extreme, partials, axis)
    arg = merged["arg"]
    if _empty_along(arg, axis):
        raise ValueError(f"attempt to get arg{extreme} of an empty sequence")
    if "some" in merged and not bool(np.all(merged["some"])):
        raise ValueError("All-NaN slice encountered")
    return arg if keepdims else np.squeeze(arg, axis=tuple(axis))


# -- places of the largest


def argtopk_merge(partials: Any, k: int, axis: tuple[int, ...], keepdims: bool = True) -> Any:
    """Merge pairs of values and their places, keeping the `k` largest (``-k`` smallest)."""
    pairs = _partials(partials)
    along = axis[0]
    values = np.concatenate([value for value, _ in pairs], axis=along)
    places = np.concatenate([np.broadcast_to(at, value.shape) for value, at in pairs], axis=along)
    if abs(k) >= values.shape[along]:
        return values, places
    wanted = slice(-k, None) if k > 0 else slice(None, -k)
    order = np.argpartition(values, -k, axis=along)
    order = order[(slice(None),) * along + (wanted,)]
    return np.take_along_axis(values, order, along), np.take_along_axis(places, order, along)


def argtopk_finish(partials: Any, k: int, axis: tuple[int, ...], keepdims: bool = True) -> Any:
    """Places of the `k` largest, largest first; of equal values the lowest place first."""
    along = axis[0]
    values, places = argtopk_merge(partials, k, axis)
    # by place first, so that the second, stable sort leaves equal values in that order
    by_place = np.argsort(places, axis=along)
    values, places = (np.take_along_axis(part, by_place, along) for part in (values, places))
    if k < 0:
        return np.take_along_axis(places, np.argsort(values, axis=along, kind="stable"), along)
    values, places = np.flip(values, along), np.flip(places, along)
    order = np.argsort(values, axis=along, kind="stable")
    return np.flip(np.take_along_axis(places, order, along), along)


# -- partial products of a contraction


def sum_merge(partials: Any, axis: tuple[int, ...], dtype: Any, keepdims: bool = True) -> Any:
    """Sum of partial products in `dtype`; of booleans, whose sum is "or", a boolean."""
    first, *rest = _partials(partials)
    if first.dtype.kind == "b":
        return functools.reduce(np.logical_or, rest, first)
    add = functools.partial(np.add, dtype=dtype)
    return functools.reduce(add, rest, first.astype(dtype, copy=False))


def sum_finish(partials: Any, axis: tuple[int, ...], dtype: Any, keepdims: bool = False) -> Any:
    """The contraction out of the last partial products."""
    total = sum_merge(partials, axis, dtype).astype(dtype, copy=False)
    return total if keepdims else np.squeeze(total, axis=tuple(axis))


# -- joining


def stacked(partials: Any, **_: Any) -> Any:
    """Rows of all partials, one below the other."""
    return np.vstack(_partials(partials))


def distinct(partials: Any, **_: Any) -> Any:
    """Distinct values of all partials, ascending."""
    return np.unique(np.concatenate(_partials(partials)))

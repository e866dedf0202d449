"""Reductions and scans of times; NaT spreads as NumPy lets it.

Each runs an integer function on the ticks. A sum is NaT where an element is; the greatest and the
place of the greatest are found among ``ticks - 1``, where NaT is the greatest integer.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from daskasc.array import _dispatch, _operators
from daskasc.array._dispatch import NeedsHost, implements_for_times, into, is_array
from daskasc.array._dtypes import torch
from daskasc.array._reductions import NO, Axes, normalize_axis
from daskasc.array._storage import wrap, wrap_times
from daskasc.array._times_convert import is_times, of_any
from daskasc.array._times_ufuncs import last, unlast
from daskasc.array._times_units import NAT, is_nat


def _times(a: Any) -> Any:
    if not is_times(a):
        a = _dispatch.call(np.asarray, (a,), {})
        if not is_times(a):
            raise NeedsHost("times among other arguments")
    return a


def _finish(ticks: Any, dtype: np.dtype[Any], out: Any) -> Any:
    found = wrap_times(ticks, dtype)
    return into(out, found)


def _summable(a: Any, dtype: Any) -> Any:
    """Array of differences; raises NumPy's TypeError for dates, which have no sum."""
    a = _times(a)
    if dtype is not None and np.dtype(dtype) != a.dtype:
        raise NeedsHost("sums with a dtype")
    np.add.resolve_dtypes((a.dtype, a.dtype, None))
    return a


def _sum(a: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """Ticks of a sum."""
    kwargs: dict[str, Any] = {"axis": axis, "keepdims": keepdims, "where": where}
    nat = wrap(is_nat(a._ticks._t))
    total = np.sum(a._ticks, **kwargs)
    return wrap(total._t.masked_fill(np.any(nat, **kwargs)._t, NAT))


@implements_for_times(np.sum, np.nansum)
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.sum` of differences."""
    a = _summable(a, dtype)
    found = wrap_times(_sum(a, axis, keepdims, where), a.dtype)
    if initial is not NO and initial is not None:
        found = found + wrap_times(_initial(initial, a.dtype), a.dtype)
    return into(out, found)


def _initial(value: Any, dtype: np.dtype[Any]) -> Any:
    ticks = of_any(value, dtype)
    if ticks.ndim:
        raise ValueError("Input object to FillWithScalar is not a scalar")
    return ticks


@implements_for_times(np.mean, np.nanmean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    *,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.mean` of differences: rounded towards zero."""
    a = _summable(a, dtype)
    total = wrap_times(_sum(a, axis, keepdims, where), a.dtype)
    axes = Axes(axis, a.ndim, keepdims)
    if where is NO or where is True:
        count: Any = axes.count(a)
        if not count:
            warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=2)
    else:
        mask = np.broadcast_to(where, a.shape)
        mask = mask if is_array(mask) else _dispatch.call(np.asarray, (mask,), {})
        count = np.sum(mask, axis=axis, keepdims=keepdims)
    return _finish((total / count)._ticks, a.dtype, out)


@implements_for_times(np.cumsum, np.nancumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.cumsum` of differences: NaT from the first one on."""
    a = _summable(a, dtype)
    return _finish(_running_sum(a, axis), a.dtype, out)


def _running_sum(a: Any, axis: Any) -> Any:
    scanned: Any = np.cumsum(a._ticks, axis)
    met: Any = np.cumsum(wrap(is_nat(a._ticks._t)), axis)
    return wrap(scanned._t.masked_fill(met._t > 0, NAT))


@implements_for_times(np.cumulative_sum)
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """As :func:`numpy.cumulative_sum`."""
    x = _times(x)
    if axis is None and x.ndim > 1:
        raise ValueError(
            "For arrays which have more than one dimension ``axis`` argument is required."
        )
    number = 0 if axis is None else normalize_axis(axis, x.ndim)
    ticks = cumsum(x, number, dtype)._ticks
    if include_initial:
        first = wrap(torch.zeros_like(ticks._t.narrow(number, 0, 1))) if x.shape[number] else None
        if first is None:
            raise NeedsHost("cumulative sum of nothing")
        ticks = np.concatenate([first, ticks], number)
    return _finish(ticks, x.dtype, out)


# -- extremes


def _extreme(
    function: Any, by_keys: bool, a: Any, axis: Any, out: Any, keepdims: Any, rest: dict[str, Any]
) -> Any:
    a = _times(a)
    kwargs = {key: value for key, value in rest.items() if value is not NO}
    if kwargs.get("initial") is not None:
        first = _initial(kwargs["initial"], a.dtype)._t
        kwargs["initial"] = int((last(first) if by_keys else first).item())
    ticks = wrap(last(a._ticks._t)) if by_keys else a._ticks
    found = function(ticks, axis=axis, keepdims=keepdims, **kwargs)
    return _finish(wrap(unlast(found._t)) if by_keys else found, a.dtype, out)


@implements_for_times(np.max, np.amax)
def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.max`: NaT if there is one."""
    return _extreme(np.max, True, a, axis, out, keepdims, {"initial": initial, "where": where})


@implements_for_times(np.min, np.amin)
def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.min`: NaT if there is one."""
    return _extreme(np.min, False, a, axis, out, keepdims, {"initial": initial, "where": where})


@implements_for_times(np.nanmax)
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.nanmax`: NaT only where there is nothing else."""
    if initial is not NO or where is not NO:
        raise NeedsHost("nanmax with initial or where")
    return _extreme(np.max, False, a, axis, out, keepdims, {})


@implements_for_times(np.nanmin)
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.nanmin`: NaT only where there is nothing else."""
    if initial is not NO or where is not NO:
        raise NeedsHost("nanmin with initial or where")
    return _extreme(np.min, True, a, axis, out, keepdims, {})


@implements_for_times(np.argmax, np.nanargmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.argmax`: the first NaT if there is one."""
    keys = wrap(last(_times(a)._ticks._t))
    return np.argmax(keys, axis, out, keepdims=keepdims)


@implements_for_times(np.argmin, np.nanargmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.argmin`: the first NaT if there is one."""
    return np.argmin(_times(a)._ticks, axis, out, keepdims=keepdims)


@implements_for_times(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO) -> Any:
    """As :func:`numpy.ptp`: a difference."""
    found = max(a, axis, None, keepdims) - min(a, axis, None, keepdims)
    return into(out, found)


@implements_for_times(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """As :func:`numpy.median` of differences: NaT if there is one."""
    a = _summable(a, None)
    axes = Axes(axis, a.ndim, keepdims)
    merged = axes.merged(a._ticks._t)
    length = merged.shape[-1]
    if not length:
        raise NeedsHost("median of nothing")
    ordered: Any = np.sort(wrap(last(merged)))
    keys = ordered._t
    middle = wrap_times(wrap(unlast(keys[..., (length - 1) // 2 : length // 2 + 1])), a.dtype)
    found = mean(middle, -1)._ticks._t
    # the last one is NaT if any is
    found = found.masked_fill(is_nat(unlast(keys[..., -1])), NAT)
    return _finish(wrap(axes.unmerged(found)), a.dtype, out)


@implements_for_times(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NO, append: Any = NO) -> Any:
    """As :func:`numpy.diff`: differences of neighbours."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    array = _times(a)
    number = normalize_axis(axis, array.ndim)
    edge = tuple(1 if i == number else size for i, size in enumerate(array.shape))
    parts = []
    for value in (prepend, array, append):
        if value is not NO:
            value = value if is_array(value) else np.asarray(value)
            parts.append(value if value.ndim else np.broadcast_to(value, edge))
    array = np.concatenate(parts, number) if len(parts) > 1 else array
    whole = (slice(None),) * number
    for _ in range(n):
        array = array[(*whole, slice(1, None))] - array[(*whole, slice(None, -1))]
    return array


@implements_for_times(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """As :func:`numpy.ediff1d`."""
    found = diff(_times(ary).reshape(-1))
    if to_end is None and to_begin is None:
        return found
    parts = []
    for name, value in (("to_begin", to_begin), ("to_end", to_end)):
        if value is None:
            continue
        given = value if is_array(value) else np.asarray(value)
        if not np.can_cast(given.dtype, ary.dtype, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        parts.append(wrap_times(of_any(given, found.dtype), found.dtype).reshape(-1))
    parts.insert(0 if to_begin is None else 1, found)
    return np.concatenate(parts)


@implements_for_times(np.trace)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """As :func:`numpy.trace` of differences."""
    return sum(np.diagonal(_times(a), offset, axis1, axis2), -1, dtype, out)


@implements_for_times(np.clip)
def clip(
    a: Any,
    a_min: Any = NO,
    a_max: Any = NO,
    out: Any = None,
    *,
    min: Any = NO,
    max: Any = NO,
    **kwargs: Any,
) -> Any:
    """As :func:`numpy.clip`."""
    if a_min is NO and a_max is NO:
        a_min, a_max = (None if min is NO else min), (None if max is NO else max)
    elif a_min is NO or a_max is NO or min is not NO or max is not NO or kwargs:
        raise NeedsHost("clip with arguments of both kinds, or of a ufunc")
    found = a
    if a_min is not None:
        found = np.maximum(found, a_min)
    if a_max is not None:
        found = np.minimum(found, a_max)
    if found is a:
        found = a.copy()
    return found if out is None else _operators.store(np.minimum, found, out)


@implements_for_times(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """As :func:`numpy.outer`, of a difference and numbers."""
    left, right = (x if is_array(x) else np.asarray(x) for x in (a, b))
    found = np.multiply(left.reshape(-1)[:, None], right.reshape(-1)[None, :])
    return into(out, found)

"""Reductions that skip NaN.

A slice with nothing but NaN gives what NumPy gives, without its RuntimeWarning: telling would
need a look at the result from the host.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array import _extremes as extremes
from daskasc.array import _means as means
from daskasc.array import _operators
from daskasc.array import _reductions as full
from daskasc.array._dispatch import implements, target_of
from daskasc.array._dtypes import COMPLEX, FLOATS, torch
from daskasc.array._reductions import NO, Axes, finish
from daskasc.array._storage import tensor_of, wrap


def _has_nan(tensor: Any) -> bool:
    return tensor.dtype in FLOATS or tensor.dtype in COMPLEX


def without_nan(tensor: Any, value: Any) -> Any:
    """The tensor with `value` in the place of NaN."""
    if not _has_nan(tensor):
        return tensor
    if tensor.dtype in FLOATS:  # one pass
        return torch.nan_to_num(tensor, nan=value, posinf=math.inf, neginf=-math.inf)
    fill = torch.full((), value, dtype=tensor.dtype, device=tensor.device)
    return torch.where(torch.isnan(tensor), fill, tensor)


def _mask(tensor: Any, where: Any) -> Any:
    """Bool tensor of the elements that count."""
    valid = ~torch.isnan(tensor)
    return valid if where is NO or where is True else valid & tensor_of(where, torch.bool)


@implements(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.nansum`."""
    return full.sum(wrap(without_nan(tensor_of(a), 0)), axis, dtype, out, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.nanprod`."""
    return full.prod(wrap(without_nan(tensor_of(a), 1)), axis, dtype, out, keepdims, initial, where)


def _loser(tensor: Any, largest: bool) -> Any:
    """Value that loses against every number."""
    value = -math.inf if largest else math.inf
    return complex(value, value) if tensor.dtype in COMPLEX else value


def _nan_extreme(
    a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any, largest: bool
) -> Any:
    tensor = tensor_of(a)
    reduce = extremes.max if largest else extremes.min
    if not _has_nan(tensor):
        return reduce(wrap(tensor), axis, out, keepdims, initial, where)
    loser = _loser(tensor, largest)
    nothing = torch.isnan(tensor)
    begins = initial is not NO and initial is not None
    if begins:  # a NaN to begin with loses, too
        first = full.initial_of(initial, tensor.dtype)
        initial = wrap(without_nan(first, loser))
        if where is not NO and where is not True:
            nothing = nothing | ~full.mask_of(where, tensor)
    found = reduce(wrap(without_nan(tensor, loser)), axis, None, keepdims, initial, where)._t
    axes = Axes(axis, tensor.ndim, keepdims, True)
    if axes.axes:
        nothing = torch.all(nothing, dim=axes.axes, keepdim=axes.keepdims)
    if begins:
        nothing = nothing & torch.isnan(first)
    if tensor.dtype in COMPLEX and not begins:
        # of nothing but NaN the first one, whose other part may be a number
        first = axes.unmerged(axes.merged(tensor)[..., 0]) if axes.axes else tensor
        return finish(torch.where(nothing, first, found), out)
    return finish(found.masked_fill(nothing, math.nan), out)


@implements(np.nanmax)
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.nanmax`."""
    return _nan_extreme(a, axis, out, keepdims, initial, where, True)


@implements(np.nanmin)
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.nanmin`."""
    return _nan_extreme(a, axis, out, keepdims, initial, where, False)


@implements(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    *,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.nanmean`."""
    tensor = tensor_of(a)
    if not _has_nan(tensor):
        return means.mean(wrap(tensor), axis, dtype, out, keepdims, where=where)
    _check_inexact(dtype, out)
    mask, filled = wrap(_mask(tensor, where)), without_nan(tensor, 0)
    if where is not NO and where is not True:
        return means.mean(wrap(filled), axis, dtype, out, keepdims, where=mask)
    target = target_of(out)
    axes = means.axes_of(axis, tensor, keepdims, mask)
    return finish(means.mean_over(filled, axes, mask, dtype, target, filled=True), target)


def _check_inexact(dtype: Any, out: Any) -> None:
    if dtype is not None and dtype is not NO and np.dtype(dtype).kind in "iub":
        raise TypeError(f"dtype is {np.dtype(dtype)}; if a is inexact, dtype must be inexact")
    if out is not None and out.dtype.kind in "iub":
        raise TypeError(f"out has dtype {out.dtype}; if a is inexact, out must be inexact")


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO,
    *,
    where: Any = NO,
    mean: Any = NO,
    correction: Any = NO,
) -> Any:
    """As :func:`numpy.nanvar`."""
    tensor = tensor_of(a)
    options = {"mean": mean, "correction": correction}
    if not _has_nan(tensor):
        return means.var(a, axis, dtype, out, ddof, keepdims, where=where, **options)
    _check_inexact(dtype, out)
    mask = _mask(tensor, where)
    filled = wrap(without_nan(tensor, 0))
    found = means.var(filled, axis, dtype, out, ddof, keepdims, where=wrap(mask), **options)
    # NumPy gives NaN, not inf, where ddof leaves no degrees of freedom
    count = full.sum_over(mask, Axes(axis, tensor.ndim, keepdims, True), torch.int64)
    nothing = count - (ddof if correction is NO else correction) <= 0
    return finish(found._t.masked_fill(nothing, math.nan), out)


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO,
    *,
    where: Any = NO,
    mean: Any = NO,
    correction: Any = NO,
) -> Any:
    """As :func:`numpy.nanstd`."""
    options = {"where": where, "mean": mean, "correction": correction}
    if not _has_nan(tensor_of(a)):
        return means.std(a, axis, dtype, out, ddof, keepdims, **options)
    variance = nanvar(a, axis, dtype, out, ddof, keepdims, **options)
    root = _operators.apply(np.sqrt, (variance,))
    return root if out is None else _operators.store(np.sqrt, root, out)


def _nan_arg(a: Any, axis: Any, out: Any, keepdims: Any, largest: bool) -> Any:
    tensor = tensor_of(a)
    if _has_nan(tensor):
        axes = Axes(axis, tensor.ndim, False, True)
        nan = torch.isnan(tensor)
        if tensor.numel() and bool(torch.all(nan, dim=axes.axes).any()):
            raise ValueError("All-NaN slice encountered")
        # NumPy's value in the place of NaN is real, and takes part in the order of complex numbers
        tensor = tensor.masked_fill(nan, -math.inf if largest else math.inf)
    return extremes.arg_extreme(tensor, axis, out, keepdims, largest)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.nanargmax`."""
    return _nan_arg(a, axis, out, keepdims, True)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.nanargmin`."""
    return _nan_arg(a, axis, out, keepdims, False)

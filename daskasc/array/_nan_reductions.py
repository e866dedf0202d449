"""Reductions that skip NaN, and sums and products along an axis (scans).

A slice with nothing but NaN gives what NumPy gives, without its RuntimeWarning: telling would
need a look at the result from the host.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array import _reductions as full
from daskasc.array._dispatch import implements, require
from daskasc.array._dtypes import COMPLEX, FLOATS, TWINS, cast, torch, twin
from daskasc.array._reductions import NO, Axes, accumulator, finish, normalize_axis
from daskasc.array._storage import tensor_of, wrap


def _has_nan(tensor: Any) -> bool:
    return tensor.dtype in FLOATS or tensor.dtype in COMPLEX


def _without_nan(tensor: Any, value: Any) -> Any:
    if not _has_nan(tensor):
        return tensor
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
    return full.sum(wrap(_without_nan(tensor_of(a), 0)), axis, dtype, out, keepdims, initial, where)


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
    return full.prod(
        wrap(_without_nan(tensor_of(a), 1)), axis, dtype, out, keepdims, initial, where
    )


def _loser(tensor: Any, largest: bool) -> Any:
    """Value that loses against every number."""
    value = -math.inf if largest else math.inf
    return complex(value, value) if tensor.dtype in COMPLEX else value


def _nan_extreme(
    a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any, largest: bool
) -> Any:
    tensor = tensor_of(a)
    reduce = full.max if largest else full.min
    if not _has_nan(tensor):
        return reduce(wrap(tensor), axis, out, keepdims, initial, where)
    filled = _without_nan(tensor, _loser(tensor, largest))
    found = reduce(wrap(filled), axis, None, keepdims, initial, where)._t
    if initial is NO and tensor.numel():
        axes = Axes(axis, tensor.ndim, keepdims)
        if axes.axes:
            nothing = torch.all(torch.isnan(tensor), dim=axes.axes, keepdim=axes.keepdims)
        else:
            nothing = torch.isnan(tensor)
        found = found.masked_fill(nothing, math.nan)
    return finish(found, out)


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
        return full.mean(wrap(tensor), axis, dtype, out, keepdims, where=where)
    axes = Axes(axis, tensor.ndim, keepdims)
    return finish(
        full.mean_over(_without_nan(tensor, 0), axes, wrap(_mask(tensor, where)), dtype), out
    )


def _nan_var(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any
) -> tuple[Any, Any]:
    tensor = tensor_of(a)
    axes = Axes(axis, tensor.ndim, keepdims)
    if not _has_nan(tensor):
        return full.var_over(tensor, axes, dtype, ddof, where, mean)
    mask = _mask(tensor, where)
    variance, given = full.var_over(_without_nan(tensor, 0), axes, dtype, ddof, wrap(mask), mean)
    # NumPy gives NaN, not inf, where ddof leaves no degrees of freedom
    count = full.sum_over(mask, axes, torch.int64)
    return variance.masked_fill(count - ddof <= 0, math.nan), given


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
    ddof = ddof if correction is NO else correction
    variance, given = _nan_var(a, axis, dtype, ddof, keepdims, where, mean)
    return finish(cast(variance, given), out)


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
    ddof = ddof if correction is NO else correction
    variance, given = _nan_var(a, axis, dtype, ddof, keepdims, where, mean)
    return finish(cast(torch.sqrt(variance), given), out)


def _nan_arg(a: Any, axis: Any, out: Any, keepdims: Any, largest: bool) -> Any:
    tensor = tensor_of(a)
    if _has_nan(tensor):
        axes = Axes(axis, tensor.ndim, False)
        nan = torch.isnan(tensor)
        if tensor.numel() and bool(torch.all(nan, dim=axes.axes).any()):
            raise ValueError("All-NaN slice encountered")
        tensor = tensor.masked_fill(nan, _loser(tensor, largest))
    return full.arg_extreme(tensor, axis, out, keepdims, largest)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.nanargmax`."""
    return _nan_arg(a, axis, out, keepdims, True)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.nanargmin`."""
    return _nan_arg(a, axis, out, keepdims, False)


# -- scans


def _scan(tensor: Any, axis: Any, dtype: Any, out: Any, product: bool) -> Any:
    target = accumulator(tensor.dtype, dtype)
    values = cast(tensor, target)
    if axis is None:
        values, number = values.reshape(-1), 0
    else:
        number = normalize_axis(axis, values.ndim)
    require("cumprod" if product else "cumsum", values)
    function = torch.cumprod if product else torch.cumsum
    scanned = function(twin(values), dim=number)
    return finish(scanned.view(target) if target in TWINS else cast(scanned, target), out)


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.cumsum`."""
    return _scan(tensor_of(a), axis, dtype, out, False)


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.cumprod`."""
    return _scan(tensor_of(a), axis, dtype, out, True)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.nancumsum`."""
    return _scan(_without_nan(tensor_of(a), 0), axis, dtype, out, False)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.nancumprod`."""
    return _scan(_without_nan(tensor_of(a), 1), axis, dtype, out, True)


def _cumulative(
    x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool, product: bool
) -> Any:
    tensor = tensor_of(x)
    if axis is None:
        if tensor.ndim > 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = 0
    scanned = _scan(tensor, axis, dtype, None, product)._t
    if include_initial:
        shape = list(scanned.shape)
        shape[axis] = 1
        first = torch.full(shape, int(product), dtype=scanned.dtype, device=scanned.device)
        scanned = torch.cat([first, scanned], dim=axis)
    return finish(scanned, out)


@implements(np.cumulative_sum)
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
    return _cumulative(x, axis, dtype, out, include_initial, False)


@implements(np.cumulative_prod)
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """As :func:`numpy.cumulative_prod`."""
    return _cumulative(x, axis, dtype, out, include_initial, True)

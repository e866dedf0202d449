"""Order statistics computed from sorted values: medians, quantiles, percentiles.

Quantiles sort once along the merged axes and interpolate with NumPy's own formula (the lerp that
is exact at both ends), because ``torch.quantile`` stops at 2^24 elements, knows neither integers
nor float16, and has no kernel on Atlas A2 as documented. Places come from
:mod:`daskasc._levels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc._levels import METHODS, PICKS, WHOLE, neighbours, picked, precise
from daskasc.array._dispatch import NeedsHost, implements, is_array, target_of
from daskasc.array._dtypes import (
    COMPLEX,
    FLOATS,
    NUMPY,
    cast,
    promote,
    result,
    sortable,
    torch,
    torch_dtype,
    unsortable,
)
from daskasc.array._nan_reductions import nanmean
from daskasc.array._operators import check_output
from daskasc.array._reductions import NO, Axes, finish
from daskasc.array._selection import check_taken
from daskasc.array._storage import tensor_of


def _float_dtype(dtype: Any) -> Any:
    if dtype in FLOATS:
        return dtype
    return torch_dtype(result(np.dtype("f8")))


def _levels(q: Any, scale: float) -> np.ndarray[Any, Any]:
    """Quantile levels in [0, 1], as a NumPy array of NumPy's dtype."""
    levels = np.asarray(q.asnumpy() if hasattr(q, "asnumpy") else q)
    if levels.dtype.kind not in "biuf":
        raise NeedsHost("levels that are no real numbers")
    if levels.ndim > 2:
        raise ValueError(f"q must be a scalar, 1-d or 2-d; it has {levels.ndim} axes")
    if scale != 1:
        levels = np.asarray(np.true_divide(levels, scale))
    if not bool(((levels >= 0) & (levels <= 1)).all()):
        limit = "[0, 100]" if scale == 100 else "[0, 1]"
        name = "Percentiles" if scale == 100 else "Quantiles"
        raise ValueError(f"{name} must be in the range {limit}")
    return levels


def _lerp(low: Any, high: Any, weight: Any, rest: Any, beyond: Any, dtype: Any) -> Any:
    """NumPy's interpolation in `dtype`: exact at both ends and monotonic.

    `weight` is that of the higher value, `rest` its complement to 1, and `beyond` whether the
    higher value is the nearer one.
    """
    step = (high - low).to(dtype)
    low, high = low.to(dtype), high.to(dtype)
    return torch.where(beyond, high - step * rest, low + step * weight)


def _weak(q: Any) -> bool:
    return type(q) in (int, float)


def _result_dtype(dtype: Any, q: Any, levels: np.ndarray[Any, Any], method: str) -> Any:
    """Torch dtype of interpolated quantiles of elements of torch dtype `dtype`."""
    if _weak(q):
        return _float_dtype(dtype)
    theirs = levels.dtype
    if theirs.kind != "f" and method not in WHOLE:
        theirs = np.dtype("f8")
    elif theirs.kind == "b":
        theirs = np.dtype("i8")
    return torch_dtype(result(promote(NUMPY[dtype], theirs)))


def _quantile(
    a: Any, q: Any, axis: Any, out: Any, keepdims: Any, scale: float, skip_nan: bool, method: str
) -> Any:
    tensor = tensor_of(a)
    if tensor.dtype in COMPLEX:
        raise TypeError("a must be an array of real numbers")
    levels = _levels(q, scale)
    if skip_nan and not tensor.numel():  # as NumPy, which leaves the axes of q out
        return _mean_of_nothing(a, axis, out, keepdims)
    axes = Axes(axis, tensor.ndim, keepdims)
    # levels 0 and 1 as integers are places already
    picks = method in PICKS or (method == "linear" and levels.dtype.kind != "f")
    if tensor.dtype is torch.bool and not picks:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    values = axes.merged(tensor)
    values = unsortable(torch.sort(sortable(values), dim=-1).values, tensor.dtype)
    given = tensor.dtype if picks else _result_dtype(tensor.dtype, q, levels, method)
    if not picks and tensor.dtype not in FLOATS:
        values = cast(values, given)
    if not values.shape[-1]:
        raise IndexError("a quantile needs at least one value along its axes; found none")
    nan = torch.isnan(values)
    one = _at_level_of_numbers if skip_nan else _at_level
    chosen = "lower" if picks and method == "linear" else method
    found = [one(values, nan, q, given, chosen) for q in precise(levels, values.shape[-1])]
    if out is not None and not skip_nan:
        if picks:
            check_taken("quantile", given, out)
        else:
            check_output("add", NUMPY[given], target_of(out).dtype)
    parts = [axes.unmerged(part) for part in found]
    if levels.ndim == 0:
        return finish(parts[0], out)
    shape = (*levels.shape, *axes.kept(tensor))
    if not parts:
        return finish(torch.empty(shape, dtype=given, device=tensor.device), out)
    return finish(torch.stack(parts).reshape(shape), out)


def _at_level(values: Any, nan: Any, level: np.floating[Any], given: Any, method: str) -> Any:
    """One quantile of sorted values along the last axis, in torch dtype `given`."""
    n = values.shape[-1]
    # sorted: one NaN anywhere is the last element
    if method in PICKS:
        place = int(picked(method, n, n - 1, level, np))
        found = values[..., min(max(place, 0), n - 1)]
    else:
        first, second, weight = neighbours(method, n, n - 1, level, np)
        rest = 1 - weight
        one, other, beyond = (
            torch.full((), float(part), dtype=given, device=values.device)
            for part in (weight, rest, weight >= 0.5)
        )
        low, high = values[..., int(first)], values[..., int(second)]
        found = _lerp(low, high, one, other, beyond != 0, given)
    return torch.where(nan[..., -1], values[..., -1].to(given), found)


def _at_level_of_numbers(
    values: Any, nan: Any, level: np.floating[Any], given: Any, method: str
) -> Any:
    """The same of those values that are numbers, whose count differs from row to row."""
    count = (~nan).sum(-1, keepdim=True)
    last = (count - 1).clamp(min=0)
    working = torch_dtype(level.dtype)
    n, less = count.to(working), last.to(working)

    def element(place: Any) -> Any:
        return values.gather(-1, torch.minimum(place.to(torch.int64).clamp(min=0), last))

    if method in PICKS:
        return element(picked(method, n, less, float(level), torch)).squeeze(-1)
    first, second, weight = neighbours(method, n, less, level, torch)
    rest = (1 - weight).to(given)
    found = _lerp(element(first), element(second), weight.to(given), rest, weight >= 0.5, given)
    return found.squeeze(-1)


def _check_method(method: str, weights: Any) -> None:
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; allowed: {', '.join(sorted(METHODS))}")
    if weights is not None:
        raise NeedsHost("weighted quantile")


@implements(np.percentile)
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """As :func:`numpy.percentile`; with weights on the host."""
    _check_method(method, weights)
    return _quantile(a, q, axis, out, keepdims, 100, False, method)


@implements(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """As :func:`numpy.quantile`; with weights on the host."""
    _check_method(method, weights)
    return _quantile(a, q, axis, out, keepdims, 1, False, method)


@implements(np.nanpercentile)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NO,
    *,
    weights: Any = None,
) -> Any:
    """As :func:`numpy.nanpercentile`; with weights on the host."""
    _check_method(method, weights)
    return _quantile(a, q, axis, out, keepdims, 100, True, method)


@implements(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NO,
    *,
    weights: Any = None,
) -> Any:
    """As :func:`numpy.nanquantile`; with weights on the host."""
    _check_method(method, weights)
    return _quantile(a, q, axis, out, keepdims, 1, True, method)


def _mean_of_nothing(a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    """What NumPy gives without elements; axes in a list, as dask has them, fit here too."""
    return nanmean(a, tuple(axis) if isinstance(axis, list) else axis, None, out, keepdims)


def _median(a: Any, axis: Any, out: Any, keepdims: Any, skip_nan: bool) -> Any:
    tensor = tensor_of(a)
    if skip_nan and not tensor.numel():
        return _mean_of_nothing(a, axis, out, keepdims)
    if tensor.dtype in COMPLEX:
        raise NeedsHost("complex order")
    axes = Axes(axis, tensor.ndim, keepdims)
    if not axes.axes and not tensor.numel():
        raise ValueError("axis is (); the median of an array without elements needs one")
    values = axes.merged(tensor)
    values = unsortable(torch.sort(sortable(values), dim=-1).values, tensor.dtype)
    given = _float_dtype(tensor.dtype)
    if is_array(out) and not skip_nan:
        given = torch_dtype(promote(NUMPY[given], out.dtype))
    inner = torch.float32 if given in (torch.float16, torch.bfloat16) else given
    values = cast(values, inner)
    length = values.shape[-1]
    if not length:
        undefined = complex("nan+nanj") if given in COMPLEX else float("nan")
        nothing = torch.full(values.shape[:-1], undefined, dtype=given, device=tensor.device)
        return finish(axes.unmerged(nothing), out)
    nan = torch.isnan(values)
    if skip_nan:
        count = (~nan).sum(-1, keepdim=True)
        low = values.gather(-1, ((count - 1).clamp(min=0)) // 2)
        high = values.gather(-1, torch.minimum(count // 2, torch.full_like(count, length - 1)))
        low, high = low.squeeze(-1), high.squeeze(-1)
        found = torch.where((count % 2 == 1).squeeze(-1), low, _mean_of_two(low, high))
        found = torch.where((count == 0).squeeze(-1), values[..., 0], found)
    else:
        low, high = values[..., (length - 1) // 2], values[..., length // 2]
        found = low if length % 2 else _mean_of_two(low, high)
        found = torch.where(nan[..., -1], values[..., -1], found)
    # the mean of one or two values is a sum, of which none is -0.0
    return finish(axes.unmerged(cast(found + 0, given)), out)


def _mean_of_two(low: Any, high: Any) -> Any:
    return (low + high) / 2


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """As :func:`numpy.median`."""
    return _median(a, axis, out, keepdims, False)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = NO
) -> Any:
    """As :func:`numpy.nanmedian`."""
    return _median(a, axis, out, keepdims, True)

"""Sorting, and order statistics computed from sorted values.

NaN sorts last, as in NumPy. Quantiles sort once along the merged axes and interpolate with NumPy's
own formula (the lerp that is exact at both ends), because ``torch.quantile`` stops at 2^24
elements, knows neither integers nor float16, and has no kernel on Atlas A2 as documented.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array import _complex
from daskasc.array._dispatch import NeedsHost, implements, require
from daskasc.array._dtypes import (
    COMPLEX,
    FLOATS,
    NUMPY,
    cast,
    result,
    sortable,
    torch,
    torch_dtype,
    unsortable,
)
from daskasc.array._reductions import NO, Axes, finish, normalize_axis
from daskasc.array._storage import tensor_of, wrap


def _along(a: Any, axis: Any) -> tuple[Any, int]:
    tensor = tensor_of(a)
    if axis is None:
        return tensor.reshape(-1), 0
    return tensor, normalize_axis(axis, tensor.ndim)


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """As :func:`numpy.sort`."""
    tensor, number = _along(a, axis)
    require("sort", tensor)
    if tensor.dtype in COMPLEX:
        places = torch.sort(_complex.ranks(tensor), dim=number, stable=True).indices
        return wrap(tensor.gather(number, places))
    values = torch.sort(sortable(tensor), dim=number, stable=True).values
    return wrap(unsortable(values, tensor.dtype))


@implements(np.argsort)
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """As :func:`numpy.argsort`, always stable."""
    tensor, number = _along(a, axis)
    require("argsort", tensor)
    keys = _complex.ranks(tensor) if tensor.dtype in COMPLEX else sortable(tensor)
    return wrap(torch.sort(keys, dim=number, stable=True).indices)


@implements(np.partition)
def partition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """As :func:`numpy.partition`; sorts, which is a partition for every `kth`."""
    return sort(a, axis)


@implements(np.argpartition)
def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """As :func:`numpy.argpartition`; sorts, which is a partition for every `kth`."""
    return argsort(a, axis)


# -- quantiles


def _float_dtype(dtype: Any) -> Any:
    if dtype in FLOATS:
        return dtype
    return torch_dtype(result(np.dtype("f8")))


def _levels(q: Any, scale: float, tensor_dtype: Any) -> np.ndarray[Any, Any]:
    """Quantile levels in [0, 1], as a NumPy array of NumPy's dtype."""
    host = np.asarray(q.asnumpy() if hasattr(q, "asnumpy") else q)
    weak = type(q) in (int, float)
    real = NUMPY[tensor_dtype]
    if weak and tensor_dtype in (torch.float32, torch.float16, torch.bfloat16):
        host = host.astype(np.float32 if real.name == "bfloat16" else real)
    elif host.dtype.kind != "f":
        host = host.astype(np.float64)
    levels = host / host.dtype.type(scale)
    if not bool(((levels >= 0) & (levels <= 1)).all()):
        limit = "[0, 100]" if scale == 100 else "[0, 1]"
        name = "Percentiles" if scale == 100 else "Quantiles"
        raise ValueError(f"{name} must be in the range {limit}")
    return levels


def _lerp(low: Any, high: Any, weight: Any) -> Any:
    """NumPy's interpolation: exact at both ends and monotonic; in the dtype of `weight`."""
    step = (high - low).to(weight.dtype)
    low, high = low.to(weight.dtype), high.to(weight.dtype)
    return torch.where(weight >= 0.5, high - step * (1 - weight), low + step * weight)


# methods that pick one element, by the rounding of its place; "midpoint" is between two
_PICKS: dict[str, tuple[Any, Any]] = {
    "lower": (np.floor, torch.floor),
    "higher": (np.ceil, torch.ceil),
    "nearest": (np.around, torch.round),
}


def _quantile(
    a: Any, q: Any, axis: Any, out: Any, keepdims: Any, scale: float, skip_nan: bool, method: str
) -> Any:
    tensor = tensor_of(a)
    if tensor.dtype in COMPLEX:
        raise TypeError("a must be an array of real numbers")
    levels = _levels(q, scale, _float_dtype(tensor.dtype))
    axes = Axes(axis, tensor.ndim, keepdims)
    values = axes.merged(tensor)
    require("sort", values)
    values = unsortable(torch.sort(sortable(values), dim=-1).values, tensor.dtype)
    given = _float_dtype(tensor.dtype)
    if levels.dtype == np.float64 and type(q) not in (int, float):
        # strong float64 levels make NumPy's result float64
        given = torch_dtype(result(np.dtype("f8")))
    if method in _PICKS:
        given = tensor.dtype
    elif tensor.dtype not in FLOATS:
        values = cast(values, given)
    if not values.shape[-1]:
        if method in _PICKS:
            raise NeedsHost("quantile of nothing")
        empty = torch.full(values.shape[:-1], float("nan"), dtype=given, device=values.device)
        found = [empty] * levels.size
    else:
        nan = torch.isnan(values)
        found = [
            cast(_at_level(values, nan, level, given, skip_nan, method), given)
            for level in levels.reshape(-1)
        ]
    parts = [axes.unmerged(part) for part in found]
    if levels.ndim == 0:
        return finish(parts[0], out)
    shape = (*levels.shape, *(parts[0].shape if parts else _kept(tensor, axes)))
    if not parts:
        return finish(torch.empty(shape, dtype=given, device=tensor.device), out)
    return finish(torch.stack(parts).reshape(shape), out)


def _kept(tensor: Any, axes: Axes) -> list[int]:
    if axes.keepdims:
        return [1 if i in axes.axes else n for i, n in enumerate(tensor.shape)]
    return [n for i, n in enumerate(tensor.shape) if i not in axes.axes]


def _at_level(
    values: Any, nan: Any, level: np.floating[Any], given: Any, skip_nan: bool, method: str
) -> Any:
    """One quantile of sorted values along the last axis, in torch dtype `given`."""
    if skip_nan:
        return _at_level_of_numbers(values, nan, float(level), given, method)
    place = level * np.asarray(values.shape[-1] - 1, level.dtype)
    if method in _PICKS:
        found = values[..., int(_PICKS[method][0](place))]
    else:
        if method == "midpoint":
            place = 0.5 * (np.floor(place) + np.ceil(place))
        low = int(np.floor(place))
        high = min(low + 1, values.shape[-1] - 1)
        weight = torch.full((), float(place - low), dtype=given, device=values.device)
        found = _lerp(values[..., low], values[..., high], weight)
    # sorted: one NaN anywhere is the last element
    return torch.where(nan[..., -1], values[..., -1].to(given), found)


def _at_level_of_numbers(values: Any, nan: Any, level: float, given: Any, method: str) -> Any:
    last = ((~nan).sum(-1, keepdim=True) - 1).clamp(min=0)
    place = last.to(torch.float64) * level
    if method in _PICKS:
        return values.gather(-1, _PICKS[method][1](place).to(torch.int64)).squeeze(-1)
    if method == "midpoint":
        place = 0.5 * (torch.floor(place) + torch.ceil(place))
    low = torch.floor(place).to(torch.int64)
    high = torch.minimum(low + 1, last)
    weight = (place - low).to(given)
    return _lerp(values.gather(-1, low), values.gather(-1, high), weight).squeeze(-1)


def _check_method(method: str, weights: Any) -> None:
    known = method in ("linear", "midpoint") or method in _PICKS
    if not known or weights is not None:
        raise NeedsHost("quantile method")


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
    """As :func:`numpy.percentile`; the rarer methods go to the host."""
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
    """As :func:`numpy.quantile`; the rarer methods go to the host."""
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
    """As :func:`numpy.nanpercentile`; the rarer methods go to the host."""
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
    """As :func:`numpy.nanquantile`; the rarer methods go to the host."""
    _check_method(method, weights)
    return _quantile(a, q, axis, out, keepdims, 1, True, method)


def _median(a: Any, axis: Any, out: Any, keepdims: Any, skip_nan: bool) -> Any:
    tensor = tensor_of(a)
    if tensor.dtype in COMPLEX:
        raise NeedsHost("complex order")
    axes = Axes(axis, tensor.ndim, keepdims)
    values = axes.merged(tensor)
    require("sort", values)
    values = unsortable(torch.sort(sortable(values), dim=-1).values, tensor.dtype)
    given = _float_dtype(tensor.dtype)
    inner = torch.float32 if given in (torch.float16, torch.bfloat16) else given
    values = cast(values, inner)
    length = values.shape[-1]
    if not length:
        nothing = torch.full(values.shape[:-1], float("nan"), dtype=given, device=tensor.device)
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
    return finish(axes.unmerged(cast(found, given)), out)


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

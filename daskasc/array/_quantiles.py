"""Order statistics computed from sorted values: medians, quantiles, percentiles.

Quantiles sort once along the merged axes and interpolate with NumPy's own formula (the lerp that
is exact at both ends), because ``torch.quantile`` stops at 2^24 elements, knows neither integers
nor float16, and has no kernel on Atlas A2 as documented.

Every method gives a place among the n sorted values, from 0 to n - 1, mostly between two of them
(Hyndman and Fan, Sample quantiles in statistical packages, 1996)::

    linear        (n - 1) q                  inverted_cdf            ceil(n q) - 1
    alpha, beta   n q + alpha - 1            averaged_inverted_cdf   n q - 1, halfway from a whole
                  + q (1 - alpha - beta)     closest_observation     n q - 1 rounded, to odd at .5
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._dispatch import NeedsHost, implements, is_array, require
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
from daskasc.array._reductions import NO, Axes, finish
from daskasc.array._storage import tensor_of


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


# methods that pick one element; the others interpolate between two
_PICKS = frozenset(("lower", "higher", "nearest", "inverted_cdf", "closest_observation"))
_ALPHA_BETA = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
_METHODS = _PICKS | _ALPHA_BETA.keys() | {"linear", "midpoint", "averaged_inverted_cdf"}


def _place(method: str, n: Any, level: Any, xp: Any) -> tuple[Any, Any]:
    """Whole part of the place of a quantile, and the weight of the next value; unclipped.

    `xp` is NumPy for a number of values, or torch for a tensor of numbers.
    """
    if method in _ALPHA_BETA:
        alpha, beta = _ALPHA_BETA[method]
        place = n * level + (alpha + level * (1 - alpha - beta)) - 1
    elif method in ("inverted_cdf", "averaged_inverted_cdf"):
        place = n * level - 1
    elif method == "closest_observation":
        place = n * level - 1 - 0.5
    else:
        place = (n - 1) * level
    low = xp.floor(place)
    weight = place - low
    if method == "lower":
        weight = weight * 0
    elif method in ("higher", "inverted_cdf"):
        weight = xp.where(weight == 0, weight, weight * 0 + 1)
    elif method == "nearest":
        weight = xp.round(place) - low
    elif method == "midpoint":
        weight = xp.where(weight == 0, weight, weight * 0 + 0.5)
    elif method == "averaged_inverted_cdf":
        weight = xp.where(weight == 0, weight * 0 + 0.5, weight * 0 + 1)
    elif method == "closest_observation":
        weight = xp.where((weight == 0) & (low % 2 == 1), weight * 0, weight * 0 + 1)
    return low, weight


def _quantile(
    a: Any, q: Any, axis: Any, out: Any, keepdims: Any, scale: float, skip_nan: bool, method: str
) -> Any:
    tensor = tensor_of(a)
    if tensor.dtype in COMPLEX:
        raise TypeError("a must be an array of real numbers")
    levels = _levels(q, scale, _float_dtype(tensor.dtype))
    axes = Axes(axis, tensor.ndim, keepdims)
    if tensor.dtype is torch.bool and method not in _PICKS:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
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
        if not skip_nan:
            raise IndexError("a quantile needs at least one value along its axes; found none")
        given = _float_dtype(tensor.dtype)
        empty = torch.full(values.shape[:-1], float("nan"), dtype=given, device=values.device)
        found = [empty] * levels.size
    else:
        nan = torch.isnan(values)
        one = _at_level_of_numbers if skip_nan else _at_level
        found = [cast(one(values, nan, q, given, method), given) for q in levels.reshape(-1)]
    parts = [axes.unmerged(part) for part in found]
    if levels.ndim == 0:
        return finish(parts[0], out)
    shape = (*levels.shape, *axes.kept(tensor))
    if not parts:
        return finish(torch.empty(shape, dtype=given, device=tensor.device), out)
    return finish(torch.stack(parts).reshape(shape), out)


def _at_level(values: Any, nan: Any, level: np.floating[Any], given: Any, method: str) -> Any:
    """One quantile of sorted values along the last axis, in torch dtype `given`."""
    last = values.shape[-1] - 1
    low, weight = _place(method, np.asarray(last + 1, level.dtype), level, np)
    first, second = (values[..., int(min(max(low + i, 0), last))] for i in (0, 1))
    if method in _PICKS:
        found = second if weight else first
    else:
        factor = torch.full((), float(weight), dtype=given, device=values.device)
        found = _lerp(first, second, factor)
    # sorted: one NaN anywhere is the last element
    return torch.where(nan[..., -1], values[..., -1].to(given), found)


def _at_level_of_numbers(
    values: Any, nan: Any, level: np.floating[Any], given: Any, method: str
) -> Any:
    """The same of those values that are numbers, whose count differs from row to row."""
    count = (~nan).sum(-1, keepdim=True)
    low, weight = _place(method, count.to(torch.float64), float(level), torch)
    last = (count - 1).clamp(min=0)
    places = [torch.minimum((low.to(torch.int64) + i).clamp(min=0), last) for i in (0, 1)]
    if method in _PICKS:
        return values.gather(-1, torch.where(weight > 0, places[1], places[0])).squeeze(-1)
    first, second = (values.gather(-1, place) for place in places)
    return _lerp(first, second, weight.to(given)).squeeze(-1)


def _check_method(method: str, weights: Any) -> None:
    if method not in _METHODS:
        raise ValueError(f"method is {method!r}; allowed: {', '.join(sorted(_METHODS))}")
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


def _median(a: Any, axis: Any, out: Any, keepdims: Any, skip_nan: bool) -> Any:
    tensor = tensor_of(a)
    if tensor.dtype in COMPLEX:
        raise NeedsHost("complex order")
    axes = Axes(axis, tensor.ndim, keepdims)
    values = axes.merged(tensor)
    require("sort", values)
    values = unsortable(torch.sort(sortable(values), dim=-1).values, tensor.dtype)
    given = _float_dtype(tensor.dtype)
    if is_array(out) and not skip_nan:
        given = torch_dtype(promote(NUMPY[given], out.dtype))
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

"""Functions computed elementwise, or from neighbours: clip, round, diff, pad and others."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array import _shaping as shaping
from daskasc.array._dispatch import NeedsHost, implements, into, is_array
from daskasc.array._dtypes import COMPLEX, NUMPY, cast, is_float, torch, torch_dtype
from daskasc.array._reductions import NO, normalize_axis
from daskasc.array._selection import searchsorted
from daskasc.array._shaping import moved
from daskasc.array._sorting import sort
from daskasc.array._storage import tensor_of, wrap


def _apply(ufunc: np.ufunc, *operands: Any) -> Any:
    return _operators.apply(ufunc, operands)


@implements(np.clip)
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
    if kwargs.keys() - {"dtype", "casting"}:
        raise NeedsHost("clip arguments")
    low = min if a_min is NO else a_min
    high = max if a_max is NO else a_max
    array = wrap(tensor_of(a))
    result = array
    if low is not None and low is not NO:
        result = _bounded(np.maximum, result, low)
    if high is not None and high is not NO:
        result = _bounded(np.minimum, result, high)
    if result is array:
        result = array.copy()
    if kwargs.get("dtype") is not None:
        result = result.astype(kwargs["dtype"])
    return result if out is None else into(out, result)


def _bounded(ufunc: np.ufunc, array: Any, bound: Any) -> Any:
    if type(bound) is int and array.dtype.kind in "iu":
        # NumPy lets integer bounds lie outside of the dtype: they bound nothing, or everything
        limits = np.iinfo(array.dtype)
        outside = bound < limits.min if ufunc is np.maximum else bound > limits.max
        if outside:
            return array
    return _apply(ufunc, array, bound)


@implements(np.round, np.around)
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """As :func:`numpy.round`."""
    array = wrap(tensor_of(a))
    if array.dtype.kind in "iub":
        if array.dtype.kind == "b":
            raise NeedsHost("round of bool")
        if decimals < 0:
            raise NeedsHost("round of integers")
        result = array.copy()
    elif array.dtype.kind == "c":
        raise NeedsHost("round of complex")
    elif not decimals:
        result = _apply(np.rint, array)
    else:
        # NumPy's way: scale, round to even, scale back
        power = 10.0 ** abs(decimals)
        if decimals > 0:
            result = _apply(np.rint, array * power) / power
        else:
            result = _apply(np.rint, array / power) * power
    return result if out is None else into(out, result)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """As :func:`numpy.fix`."""
    result = _apply(np.trunc, x)
    return result if out is None else into(out, result)


@implements(np.real)
def real(val: Any) -> Any:
    """As :func:`numpy.real`."""
    return wrap(tensor_of(val)).real


@implements(np.imag)
def imag(val: Any) -> Any:
    """As :func:`numpy.imag`."""
    return wrap(tensor_of(val)).imag


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """As :func:`numpy.angle`."""
    array = wrap(tensor_of(z))
    result = _apply(np.arctan2, array.imag, array.real)
    return result * (180 / math.pi) if deg else result


@implements(np.isreal)
def isreal(x: Any) -> Any:
    """As :func:`numpy.isreal`."""
    return wrap(tensor_of(x)).imag == 0


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    """As :func:`numpy.iscomplex`."""
    return wrap(tensor_of(x)).imag != 0


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    """As :func:`numpy.isposinf`."""
    result = wrap(tensor_of(x)) == math.inf
    return result if out is None else into(out, result)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    """As :func:`numpy.isneginf`."""
    result = wrap(tensor_of(x)) == -math.inf
    return result if out is None else into(out, result)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """As :func:`numpy.sinc`."""
    tensor = tensor_of(x)
    if tensor.dtype in COMPLEX:
        raise NeedsHost("complex sinc")
    array = wrap(tensor if is_float(tensor) else cast(tensor, torch_dtype("f8")))
    y = array * math.pi
    filled = wrap(torch.where(y._t == 0, torch.full_like(y._t, math.pi * 1e-20), y._t))
    return _apply(np.sin, filled) / filled


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """As :func:`numpy.nan_to_num`."""
    tensor = tensor_of(x)
    if tensor.dtype in COMPLEX or is_array(nan) or is_array(posinf) or is_array(neginf):
        raise NeedsHost("nan_to_num")
    if not is_float(tensor):
        return wrap(tensor.clone()) if copy else x
    result = wrap(torch.nan_to_num(tensor, nan=float(nan), posinf=posinf, neginf=neginf))
    return result if copy or not is_array(x) else into(x, result)


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NO, append: Any = NO) -> Any:
    """As :func:`numpy.diff`."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    array = wrap(tensor_of(a))
    if not n:
        return array
    if not array.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    number = normalize_axis(axis, array.ndim)
    parts = [array]
    for at, extra in ((0, prepend), (len(parts) + 1, append)):
        if extra is not NO:
            tensor = tensor_of(extra)
            if not tensor.ndim:
                shape = [1 if i == number else m for i, m in enumerate(array.shape)]
                tensor = tensor.expand(shape)
            parts.insert(at, wrap(tensor))
    if len(parts) > 1:
        array = shaping.concatenate(parts, number)
    ufunc = np.not_equal if array.dtype == np.bool_ else np.subtract
    whole = (slice(None),) * number
    later, earlier = (*whole, slice(1, None)), (*whole, slice(None, -1))
    for _ in range(n):
        array = _apply(ufunc, array[later], array[earlier])
    return array


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """As :func:`numpy.ediff1d`."""
    steps = diff(shaping.ravel(ary))
    before = [] if to_begin is None else [shaping.ravel(wrap(tensor_of(to_begin, steps._t.dtype)))]
    after = [] if to_end is None else [shaping.ravel(wrap(tensor_of(to_end, steps._t.dtype)))]
    return shaping.concatenate([*before, steps, *after])


# -- padding


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """As :func:`numpy.pad` for constant, edge, reflect, symmetric and wrap."""
    tensor = tensor_of(array)
    if isinstance(pad_width, dict) or kwargs.get("reflect_type", "even") != "even":
        raise NeedsHost("pad arguments")
    widths = _pairs(pad_width, tensor.ndim)
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError("index can't contain negative values")
    if mode == "constant":
        values = _pairs(kwargs.get("constant_values", 0), tensor.ndim, tensor)
        return wrap(_pad_constant(tensor, widths, values))
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise NeedsHost("pad mode")
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        if not tensor.shape[axis]:
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
        # NumPy pads the axis numbers; the same elements are then taken on the card
        places = np.pad(np.arange(tensor.shape[axis]), (before, after), mode=mode)
        index = torch.from_numpy(places).to(tensor.device)
        tensor = moved(tensor, functools.partial(torch.index_select, dim=axis, index=index))
    return wrap(tensor)


def _pairs(value: Any, ndim: int, like: Any = None) -> list[Any]:
    if is_array(value):
        value = value.asnumpy()
    host = np.asarray(value)
    if like is None and host.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    return [tuple(pair) for pair in np.broadcast_to(host, (ndim, 2)).tolist()]


def _pad_constant(tensor: Any, widths: list[Any], values: list[Any]) -> Any:
    for axis in range(tensor.ndim):
        parts = [tensor]
        for at, (count, value) in enumerate(zip(widths[axis], values[axis], strict=True)):
            if not count:
                continue
            shape = list(tensor.shape)
            shape[axis] = count
            fill = torch.from_numpy(np.asarray(value).astype(_plain(tensor.dtype)))
            block = cast(fill.to(tensor.device), tensor.dtype).expand(shape)
            parts.insert(0 if at == 0 else len(parts), block)
        if len(parts) > 1:
            tensor = torch.cat(parts, dim=axis)
    return tensor


def _plain(dtype: Any) -> Any:
    numpy_dtype = NUMPY[dtype]
    return np.dtype("f4") if numpy_dtype.kind == "V" else numpy_dtype


# -- counting


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """As :func:`numpy.bincount`."""
    tensor = tensor_of(x)
    if tensor.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.uint64:
        raise TypeError(f"Cannot cast array data from {NUMPY[tensor.dtype]!r} to dtype('int64')")
    values = tensor.to(torch.int64)
    if values.numel() and int(values.amin()) < 0:
        raise ValueError("'list' argument must have no negative elements")
    if weights is None:
        return wrap(torch.bincount(values, minlength=int(minlength)))
    factors = tensor_of(weights, torch.float64)
    return wrap(torch.bincount(values, weights=factors, minlength=int(minlength)))


@implements(np.histogram)
def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """As :func:`numpy.histogram` for given edges, or a number of bins over a given range."""
    values = tensor_of(a)
    if not is_array(bins) and isinstance(bins, int | np.integer) and range is not None:
        low, high = (float(edge) for edge in range)
        edges = np.histogram_bin_edges(np.empty(0, _plain(values.dtype)), int(bins), (low, high))
    elif is_array(bins) or isinstance(bins, list | tuple | np.ndarray):
        edges = bins.asnumpy() if is_array(bins) else np.asarray(bins)
    else:
        raise NeedsHost("automatic bins")
    if density or edges.ndim != 1 or values.dtype in COMPLEX or edges.dtype.kind not in "fiu":
        raise NeedsHost("histogram")
    if bool((edges[1:] < edges[:-1]).any()):
        raise ValueError("`bins` must increase monotonically, when an array")
    below = _count_below(values, edges)
    bounds = tensor_of(edges)
    if weights is None:
        counts = below[1:] - below[:-1]
        return wrap(counts), wrap(bounds)
    raise NeedsHost("weighted histogram")


def _count_below(values: Any, edges: np.ndarray[Any, Any]) -> Any:
    """Elements below each edge; at or below the last one, whose bin is closed."""
    ordered = sort(wrap(values.reshape(-1)))
    below = searchsorted(ordered, edges, "left")._t.clone()
    if below.numel():
        below[-1] = searchsorted(ordered, edges[-1:], "right")._t[0]
    return below

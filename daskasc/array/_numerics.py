"""Functions computed elementwise, or from neighbours: clip, round, diff, pad and others."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array import _shaping as shaping
from daskasc.array._dispatch import NeedsHost, implements, is_array
from daskasc.array._dtypes import NUMPY, cast, promote, torch, torch_dtype
from daskasc.array._dtypes import result as result_dtype
from daskasc.array._reductions import NO, normalize_axis
from daskasc.array._shaping import moved
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import check_safe, value_for


def _apply(ufunc: np.ufunc, *operands: Any) -> Any:
    return _operators.apply(ufunc, operands)


_WEAK = (int, float, complex)


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
    # the bounds' dtypes count together, as in NumPy: a weak one is converted last
    strong = [b for b in (low, high) if b is not None and b is not NO and type(b) not in _WEAK]
    if strong:
        dtype = promote(array.dtype, *(NUMPY[tensor_of(b).dtype] for b in strong))
        array = wrap(cast(array._t, torch_dtype(dtype)))
    weak = [b for b in (low, high) if type(b) in (float, complex)]
    if weak and array.dtype.kind in "biu":
        array = wrap(cast(array._t, torch_dtype(result_dtype(np.result_type(array.dtype, *weak)))))
    result = array
    if low is not None and low is not NO:
        result = _bounded(np.maximum, result, low)
    if high is not None and high is not NO:
        result = _bounded(np.minimum, result, high)
    if (low is None or low is NO) and (high is None or high is NO):
        result = _apply(np.positive, array)  # which bool has not
    elif result is array:
        result = array.copy()
    if kwargs.get("dtype") is not None:
        result = result.astype(kwargs["dtype"])
    return _operators.stored("clip", result, out, kwargs.get("casting", "same_kind"))


def _bounded(ufunc: np.ufunc, array: Any, bound: Any) -> Any:
    if type(bound) is int and array.dtype.kind in "iu":
        # NumPy lets integer bounds lie outside of the dtype: they bound nothing, or everything
        limits = np.iinfo(array.dtype)
        outside = bound < limits.min if ufunc is np.maximum else bound > limits.max
        if outside:
            return array
    return _apply(ufunc, array, bound)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """As :func:`numpy.fix`."""
    return _operators.stored("trunc", _apply(np.trunc, x), out)


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
    zero_or_imag = array.imag if array.dtype.kind == "c" else 0
    result = _apply(np.arctan2, zero_or_imag, array.real)
    return result * (180 / math.pi) if deg else result


@implements(np.isreal)
def isreal(x: Any) -> Any:
    """As :func:`numpy.isreal`."""
    return wrap(tensor_of(x)).imag == 0


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    """As :func:`numpy.iscomplex`."""
    return wrap(tensor_of(x)).imag != 0


def _real(x: Any) -> Any:
    """Array of real numbers; NumPy's TypeError for complex ones."""
    array = wrap(tensor_of(x))
    if array.dtype.kind == "c":
        raise TypeError(
            f"This operation is not supported for {array.dtype} values because it would be "
            "ambiguous; ask its real and its imaginary part"
        )
    return array


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    """As :func:`numpy.isposinf`."""
    return _operators.stored("logical_and", _real(x) == math.inf, out)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    """As :func:`numpy.isneginf`."""
    return _operators.stored("logical_and", _real(x) == -math.inf, out)


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
    flat = shaping.ravel(ary)
    steps = _apply(np.subtract, flat[1:], flat[:-1])
    parts = [steps]
    for at, name, value in ((0, "to_begin", to_begin), (2, "to_end", to_end)):
        if value is None:
            continue
        end = tensor_of(value)
        if not _operators.can_cast(NUMPY[end.dtype], flat.dtype, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` "
                f"rule; found {NUMPY[end.dtype]} and {flat.dtype}"
            )
        parts.insert(at, wrap(cast(end.reshape(-1), steps._t.dtype)))
    return shaping.concatenate(parts)


# -- padding


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """As :func:`numpy.pad`; modes that are functions go to the host."""
    tensor = tensor_of(array)
    if isinstance(pad_width, dict):
        given = pad_width
        pad_width = [(0, 0)] * tensor.ndim
        for axis, width in given.items():
            pad_width[normalize_axis(axis, tensor.ndim)] = (
                width if isinstance(width, tuple) else (width, width)
            )
    if not isinstance(mode, str):
        raise NeedsHost("pad arguments")
    widths = _pairs(pad_width, tensor.ndim)
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError("index can't contain negative values")
    if mode in ("constant", "empty"):
        values = _pairs(kwargs.get("constant_values", 0), tensor.ndim, tensor)
        return wrap(_pad_constant(tensor, widths, values))
    for axis, pair in enumerate(widths):
        if not tensor.shape[axis] and any(pair):
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
    if mode in _STATISTICS or mode == "linear_ramp":
        return _pad_computed(wrap(tensor), widths, mode, kwargs)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(f"mode '{mode}' is not supported")
    if mode in ("reflect", "symmetric") and kwargs.get("reflect_type", "even") == "odd":
        for axis, pair in enumerate(widths):
            if any(pair):
                tensor = _reflect_oddly(tensor, axis, pair, mode)
        return wrap(tensor)
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        # NumPy pads the axis numbers; the same elements are then taken on the card
        chosen: Any = mode
        places = np.pad(np.arange(tensor.shape[axis]), (before, after), mode=chosen)
        index = torch.from_numpy(places).to(tensor.device)
        tensor = moved(tensor, functools.partial(torch.index_select, dim=axis, index=index))
    return wrap(tensor)


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


_STATISTICS: dict[str, Any] = {
    "maximum": np.max,
    "minimum": np.min,
    "mean": np.mean,
    "median": np.median,
}


def _pad_computed(array: Any, widths: list[Any], mode: str, kwargs: dict[str, Any]) -> Any:
    """Pad with a statistic of the elements next to each end, or with a ramp."""
    lengths = _pairs(kwargs["stat_length"], array.ndim) if kwargs.get("stat_length") else None
    ends = _pairs(kwargs.get("end_values", 0), array.ndim, array)
    for axis, pair in enumerate(widths):
        parts = [array]
        length = array.shape[axis]
        for at, count in enumerate(pair):
            if not count:
                continue
            if mode == "linear_ramp":
                block = _ramp(array, axis, at, count, ends[axis][at])
            else:
                taken = min(lengths[axis][at], length) if lengths is not None else length
                start = 0 if at == 0 else length - taken
                near = wrap(array._t.narrow(axis, start, taken))
                value = _STATISTICS[mode](near, axis=axis, keepdims=True)
                if array.dtype.kind in "iu":
                    value = np.rint(value).astype(array.dtype)
                shape = [count if i == axis else n for i, n in enumerate(array.shape)]
                block = wrap(value._t.to(array._t.dtype).expand(shape))
            parts.insert(0 if at == 0 else len(parts), block)
        if len(parts) > 1:
            array = shaping.concatenate(parts, axis)
    return array


def _ramp(array: Any, axis: int, at: int, count: int, end: Any) -> Any:
    edge = wrap(array._t.narrow(axis, 0 if at == 0 else array.shape[axis] - 1, 1))
    shape = [1] * array.ndim
    shape[axis] = -1
    steps = np.arange(count) if at == 0 else np.arange(count)[::-1]
    factor = wrap(tensor_of((steps / count).reshape(shape)))
    ramp = (edge - end) * factor + end
    if array.dtype.kind in "iu":
        ramp = np.floor(ramp)
    return ramp.astype(array.dtype)


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
            fits = value_for if isinstance(value, float) else tensor_of
            block = fits(np.asarray(value)[()], tensor.dtype).expand(shape)
            parts.insert(0 if at == 0 else len(parts), block)
        if len(parts) > 1:
            tensor = torch.cat(parts, dim=axis)
    return tensor


# -- counting


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """As :func:`numpy.bincount`."""
    tensor = tensor_of(x)
    if tensor.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if tensor.is_floating_point() or tensor.is_complex():
        raise TypeError(f"Cannot cast array data from {NUMPY[tensor.dtype]!r} to dtype('int64')")
    values = tensor.to(torch.int64)
    if values.numel() and int(values.amin()) < 0:
        raise ValueError("'list' argument must have no negative elements")
    if weights is None:
        return wrap(torch.bincount(values, minlength=int(minlength)))
    check_safe(tensor_of(weights), np.dtype("f8"))
    factors = tensor_of(weights, torch.float64)
    if factors.shape != values.shape:
        raise ValueError("The weights and list don't have the same length.")
    return wrap(torch.bincount(values, weights=factors, minlength=int(minlength)))

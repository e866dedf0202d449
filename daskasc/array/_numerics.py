"""Functions computed elementwise, or from neighbours: clip, round, diff and others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array import _complex, _operators
from daskasc.array import _shaping as shaping
from daskasc.array._dispatch import NeedsHost, implements
from daskasc.array._dtypes import NUMPY, cast, promote, torch, torch_dtype
from daskasc.array._dtypes import result as result_dtype
from daskasc.array._reductions import NO, normalize_axis
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import check_safe


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
    given = [b for b in (low, high) if b is not None and b is not NO]
    dtype = array.dtype
    if any(type(b) is complex for b in weak) and dtype.kind in "fc":
        dtype = np.result_type(dtype, 1j)
    if len(given) == 2 and dtype.kind == "c":
        kind = torch_dtype(result_dtype(dtype))
        ends = [tensor_of(b, kind).to(array._t.device) for b in given]
        tensor = _complex.bounded(cast(array._t, kind), ends[0], True)
        result = wrap(_complex.bounded(tensor, ends[1], False))
    else:
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

"""Means, variances and standard deviations, plain and weighted.

As in NumPy, means of integers are float64 and halves accumulate in float32; with ``out=`` the sum
is stored there before it is divided there. A slice without elements gives NaN, without NumPy's
RuntimeWarning where the count is known on the card only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _operators
from daskasc.array._dispatch import implements, target_of
from daskasc.array._dtypes import (
    COMPLEX,
    FLOATS,
    NUMPY,
    cast,
    promote,
    result,
    torch,
    torch_dtype,
)
from daskasc.array._reductions import (
    NO,
    Axes,
    accumulator,
    check_axes,
    check_keepdims,
    count_true,
    finish,
    listed_axes,
    mask_of,
    masked,
    normalize_axis,
    sum,
    sum_over,
)
from daskasc.array._storage import tensor_of, wrap

_HALVES = (torch.float16, torch.bfloat16)
_EXACT = 1 << 24  # integers up to it are exact in float32


def _given(value: Any) -> bool:
    return value is not None and value is not NO


def _mean_dtypes(dtype: Any, wanted: Any, out: Any) -> tuple[Any, Any]:
    """Torch dtypes in which a mean of elements of `dtype` is computed, and given."""
    if _given(wanted):
        inner = given = torch_dtype(wanted)
    elif dtype in _HALVES:
        inner, given = torch.float32, dtype
    elif dtype in FLOATS or dtype in COMPLEX:
        inner = given = dtype
        if out is not None:
            inner = accumulator(dtype, None, out)
    else:
        inner = given = torch_dtype(result(np.dtype("f8")))
    return inner, given if out is None else torch_dtype(out.dtype)


def axes_of(axis: Any, tensor: Any, keepdims: Any, where: Any) -> Axes:
    """Axes of a mean."""
    check_axes(axis)
    check_keepdims(keepdims)
    # without a mask NumPy counts along the axes, and 0-d arrays have none
    return Axes(axis, tensor.ndim, keepdims, where is not NO and where is not True)


def _count(tensor: Any, axes: Axes, where: Any) -> Any:
    """Elements that go into each result: a number, or an int64 tensor under a mask."""
    if where is NO or where is True:
        return axes.count(tensor)
    return count_true(mask_of(where, tensor).expand(tensor.shape), axes)


def _divided(total: Any, count: Any, dtype: Any) -> Any:
    """`total`, as dtype `dtype`, divided by a count; NaN (or inf) for no elements, as NumPy."""
    total = cast(total, dtype)
    if isinstance(count, torch.Tensor):
        real = torch.float64 if dtype in (torch.float64, torch.complex128) else torch.float32
        wide = total.float() if dtype in _HALVES else total
        found = wide / count.to(real if dtype in FLOATS or dtype in COMPLEX else torch.float64)
    elif dtype in FLOATS or dtype in COMPLEX:
        wide = total.float() if dtype in _HALVES else total
        if count > _EXACT and wide.dtype is torch.float32 and device.current().fast_float64:
            wide = wide.double()  # float32 does not hold the count
        found = wide / count if count else wide / torch.zeros_like(wide)
    else:
        found = total.to(torch.float64) / torch.full((), float(count), device=total.device)
    return cast(found, dtype)


def mean_over(
    tensor: Any, axes: Axes, where: Any, wanted: Any, out: Any = None, filled: bool = False
) -> Any:
    """Mean in NumPy's dtype (that of `out` if given); `filled`: 0 where the mask is False."""
    inner, given = _mean_dtypes(tensor.dtype, wanted, out)
    values = cast(tensor, inner)
    total = sum_over(values if filled else masked(values, where, 0), axes, inner)
    divided_in = given if out is not None else inner
    return cast(_divided(total, _count(tensor, axes, where), divided_in), given)


@implements(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    *,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.mean`."""
    tensor = tensor_of(a)
    target = target_of(out)
    found = mean_over(tensor, axes_of(axis, tensor, keepdims, where), where, dtype, target)
    return finish(found, target)


def var_over(
    tensor: Any, axes: Axes, wanted: Any, ddof: Any, where: Any, mean: Any, out: Any = None
) -> Any:
    """Variance by two passes, in NumPy's dtype; of halves in float32, for the caller to round."""
    inner, _ = _mean_dtypes(tensor.dtype, wanted, None)
    kept = Axes(axes.axes, axes.ndim, True)
    centre = mean_over(tensor, kept, where, NUMPY[inner]) if mean is NO else tensor_of(mean)
    common = torch_dtype(promote(NUMPY[tensor.dtype], NUMPY[centre.dtype]))
    if common is torch.bool:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    if not (common in FLOATS or common in COMPLEX or inner is torch.bool):
        common = inner
    if common in _HALVES:
        common = torch.float32
    deviation = cast(tensor, common) - cast(centre, common)
    if tensor.dtype in COMPLEX:
        squares = deviation.real**2 + deviation.imag**2
    else:
        squares = deviation.mul_(deviation)  # nobody else has it; fresh memory costs more
    if _given(wanted):
        summed = inner
    elif out is not None:
        summed = torch_dtype(promote(NUMPY[squares.dtype], out.dtype))
    else:
        summed = squares.dtype
    total = sum_over(masked(cast(squares, summed), where, 0), axes, summed)
    count = _count(tensor, axes, where)
    freedom = (count - ddof).clamp(min=0) if isinstance(count, torch.Tensor) else count - ddof
    if not isinstance(freedom, torch.Tensor):
        freedom = freedom if freedom > 0 else 0
    if out is not None:
        return _divided(total, freedom, torch_dtype(out.dtype))
    return _divided(total, freedom, summed)


def variance_dtype(dtype: Any, wanted: Any) -> Any:
    """Torch dtype of a variance of elements of `dtype`."""
    given = _mean_dtypes(dtype, wanted, None)[1]
    if dtype in COMPLEX and not _given(wanted):
        return torch.empty(0, dtype=dtype).real.dtype
    return given


@implements(np.var)
def var(
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
    """As :func:`numpy.var`."""
    found, given, target = _variance(
        a, axis, dtype, out, _freedom(ddof, correction), keepdims, where, mean
    )
    return finish(found if target is not None else cast(found, given), target)


def _variance(
    a: Any, axis: Any, dtype: Any, out: Any, freedom: Any, keepdims: Any, where: Any, mean: Any
) -> tuple[Any, Any, Any]:
    """Variance in the dtype of its computation, the dtype it is given in, and where it goes."""
    tensor, target = tensor_of(a), target_of(out)
    axes = axes_of(axis, tensor, keepdims, where)
    found = var_over(tensor, axes, dtype, freedom, where, mean, target)
    return found, variance_dtype(tensor.dtype, dtype), target


def _freedom(ddof: Any, correction: Any) -> Any:
    if correction is NO:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@implements(np.std)
def std(
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
    """As :func:`numpy.std`."""
    found, given, target = _variance(
        a, axis, dtype, out, _freedom(ddof, correction), keepdims, where, mean
    )
    if target is None and (given in FLOATS or given in COMPLEX):
        return wrap(cast(torch.sqrt(found), given))
    if target is None:
        # a dtype= of integers: NumPy converts the root of one number, and refuses arrays
        root = _operators.apply(np.sqrt, (wrap(cast(found, given)),))
        if root.ndim:
            _operators.check_output("sqrt", root.dtype, NUMPY[given])
        return root.astype(NUMPY[given])
    root = _operators.apply(np.sqrt, (finish(found, target),))
    return _operators.store(np.sqrt, root, target)


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NO
) -> Any:
    """As :func:`numpy.average`."""
    array = wrap(tensor_of(a))
    axes = Axes(axis, array.ndim, keepdims)
    if weights is None:
        found = mean(array, axis=axes.axes, keepdims=keepdims)
        count = array.size / found.size
        total = wrap(torch.full_like(found._t, count))
        return (found, total) if returned else found
    factors = _weights(wrap(tensor_of(weights)), array, axis)
    dtype = promote(array.dtype, factors.dtype)
    if array.dtype.kind in "iub":
        dtype = result(promote(dtype, np.dtype("f8")))
    total = sum(factors, dtype=dtype, axis=axes.axes, keepdims=keepdims)
    if bool((total._t == 0).any()):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    product = _operators.apply(np.multiply, (array, factors), dtype)
    summed = sum(product, axis=axes.axes, keepdims=keepdims)
    found = _operators.apply(np.true_divide, (summed, total))
    return (found, wrap(total._t.expand(found.shape).clone())) if returned else found


def _weights(factors: Any, array: Any, axis: Any) -> Any:
    """Weights in a shape that broadcasts to the array's; NumPy's errors where none does."""
    if factors.shape == array.shape:
        return factors
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = [normalize_axis(i, array.ndim) for i in listed_axes(axis)]
    if factors.shape != tuple(array.shape[i] for i in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    # weights come in the order in which the axes were named
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = [n if i in axes else 1 for i, n in enumerate(array.shape)]
    return wrap(factors._t.permute(order).reshape(shape))

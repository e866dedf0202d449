"""Reductions: sum, prod, min, max, any, all, mean, var, std, counts and arg-reductions.

Every reduction normalises its axes once (:class:`Axes`): None, an integer or a tuple become a
sorted tuple of axes; the empty tuple means "no axis", where torch would take all. Then ``where``
replaces elements by the identity, the operator runs over the axes, ``initial`` is combined, and
the result goes to ``out`` if given. Result dtypes are NumPy's: small integers add up in 64 bits,
means of integers are float64, halves accumulate in float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array import _complex, _operators
from daskasc.array._dispatch import implements, into, require
from daskasc.array._dtypes import (
    COMPLEX,
    FLOATS,
    NUMPY,
    TWINS,
    UNSIGNED,
    cast,
    is_float,
    result,
    sortable,
    torch,
    torch_dtype,
    twin,
    unsortable,
)
from daskasc.array._storage import tensor_of, wrap

NO = np._NoValue


class Axes:
    """Axes of one reduction.

    Attributes
    ----------
    axes : tuple of int
        Sorted and non-negative.
    keepdims : bool
    """

    __slots__ = ("axes", "keepdims", "ndim")

    def __init__(self, axis: Any, ndim: int, keepdims: Any) -> None:
        self.ndim = ndim
        self.keepdims = bool(keepdims) if keepdims is not NO else False
        if axis is None:
            self.axes: tuple[int, ...] = tuple(range(ndim))
        else:
            self.axes = normalize_axes(axis, ndim)

    def finish(self, tensor: Any) -> Any:
        """Drop the reduced axes of a result that still has them with length 1."""
        if self.keepdims or not self.axes:
            return tensor
        kept = [n for i, n in enumerate(tensor.shape) if i not in self.axes]
        return tensor.reshape(kept)

    def count(self, tensor: Any) -> int:
        """Elements that go into one result."""
        return math.prod(tensor.shape[i] for i in self.axes)

    def merged(self, tensor: Any) -> Any:
        """The tensor with the reduced axes merged into one last axis."""
        kept = [i for i in range(self.ndim) if i not in self.axes]
        moved = tensor.permute((*kept, *self.axes))
        return moved.reshape([tensor.shape[i] for i in kept] + [self.count(tensor)])

    def unmerged(self, tensor: Any) -> Any:
        """Result of reducing :meth:`merged` over its last axis, with the axes kept or not."""
        if not self.keepdims:
            return tensor
        for axis in self.axes:
            tensor = tensor.unsqueeze(axis)
        return tensor


def normalize_axis(axis: Any, ndim: int) -> int:
    """One axis, non-negative; NumPy's AxisError otherwise."""
    number = int(axis.__index__())
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(number, ndim)
    return number % ndim


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes from an integer or a tuple, sorted."""
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    numbers = sorted(normalize_axis(a, ndim) for a in axes)
    if len(set(numbers)) < len(numbers):
        raise ValueError("duplicate value in 'axis'")
    return tuple(numbers)


def masked(tensor: Any, where: Any, identity: Any) -> Any:
    """`identity` where the mask is False."""
    if where is NO or where is True:
        return tensor
    mask = tensor_of(where, torch.bool)
    fill = torch.full((), identity, dtype=tensor.dtype, device=tensor.device)
    return torch.where(mask, tensor, fill)


def finish(tensor: Any, out: Any) -> Any:
    """Wrap a result, or store it in `out`."""
    return wrap(tensor) if out is None else into(out, wrap(tensor))


# -- sum and prod


def accumulator(dtype: Any, wanted: Any) -> Any:
    """Torch dtype in which NumPy sums elements of `dtype`."""
    if wanted is not None and wanted is not NO:
        return torch_dtype(wanted)
    if dtype is torch.bool or dtype in (torch.int8, torch.int16, torch.int32):
        return torch.int64
    if dtype in UNSIGNED:
        return torch.uint64
    return dtype


def sum_over(tensor: Any, axes: Axes, dtype: Any, operator: str = "sum") -> Any:
    """Sum (or product) in torch dtype `dtype`, the reduced axes dropped or kept."""
    tensor = cast(tensor, dtype)
    if not axes.axes:
        return tensor.clone()
    require(operator, tensor)
    signed = twin(tensor)
    if operator == "sum":
        total = torch.sum(signed, dim=axes.axes, keepdim=axes.keepdims)
    elif len(axes.axes) == axes.ndim and not axes.keepdims:
        total = torch.prod(signed)
    else:
        total = axes.unmerged(torch.prod(axes.merged(signed), dim=-1))
    return total.view(dtype) if dtype in TWINS else cast(total, dtype)


def _combine(tensor: Any, initial: Any, ufunc: np.ufunc) -> Any:
    if initial is NO or initial is None:
        return tensor
    first = wrap(tensor_of(initial, tensor.dtype))
    return _operators.apply(ufunc, (wrap(tensor), first))._t


@implements(np.sum)
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.sum`."""
    tensor = masked(tensor_of(a), where, 0)
    target = accumulator(tensor.dtype, dtype)
    total = sum_over(tensor, Axes(axis, tensor.ndim, keepdims), target)
    return finish(_combine(total, initial, np.add), out)


@implements(np.prod)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.prod`."""
    tensor = masked(tensor_of(a), where, 1)
    target = accumulator(tensor.dtype, dtype)
    total = sum_over(tensor, Axes(axis, tensor.ndim, keepdims), target, "prod")
    return finish(_combine(total, initial, np.multiply), out)


# -- min and max


def extreme_identity(dtype: Any, largest: bool) -> Any:
    """Value that never wins a minimum (`largest`) or a maximum."""
    if dtype is torch.bool:
        return largest
    if dtype in FLOATS:
        return math.inf if largest else -math.inf
    limits = np.iinfo(NUMPY[dtype])
    return int(limits.max if largest else limits.min)


def extreme_over(tensor: Any, axes: Axes, largest: bool) -> Any:
    """Maximum (or minimum) with NaN winning, as NumPy."""
    if not axes.axes:
        return tensor.clone()
    if not axes.count(tensor):
        name = "maximum" if largest else "minimum"
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    if tensor.dtype in COMPLEX:
        return _complex.extreme_over(tensor, axes, largest)
    require("maximum.reduce" if largest else "minimum.reduce", tensor)
    ordered = sortable(tensor)
    function = torch.amax if largest else torch.amin
    return unsortable(function(ordered, dim=axes.axes, keepdim=axes.keepdims), tensor.dtype)


def _extreme(
    a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any, largest: bool
) -> Any:
    tensor = tensor_of(a)
    if where is not NO and where is not True:
        if initial is NO:
            raise ValueError(
                "reduction operation 'maximum' does not have an identity, so to use a where "
                "mask one has to specify 'initial'"
            )
        tensor = masked(tensor, where, extreme_identity(tensor.dtype, not largest))
    axes = Axes(axis, tensor.ndim, keepdims)
    if initial is not NO and initial is not None and not axes.count(tensor) and axes.axes:
        shape = [
            (1 if i in axes.axes else n)
            for i, n in enumerate(tensor.shape)
            if axes.keepdims or i not in axes.axes
        ]
        empty = torch.full(shape, 0, dtype=tensor.dtype, device=tensor.device)
        return finish(empty + tensor_of(initial, tensor.dtype), out)
    found = extreme_over(tensor, axes, largest)
    return finish(_combine(found, initial, np.maximum if largest else np.minimum), out)


@implements(np.max, np.amax)
def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.max`."""
    return _extreme(a, axis, out, keepdims, initial, where, True)


@implements(np.min, np.amin)
def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.min`."""
    return _extreme(a, axis, out, keepdims, initial, where, False)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO) -> Any:
    """As :func:`numpy.ptp`."""
    high = max(a, axis=axis, keepdims=keepdims)
    low = min(a, axis=axis, keepdims=keepdims)
    return finish(_operators.apply(np.subtract, (high, low))._t, out)


# -- any, all, counts


def truth(tensor: Any) -> Any:
    """Bool tensor: which elements are not zero."""
    return tensor if tensor.dtype is torch.bool else twin(tensor) != 0


def _truth_reduction(a: Any, axis: Any, out: Any, keepdims: Any, where: Any, every: bool) -> Any:
    tensor = masked(truth(tensor_of(a)), where, every)
    axes = Axes(axis, tensor.ndim, keepdims)
    if not axes.axes:
        return finish(tensor.clone(), out)
    function = torch.all if every else torch.any
    return finish(function(tensor, dim=axes.axes, keepdim=axes.keepdims), out)


@implements(np.any)
def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO, *, where: Any = NO) -> Any:
    """As :func:`numpy.any`."""
    return _truth_reduction(a, axis, out, keepdims, where, False)


@implements(np.all)
def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO, *, where: Any = NO) -> Any:
    """As :func:`numpy.all`."""
    return _truth_reduction(a, axis, out, keepdims, where, True)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """As :func:`numpy.count_nonzero`; an int over all axes, for which it waits for the card."""
    tensor = truth(tensor_of(a))
    if axis is None and not keepdims:
        return int(tensor.sum())
    axes = Axes(axis, tensor.ndim, keepdims)
    return wrap(sum_over(tensor, axes, torch.int64))


# -- mean, var, std


def _mean_dtype(dtype: Any, wanted: Any) -> tuple[Any, Any]:
    """Torch dtypes in which a mean is computed, and given."""
    if wanted is not None and wanted is not NO:
        target = torch_dtype(wanted)
        return target, target
    if dtype in (torch.float16, torch.bfloat16):
        return torch.float32, dtype
    if dtype in FLOATS or dtype in COMPLEX:
        return dtype, dtype
    target = torch_dtype(result(np.dtype("f8")))
    return target, target


def _counts(tensor: Any, axes: Axes, where: Any, dtype: Any) -> Any:
    """Elements that go into each result: a number, or a tensor under a mask."""
    if where is NO or where is True:
        return axes.count(tensor)
    mask = tensor_of(where, torch.bool).expand(tensor.shape)
    return sum_over(mask, axes, torch.int64).to(dtype)


def divided(total: Any, count: Any) -> Any:
    """`total` / `count`; NaN for no elements, as NumPy."""
    if isinstance(count, int):
        return total / count if count else total * math.nan
    return total / count


def mean_over(tensor: Any, axes: Axes, where: Any, wanted: Any) -> Any:
    """Mean in NumPy's dtype."""
    inner, outer = _mean_dtype(tensor.dtype, wanted)
    total = sum_over(masked(cast(tensor, inner), where, 0), axes, inner)
    real = torch.float64 if inner in (torch.float64, torch.complex128) else torch.float32
    return cast(divided(total, _counts(tensor, axes, where, real)), outer)


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
    return finish(mean_over(tensor, Axes(axis, tensor.ndim, keepdims), where, dtype), out)


def var_over(
    tensor: Any, axes: Axes, wanted: Any, ddof: Any, where: Any, mean: Any
) -> tuple[Any, Any]:
    """Variance by two passes in the inner dtype, and the dtype it is given in."""
    inner, outer = _mean_dtype(tensor.dtype, wanted)
    values = cast(tensor, inner)
    kept = Axes(axes.axes, axes.ndim, True)
    centre = mean_over(values, kept, where, NUMPY[inner]) if mean is NO else tensor_of(mean, inner)
    deviation = values - centre
    if inner in COMPLEX:
        squares = deviation.real**2 + deviation.imag**2
    else:
        squares = deviation * deviation
    real = squares.dtype
    total = sum_over(masked(squares, where, 0), axes, real)
    count = _counts(tensor, axes, where, real)
    if isinstance(count, int):
        freedom: Any = count - ddof
        freedom = freedom if freedom > 0 else 0
        variance = total / freedom if freedom else total / torch.zeros_like(total)
    else:
        variance = total / (count - ddof).clamp(min=0)
    return variance, real if outer in COMPLEX else outer


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
    tensor = tensor_of(a)
    ddof = ddof if correction is NO else correction
    axes = Axes(axis, tensor.ndim, keepdims)
    variance, dtype = var_over(tensor, axes, dtype, ddof, where, mean)
    return finish(cast(variance, dtype), out)


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
    tensor = tensor_of(a)
    ddof = ddof if correction is NO else correction
    axes = Axes(axis, tensor.ndim, keepdims)
    variance, dtype = var_over(tensor, axes, dtype, ddof, where, mean)
    return finish(cast(torch.sqrt(variance), dtype), out)


# -- arg-reductions


def arg_extreme(tensor: Any, axis: Any, out: Any, keepdims: Any, largest: bool) -> Any:
    """Index of the first extreme (the first NaN where there is one)."""
    if tensor.dtype in COMPLEX:
        tensor = _complex.extreme_keys(tensor, largest)
    keep = keepdims is not NO and bool(keepdims)
    ordered = sortable(tensor)
    if axis is None:
        ordered = ordered.reshape(-1)
    number = 0 if axis is None else normalize_axis(axis, tensor.ndim)
    if not ordered.shape[number]:
        name = "argmax" if largest else "argmin"
        raise ValueError(f"attempt to get {name} of an empty sequence")
    function = torch.argmax if largest else torch.argmin
    found = function(ordered, dim=number, keepdim=keep and axis is not None)
    if keep and axis is None:
        found = found.reshape((1,) * tensor.ndim)
    return finish(found, out)


@implements(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.argmax`."""
    return arg_extreme(tensor_of(a), axis, out, keepdims, True)


@implements(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.argmin`."""
    return arg_extreme(tensor_of(a), axis, out, keepdims, False)


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NO
) -> Any:
    """As :func:`numpy.average`."""
    array = wrap(tensor_of(a))
    if weights is None:
        found = mean(array, axis=axis, keepdims=keepdims)
        count = Axes(axis, array.ndim, keepdims).count(array._t)
        total = wrap(torch.full_like(found._t, count))
    else:
        factors = wrap(tensor_of(weights))
        if factors.shape != array.shape:
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            axes = normalize_axes(axis, array.ndim)
            if factors.shape != tuple(array.shape[i] for i in axes):
                raise ValueError(
                    "Shape of weights must be consistent with shape of a along specified axis."
                )
            shape = [n if i in axes else 1 for i, n in enumerate(array.shape)]
            factors = wrap(factors._t.reshape(shape))
        product = _operators.apply(np.multiply, (array, factors))
        if not (is_float(product._t) or product._t.dtype in COMPLEX):
            product = product.astype(result(np.dtype("f8")))
        spread = wrap(factors._t.expand(array.shape)).astype(product.dtype)
        total = sum(spread, axis=axis, keepdims=keepdims)
        if bool((total._t == 0).any()):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        found = _operators.apply(
            np.true_divide, (sum(product, axis=axis, keepdims=keepdims), total)
        )
    return (found, total) if returned else found

"""Reductions: sum, prod, any, all and counts, and the axes that all reductions share.

Every reduction normalises its axes once (:class:`Axes`): None, an integer or a tuple become a
sorted tuple of axes; the empty tuple means "no axis", where torch would take all. Then ``where``
replaces elements by the identity, the operator runs over the axes, ``initial`` is combined, and
the result goes to ``out`` if given. Result dtypes are NumPy's: small integers add up in 64 bits;
with ``out=`` and no ``dtype=``, sums are formed in the common dtype of both.
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array._dispatch import implements, into, is_array, target_of
from daskasc.array._dtypes import (
    COMPLEX,
    FLOATS,
    NUMPY,
    TWINS,
    UNSIGNED,
    cast,
    is_integer,
    promote,
    torch,
    torch_dtype,
    twin,
)
from daskasc.array._nesting import check_element
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._summation import sum_floats
from daskasc.array._values import value_for

NO = np._NoValue


class Axes:
    """Axes of one reduction.

    Attributes
    ----------
    axes : tuple of int
        Sorted and non-negative.
    keepdims : bool

    Parameters
    ----------
    ufunc : bool
        The axis is checked as NumPy's ufuncs do it: no lists and no bools, and 0-d arrays have
        an axis 0.
    """

    __slots__ = ("axes", "keepdims", "ndim")

    def __init__(self, axis: Any, ndim: int, keepdims: Any, ufunc: bool = False) -> None:
        self.ndim = ndim
        if ufunc:
            check_keepdims(keepdims)
        self.keepdims = bool(keepdims) if keepdims is not NO else False
        if type(axis) is int and -ndim <= axis < ndim:
            self.axes: tuple[int, ...] = (axis % ndim,)
            return
        if ufunc:
            check_axes(axis)
        # reductions by ufuncs let axis 0 and -1 of an array without axes pass
        if axis is None or (ufunc and not ndim and _is_axis_of_scalars(axis)):
            self.axes = tuple(range(ndim))
        else:
            self.axes = normalize_axes(axis, ndim)

    def finish(self, tensor: Any) -> Any:
        """Drop the reduced axes of a result that still has them with length 1."""
        return tensor if self.keepdims or not self.axes else tensor.reshape(self.kept(tensor))

    def kept(self, tensor: Any) -> list[int]:
        """Shape of a result."""
        if self.keepdims:
            return [1 if i in self.axes else n for i, n in enumerate(tensor.shape)]
        return [n for i, n in enumerate(tensor.shape) if i not in self.axes]

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


def check_keepdims(keepdims: Any) -> None:
    """Raise NumPy's TypeError for what its compiled functions take for no integer."""
    if type(keepdims) is not bool and keepdims is not NO:
        operator.index(keepdims)


def check_axes(axis: Any) -> None:
    """Raise NumPy's TypeError for what its compiled functions take for no axis."""
    if axis is None or type(axis) is int:
        return
    for number in axis if isinstance(axis, tuple) else (axis,):
        if isinstance(number, bool | np.bool_):
            raise TypeError(f"axis is {axis!r}; an integer is required, which a bool is not")
        operator.index(number)


def strict_axis(axis: Any, ndim: int, scalars: bool = False) -> int:
    """As :func:`normalize_axis`, for NumPy's compiled functions, to which a bool is no integer.

    `scalars`: an array without axes counts as one with a single axis.
    """
    check_axes(axis)
    return normalize_axis(axis, max(ndim, 1) if scalars else ndim)


def _is_axis_of_scalars(axis: Any) -> bool:
    return not isinstance(axis, tuple) and operator.index(axis) in (0, -1)


def normalize_axis(axis: Any, ndim: int) -> int:
    """One axis, non-negative; NumPy's AxisError otherwise."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(number, ndim)
    return number % ndim


def listed_axes(axis: Any) -> tuple[Any, ...]:
    """Axes as a tuple, of an integer, a sequence or a 1-D array."""
    if not isinstance(axis, tuple | list):
        try:
            return (operator.index(axis),)
        except TypeError:
            pass
    return tuple(axis)


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes from an integer or several, sorted."""
    numbers = sorted(normalize_axis(a, ndim) for a in listed_axes(axis))
    if len(set(numbers)) < len(numbers):
        raise ValueError("duplicate value in 'axis'")
    return tuple(numbers)


def masked(tensor: Any, where: Any, identity: Any) -> Any:
    """`identity` where the mask is False."""
    if where is NO or where is True:
        return tensor
    fill = torch.full((), identity, dtype=tensor.dtype, device=tensor.device)
    return torch.where(mask_of(where, tensor), tensor, fill)


def mask_of(where: Any, tensor: Any) -> Any:
    """``where=`` of a reduction of `tensor` as a bool tensor; it never makes the operand larger."""
    mask = tensor_of(where)
    if mask.dtype is not torch.bool:
        raise TypeError(
            f"Cannot cast array data from {NUMPY[mask.dtype]!r} to dtype('bool') according to the "
            "rule 'safe'; compare with 0 to make a mask"
        )
    shapes = (tuple(mask.shape), tuple(tensor.shape))
    if np.broadcast_shapes(*shapes) != shapes[1]:
        raise ValueError(f"where has shape {shapes[0]}; the operand has shape {shapes[1]}")
    return mask


def finish(tensor: Any, out: Any) -> Any:
    """Wrap a result, or store it in `out`, which must have its shape."""
    if out is None:
        return wrap(tensor)
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if is_array(out) and out.shape != tuple(tensor.shape):
        raise ValueError(f"out has shape {out.shape}; the result has shape {tuple(tensor.shape)}")
    return into(out, wrap(tensor))


# -- sum and prod


def accumulator(dtype: Any, wanted: Any, out: Any = None) -> Any:
    """Torch dtype in which NumPy sums elements of `dtype`."""
    if wanted is not None and wanted is not NO:
        return torch_dtype(wanted)
    if isinstance(out, tuple) and out:
        out = out[0]
    if out is not None and is_array(out):
        return torch_dtype(promote(NUMPY[dtype], out.dtype))
    if dtype is torch.bool or dtype in (torch.int8, torch.int16, torch.int32):
        return torch.int64
    if dtype in UNSIGNED:
        return torch.uint64
    return dtype


def sum_over(tensor: Any, axes: Axes, dtype: Any, kind: str = "sum") -> Any:
    """Sum (or product) in torch dtype `dtype`, the reduced axes dropped or kept."""
    if kind == "sum" and axes.axes and (dtype in FLOATS or dtype in COMPLEX):
        return sum_floats(tensor, axes.axes, axes.keepdims, dtype)
    tensor = cast(tensor, dtype)
    signed = twin(tensor)
    if not axes.axes:
        # a sum begins with 0, so that no sum is -0.0
        if kind == "prod" or signed is not tensor or dtype is torch.bool:
            # and a product with 1, which leaves few infinities of complex numbers as they are
            return tensor * torch.ones_like(tensor) if dtype in COMPLEX else tensor.clone()
        return tensor + 0
    width = TWINS.get(dtype)  # torch would form sums of narrow integers in int64
    if kind == "sum":
        total = torch.sum(signed, dim=axes.axes, keepdim=axes.keepdims, dtype=width)
    elif len(axes.axes) == axes.ndim and not axes.keepdims:
        total = torch.prod(signed, dtype=width)
    else:
        total = axes.unmerged(torch.prod(axes.merged(signed), dim=-1, dtype=width))
    return total.view(dtype) if dtype in TWINS else cast(total, dtype)


def initial_of(value: Any, dtype: Any, out: Any = None) -> Any:
    """``initial=`` of a reduction as a tensor of torch dtype `dtype`; NumPy's errors otherwise.

    NumPy puts it into ``out=`` first, in that array's dtype.
    """
    check_element(value, NUMPY[dtype])
    first = value_for(value, dtype)
    target = target_of(out)
    if target is None or (dtype in COMPLEX and target.dtype.kind != "c"):
        return first
    return cast(cast(first, torch_dtype(target.dtype)), dtype)


def check_start(function: str, tensor: Any, axes: Axes, initial: Any, where: Any) -> None:
    """Raise NumPy's error for ``initial=None``, no start at all, where one is needed."""
    if initial is not None:
        return
    if where is not NO and where is not True:
        raise ValueError(
            f"reduction operation '{function}' does not have an identity, so to use a where mask "
            "one has to specify 'initial'"
        )
    if not tensor.numel() and 0 not in axes.kept(tensor):
        raise ValueError(
            f"zero-size array to reduction operation {function} which has no identity; "
            "initial is None"
        )


def combine(
    tensor: Any, initial: Any, ufunc: np.ufunc, empty: bool = False, out: Any = None
) -> Any:
    """Result of a reduction and its ``initial=``, which is all there is to one of no elements."""
    if initial is NO or initial is None:
        return tensor
    first = initial_of(initial, tensor.dtype, out)
    if empty:
        return first.to(tensor.device).expand(tensor.shape).clone()
    return _operators.apply(ufunc, (wrap(tensor), wrap(first)))._t


def _may_be_negative_zero(initial: Any) -> bool:
    """Whether a sum with this ``initial=`` may be -0.0: it is one, in a part, or there is none."""
    if initial is NO:
        return False
    if initial is None or is_array(initial):
        return True
    host = np.asarray(initial)
    parts = (host.real, host.imag) if host.dtype.kind == "c" else (host,)
    return host.dtype.kind in "fc" and builtins.any(
        bool(((part == 0) & np.signbit(part)).any()) for part in parts
    )


def _parts(tensor: Any) -> Any:
    """Real numbers of a tensor: those of complex elements along an axis of their own."""
    return torch.view_as_real(tensor) if tensor.dtype in COMPLEX else tensor


def _are_negative_zeros(tensor: Any) -> Any:
    parts = _parts(tensor)
    return (parts == 0) & torch.signbit(parts)


def _with_negative_zeros(total: Any, tensor: Any, axes: Axes, initial: Any, out: Any) -> Any:
    """Sums that are -0.0 in NumPy, which begins with `initial`; torch's begin with 0."""
    nothing = _are_negative_zeros(cast(tensor, total.dtype))
    if axes.axes:
        nothing = torch.all(nothing, dim=axes.axes, keepdim=axes.keepdims)
    if initial is not None:
        nothing = nothing & _are_negative_zeros(initial_of(initial, total.dtype, out))
    filled = _parts(total).masked_fill(nothing, -0.0)
    return torch.view_as_complex(filled) if total.dtype in COMPLEX else filled


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
    tensor = tensor_of(a)
    axes = Axes(axis, tensor.ndim, keepdims, True)
    kind = tensor.dtype
    if kind in FLOATS and dtype is None and out is None and where is NO and initial is NO:
        return wrap(sum_over(tensor, axes, kind))
    check_start("add", tensor, axes, initial, where)
    target = accumulator(kind, dtype, out)
    signed = target in FLOATS or target in COMPLEX
    signed = signed and not is_integer(tensor) and _may_be_negative_zero(initial)
    if where is not NO and where is not True:
        nothing = complex(-0.0, -0.0) if kind in COMPLEX else -0.0
        tensor = masked(tensor, where, nothing if signed and kind is not torch.bool else 0)
    empty = axes.count(tensor) == 0
    total = combine(sum_over(tensor, axes, target), initial, np.add, empty, out)
    if signed and not empty:
        total = _with_negative_zeros(total, tensor, axes, initial, out)
    return finish(total, out)


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
    axes = Axes(axis, tensor.ndim, keepdims, True)
    check_start("multiply", tensor, axes, initial, where)
    target = accumulator(tensor.dtype, dtype, out)
    empty = axes.count(tensor) == 0
    if initial is None and target in COMPLEX and not empty:
        total = axes.unmerged(_product_without_start(axes.merged(cast(tensor, target))))
    else:
        total = sum_over(tensor, axes, target, "prod")
    return finish(combine(total, initial, np.multiply, empty, out), out)


def _product_without_start(values: Any) -> Any:
    """Product along the last axis that does not begin with 1, which makes NaN of infinities."""
    while (length := values.shape[-1]) > 1:
        half = length // 2
        joined = values[..., :half] * values[..., half : 2 * half]
        values = torch.cat([joined, values[..., 2 * half :]], -1)
    return values[..., 0]


# -- any, all, counts


def truth(tensor: Any) -> Any:
    """Bool tensor: which elements are not zero."""
    return tensor if tensor.dtype is torch.bool else twin(tensor) != 0


def _truth_reduction(a: Any, axis: Any, out: Any, keepdims: Any, where: Any, every: bool) -> Any:
    tensor = masked(truth(tensor_of(a)), where, every)
    axes = Axes(axis, tensor.ndim, keepdims, True)
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


def count_true(mask: Any, axes: Axes) -> Any:
    """How many elements of a bool tensor are True, in int64."""
    if not axes.axes or axes.count(mask) > np.iinfo(np.int32).max:
        return sum_over(mask, axes, torch.int64)
    # bytes into int32: a third of the time that torch takes for bool into int64
    bits = mask.view(torch.uint8)
    return torch.sum(bits, dim=axes.axes, keepdim=axes.keepdims, dtype=torch.int32).to(torch.int64)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """As :func:`numpy.count_nonzero`; an int over all axes, for which it waits for the card."""
    tensor = truth(tensor_of(a))
    if axis is None and not keepdims:
        return int(torch.count_nonzero(tensor))
    return wrap(count_true(tensor, Axes(axis, tensor.ndim, keepdims, True)))

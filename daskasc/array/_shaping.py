"""Functions that move elements without computing: shapes, axes, joins and splits.

Results are views where torch has them. Elements of the wide unsigned dtypes move as their signed
twins (:func:`moved`), since torch lacks most kernels for them.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array._dispatch import implements, into, is_array
from daskasc.array._dtypes import BFLOAT16, NUMPY, TWINS, cast, promote, torch, torch_dtype
from daskasc.array._layout import order_of, resolved
from daskasc.array._readonly import copies, freeze, stands_for
from daskasc.array._reductions import (
    check_axes,
    listed_axes,
    normalize_axes,
    normalize_axis,
    strict_axis,
)
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import whole_numbers


def moved(tensor: Any, function: Callable[[Any], Any]) -> Any:
    """`function` of a tensor, run on the signed twin where there is one."""
    signed = TWINS.get(tensor.dtype)
    if signed is None:
        return function(tensor)
    return function(tensor.view(signed)).view(tensor.dtype)


# -- shapes


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    """As :func:`numpy.shape`."""
    return tuple(tensor_of(a).shape)


@implements(np.ndim)
def ndim(a: Any) -> int:
    """As :func:`numpy.ndim`."""
    return int(tensor_of(a).ndim)


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    """As :func:`numpy.size`."""
    tensor = tensor_of(a)
    if axis is None:
        return int(tensor.numel())
    return math.prod(tensor.shape[i] for i in normalize_axes(axis, tensor.ndim))


@implements(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: bool | None = None) -> Any:
    """As :func:`numpy.reshape`."""
    tensor = tensor_of(a)
    if shape is None:
        shape = tuple(tensor.shape)
    wanted = whole_numbers(shape)
    if order != "C":
        if order == "K":
            raise ValueError("order 'K' is not permitted for reshaping")
        order = resolved(tensor, order_of(order))
    if math.prod(n for n in wanted if n > 0) >= 2**63:
        raise ValueError(f"no array has as many elements as the shape {wanted} says")
    plain = order == "C" and min(wanted, default=0) >= 0 and math.prod(wanted) == tensor.numel()
    if not plain:
        _check_reshape(tensor, wanted)
    if plain:
        result = tensor.reshape(wanted)
    elif order == "F":
        reverse = tensor.permute(tuple(reversed(range(tensor.ndim))))
        result = reverse.reshape([_known(tensor, wanted)[i] for i in reversed(range(len(wanted)))])
        result = result.permute(tuple(reversed(range(result.ndim))))
    else:
        result = tensor.reshape(_known(tensor, wanted))
    if copy is True or (copy is None and copies(tensor, wanted, order)):
        result = result.clone()
    elif copy is False and result.numel() and result.data_ptr() != tensor.data_ptr():
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return wrap(result)


def _check_reshape(tensor: Any, wanted: tuple[int, ...]) -> None:
    if sum(1 for n in wanted if n < 0) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod(n for n in wanted if n >= 0)
    fits = (
        known == tensor.numel()
        if all(n >= 0 for n in wanted)
        else known > 0 and tensor.numel() % known == 0
    )
    if not fits:
        raise ValueError(f"cannot reshape array of size {tensor.numel()} into shape {wanted}")


def _known(tensor: Any, wanted: tuple[int, ...]) -> list[int]:
    known = math.prod(n for n in wanted if n >= 0)
    return [n if n >= 0 else tensor.numel() // known for n in wanted]


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """As :func:`numpy.ravel`."""
    tensor = tensor_of(a)
    shape = (-1,) if tensor.numel() else (0,)
    if order_of(order) != "K":
        flat = reshape(wrap(tensor), shape, order=order)._t
    else:
        # as the elements lie in memory
        axes = sorted(range(tensor.ndim), key=lambda i: -int(tensor.stride(i)))
        flat = tensor.permute(axes).reshape(shape)
    # a view only if it has no gaps, as in NumPy
    return wrap(flat.contiguous() if stands_for(tensor) is None else flat.clone())


@implements(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    """As :func:`numpy.transpose`."""
    tensor = tensor_of(a)
    if axes is None:
        order = tuple(reversed(range(tensor.ndim)))
    else:
        order = tuple(normalize_axis(i, tensor.ndim) for i in whole_numbers(axes))
        if len(order) != tensor.ndim:
            raise ValueError("axes don't match array")
        if len(set(order)) != len(order):
            raise ValueError("repeated axis in transpose")
    return wrap(tensor.permute(tuple(order)))


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """As :func:`numpy.matrix_transpose`."""
    return wrap(tensor_of(x)).mT


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """As :func:`numpy.swapaxes`."""
    tensor = tensor_of(a)
    return wrap(
        tensor.transpose(normalize_axis(axis1, tensor.ndim), normalize_axis(axis2, tensor.ndim))
    )


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """As :func:`numpy.moveaxis`."""
    tensor = tensor_of(a)
    origins, targets = listed_axes(source), listed_axes(destination)
    if len(origins) != len(targets):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    places = [normalize_axis(i, tensor.ndim) for i in origins]
    wanted = [normalize_axis(i, tensor.ndim) for i in targets]
    for name, numbers in (("source", places), ("destination", wanted)):
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"repeated axis in `{name}` argument: {numbers}")
    return wrap(torch.movedim(tensor, tuple(places), tuple(wanted)))


@implements(np.rollaxis)
def rollaxis(a: Any, axis: Any, start: int = 0) -> Any:
    """As :func:`numpy.rollaxis`."""
    tensor = tensor_of(a)
    number = normalize_axis(axis, tensor.ndim)
    start = start + tensor.ndim if start < 0 else start
    if not 0 <= start <= tensor.ndim:
        raise np.exceptions.AxisError(
            f"start is {start}; allowed: {-tensor.ndim} to {tensor.ndim}, the axes of the array"
        )
    order = [i for i in range(tensor.ndim) if i != number]
    order.insert(start - 1 if number < start else start, number)
    return wrap(tensor.permute(tuple(order)))


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    """As :func:`numpy.squeeze`."""
    tensor = tensor_of(a)
    if axis is None:
        return wrap(tensor.squeeze())
    check_axes(axis)
    if tensor.ndim or isinstance(axis, tuple):
        axes = normalize_axes(axis, tensor.ndim)
    else:  # an array without axes passes with one of them
        strict_axis(axis, 0, scalars=True)
        axes = ()
    if any(tensor.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return wrap(tensor.reshape([n for i, n in enumerate(tensor.shape) if i not in axes]))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """As :func:`numpy.expand_dims`."""
    tensor = tensor_of(a)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    for number in normalize_axes(axes, tensor.ndim + len(axes)):
        tensor = tensor.unsqueeze(number)
    return wrap(tensor)


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """As :func:`numpy.broadcast_to`."""
    tensor = tensor_of(array)
    wanted = whole_numbers(shape)
    if min(wanted, default=0) < 0:
        raise ValueError(f"all elements of broadcast shape must be non-negative; found {wanted}")
    try:
        return wrap(freeze(tensor.expand(wanted)))
    except RuntimeError:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes "
            f"{tuple(tensor.shape)} and {wanted}"
        ) from None


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """As :func:`numpy.broadcast_arrays`."""
    tensors = [tensor_of(a) for a in args]
    wanted = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    return tuple(wrap(t if tuple(t.shape) == wanted else freeze(t.expand(wanted))) for t in tensors)


def _at_least(n: int) -> Callable[..., Any]:
    def function(*arys: Any) -> Any:
        results = []
        for ary in arys:
            tensor = tensor_of(ary)
            if n == 3 and tensor.ndim < 3:
                tensor = tensor.reshape(1, -1, 1) if tensor.ndim < 2 else tensor.unsqueeze(2)
            while tensor.ndim < n:
                tensor = tensor.unsqueeze(0)
            results.append(wrap(tensor))
        return results[0] if len(results) == 1 else tuple(results)

    return function


for _n, _function in enumerate((np.atleast_1d, np.atleast_2d, np.atleast_3d), 1):
    implements(_function)(_at_least(_n))


# -- joining and splitting


def common(tensors: list[Any], dtype: Any = None, casting: str = "same_kind") -> list[Any]:
    """Cast tensors to NumPy's common dtype, or to `dtype` under a casting rule."""
    if dtype is None:
        first = tensors[0].dtype
        if all(t.dtype is first for t in tensors):
            return tensors
        target = torch_dtype(promote(*(NUMPY[t.dtype] for t in tensors)))
    else:
        target = torch_dtype(dtype)
        for tensor in tensors:
            if not _operators.can_cast(NUMPY[tensor.dtype], np.dtype(dtype), casting):
                raise TypeError(
                    f"Cannot cast array data from {NUMPY[tensor.dtype]!r} to {np.dtype(dtype)!r} "
                    f"according to the rule '{casting}'"
                )
    return [cast(t, target) for t in tensors]


@implements(np.concatenate)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """As :func:`numpy.concatenate`."""
    given = list(arrays)
    tensors = [tensor_of(a) for a in given]
    if not tensors:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        if dtype is None and out is None:
            tensors = _with_weak(given, tensors)
        tensors, axis = [t.reshape(-1) for t in tensors], 0
    check_axes(axis)
    first = tensors[0]
    if not first.ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    number = normalize_axis(axis, first.ndim)
    shape = first.shape
    for tensor in tensors:
        if tensor.shape == shape:
            continue
        # checked here because torch skips empty 1-D tensors among others
        if tensor.ndim != first.ndim or any(
            i != number and tensor.shape[i] != first.shape[i] for i in range(first.ndim)
        ):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly; shapes {[tuple(t.shape) for t in tensors]}, axis {number}"
            )
    if is_array(out):
        length = sum(t.shape[number] for t in tensors)
        joined = (*shape[:number], length, *shape[number + 1 :])
        if out.shape != joined:
            raise ValueError(f"out has shape {out.shape}; the joined arrays have shape {joined}")
    target = _target(dtype, out)
    result = wrap(torch.cat(common(tensors, target, casting), dim=number))
    return into(out, result)


def _with_weak(given: list[Any], tensors: list[Any]) -> list[Any]:
    """Tensors with those of Python scalars in the dtype that they do not decide, as in NumPy."""
    weak = [type(value) in (int, float, complex) for value in given]
    strong = [NUMPY[t.dtype] for t, is_weak in zip(tensors, weak, strict=True) if not is_weak]
    if not strong or not any(weak) or BFLOAT16 in strong:
        return tensors
    scalars = [value for value, is_weak in zip(given, weak, strict=True) if is_weak]
    # values that do not fit wrap, so that the kinds decide alone
    kinds = [type(value)(0) for value in scalars]
    dtype = torch_dtype(np.result_type(*strong, *kinds))
    return [cast(t, dtype) if w else t for t, w in zip(tensors, weak, strict=True)]


def _target(dtype: Any, out: Any) -> Any:
    """Dtype to which joined arrays are cast: the asked one, or that of `out`."""
    if out is None:
        return dtype
    if dtype is not None:
        raise TypeError(
            "concatenate() only takes `out` or `dtype` as an argument, but both were given"
        )
    return out.dtype if is_array(out) else None


@implements(np.stack)
def stack(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """As :func:`numpy.stack`."""
    tensors = [tensor_of(a) for a in arrays]
    if not tensors:
        raise ValueError("need at least one array to stack")
    if len({tuple(t.shape) for t in tensors}) > 1:
        raise ValueError("all input arrays must have the same shape")
    number = normalize_axis(axis, tensors[0].ndim + 1)
    result = wrap(torch.stack(common(tensors, _target(dtype, out), casting), dim=number))
    return into(out, result)


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """As :func:`numpy.unstack`."""
    tensor = tensor_of(x)
    if not tensor.ndim:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(wrap(part) for part in moveaxis(wrap(tensor), axis, 0)._t.unbind(0))


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """As :func:`numpy.vstack`."""
    return concatenate([_at_least(2)(a) for a in tup], 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """As :func:`numpy.hstack`."""
    parts = [_at_least(1)(a) for a in tup]
    axis = 0 if parts and parts[0].ndim == 1 else 1
    return concatenate(parts, axis, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    """As :func:`numpy.dstack`."""
    return concatenate([_at_least(3)(a) for a in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    """As :func:`numpy.column_stack`."""
    tensors = [tensor_of(a) for a in tup]
    return concatenate([wrap(t.reshape(-1, 1) if t.ndim < 2 else t) for t in tensors], 1)


@implements(np.block)
def block(arrays: Any) -> Any:
    """As :func:`numpy.block`."""

    def depth(item: Any) -> int:
        return 1 + max(map(depth, item)) if isinstance(item, list) else 0

    levels = depth(arrays)

    def most(item: Any) -> int:
        return max(map(most, item)) if isinstance(item, list) else int(tensor_of(item).ndim)

    width = max(most(arrays), levels)

    def build(item: Any, level: int) -> Any:
        if isinstance(item, list):
            return concatenate([build(part, level + 1) for part in item], level - levels)
        tensor = tensor_of(item)
        return wrap(tensor.reshape((1,) * (width - tensor.ndim) + tuple(tensor.shape)))

    if not levels:  # nothing is joined, and the result is no view either
        return wrap(tensor_of(arrays).clone())
    return build(arrays, 0)


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As :func:`numpy.array_split`."""
    tensor = tensor_of(ary)
    length = tensor.shape[normalize_axis(axis, tensor.ndim)]
    points = _points(indices_or_sections)
    if points is None:
        parts = int(indices_or_sections)
        if parts <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(length, parts)
        edges = [0, *np.cumsum([each + 1] * extra + [each] * (parts - extra)).tolist()]
    else:
        edges = [0, *map(operator.index, points), length]
    whole = (slice(None),) * normalize_axis(axis, tensor.ndim)
    array = wrap(tensor)
    pieces = [(*whole, slice(a, b)) for a, b in itertools.pairwise(edges)]
    return [array[piece] for piece in pieces]


def _points(value: Any) -> Any:
    """Numbers of the first elements of all pieces but the first; None for a number of pieces."""
    host = value.asnumpy() if is_array(value) else value
    if isinstance(host, np.ndarray):
        return list(host) if host.ndim else None
    return host if hasattr(host, "__len__") else None


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As :func:`numpy.split`."""
    if is_array(indices_or_sections):
        indices_or_sections = indices_or_sections.asnumpy()
    if _points(indices_or_sections) is None:
        tensor = tensor_of(ary)
        with np.errstate(divide="ignore"):  # a zero is refused below
            rest = tensor.shape[normalize_axis(axis, tensor.ndim)] % indices_or_sections
        if rest:
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """As :func:`numpy.hsplit`."""
    ndim = tensor_of(ary).ndim
    if not ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """As :func:`numpy.vsplit`."""
    if tensor_of(ary).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """As :func:`numpy.append`."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)])
    return concatenate([arr, values], axis)

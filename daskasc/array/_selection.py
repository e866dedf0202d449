"""Choosing elements: where, take, masks, triangles, diagonals, searching.

Indices that come from the user are checked against their axis first, as in indexing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _complex, _indexing, _operators
from daskasc.array import _reductions as reductions
from daskasc.array._dispatch import NeedsHost, implements, into, is_array, target_of
from daskasc.array._dtypes import (
    BFLOAT16,
    COMPLEX,
    FLOATS,
    NUMPY,
    cast,
    is_integer,
    promote,
    result,
    sortable,
    torch,
    torch_dtype,
)
from daskasc.array._index_bounds import checked_index
from daskasc.array._readonly import freeze, laid_out
from daskasc.array._reductions import NO, normalize_axis, strict_axis, truth
from daskasc.array._shaping import common, moved
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import check_cast, check_safe, host_indices

_SCALARS = (int, float, complex)


def _weak_dtype(values: list[Any]) -> Any:
    """Torch dtype of tensors and weak Python scalars together."""
    strong = [NUMPY[v.dtype] for v in values if type(v) not in _SCALARS]
    weak = [v for v in values if type(v) in _SCALARS]
    if not strong:
        return torch_dtype(np.result_type(*weak))
    dtype = promote(*strong)
    if dtype != BFLOAT16:
        dtype = np.result_type(dtype, *weak) if weak else dtype
    elif any(type(v) is complex for v in weak):
        dtype = np.dtype("c8")
    return torch_dtype(dtype)


def weakly_cast(values: list[Any]) -> list[Any]:
    """Tensors of arrays and weak Python scalars, in their common dtype; integers wrap as there."""
    given = [v if type(v) in _SCALARS else tensor_of(v) for v in values]
    if any(type(v) in _SCALARS for v in given) or any(v.dtype is not given[0].dtype for v in given):
        dtype = _weak_dtype(given)
        return [_weak(v, dtype) if type(v) in _SCALARS else cast(v, dtype) for v in given]
    return given


def _weak(value: Any, dtype: Any) -> Any:
    """Tensor of a Python scalar; integers beyond 64 bits fit floating point alone, as in NumPy."""
    if type(value) is int and not -(2**63) <= value < 2**64:
        if not (dtype in FLOATS or dtype in COMPLEX):
            raise OverflowError(f"Python integer {value} is too large for {NUMPY[dtype]}")
        value = float(value)
    return tensor_of(value, dtype)


@implements(np.where)
def where(condition: Any, x: Any = NO, y: Any = NO, /) -> Any:
    """As :func:`numpy.where`."""
    mask = truth(tensor_of(condition))
    if x is NO:
        return nonzero(wrap(mask))
    if y is NO:
        raise ValueError("either both or neither of x and y should be given")
    left, right = weakly_cast([x, y])
    return wrap(torch.where(mask, left, right))


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """As :func:`numpy.result_type`; Python scalars are weak."""
    return np.result_type(*(x.dtype if hasattr(x, "_t") else x for x in arrays_and_dtypes))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """As :func:`numpy.can_cast`."""
    source = from_.dtype if hasattr(from_, "_t") else np.dtype(from_)
    return _operators.can_cast(source, np.dtype(to), casting)


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> Any:
    """As :func:`numpy.min_scalar_type` for an array with axes: its dtype."""
    if not a.ndim:
        raise NeedsHost("value of a scalar")
    return a.dtype


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """As :func:`numpy.iscomplexobj`."""
    return tensor_of(x).dtype in COMPLEX


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """As :func:`numpy.isrealobj`."""
    return tensor_of(x).dtype not in COMPLEX


@implements(np.may_share_memory)
def may_share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """As :func:`numpy.may_share_memory`."""
    return _share(np.may_share_memory, a, b, max_work)


@implements(np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """As :func:`numpy.shares_memory`."""
    return _share(np.shares_memory, a, b, max_work)


def _share(question: Callable[..., bool], a: Any, b: Any, max_work: Any) -> bool:
    """Let NumPy answer from addresses and strides; host and card have no memory in common."""
    if not (hasattr(a, "_t") and hasattr(b, "_t") and a.size and b.size):
        return False
    return question(laid_out(a._t), laid_out(b._t), max_work=max_work)


# -- by indices


def check_taken(name: str, dtype: Any, out: Any) -> None:
    """Raise NumPy's TypeError unless ``out=`` can be a buffer of elements of torch dtype `dtype`.

    The other way round than with ufuncs: `out` has to be cast safely to the elements' dtype.
    """
    if out is None:
        return
    target, given = target_of(out).dtype, NUMPY[dtype]
    if not _operators.can_cast(target, given, "safe"):
        raise TypeError(
            f"Cannot cast array data from {target!r} to {given!r} according to the rule 'safe', as "
            f"the out of {name} needs; give one of {given!r}"
        )


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """As :func:`numpy.take`."""
    tensor = tensor_of(a)
    if axis is None or not tensor.ndim:
        tensor, axis = tensor.reshape(-1), 0 if axis is None else axis
    number = strict_axis(axis, tensor.ndim)
    check_taken("take", tensor.dtype, out)
    length = tensor.shape[number]
    where_ = indices._t if hasattr(indices, "_t") else host_indices(indices, "same_kind")
    if isinstance(where_, torch.Tensor) and where_.dtype is not torch.int64:
        check_cast(NUMPY[where_.dtype], np.dtype(np.intp), "same_kind")
        where_ = cast(where_, torch.int64)
    if not math.prod(tensor.shape[:number]):  # nothing is taken, hence NumPy checks nothing
        shape = (*tensor.shape[:number], *where_.shape, *tensor.shape[number + 1 :])
        found = wrap(torch.empty(shape, dtype=tensor.dtype, device=tensor.device))
        return into(out, found)
    if not length and math.prod(where_.shape):
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode in ("wrap", "clip"):
        places = tensor_of(wrap(where_) if hasattr(indices, "_t") else where_, torch.int64)
        places = places % length if mode == "wrap" else places.clamp(0, length - 1)
        where_ = places
    elif mode != "raise":
        raise ValueError(f"clipmode is {mode!r}; allowed: raise, wrap, clip")
    places = checked_index(where_, length, number, tensor.device)
    advanced: list[Any] = [None] * tensor.ndim
    advanced[number] = places
    found = wrap(_indexing.gather(tensor, advanced))
    return into(out, found)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """As :func:`numpy.take_along_axis`."""
    tensor, places = tensor_of(arr), tensor_of(indices)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    if tensor.ndim != places.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    number = normalize_axis(axis, tensor.ndim)
    places = checked_index(places, tensor.shape[number], number, tensor.device)
    sides = [tuple(n for i, n in enumerate(t.shape) if i != number) for t in (tensor, places)]
    try:
        rest = np.broadcast_shapes(*sides)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{tuple(tensor.shape)} {tuple(places.shape)}"
        ) from None
    shape = [*rest[:number], tensor.shape[number], *rest[number:]]
    wanted = [*rest[:number], places.shape[number], *rest[number:]]
    return wrap(moved(tensor, lambda t: t.expand(shape).gather(number, places.expand(wanted))))


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.compress`."""
    mask = tensor_of(condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return take(a, wrap(truth(mask).nonzero().reshape(-1)), axis, out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """As :func:`numpy.extract`."""
    return compress(wrap(tensor_of(condition).reshape(-1)), arr)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """As :func:`numpy.delete`."""
    tensor = tensor_of(arr)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    number = normalize_axis(axis, tensor.ndim)
    length = tensor.shape[number]
    if not is_array(obj):
        return take(wrap(tensor), np.delete(np.arange(length), obj), number)
    places = obj._t
    if places.dtype is torch.bool:
        if tuple(places.shape) != (length,):
            raise ValueError(
                "boolean array argument obj to delete must be one-dimensional and match the axis "
                f"length of {length}"
            )
        kept = ~places
    elif is_integer(places):
        kept = torch.ones(length, dtype=torch.bool, device=tensor.device)
        _indexing.setitem(kept, (obj,), False)
    else:
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return take(wrap(tensor), wrap(kept.nonzero().reshape(-1)), number)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """As :func:`numpy.unravel_index`."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    places = tensor_of(indices)
    if not is_integer(places) and places.dtype is not torch.bool:
        raise TypeError("only int indices permitted")
    places, total = places.to(torch.int64), math.prod(sizes)
    if places.numel() and bool(((places < 0) | (places >= total)).any()):
        raise ValueError(f"index is out of bounds for array with size {total}")
    found: list[Any] = []
    for size in reversed(sizes) if order == "C" else sizes:
        found.append(wrap(places % size))
        places = torch.div(places, size, rounding_mode="floor")
    return tuple(reversed(found)) if order == "C" else tuple(found)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """As :func:`numpy.ravel_multi_index`."""
    given = [tensor_of(part) for part in multi_index]
    if any(part.numel() and not is_integer(part) for part in given):
        raise TypeError("only int indices permitted")
    parts = [cast(part, torch.int64) for part in given]
    sizes = [operator.index(n) for n in (dims if isinstance(dims, tuple | list) else (dims,))]
    modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
    if len(parts) != len(sizes):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    total = torch.zeros((), dtype=torch.int64, device=parts[0].device)
    triples = list(zip(parts, sizes, modes, strict=True))
    for part, size, how in triples if order == "C" else reversed(triples):
        if how == "wrap":
            part = part % size
        elif how == "clip":
            part = part.clamp(0, size - 1)
        elif part.numel() and bool(((part < 0) | (part >= size)).any()):
            raise ValueError("invalid entry in coordinates array")
        total = total * size + part
    return wrap(total)


# -- by masks


@implements(np.nonzero)
def nonzero(a: Any) -> tuple[Any, ...]:
    """As :func:`numpy.nonzero`."""
    tensor = tensor_of(a)
    if not tensor.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d first.")
    return tuple(wrap(part.contiguous()) for part in truth(tensor).nonzero().unbind(1))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """As :func:`numpy.flatnonzero`."""
    return wrap(truth(tensor_of(a)).reshape(-1).nonzero().reshape(-1))


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    """As :func:`numpy.argwhere`."""
    return wrap(truth(tensor_of(a)).nonzero())


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """As :func:`numpy.select`."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    *choices, chosen = weakly_cast([*choicelist, default])
    for mask, choice in zip(reversed(condlist), reversed(choices), strict=True):
        chosen = torch.where(tensor_of(mask, torch.bool), choice, chosen)
    return wrap(chosen)


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """As :func:`numpy.searchsorted`."""
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}; allowed: left, right")
    row = take(a, sorter) if sorter is not None else a
    edges, values = common([tensor_of(row), tensor_of(v)])
    if edges.ndim != 1:
        raise ValueError("object too deep for desired array")
    if edges.dtype in COMPLEX:
        ranked = _complex.ranks(torch.cat([edges, values.reshape(-1)]))
        edges, values = ranked[: edges.shape[0]], ranked[edges.shape[0] :].reshape(values.shape)
    edges, values = sortable(edges), sortable(values)
    if edges.dtype in FLOATS:
        # NaN sorts last; torch compares it with nothing, so search among infinities in its place
        usable = (~torch.isnan(edges)).sum()
        edges = edges.masked_fill(torch.isnan(edges), math.inf)
        found = torch.searchsorted(edges.contiguous(), values.contiguous(), right=side == "right")
        total = torch.full_like(found, edges.shape[0])
        at_nan = total if side == "right" else usable.expand(found.shape)
        found = torch.where(torch.isnan(values), at_nan, torch.minimum(found, usable))
        return wrap(found)
    return wrap(torch.searchsorted(edges.contiguous(), values.contiguous(), right=side == "right"))


def _rises(edges: Any) -> bool:
    """Whether edges increase; as in NumPy the first two that differ say it for the others."""
    earlier, later = edges[:-1]._t, edges[1:]._t
    if not earlier.numel():
        return True
    first = torch.argmax((earlier != later).to(torch.int32))
    up, down = earlier < later, earlier > later
    nothing = torch.isnan(edges._t)
    inside = nothing[:-1] & ~nothing[1:]
    flags = [
        up[first],
        earlier[first] == later[first],
        *map(torch.any, (up, down, nothing, inside)),
    ]
    starts, equal, rises, falls, has_nan, has_inside = torch.stack(flags).tolist()
    if falls if starts else rises:
        raise ValueError("bins must be monotonically increasing or decreasing")
    if has_inside or (has_nan and not starts):
        raise ValueError("bins hold NaN; it is allowed at the end of increasing bins only")
    return bool(starts or equal)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """As :func:`numpy.digitize`."""
    for given in (x, bins):
        check_safe(tensor_of(given), np.dtype("f8"))
    edges = wrap(tensor_of(bins))
    if edges.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    side = "left" if right else "right"
    if _rises(edges):
        return searchsorted(edges, x, side)
    found = searchsorted(edges[::-1], x, side)
    return wrap(edges.size - found._t)


# -- triangles and diagonals


def _of_rows(m: Any) -> Any:
    """Matrix or stack of them; a vector stands for that many equal rows, as in NumPy."""
    tensor = tensor_of(m)
    if not tensor.ndim:
        raise TypeError("a triangle is of an array of at least one axis; got none")
    return tensor.expand(tensor.shape[0], -1) if tensor.ndim == 1 else tensor


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """As :func:`numpy.tril`."""
    return wrap(moved(_of_rows(m), lambda t: t.tril(k)))


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """As :func:`numpy.triu`."""
    return wrap(moved(_of_rows(m), lambda t: t.triu(k)))


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """As :func:`numpy.diag`."""
    tensor = tensor_of(v)
    if tensor.ndim == 2:
        return diagonal(v, k)
    if tensor.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return wrap(moved(tensor, lambda t: torch.diag(t, k)))


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """As :func:`numpy.diagonal`; read-only as there."""
    tensor = tensor_of(a)
    if tensor.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = normalize_axis(axis1, tensor.ndim), normalize_axis(axis2, tensor.ndim)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    return wrap(freeze(tensor.diagonal(offset, first, second)))


@implements(np.trace)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """As :func:`numpy.trace`."""
    return reductions.sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


@implements(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """As :func:`numpy.linalg.diagonal`."""
    return diagonal(x, offset, -2, -1)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """As :func:`numpy.linalg.trace`."""
    return trace(x, offset, -2, -1, dtype)


# -- the same or nearly


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """As :func:`numpy.isclose`."""
    left, right = wrap(tensor_of(a)), wrap(tensor_of(b))
    if right.dtype.kind not in "fcV":
        right = right.astype(result(np.result_type(right.dtype, 1.0)))
    same = left == right
    near = abs(left - right) <= (abs(right) * rtol + atol)
    finite = _operators.apply(np.isfinite, (right,))
    answer = (near & finite) | same
    if equal_nan:
        answer = answer | (
            _operators.apply(np.isnan, (left,)) & _operators.apply(np.isnan, (right,))
        )
    return answer


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """As :func:`numpy.allclose`; waits for the card."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())

"""Ufunc methods for every ufunc of two operands: reduce, accumulate, reduceat and at.

Where torch has the operation (``REDUCE``, ``ACCUMULATE``, sums and extremes by index) it is used.
Otherwise the ufunc itself is applied to slices: associative ones in a tree of log2(n) steps, the
others (subtract, divide, power, ...) from left to right as NumPy does, n calls long.

``at`` with an index that names an element several times applies the ufunc that many times::

    indices     3 1 3 3        turn 0: 3 1        the first occurrence of each
    occurrence  0 0 1 2        turn 1: 3
                               turn 2: 3
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _dispatch, _indexing, _operators
from daskasc.array._dispatch import NeedsHost
from daskasc.array._dtypes import (
    NUMPY,
    cast,
    promote,
    reduction_loop,
    resolve,
    result,
    torch,
    torch_dtype,
    twin,
)
from daskasc.array._reductions import NO, Axes, check_start, finish, initial_of, truth
from daskasc.array._shaping import moved
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import places_of

REDUCE: dict[np.ufunc, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.minimum: np.min,
    np.maximum: np.max,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
ACCUMULATE: dict[np.ufunc, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}
# these may be applied in any grouping: the results are exact, or differ by rounding only (not
# lcm, whose overflow wraps)
ASSOCIATIVE: frozenset[np.ufunc] = frozenset(
    (
        np.add,
        np.multiply,
        np.minimum,
        np.maximum,
        np.fmin,
        np.fmax,
        np.logical_and,
        np.logical_or,
        np.logical_xor,
        np.bitwise_and,
        np.bitwise_or,
        np.bitwise_xor,
        np.gcd,
        np.hypot,
        np.logaddexp,
        np.logaddexp2,
    )
)
_IDENTITIES: dict[np.ufunc, Any] = {np.bitwise_and: -1, np.logical_and: True}


def _call(ufunc: np.ufunc, left: Any, right: Any, dtype: Any) -> Any:
    return _operators.apply(ufunc, (wrap(left), wrap(right)), dtype)._t


def _prepared(ufunc: np.ufunc, a: Any, dtype: Any, out: Any, whole: bool = False) -> Any:
    """Tensor in the dtype in which NumPy reduces, and the loop's ``dtype=``.

    `whole` is of reduce, which alone may have operands of two dtypes; the host computes those.
    """
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature:
        raise ValueError(f"reduce is only supported for binary functions; {ufunc.__name__} is none")
    tensor = tensor_of(a)
    target = None if out is None else _dispatch.target_of(out).dtype
    wanted = None if dtype is None else np.dtype(dtype)
    loop = reduction_loop(ufunc, NUMPY[tensor.dtype], wanted, target)
    if loop[0] != loop[1]:
        if whole:
            raise NeedsHost(f"{ufunc.__name__}.reduce")
        raise TypeError(
            f"the resolved dtypes are not compatible with a reduction by {ufunc.__name__}; they "
            f"are {loop}"
        )
    explicit = wanted is not None or target is not None
    inner = torch_dtype(result(loop[0], explicit))
    values = truth(tensor) if inner is torch.bool else cast(tensor, inner)
    return values, loop[0] if explicit else None


def _identity(ufunc: np.ufunc, dtype: Any) -> Any:
    value = _IDENTITIES.get(ufunc, ufunc.identity)
    if value is None:
        raise ValueError(
            f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        )
    return value


def _fold(ufunc: np.ufunc, tensor: Any, axis: int, dtype: Any) -> Any:
    """Reduce one axis, kept with length 1, of a tensor that has elements along it."""
    if tensor.shape[axis] == 1:
        return tensor
    if ufunc not in ASSOCIATIVE:
        total = tensor.narrow(axis, 0, 1)
        for i in range(1, tensor.shape[axis]):
            total = _call(ufunc, total, tensor.narrow(axis, i, 1), dtype)
        return total
    while tensor.shape[axis] > 1:
        length = tensor.shape[axis]
        half = length // 2
        joined = _call(ufunc, tensor.narrow(axis, 0, half), tensor.narrow(axis, half, half), dtype)
        if length % 2:
            rest = cast(tensor.narrow(axis, length - 1, 1), joined.dtype)
            joined = torch.cat([joined, rest], dim=axis)
        tensor = joined
    return tensor


def reduce(
    ufunc: np.ufunc,
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NO,
    where: Any = True,
) -> Any:
    """As ``ufunc.reduce``."""
    if initial is None and ufunc in (np.logical_and, np.logical_or):
        tensor = tensor_of(a)
        check_start(ufunc.__name__, tensor, Axes(axis, tensor.ndim, keepdims, True), None, where)
    if ufunc in REDUCE:
        kwargs: dict[str, Any] = {"axis": axis, "out": out, "keepdims": keepdims}
        if dtype is not None:
            kwargs["dtype"] = dtype
        if initial is not NO and (initial is not None or ufunc in (np.add, np.multiply)):
            kwargs["initial"] = initial
        if where is not True:
            kwargs["where"] = where
        if not {"dtype", "initial"} & set(kwargs) or ufunc in (np.add, np.multiply):
            return _dispatch.call(REDUCE[ufunc], (a,), kwargs)
        if ufunc in (np.minimum, np.maximum) and "dtype" not in kwargs:
            return _dispatch.call(REDUCE[ufunc], (a,), kwargs)
    if where is not True:
        raise NeedsHost(f"{ufunc.__name__}.reduce with a mask")
    axes = Axes(axis, tensor_of(a).ndim, keepdims, True)
    tensor, dtype = _prepared(ufunc, a, dtype, out, whole=True)
    if len(axes.axes) > 1 and ufunc not in ASSOCIATIVE:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may "
            "be specified"
        )
    if initial is NO and ufunc in (np.gcd, np.hypot):
        initial = 0  # NumPy begins with the identity, which makes one element alone positive
    target = tensor.dtype
    if not all(tensor.shape[number] for number in axes.axes):
        shape = [1 if i in axes.axes else n for i, n in enumerate(tensor.shape)]
        check_start(ufunc.__name__, tensor, axes, initial, NO)
        if initial is NO or initial is None:
            first = tensor_of(_identity(ufunc, target), target)  # -1 is all bits, unsigned too
        else:
            first = initial_of(initial, target, out)
        tensor = first.to(tensor.device).expand(shape)
        initial = NO
    else:
        for number in axes.axes:
            if initial is not NO and initial is not None and ufunc not in ASSOCIATIVE:
                shape = [1 if i == number else n for i, n in enumerate(tensor.shape)]
                first = initial_of(initial, tensor.dtype, out).expand(shape)
                tensor, initial = torch.cat([first, tensor], dim=number), NO
            tensor = cast(_fold(ufunc, tensor, number, dtype), target)
    if initial is not NO and initial is not None:
        tensor = _call(ufunc, initial_of(initial, tensor.dtype, out), tensor, dtype)
    return finish(cast(axes.finish(tensor), target), out)


def one_axis(method: str, axis: Any, ndim: int) -> int:
    """Number of the axis of a method that takes one; None names that of a 1-D array."""
    axes = Axes(axis, ndim, False, True).axes
    if not ndim:
        raise TypeError(f"cannot {method} on a scalar")
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes; axis is {axis!r}")
    return axes[0]


def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """As ``ufunc.accumulate``."""
    if ufunc.nin == 2 and ufunc.nout == 1:
        axis = one_axis("accumulate", axis, tensor_of(array).ndim)
    if ufunc in ACCUMULATE:
        return _dispatch.call(
            ACCUMULATE[ufunc], (array,), {"axis": axis, "dtype": dtype, "out": out}
        )
    tensor, dtype = _prepared(ufunc, array, dtype, out)
    number = axis
    target, length = tensor.dtype, tensor.shape[number]
    if ufunc in ASSOCIATIVE:
        step = 1
        while step < length:
            # each element takes in the one `step` before it, which already holds `step` elements
            early = tensor.narrow(number, 0, length - step)
            late = tensor.narrow(number, step, length - step)
            joined = cast(_call(ufunc, early, late, dtype), target)
            tensor = torch.cat([tensor.narrow(number, 0, step), joined], dim=number)
            step *= 2
    elif length > 1:
        parts = [tensor.narrow(number, 0, 1)]
        for i in range(1, length):
            parts.append(cast(_call(ufunc, parts[-1], tensor.narrow(number, i, 1), dtype), target))
        tensor = torch.cat(parts, dim=number)
    return finish(tensor.clone() if length < 2 else tensor, out)


def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """As ``ufunc.reduceat``: one reduction a segment."""
    given = tensor_of(array)
    number = one_axis("reduceat", axis, given.ndim)
    length = given.shape[number]
    depth = np.ndim(indices)
    if depth != 1:
        raise ValueError(f"indices of reduceat have {depth} axes; they need one")
    starts = places_of(indices)
    firsts = starts.tolist()
    for first in firsts:
        if not 0 <= first < length:
            raise IndexError(
                f"index {first} out-of-bounds in {ufunc.__name__}.reduceat [0, {length})"
            )
    tensor, dtype = _prepared(ufunc, wrap(given), dtype, out)
    target = tensor.dtype
    parts = []
    for first, last in itertools.pairwise([*firsts, length]):
        segment = tensor.narrow(number, first, max(last - first, 1))
        parts.append(cast(_fold(ufunc, segment, number, dtype), target))
    shape = [0 if i == number else n for i, n in enumerate(tensor.shape)]
    nothing = torch.empty(shape, dtype=target, device=tensor.device)
    return finish(torch.cat(parts, dim=number) if parts else nothing, out)


def at(ufunc: np.ufunc, a: Any, indices: Any, b: Any = None) -> None:
    """As ``ufunc.at``; an element that is named several times takes part that often."""
    if not _dispatch.is_array(a):
        raise TypeError("the first operand of at must be an AscendArray to be written into")
    a._check_writable()
    tensor = a._t
    numbers = torch.arange(tensor.numel(), device=tensor.device).reshape(tensor.shape)
    places = _indexing.getitem(numbers, indices)
    operand: Any = None if ufunc.nin == 1 else tensor_of(b)
    # raises where NumPy has no loop
    resolve(ufunc, (a.dtype,) if operand is None else (a.dtype, NUMPY[operand.dtype]))
    if operand is not None:
        try:
            operand = operand.expand(places.shape).reshape(-1)
        except RuntimeError:
            raise ValueError(
                f"array is not broadcastable to correct shape: {tuple(operand.shape)} into "
                f"{tuple(places.shape)}"
            ) from None
    places = places.reshape(-1)
    flat = tensor.reshape(-1)
    flat = flat.clone() if flat.data_ptr() == tensor.data_ptr() else flat
    if ufunc is np.add and _adds_in_place(a.dtype, NUMPY[operand.dtype]):
        source = cast(operand, tensor.dtype)
        moved_flat = moved(flat, lambda t: t.index_add(0, places, twin(source)))
        a._write(moved_flat.reshape(tensor.shape))
        return
    for chosen in _turns(places):
        here = places[chosen]
        old = wrap(moved(flat, functools.partial(_taken, here)))
        if operand is None:
            new = _operators.apply(ufunc, (old,))
        else:
            new = _operators.apply(
                ufunc, (old, wrap(moved(operand, functools.partial(_taken, chosen))))
            )
        twin(flat)[here] = twin(cast(new._t, flat.dtype))
    a._write(flat.reshape(tensor.shape))


def _adds_in_place(target: np.dtype[Any], source: np.dtype[Any]) -> bool:
    """Whether adding in the target's dtype is what NumPy does, but for rounding."""
    if target.kind == "f":
        return source.kind in "biuf"
    return target.kind in "iu" and promote(target, source) == target


def _taken(places: Any, tensor: Any) -> Any:
    return tensor[places]


def _turns(places: Any) -> Any:
    """Yield the positions in `places` of first occurrences, second occurrences, and so on."""
    if not places.numel():
        return
    ordered, order = torch.sort(places, stable=True)
    numbers = torch.arange(places.shape[0], device=places.device)
    first = torch.ones_like(ordered, dtype=torch.bool)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = torch.cummax(torch.where(first, numbers, torch.zeros_like(numbers)), 0).values
    occurrence = numbers - starts
    for turn in range(int(occurrence.amax()) + 1):
        yield order[occurrence == turn]


METHODS: dict[str, Callable[..., Any]] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
    "at": at,
}

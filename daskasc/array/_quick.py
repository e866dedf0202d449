"""Plain calls of the commonest functions, without the general way's handling.

``sum``, ``prod``, ``mean``, ``max``, ``min``, ``any`` and ``all`` of an array and at most an axis,
``concatenate`` and ``where`` of arrays of one dtype and ``reshape`` to a known shape cost one or
two torch calls; finding out about ``out=``, ``where=``, axis tuples, promotion and modes of
summation costs several times as much. Each function has a table from the torch dtype to those
calls, which give the general way's results. A table is empty while calls are observed and after
the card changes; a dtype enters it once the card is known to have its kernel. Everything else is
declined with None and goes the general way, which also finds the words for what is refused.

float32 sums of few elements stay sums in float64, rounded once: torch's own sum of 8 to 128
float32 elements has up to a third more error than NumPy's, which keeps eight sums apart. Turning
the elements into float64 and the sum back takes twice as long as the sum; where the card's
``trace`` adds float32 in float64, as torch's does on the host, very few elements are laid on a
diagonal instead.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _guard, _kernels, _numbers
from daskasc.array._dispatch import MeetsTimes, NeedsHost
from daskasc.array._dtypes import FLOATS, NUMPY, device_policy, torch
from daskasc.array._readonly import stands_for
from daskasc.array._storage import wrap
from daskasc.array._summation import SMALL, compensates
from daskasc.device import observer

Form = Callable[[Any, Any, int], Any]  # of a tensor, an axis or None, the number of elements
Reduction = Callable[..., Any]  # of an array and, as its second argument, an axis
Lane = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

_INTEGERS = frozenset((torch.int8, torch.int16, torch.int32, torch.int64))
_SEQUENCES = (list, tuple)
_WIDE = torch.float64
_DIAGONAL = (1, 0)
_number = _numbers.keeper(np.dtype(np.float64))
_TINY = 256  # elements up to which adding one by one takes no time beside the call


def _sum(tensor: Any, axis: Any, count: int) -> Any:
    if compensates():
        return None
    return tensor.sum() if axis is None else tensor.sum(axis)


def _sum_integers(tensor: Any, axis: Any, count: int) -> Any:
    return tensor.sum() if axis is None else tensor.sum(axis)


def _sum_single(tensor: Any, axis: Any, count: int) -> Any:
    if count > SMALL or compensates():
        return None
    if axis is None:
        return tensor.sum(dtype=_WIDE).float()
    return tensor.sum(axis, dtype=_WIDE).float()


def _sum_tiny(tensor: Any, axis: Any, count: int) -> Any:
    if count > _TINY or (axis is not None and tensor.ndim > 1) or not tensor.is_contiguous():
        return _sum_single(tensor, axis, count)
    if compensates():
        return None
    # element i of the diagonal is element i of the tensor
    return tensor.as_strided((count, count), _DIAGONAL).trace()


def _mean(tensor: Any, axis: Any, count: int) -> Any:
    if compensates():
        return None
    if axis is None:
        return tensor.sum() / count
    return tensor.sum(axis) / tensor.shape[axis]


def _mean_single(tensor: Any, axis: Any, count: int) -> Any:
    if count > SMALL or compensates():
        return None
    if axis is None or tensor.ndim == 1:
        return tensor.sum(dtype=_WIDE).div_(_number(count)).float()
    return tensor.sum(axis, dtype=_WIDE).div_(_number(tensor.shape[axis])).float()


def _trace_is_wide(place: Any) -> bool:
    """Whether ``trace`` adds float32 in float64: ones between large numbers are not lost."""
    large = 2.0**30
    rows = ([large, *[1.0] * count, -large] for count in (8, 11, 100))
    return all(
        torch.tensor(row, dtype=torch.float32, device=place).diag().trace().item() == len(row) - 2
        for row in rows
    )


def _prod(tensor: Any, axis: Any, count: int) -> Any:
    return tensor.prod() if axis is None or tensor.ndim == 1 else None


def _max(tensor: Any, axis: Any, count: int) -> Any:
    return tensor.amax() if axis is None else tensor.amax(axis)


def _min(tensor: Any, axis: Any, count: int) -> Any:
    return tensor.amin() if axis is None else tensor.amin(axis)


def _any(tensor: Any, axis: Any, count: int) -> Any:
    return tensor.any() if axis is None else tensor.any(axis)


def _all(tensor: Any, axis: Any, count: int) -> Any:
    return tensor.all() if axis is None else tensor.all(axis)


def _general(tensor: Any, axis: Any, count: int) -> Any:
    """Decline."""
    return None


_HALVES_AND_DOUBLE = FLOATS - {torch.float32}
# function -> the card's operator, and the calls for each set of dtypes
_FORMS: dict[Any, tuple[str, tuple[tuple[frozenset[Any], Form], ...]]] = {
    np.sum: (
        "sum",
        (
            (frozenset((torch.float32,)), _sum_tiny),
            (_HALVES_AND_DOUBLE, _sum),
            (_INTEGERS, _sum_integers),
        ),
    ),
    np.mean: (
        "sum",
        (
            (frozenset((torch.float32,)), _mean_single),
            (frozenset((torch.float64,)), _mean),
        ),
    ),
    np.prod: ("prod", ((FLOATS | {torch.int64}, _prod),)),
    np.max: ("maximum.reduce", ((FLOATS | _INTEGERS, _max),)),
    np.min: ("minimum.reduce", ((FLOATS | _INTEGERS, _min),)),
    np.any: ("any", ((frozenset((torch.bool,)), _any),)),
    np.all: ("all", ((frozenset((torch.bool,)), _all),)),
}


def _form(function: Any, dtype: Any) -> Form:
    """Calls of a function for a dtype that this card has kernels for, or the declining one."""
    operator, forms = _FORMS[function]
    found = next((form for dtypes, form in forms if dtype in dtypes), None)
    backend = device.current()
    if found is None or not backend.supports(operator, NUMPY[dtype].name):
        return _general
    if found in (_sum_tiny, _mean_single) and not backend.fast_float64:
        return _general
    if found is _sum_tiny and not _trace_is_wide(backend.torch_device):
        found = _sum_single
    sample = torch.ones(1, dtype=torch.bool, device=backend.torch_device).to(dtype)
    try:
        with _guard.strict():
            found(sample, None, 1)
            found(sample, 0, 1)
    except (RuntimeError, NotImplementedError, NeedsHost):
        return _general
    return found


def reduction(function: Any) -> Reduction:
    """Fast way of a NumPy reduction.

    Parameters
    ----------
    function : callable
        A key of ``_FORMS``.

    Returns
    -------
    callable
        Of an AscendArray and an axis; gives an AscendArray, or None for the general way.
    """
    table = _kernels.table()

    def reduce(array: Any, axis: Any = None) -> Any:
        try:
            tensor = array._t
        except MeetsTimes:
            return None
        dtype = tensor.dtype
        try:
            form = table[dtype]
        except KeyError:
            if observer.active is not None:
                return None
            form = _form(function, dtype)
            _kernels.remember(table, dtype, form, form)
        # what is no axis, and no elements, are the general way's
        if axis is not None:
            ndim = tensor.ndim
            if type(axis) is not int or not -ndim <= axis < ndim:
                return None
        count = tensor.numel()
        if not count or (dtype is _WIDE and device_policy()):
            return None
        found = form(tensor, axis, count)
        return found if found is None else wrap(found)

    return reduce


_REDUCTIONS: dict[Any, Reduction] = {function: reduction(function) for function in _FORMS}


def _of_reduction(quick: Reduction) -> Lane:
    """Lane of a function of an array and an axis."""

    def lane(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args or type(args[0]) is not cls or len(args) + len(kwargs) > 2:
            return None
        if not kwargs:
            return quick(*args)
        return quick(args[0], kwargs["axis"]) if "axis" in kwargs else None

    return lane


# -- moving elements


def _admits(table: dict[Any, Any], trial: Callable[[Any], Any], dtype: Any) -> bool:
    """Whether a lane may call torch for a dtype now; remembered where it may be."""
    if observer.active is not None or (backend := device.current()).restricts:
        return False
    sample = torch.ones(1, dtype=torch.bool, device=backend.torch_device)
    try:
        trial(sample.to(dtype))
    except (RuntimeError, NotImplementedError):
        return False
    _kernels.remember(table, dtype, trial, trial)
    return True


def _concatenate() -> Lane:
    table = _kernels.table()

    def lane(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == 1:
            axis = kwargs.get("axis") if kwargs else 0
            if len(kwargs) > 1:
                return None
        elif len(args) == 2 and not kwargs:
            axis = args[1]
        else:
            return None
        parts = args[0]
        if type(axis) is not int or type(parts) not in _SEQUENCES or not parts:
            return None
        tensors = []
        for part in parts:
            if type(part) is not cls:
                return None
            tensors.append(part._t)
        dtype = tensors[0].dtype
        for tensor in tensors:
            if tensor.dtype is not dtype:
                return None
        if dtype not in table and not _admits(table, lambda t: torch.cat([t, t]), dtype):
            return None
        try:
            joined = torch.cat(tensors, axis)
        except (RuntimeError, IndexError):
            return None
        # torch skips empty tensors of one axis, which NumPy refuses beside others
        ndim = joined.ndim
        if ndim > 1 and any(tensor.ndim != ndim for tensor in tensors):
            return None
        return wrap(joined)

    return lane


def _where() -> Lane:
    table = _kernels.table()

    def lane(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs or len(args) != 3:
            return None
        mask, left, right = args
        if not type(mask) is type(left) is type(right) is cls:
            return None
        condition, one, other = mask._t, left._t, right._t
        dtype = one.dtype
        if other.dtype is not dtype or condition.dtype is not torch.bool:
            return None
        if dtype not in table and not _admits(table, lambda t: torch.where(t != t, t, t), dtype):
            return None
        try:
            return wrap(torch.where(condition, one, other))
        except RuntimeError:
            return None

    return lane


def _reshape() -> Lane:
    table = _kernels.table()

    def lane(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs or len(args) != 2 or type(args[0]) is not cls:
            return None
        tensor, shape = args[0]._t, args[1]
        if type(shape) is not tuple or not shape:
            return None
        for length in shape:
            if type(length) is not int:
                return None
        dtype = tensor.dtype
        if dtype not in table and not _admits(table, lambda t: t.reshape(1, 1), dtype):
            return None
        if stands_for(tensor) is not None:
            return None
        try:
            return wrap(tensor.reshape(*shape))
        except RuntimeError:
            return None

    return lane


QUICK: dict[Any, Lane] = {
    **{function: _of_reduction(quick) for function, quick in _REDUCTIONS.items()},
    np.concatenate: _concatenate(),
    np.where: _where(),
    np.reshape: _reshape(),
}


def method(function: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """Method of a NumPy function that tries the fast way first; `general` itself if none is."""
    quick = _REDUCTIONS.get(function)
    if quick is None:
        return general

    @functools.wraps(general)
    def reduce(self: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not (args or kwargs):
            found = quick(self, axis)
            if found is not None:
                return found
        return general(self, axis, *args, **kwargs)

    return reduce

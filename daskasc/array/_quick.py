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
diagonal instead. A mean is such a sum divided by the number of elements in the array's own dtype,
as in NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _guard, _kernels, _numbers, _storage, _summation
from daskasc.array._dispatch import MeetsTimes, NeedsHost
from daskasc.array._dtypes import FLOATS, NUMPY, device_policy, torch
from daskasc.array._readonly import stands_for
from daskasc.array._storage import wrap
from daskasc.array._summation import NATIVE, SMALL, settings
from daskasc.device import observer

Form = Callable[[Any, Any, int], Any]  # of a tensor, an axis or None, the number of elements
Lane = Callable[..., Any]  # of what NumPy's function was given

_INTEGERS = frozenset((torch.int8, torch.int16, torch.int32, torch.int64))
_SEQUENCES = (list, tuple)
_NOT_OURS = (AttributeError, MeetsTimes)  # what has no dtype of torch's: host memory, times
_WIDE = torch.float64
_DIAGONAL = (1, 0)
_new = object.__new__
_SMALL_STORAGE = _storage.SMALL
_TINY = 256  # elements up to which adding one by one takes no time beside the call


def _sum(tensor: Any, axis: Any, count: int) -> Any:
    return tensor.sum() if axis is None else tensor.sum(axis)


def _sum_single(tensor: Any, axis: Any, count: int) -> Any:
    if count > SMALL:
        return None
    if axis is None:
        return tensor.sum(dtype=_WIDE).float()
    return tensor.sum(axis, dtype=_WIDE).float()


def _sum_tiny(tensor: Any, axis: Any, count: int) -> Any:
    if count > _TINY or (axis is not None and tensor.ndim > 1) or not tensor.is_contiguous():
        return _sum_single(tensor, axis, count)
    # element i of the diagonal is element i of the tensor
    return tensor.as_strided((count, count), _DIAGONAL).trace()


def _mean_by(total: Form, dtype: Any) -> Form:
    """Sum divided by the number of elements, both of torch dtype `dtype`."""
    number = _numbers.keeper(NUMPY[dtype])

    def mean(tensor: Any, axis: Any, count: int) -> Any:
        found = total(tensor, axis, count)
        if found is None:
            return None
        return found.div_(number(count if axis is None else tensor.shape[axis]))

    return mean


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
            (_HALVES_AND_DOUBLE | _INTEGERS, _sum),
        ),
    ),
    np.mean: (
        "sum",
        (
            (frozenset((torch.float32,)), _sum_tiny),
            (frozenset((torch.float64,)), _sum),
        ),
    ),
    np.prod: ("prod", ((FLOATS | {torch.int64}, _prod),)),
    np.max: ("maximum.reduce", ((FLOATS | _INTEGERS, _max),)),
    np.min: ("minimum.reduce", ((FLOATS | _INTEGERS, _min),)),
    np.any: ("any", ((frozenset((torch.bool,)), _any),)),
    np.all: ("all", ((frozenset((torch.bool,)), _all),)),
}


def _form(function: Any, dtype: Any) -> tuple[Form, Any]:
    """Calls of a function for a dtype that this card has kernels for, and the result's dtype.

    The declining calls, without a dtype, where there are none.
    """
    operator, forms = _FORMS[function]
    found = next((form for dtypes, form in forms if dtype in dtypes), None)
    backend = device.current()
    if found is None or not backend.supports(operator, NUMPY[dtype].name):
        return _general, None
    if found is _sum_tiny:
        if not backend.fast_float64:
            return _general, None
        if not _trace_is_wide(backend.torch_device):
            found = _sum_single
    if function is np.mean:
        found = _mean_by(found, dtype)
    sample = torch.ones(1, dtype=torch.bool, device=backend.torch_device).to(dtype)
    try:
        with _guard.strict():
            given = found(sample, None, 1).dtype
            found(sample, 0, 1)
    except (RuntimeError, NotImplementedError, NeedsHost):
        return _general, None
    return found, given


def reduction(function: Any) -> Lane:
    """Fast way of a NumPy reduction.

    Parameters
    ----------
    function : callable
        A key of ``_FORMS``.

    Returns
    -------
    callable
        Of an AscendArray and an axis; gives an AscendArray, or None for the general way, as for
        all other arguments.
    """
    table = _kernels.table()
    adds = function in (np.sum, np.mean)

    def reduce(array: Any = None, axis: Any = None, *more: Any, **others: Any) -> Any:
        if more or others:
            return None
        try:
            # compensated sums are the general way's; asked without a call, which would cost more
            if adds and (_summation.asked or settings["daskasc"]["accumulate"] != NATIVE):
                return None
            dtype = array._d
        except (KeyError, *_NOT_OURS):  # KeyError: no such setting
            return None
        tensor = array._t
        try:
            form, given = table[dtype]
        except KeyError:
            if observer.active is not None:
                return None
            form, given = entry = _form(function, dtype)
            _kernels.remember(table, dtype, entry, form)
        # what is no axis, and no elements, are the general way's
        if axis is not None:
            ndim = tensor.ndim
            if type(axis) is not int or not -ndim <= axis < ndim:
                return None
        count = tensor.numel()
        if not count or (dtype is _WIDE and device_policy()):
            return None
        found = form(tensor, axis, count)
        if found is None:
            return None
        result = _new(_storage.array_class)
        result._t = found
        result._d = given
        if _storage.accounts is not None and found.nbytes >= _SMALL_STORAGE:
            _storage.account(result)
        return result

    return reduce


_REDUCTIONS: dict[Any, Lane] = {function: reduction(function) for function in _FORMS}


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

    def lane(parts: Any = (), axis: Any = 0, *more: Any, **others: Any) -> Any:
        if more or others or type(axis) is not int or type(parts) not in _SEQUENCES or not parts:
            return None
        try:
            dtype = parts[0]._d
            tensors = []
            for part in parts:
                if part._d is not dtype:
                    return None
                tensors.append(part._t)
        except _NOT_OURS:
            return None
        if dtype not in table and not _admits(table, lambda t: torch.cat([t, t]), dtype):
            return None
        try:
            joined = torch.cat(tensors, axis)
        except (RuntimeError, IndexError):
            return None
        # torch skips empty tensors of one axis, and does not look at the axis if all are
        ndim = joined.ndim
        if ndim > 1 and any(tensor.ndim != ndim for tensor in tensors):
            return None
        if ndim == 1 and axis not in (0, -1):
            return None
        return wrap(joined)

    return lane


def _where() -> Lane:
    table = _kernels.table()

    def lane(mask: Any, left: Any = None, right: Any = None, *more: Any, **others: Any) -> Any:
        if more or others:
            return None
        try:
            dtype = left._d
            if right._d is not dtype or mask._d is not torch.bool:
                return None
        except _NOT_OURS:
            return None
        if dtype not in table and not _admits(table, lambda t: torch.where(t != t, t, t), dtype):
            return None
        try:
            return wrap(torch.where(mask._t, left._t, right._t))
        except RuntimeError:
            return None

    return lane


def _reshape() -> Lane:
    table = _kernels.table()

    def lane(array: Any = None, shape: Any = None, *more: Any, **others: Any) -> Any:
        if more or others or type(shape) is not tuple or not shape:
            return None
        for length in shape:
            if type(length) is not int:
                return None
        try:
            dtype = array._d
        except _NOT_OURS:
            return None
        tensor = array._t
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
    **_REDUCTIONS,
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

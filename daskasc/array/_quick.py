"""Plain reductions of a whole array or along one axis, without the general way's handling.

``sum``, ``prod``, ``mean``, ``max``, ``min``, ``any`` and ``all`` of an array and at most an axis
cost one or two torch calls; finding out about ``out=``, ``where=``, axis tuples and modes of
summation costs several times as much. Each function has a table from the torch dtype to those
calls, the same ones that the general way ends in, so that the bits are the same. A table is empty
while calls are observed and after the card changes; a dtype enters it once the card is known to
have its kernel. Everything else is declined with None and goes the general way.

float32 sums of few elements stay sums in float64, rounded once: torch's own sum of 8 to 128
float32 elements has up to a third more error than NumPy's, which keeps eight sums apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _guard, _kernels
from daskasc.array._dispatch import MeetsTimes, NeedsHost
from daskasc.array._dtypes import FLOATS, NUMPY, device_policy, torch
from daskasc.array._storage import wrap
from daskasc.array._summation import SMALL, compensates
from daskasc.device import observer

Reduction = Callable[[Any, Any], Any]

_INTEGERS = frozenset((torch.int8, torch.int16, torch.int32, torch.int64))
_WIDE = torch.float64


def _sum(tensor: Any, axis: Any) -> Any:
    if compensates():
        return None
    return tensor.sum() if axis is None else tensor.sum(axis)


def _sum_integers(tensor: Any, axis: Any) -> Any:
    return tensor.sum() if axis is None else tensor.sum(axis)


def _sum_single(tensor: Any, axis: Any) -> Any:
    if tensor.numel() > SMALL or compensates():
        return None
    if axis is None:
        return tensor.sum(dtype=_WIDE).float()
    return tensor.sum(axis, dtype=_WIDE).float()


def _mean(tensor: Any, axis: Any) -> Any:
    if compensates():
        return None
    if axis is None:
        return tensor.sum() / tensor.numel()
    return tensor.sum(axis) / tensor.shape[axis]


def _mean_single(tensor: Any, axis: Any) -> Any:
    if tensor.numel() > SMALL or compensates():
        return None
    if axis is None:
        return tensor.mean(dtype=_WIDE).float()
    return tensor.mean(axis, dtype=_WIDE).float()


def _prod(tensor: Any, axis: Any) -> Any:
    return tensor.prod() if axis is None or tensor.ndim == 1 else None


def _max(tensor: Any, axis: Any) -> Any:
    return tensor.amax() if axis is None else tensor.amax(axis)


def _min(tensor: Any, axis: Any) -> Any:
    return tensor.amin() if axis is None else tensor.amin(axis)


def _any(tensor: Any, axis: Any) -> Any:
    return tensor.any() if axis is None else tensor.any(axis)


def _all(tensor: Any, axis: Any) -> Any:
    return tensor.all() if axis is None else tensor.all(axis)


def _general(tensor: Any, axis: Any) -> Any:
    """Decline."""
    return None


_HALVES_AND_DOUBLE = FLOATS - {torch.float32}
# function -> the card's operator, and the calls for each set of dtypes
_FORMS: dict[Any, tuple[str, tuple[tuple[frozenset[Any], Reduction], ...]]] = {
    np.sum: (
        "sum",
        (
            (frozenset((torch.float32,)), _sum_single),
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


def _form(function: Any, dtype: Any) -> Reduction:
    """Calls of a function for a dtype that this card has kernels for, or the declining one."""
    operator, forms = _FORMS[function]
    found = next((form for dtypes, form in forms if dtype in dtypes), None)
    backend = device.current()
    if found is None or not backend.supports(operator, NUMPY[dtype].name):
        return _general
    if found in (_sum_single, _mean_single) and not backend.fast_float64:
        return _general
    sample = torch.ones(1, dtype=torch.bool, device=backend.torch_device).to(dtype)
    try:
        with _guard.strict():
            found(sample, None)
            found(sample, 0)
    except (RuntimeError, NotImplementedError, NeedsHost):
        return _general
    return found


def reduction(function: Any) -> Reduction:
    """Fast way of a NumPy reduction.

    Parameters
    ----------
    function : callable
        A key of :data:`QUICK`.

    Returns
    -------
    callable
        Of an AscendArray and an axis; gives an AscendArray, or None for the general way.
    """
    table = _kernels.table()

    def reduce(array: Any, axis: Any) -> Any:
        try:
            tensor = array._t
        except MeetsTimes:
            return None
        form = table.get(tensor.dtype)
        if form is None:
            if observer.active is not None:
                return None
            form = _form(function, tensor.dtype)
            _kernels.remember(table, tensor.dtype, form, form)
        ndim = tensor.ndim
        # no elements or no axes, and what is no axis, are the general way's
        if (axis is not None and (type(axis) is not int or not -ndim <= axis < ndim)) or not (
            ndim and tensor.numel()
        ):
            return None
        if tensor.dtype is torch.float64 and device_policy():
            return None
        found = form(tensor, axis)
        return found if found is None else wrap(found)

    return reduce


QUICK: dict[Any, Reduction] = {function: reduction(function) for function in _FORMS}


def call(quick: Reduction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Result of a function of :data:`QUICK` for an AscendArray and an axis, or None."""
    if not kwargs:
        if len(args) == 1:
            return quick(args[0], None)
        return quick(*args) if len(args) == 2 else None
    if len(kwargs) == 1 and len(args) == 1 and "axis" in kwargs:
        return quick(args[0], kwargs["axis"])
    return None


def method(function: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """Method of a NumPy function that tries the fast way first; `general` itself if none is."""
    quick = QUICK.get(function)
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

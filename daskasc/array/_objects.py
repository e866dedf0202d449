"""Operands that no card can hold: text, None, ``Fraction``, ``datetime`` and pandas' scalars.

A comparison with one of them has an answer for each element, never one scalar: Python would take
the operands' identity if both declined. What is a time becomes a NumPy scalar of times and stays
on the card. The rest is NumPy's to compare, on the host and counted; elements never equal text,
and NaT alone equals None, which needs no host. Objects with a protocol for arrays (Dask, xarray,
pandas) answer themselves.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _dispatch
from daskasc.array._dtypes import torch
from daskasc.array._storage import wrap

COMPARISONS: dict[np.ufunc, Any] = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}
# what NumPy turns an element into before it compares with an object, by the unit of times
_DATES = frozenset("YMWD")
_DATETIMES = frozenset(("h", "m", "s", "ms", "us"))
_TIMEDELTAS = _DATETIMES | {"W", "D"}


def protocol_of_its_own(value: Any) -> bool:
    """Whether an operand that is not for this package answers for arrays itself, as in NumPy."""
    kind = type(value)
    if hasattr(kind, "__array_ufunc__") or hasattr(value, "__dask_graph__"):
        return True
    priority = getattr(kind, "__array_priority__", 0.0)
    # pandas' scalars have the priority of an array, but compare with NumPy's arrays only
    return priority > 0 and not isinstance(value, torch.Tensor) and not is_scalar_time(value)


def is_scalar_time(value: Any) -> bool:
    """Whether a value is a time of pandas (or similar) that NumPy has a scalar for."""
    return hasattr(value, "to_datetime64") or hasattr(value, "to_timedelta64")


def as_scalar_time(value: Any) -> np.datetime64 | np.timedelta64 | None:
    """NumPy's scalar of a ``pandas.Timestamp`` or ``Timedelta``; None for everything else.

    ``pandas.NaT``, which is a date and a duration at once, and times with a zone have none.
    """
    if not is_scalar_time(value) or value != value or getattr(value, "tzinfo", None) is not None:
        return None
    found = getattr(value, "to_datetime64", None) or value.to_timedelta64
    return found()


def comparable_time(value: Any, dtype: np.dtype[Any]) -> np.datetime64 | np.timedelta64 | None:
    """NumPy's scalar that compares with times of `dtype` as `value` does; None: there is none.

    NumPy compares Python's objects with ``element.item()``: a date in units of days and coarser, a
    datetime down to microseconds, an integer below. A datetime never equals a date.
    """
    unit = np.datetime_data(dtype)[0]
    if dtype.kind == "M" and (
        (type(value) is datetime.date and unit in _DATES)
        or (type(value) is datetime.datetime and unit in _DATETIMES and value.tzinfo is None)
    ):
        return np.datetime64(value)
    if dtype.kind == "m" and type(value) is datetime.timedelta and unit in _TIMEDELTAS:
        return np.timedelta64(value)
    return as_scalar_time(value)


def compare(ufunc: np.ufunc, array: Any, other: Any, reflected: bool = False) -> Any:
    """Result of a comparison operator beside an object.

    Parameters
    ----------
    ufunc : numpy.ufunc
        A key of `COMPARISONS`.
    array : AscendArray
    other : object
        Not for this package to compute with.
    reflected : bool, optional
        Whether `other` is the first operand.

    Returns
    -------
    AscendArray of bool, what NumPy returns on the host, or NotImplemented
        NotImplemented for objects with a protocol of their own.

    Raises
    ------
    TypeError
        NumPy orders no such objects, or `other` is a torch tensor.
    """
    if protocol_of_its_own(other):
        return NotImplemented
    if isinstance(other, torch.Tensor):
        raise TypeError(
            "an array on the card is not compared with a torch tensor: pass "
            "daskasc.array.AscendArray(tensor), or compare with .tensor of the array"
        )
    if ufunc in (np.equal, np.not_equal) and (other is None or isinstance(other, str | bytes)):
        if other is None and array.dtype.kind in "mM":
            nat = np.isnat(array)
            return nat if ufunc is np.equal else ~nat
        place = array.tensor
        answer = ufunc is np.not_equal
        return wrap(torch.full(array.shape, answer, dtype=torch.bool, device=place.device))
    return _by_numpy(ufunc, (other, array) if reflected else (array, other))


def compare_host(
    ufunc: np.ufunc, other: Any, operands: tuple[Any, ...], apply: Callable[..., Any]
) -> Any:
    """Result of a comparison beside a NumPy array or scalar `other`, by `apply` where it can be.

    Objects and text are for NumPy, and the equality of times and of numbers that no loop compares.
    """
    kind = other.dtype.kind
    if kind in "OSUT":
        return _by_numpy(ufunc, operands)
    if kind not in "mM" or ufunc not in (np.equal, np.not_equal):
        return apply(ufunc, operands)
    try:
        return apply(ufunc, operands)
    except TypeError:
        return _by_numpy(ufunc, operands)


def _by_numpy(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    return _dispatch.on_host(_dispatch.name_of(ufunc), COMPARISONS[ufunc], operands, {})

"""Values that are to be stored in arrays, converted as NumPy's assignment converts them.

Python's numbers have to fit, alone and in lists: NumPy itself puts them into an array of the
target's dtype, so that its errors are raised (OverflowError for an integer out of range,
ValueError for NaN as an integer, TypeError for a complex number as a real one). Arrays, whether on
the card or not, are cast: their integers wrap.
"""

from __future__ import annotations

import numbers
import operator
from typing import Any

import numpy as np

from daskasc.array import _storage
from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import BFLOAT16, NUMPY, check_integer, torch, torch_dtype

_SEQUENCES = (list, tuple)


def value_for(value: Any, dtype: Any) -> Any:
    """Tensor of torch dtype `dtype` of a value that is to be stored in one.

    Raises
    ------
    OverflowError, ValueError, TypeError
        NumPy's, for Python's numbers that the dtype cannot hold.
    UnsupportedDTypeError
        Text and other objects.
    """
    kind = type(value)
    if kind in _SEQUENCES:
        if _storage.holds_array(value):
            return _storage.stack([value_for(item, dtype) for item in value])
        return _storage.tensor_of(_packed(value, _host(dtype)), dtype)
    if value is not None and not isinstance(value, int | float | complex | np.number | np.bool_):
        return _storage.tensor_of(value, dtype)
    made = np.empty((), _host(dtype))
    with np.errstate(all="ignore"):  # a float that becomes an infinity; the card says nothing
        made[()] = value
    return _storage.tensor_of(made, dtype)


def copied(value: Any, dtype: Any) -> Any:
    """Tensor of a value that is copied under the casting rule "unsafe"; only integers have to fit.

    None is NaN.

    This is how :func:`numpy.copyto` and :func:`numpy.full` convert.
    """
    if type(value) is int and dtype is torch.bool:
        check_integer(value, np.dtype("i8"))  # as NumPy does before it asks for the truth
    if value is None or type(value) is int:
        return value_for(value, dtype)
    return _storage.tensor_of(value, dtype)


def check_safe(tensor: Any, dtype: np.dtype[Any]) -> None:
    """Raise NumPy's TypeError for a tensor whose dtype is not cast by the rule "safe"."""
    if (given := NUMPY[tensor.dtype]) != BFLOAT16:
        check_cast(given, dtype, "safe")


def check_cast(given: np.dtype[Any], dtype: np.dtype[Any], rule: Any) -> None:
    """Raise NumPy's TypeError where it does not cast one dtype to the other."""
    if given == BFLOAT16 or not np.can_cast(given, dtype, rule):
        raise TypeError(
            f"Cannot cast array data from {given!r} to {dtype!r} according to the rule '{rule}'; "
            "take the real part, or convert by .astype"
        )


def host_indices(value: Any, rule: Any) -> np.ndarray[Any, Any]:
    """Indices or counts of the host as integers: arrays by a casting rule, all else as by int."""
    if isinstance(value, np.ndarray):
        check_cast(value.dtype, np.dtype(np.intp), rule)
    return np.array(value, np.intp)


def places_of(value: Any) -> Any:
    """int64 tensor of places: arrays by the rule "safe", all else as by int."""
    if not is_array(value):
        return _storage.tensor_of(host_indices(value, "safe"))
    tensor = _storage.tensor_of(value)
    check_cast(NUMPY[tensor.dtype], np.dtype(np.intp), "safe")
    return tensor.to(torch.int64)


def whole_numbers(value: Any) -> tuple[int, ...]:
    """Lengths or axes, as integers: of one, or of a sequence or an array of them anywhere."""
    given = value.asnumpy() if is_array(value) else value
    try:
        return (operator.index(given),)
    except TypeError:
        if not hasattr(given, "__iter__"):
            raise
    return tuple(map(operator.index, given))


def _host(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype for a torch dtype, with one that its rules know for bfloat16."""
    found = NUMPY[dtype]
    return np.dtype("f8") if found == BFLOAT16 else found


def _packed(value: Any, dtype: np.dtype[Any]) -> Any:
    """Array of a nested list of Python's numbers."""
    natural = np.asarray(value)
    if natural.dtype.kind != "O" or not _all_numbers(value):
        torch_dtype(natural.dtype)  # raises for text, times and objects
    with np.errstate(all="ignore"):
        return np.array(value, dtype)


def _all_numbers(value: Any) -> bool:
    if type(value) in _SEQUENCES:
        return all(map(_all_numbers, value))
    return value is None or isinstance(value, numbers.Number)

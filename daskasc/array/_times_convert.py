"""Between times and everything else: numbers, host values, other units.

Host values are converted by NumPy itself, so that strings, ``datetime`` objects and integers mean
what they mean there, errors included.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _masks, _operators
from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import COMPLEX, NUMPY, cast, is_float, torch, torch_dtype
from daskasc.array._storage import from_numpy, wrap, wrap_times
from daskasc.array._times_units import NAT, convert
from daskasc.errors import UnsupportedDTypeError

_INT64 = np.dtype(np.int64)
_NO_TEXT = "call .asnumpy() first, or np.datetime_as_string for text (a NumPy array)"


def is_times(value: Any) -> bool:
    """Whether a value is an array of times on the card."""
    return is_array(value) and value.dtype.kind in "mM"


def host(value: Any) -> Any:
    """NumPy array of a value that is on no card; ``datetime`` objects as NumPy's scalars are."""
    if type(value) in (datetime.datetime, datetime.timedelta):
        return np.asarray(value, "M8[us]" if type(value) is datetime.datetime else "m8[us]")
    return np.asarray(value)


def check_cast(source: np.dtype[Any], target: np.dtype[Any], casting: str) -> None:
    """Raise NumPy's TypeError unless a casting rule allows a conversion."""
    if casting != "unsafe" and not _operators.can_cast(source, target, casting):
        raise TypeError(
            f"Cannot cast array data from {source!r} to {target!r} according to the rule "
            f"'{casting}'"
        )


def specific(dtype: Any, given: np.dtype[Any]) -> np.dtype[Any]:
    """Dtype of times that a conversion to `dtype` gives: one without a unit takes the given one."""
    wanted = np.dtype(dtype).newbyteorder("=")
    if given.kind in "mM" and np.datetime_data(wanted)[0] == "generic":
        unit, count = np.datetime_data(given)
        wanted = wanted if unit == "generic" else np.dtype(f"{wanted.kind}8[{count}{unit}]")
    return wanted


def from_numbers(array: Any, dtype: np.dtype[Any], casting: str = "unsafe") -> Any:
    """Array of times whose ticks are an array's numbers; NaN and infinities give NaT."""
    check_cast(array.dtype, dtype, casting)
    tensor = array._t
    if tensor.dtype in COMPLEX:
        tensor = cast(tensor, tensor.real.dtype)
    if not is_float(tensor):
        ticks = tensor.clone() if tensor.dtype is torch.int64 else cast(tensor, torch.int64)
    else:
        ticks = truncated(tensor)
    return wrap_times(wrap(ticks), dtype.newbyteorder("="))


def truncated(numbers: Any) -> Any:
    """Ticks of floating-point numbers, rounded towards zero; NaT where they are none in 64 bits."""
    fits = torch.abs(numbers) < 2.0**63  # False for NaN
    return numbers.masked_fill(~fits, 0).to(torch.int64).masked_fill(~fits, NAT)


def to_dtype(array: Any, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Any:
    """Array of times as another dtype (``astype``).

    Raises
    ------
    UnsupportedDTypeError
        The dtype has no representation on a card (strings, objects).
    """
    wanted = np.dtype(dtype)
    if wanted.kind in "mM":
        wanted = specific(wanted, array.dtype)
    check_cast(array.dtype, wanted, casting)
    if wanted.kind not in "mM":
        if wanted.kind in "OSUTV" and wanted not in NUMPY.values():
            raise UnsupportedDTypeError(
                f"dtype {wanted} has no representation on a card: {_NO_TEXT}"
            )
        return array._ticks.astype(wanted)
    if wanted == array.dtype and not copy:
        return array
    ticks = array._ticks._t
    found = convert(ticks, array.dtype, wanted)
    return wrap_times(wrap(found.clone() if found is ticks else found), wanted)


def of_any(value: Any, dtype: np.dtype[Any]) -> Any:
    """int64 array of the ticks of a value as NumPy assigns it to elements of `dtype`.

    Raises
    ------
    TypeError, ValueError
        As NumPy's assignment.
    """
    if is_times(value):
        return wrap(convert(value._ticks._t, value.dtype, dtype))
    if is_array(value):
        return from_numbers(value, dtype)._ticks
    if isinstance(value, list | tuple) and holds_array(value):
        parts = [of_any(item, dtype) for item in value]
        return wrap(torch.stack([part._t for part in parts]))
    value = _masks.plain(value)
    made = np.empty(np.shape(value), dtype)
    made[...] = value
    return from_numpy(made)._ticks


def operand(value: Any, dtype: np.dtype[Any]) -> Any:
    """Tensor of a ufunc's operand in the dtype of NumPy's loop, ticks if that is of times."""
    if dtype.kind in "mM":
        if is_times(value):
            return convert(value._ticks._t, value.dtype, dtype)
        if is_array(value):
            return from_numbers(value, dtype)._ticks._t
        given = host(value)
        if given.dtype.kind not in "mM":  # Python integers out of range raise here
            given = np.asarray(value, _INT64) if type(value) is int else given.astype(_INT64)
        return from_numpy(given.astype(dtype))._ticks._t
    target = torch_dtype(dtype)
    if is_times(value):
        return cast(value._ticks._t, target)
    if is_array(value):
        return cast(value._t, target)
    given = np.asarray(value, dtype) if type(value) is int else np.asarray(value).astype(dtype)
    return device.current().upload(given)


def holds_array(value: Any) -> bool:
    """Whether nested lists hold an array on the card."""
    return any(
        is_array(item) or (isinstance(item, list | tuple) and holds_array(item)) for item in value
    )

"""Values that are written into arrays: every writer takes, and refuses, what NumPy's does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import daskasc.array as da
from daskasc.array import from_numpy
from daskasc.errors import UnsupportedDTypeError

from .reference import assert_same, check

pytestmark = [
    pytest.mark.usefixtures("no_fallback"),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning"),
]

VALUES: dict[str, Any] = {
    "300": 300,
    "-1": -1,
    "300.7": 300.7,
    "1.5": 1.5,
    "nan": np.nan,
    "inf": np.inf,
    "1j": 1j,
    "True": True,
    "np.float32": np.float32(2.5),
    "np.int64": np.int64(300),
    "[300]": [300],
    "[2]": [2],
    "[nan]": [np.nan],
    "[1j]": [1j],
    "[2**70]": [2**70],
    "[1.5, 2]": [1.5, 2],
    "(1, 2)": (1, 2),
    "[[1, 2]]": [[1, 2]],
    "[None]": [None],
    "array": np.array([2, 1], "u1"),
    "ints": np.array([300, 2]),
    "complex": np.array([1 + 1j]),
}


def _written(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(x: Any, value: Any) -> Any:
        x = x.copy()
        write(x, value)
        return x

    return call


def _assign(index: Any) -> Callable[[Any, Any], Any]:
    return _written(lambda x, value: x.__setitem__(index, value))


WRITERS: dict[str, Callable[[Any, Any], Any]] = {
    "x[0]": _assign(0),
    "x[0:2]": _assign(slice(0, 2)),
    "x[...]": _assign(...),
    "x[::-1]": _assign(slice(None, None, -1)),
    "x[mask]": _written(lambda x, value: x.__setitem__(x >= 1, value)),
    "x[[0, 1]]": _assign([0, 1]),
    "flat": _written(lambda x, value: setattr(x, "flat", value)),
    "flat[0]": _written(lambda x, value: x.flat.__setitem__(0, value)),
    "flat[0:2]": _written(lambda x, value: x.flat.__setitem__(slice(0, 2), value)),
    "fill": _written(lambda x, value: x.fill(value)),
    "setfield": _written(lambda x, value: x.setfield(value, x.dtype)),
    "put": _written(lambda x, value: np.put(x, [0, 2], value)),
    "put nothing": _written(lambda x, value: np.put(x, [], value)),
    "place": _written(lambda x, value: np.place(x, x >= 1, value)),
    "putmask": _written(lambda x, value: np.putmask(x, x >= 1, value)),
    "copyto": _written(np.copyto),
    "copyto unsafe": _written(lambda x, value: np.copyto(x, value, casting="unsafe")),
    "copyto where": _written(lambda x, value: np.copyto(x, value, where=x >= 1)),
    "fill_diagonal": lambda x, value: _written(np.fill_diagonal)(np.stack([x, x, x]), value),
    "put_along_axis": _written(
        lambda x, value: np.put_along_axis(x, np.argsort(x, stable=True)[:2], value, 0)
    ),
    "insert": lambda x, value: np.insert(x, 1, value),
    "insert several": lambda x, value: np.insert(x, [0, 1], value),
    "full_like": np.full_like,
    "piecewise": lambda x, value: np.piecewise(x, [x >= 1], [value, 0]),
    "sum": lambda x, value: np.sum(x, initial=value),
    "prod of nothing": lambda x, value: np.prod(x[:0], initial=value, dtype=x.dtype),
    "max": lambda x, value: np.max(x, initial=value),
    "min of nothing": lambda x, value: np.min(x[:0], initial=value),
    "nanmax": lambda x, value: np.nanmax(x, initial=value),
    "subtract.reduce": lambda x, value: np.subtract.reduce(x, initial=value),
    "maximum.reduce": lambda x, value: np.maximum.reduce(x, initial=value, dtype=x.dtype),
    "fmin.reduce": lambda x, value: np.fmin.reduce(x[:0], initial=value),
}


def unwritable(value: Any, dtype: str, writer: str) -> bool:
    """Where C leaves the integer open, or NumPy makes an array of objects."""
    if writer == "copyto unsafe" or writer == "full_like":
        odd = isinstance(value, float) or (type(value) is list and "i" not in repr(type(value[0])))
        return (odd and dtype[0] in "iu") or value in ([2**70], [None])
    return writer.startswith("copyto") and value in ([2**70], [None])


@pytest.mark.parametrize("dtype", ["u1", "i8", "f8", "c8"])
@pytest.mark.parametrize("writer", WRITERS)
def test_values_fit_or_are_refused_as_by_numpy(writer: str, dtype: str) -> None:
    for value in VALUES.values():
        array = isinstance(value, np.ndarray)
        if not array and unwritable(value, dtype, writer):
            continue
        if dtype == "c8" and writer == "prod of nothing":
            continue  # infinity times one has the part NaN in some of torch's kernels
        x = np.arange(3).astype(dtype)
        if array:
            check(WRITERS[writer], x, value)
        else:
            check(lambda a, v=value: WRITERS[writer](a, v), x)


def test_nan_to_begin_with_loses_against_numbers() -> None:
    x = np.array([[1.0, np.nan], [np.nan, np.nan], [-3.0, 2.0]])
    for function in (np.nanmax, np.nanmin):
        for initial in (np.nan, 0.5):
            check(lambda a, f=function, i=initial: f(a, axis=1, initial=i), x)
            check(lambda a, f=function, i=initial: f(a, axis=1, initial=i, where=a < 0), x)
            check(lambda a, f=function, i=initial: f(a, axis=(), initial=i), x)


def test_lists_that_hold_arrays_of_the_card_are_converted_item_by_item() -> None:
    x = da.zeros(2, "u1")
    x[...] = [from_numpy(np.array(7)), 2]
    assert x.tolist() == [7, 2]
    with pytest.raises(OverflowError, match="300"):
        x[...] = [from_numpy(np.array(7)), 300]


def test_arrays_without_axes_are_cast_as_the_scalars_that_numpy_has() -> None:
    x = da.zeros(3, "u1")
    top = from_numpy(np.array([3.0, 300.0])).max()
    np.place(x, x == 0, top)
    assert x.tolist() == [44, 44, 44]


def test_bfloat16_takes_numbers() -> None:
    x = da.zeros(2, ml_dtypes.bfloat16)
    x[...] = [1.5, 2**70]
    assert x.asnumpy().astype("f8").tolist() == [1.5, 2.0**70]
    with pytest.raises(TypeError):
        x[0] = 1j
    with pytest.raises(UnsupportedDTypeError, match="<U1"):
        x[0:1] = ["a"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.interp(x, x.real, x.real),
        lambda x: np.interp(x.real, x, x.real),
        lambda x: np.interp(x.real, x.real, x.real, left=1j),
        lambda x: np.interp(x.real, x.real, x, left=1j, right=2),
        lambda x: np.digitize(x, x.real),
        lambda x: np.digitize(x.real, x),
        lambda x: np.bincount(x.real.astype(int), x),
        np.isposinf,
        np.isneginf,
    ],
)
def test_imaginary_parts_are_refused_and_not_dropped(function: Any) -> None:
    for dtype in ("c8", "c16"):
        check(function, np.array([1 + 1j, 2, 3 - 1j], dtype))


def test_nothing_is_written_where_there_is_nothing_to_write() -> None:
    for name in ("put", "putmask", "fill_diagonal", "flat"):
        check(lambda a, n=name: WRITERS[n](a, []), np.arange(3.0))
    assert_same(np.full(3, 44, "u1"), da.full(3, 300.7, "u1"))

"""Shared by the array tests: sample data, and comparison with NumPy's own result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from daskasc.array import AscendArray, asnumpy, from_numpy
from daskasc.errors import HostFallbackError

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
REALS = [d for d in DTYPES if d[0] != "c"]

# ufuncs whose reductions of floats along a line NumPy gets wrong on this processor: with AVX-512
# 2.4's loops of power and arctan2 begin anew at each element, and give the first one with the last
WRONG_REDUCTIONS = {
    ufunc
    for ufunc in (np.power, np.arctan2)
    if not np.isclose(ufunc.reduce([3.0, 2, 2]), ufunc(ufunc(3.0, 2), 2))
}
_TOLERANCE = {2: 1e-2, 4: 3e-5, 8: 1e-11}


def data(dtype: Any, shape: tuple[int, ...] = (4, 5), seed: int = 0) -> np.ndarray[Any, Any]:
    """Random elements with the dtype's awkward values among them."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -10
        array = random.integers(low, 20, shape).astype(dtype)
        if array.size:
            array.flat[0] = np.iinfo(dtype).max if dtype.kind == "u" else np.iinfo(dtype).min
        return array
    if dtype.kind == "c":
        return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)
    array = (random.normal(size=shape) * 3).astype(dtype)
    if array.size > 8:
        array.flat[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0]
    return array


def finite(dtype: Any, shape: tuple[int, ...] = (4, 5), seed: int = 0) -> np.ndarray[Any, Any]:
    """Random elements without special values."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        return data(dtype, shape, seed)
    return (random.normal(size=shape) * 3 + 4).clip(0, 9).astype(dtype)


def down(value: Any) -> Any:
    """NumPy form of a result, nested ones included."""
    if isinstance(value, AscendArray):
        assert type(value) is not AscendArray or value._d is value.tensor.dtype
        return asnumpy(value)
    if isinstance(value, list | tuple):
        return [down(item) for item in value]
    return value


def up(value: Any) -> Any:
    """The same argument with every NumPy array on the card."""
    if isinstance(value, np.ndarray):
        return from_numpy(value)
    if isinstance(value, list | tuple):
        return type(value)(up(item) for item in value)
    return value


def assert_same(expected: Any, found: Any, zeros: bool = True) -> None:
    """Equal structure, dtype, shape and values (floats within the rounding of their dtype)."""
    if isinstance(expected, list | tuple):
        assert len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            assert_same(one, other, zeros)
        return
    if isinstance(expected, np.ndarray) and expected.ndim:
        assert isinstance(found, AscendArray), type(found)
    one, other = np.asarray(expected), np.asarray(down(found))
    assert one.dtype == other.dtype, f"dtype {other.dtype}, NumPy gives {one.dtype}"
    assert one.shape == other.shape, f"shape {other.shape}, NumPy gives {one.shape}"
    if one.dtype.kind not in "fc":
        np.testing.assert_array_equal(other, one)
        return
    size = one.dtype.itemsize // (2 if one.dtype.kind == "c" else 1)
    tolerance = _TOLERANCE[size]
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(
        other.astype(wide), one.astype(wide), rtol=tolerance, atol=tolerance, equal_nan=True
    )
    if zeros and one.dtype.kind == "f":
        zero = one == 0
        np.testing.assert_array_equal(np.signbit(other)[zero], np.signbit(one)[zero])


def check(function: Callable[..., Any], *args: Any, zeros: bool = True) -> None:
    """Compare a function on the card with NumPy, errors by type included."""
    with np.errstate(all="ignore"):
        try:
            expected = function(*args)
        except Exception as error:
            caught: Exception | None = error
        else:
            caught = None
        if caught is None:
            assert_same(expected, function(*map(up, args)), zeros)
            return
        # NumPy's own subclasses of TypeError and ValueError are private
        public = next(k for k in type(caught).__mro__ if k.__module__ == "builtins")
        with pytest.raises(public) as raised:
            function(*map(up, args))
        assert not isinstance(raised.value, HostFallbackError)

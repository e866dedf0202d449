"""Shared by the SciPy tests: comparison with SciPy's own result, errors by type included."""

from __future__ import annotations

import numpy as np
import pytest

from daskasc.array import AscendArray, from_numpy

_TOLERANCE = {4: 3e-6, 8: 1e-11}


def drawn(dtype, shape, seed=0):
    """Random elements of any dtype."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)
    if dtype.kind == "f":
        return (random.normal(size=shape) * 3).astype(dtype)
    low, high = {"b": (0, 2), "u": (0, 100), "i": (-20, 100)}[dtype.kind]
    return random.integers(low, high, shape).astype(dtype)


def up(value):
    return from_numpy(value) if isinstance(value, np.ndarray) else value


def assert_same(found, expected, scale=1.0):
    """Equal dtype, shape and values; floats within the rounding of their dtype."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, scale)
        return
    if isinstance(expected, int | str):
        assert found == expected
        return
    expected = np.asarray(expected)
    assert isinstance(found, AscendArray), type(found)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(found.asnumpy(), expected)
        return
    size = expected.dtype.itemsize // (2 if expected.dtype.kind == "c" else 1)
    tolerance = _TOLERANCE[size] * scale
    largest = np.max(np.abs(expected), where=np.isfinite(expected), initial=0)
    np.testing.assert_allclose(
        found.asnumpy(), expected, rtol=tolerance, atol=tolerance * max(float(largest), 1e-300)
    )


def check(theirs, ours, *args, scale=1.0, **kwargs):
    """Compare a function on the card with SciPy's; where SciPy raises, so must the card."""
    with np.errstate(all="ignore"):
        try:
            expected = theirs(*args, **kwargs)
        except Exception as error:
            caught = error
        else:
            found = ours(*map(up, args), **{key: up(value) for key, value in kwargs.items()})
            assert_same(found, expected, scale)
            return
        with pytest.raises(type(caught)) as raised:
            ours(*map(up, args), **{key: up(value) for key, value in kwargs.items()})
        assert raised.type is type(caught), raised.value

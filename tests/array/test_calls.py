"""Keyword arguments of ufuncs and functions: masks, orders, dtypes, and errors of bad values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from daskasc import array as dnp
from daskasc.array import from_numpy

from .reference import check

_WIDE = np.array([[True, False, True], [False, True, True]])
_ROW = np.arange(3.0).reshape(1, 3)
_EDGES = np.array([-0.0, 4.0, -np.inf, np.nan, 1.0])
_BYTES = np.arange(5, dtype="u1")

pytestmark = pytest.mark.usefixtures("no_fallback")


def test_mask_without_out_gives_the_broadcast_shape() -> None:
    """Elements under the mask are right; the others are any."""
    found = np.add(from_numpy(_ROW), 1, where=from_numpy(_WIDE))
    assert found.shape == (2, 3)
    np.testing.assert_array_equal(found.asnumpy()[_WIDE], (np.ones((2, 1)) * _ROW + 1)[_WIDE])
    parts = np.divmod(from_numpy(_ROW), 2, where=from_numpy(_WIDE))
    assert [part.shape for part in parts] == [(2, 3), (2, 3)]
    assert np.add(from_numpy(_ROW), 1, where=[1, 0, 1]).shape == (1, 3)


def _added(a: Any, mask: Any) -> Any:
    return np.add(a, 1, where=mask)


def _added_into(a: Any, mask: Any, out: Any) -> Any:
    return np.add(a, 1, where=mask, out=out)


@pytest.mark.parametrize(
    "mask", [_WIDE[:, :2], _WIDE * 1.0, _WIDE * 1, _WIDE[None, None], np.array([], bool)]
)
@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
def test_masks_that_do_not_fit(mask: np.ndarray[Any, Any]) -> None:
    """NumPy's TypeError or ValueError, with and without out=."""
    if mask.ndim != 4:
        check(_added, _ROW, mask)
    check(_added_into, _ROW, mask, np.zeros((2, 3)))


@pytest.mark.parametrize("order", ["C", "F", "A", "K", "X"])
def test_order_of_new_results(order: Any) -> None:
    """Strides are NumPy's."""
    matrix = np.arange(6.0).reshape(2, 3)
    check(lambda x: np.add(x, x, order=order).strides, matrix)
    check(lambda x: np.sqrt(x.T, order=order).strides, matrix)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("exponent", [0.5, 2, -1.0, 3.0, np.float64(0.5)])
def test_powers(dtype: str, exponent: Any) -> None:
    """One half is a square root where the installed NumPy takes it as one."""
    x = _EDGES.astype(dtype)
    check(lambda x: np.power(x, exponent), x)
    check(lambda x: np.power(x, exponent, out=x * 1), x)
    check(lambda x, y: np.power(x, y), x, np.array(exponent, dtype))
    check(lambda x: np.power(x[:0], exponent), x)
    check(lambda x: x**exponent, x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.union1d(x, 2),
        lambda x: np.union1d(x, [2]),
        lambda x: np.union1d(x, 300),
        lambda x: np.concatenate([x, 2.5], axis=None),
        lambda x: np.append(x, 2),
        lambda x: np.choose([0, 1, 0, 0, 1], [x, 5]),
        lambda x: np.choose([0, 1, 0, 0, 1], [x, 500]),
        lambda x: np.choose([0, 1, 0, 0, 1], [x, 2.5]),
        lambda x: np.corrcoef(np.stack([x, x[::-1]]), dtype="f4"),
        lambda x: np.cov(np.stack([x, x[::-1]]), dtype="f4"),
        lambda x: np.cov(np.stack([x, x[::-1]])),
        lambda x: np.cov(x, aweights=[1, 2, 1, 1, 1]),
        lambda x: np.nanstd(x, dtype="i8"),
        lambda x: np.nanstd(x[None], axis=0, dtype="i8"),
        lambda x: np.bincount(x.astype("u8")),
        lambda x: np.bincount(x, minlength=-1),
        lambda x: np.bincount(x, [1, 2]),
        lambda x: np.tril(x.sum()),
        lambda x: np.triu(x.sum()),
    ],
)
def test_dtypes_and_errors(function: Callable[[Any], Any]) -> None:
    """Python numbers decide no dtype; errors are of NumPy's kinds."""
    check(function, _BYTES)
    check(function, _BYTES.astype("i2"))


def _set(shape: Any, index: Any, value: Any) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        x = x * np.ones(shape) if isinstance(x, np.ndarray) else x * from_numpy(np.ones(shape))
        x[index] = value
        return x

    return function


@pytest.mark.parametrize(
    ("shape", "index", "value"),
    [
        ((0, 3), [0], [1, 2]),
        ((0, 3), [0], 1),
        ((2, 3), [5], [1, 2, 3]),
        ((2, 3), ([5], [1]), [1, 2, 3]),
        ((10,), slice(None), [[1] * 10]),
        ((3,), slice(0, 0), [[]]),
        ((3, 2), 0, [[1, 2]]),
        ((2, 2), [0, 1], [[[1, 2]]]),
        ((3,), [0, 1], [[1, 2]]),
        ((3,), slice(None), np.ones((1, 3))),
    ],
)
def test_assigned_values_that_do_not_fit(shape: Any, index: Any, value: Any) -> None:
    """NumPy's errors: of the value's shape before that of the index; deeper lists are refused."""
    check(_set(shape, index, value), np.array(1.0))


def test_a_0d_array_fills_host_memory() -> None:
    """As a NumPy scalar would."""
    largest = from_numpy(_BYTES).max()
    assert np.full((2,), largest, dtype="f4").tolist() == [4.0, 4.0]


def test_bfloat16_in_files(tmp_path: Path) -> None:
    """Saved in a field of that name, and brought back by this package's load."""
    values = dnp.asarray(np.array([1.5, -2.0, 3.25], "f4")).astype("bfloat16")
    dnp.save(tmp_path / "one.npy", values)
    np.savez(tmp_path / "two.npz", a=values, b=from_numpy(_BYTES))
    assert np.load(tmp_path / "one.npy").dtype.names == ("bfloat16",)
    found = [dnp.load(tmp_path / "one.npy"), dnp.load(tmp_path / "two.npz")["a"]]
    for array in found:
        assert array.dtype == values.dtype
        assert array.astype("f4").tolist() == [1.5, -2.0, 3.25]


def test_float64_sums_of_float32_are_exact_to_float64() -> None:
    """Of heavy-tailed elements too."""
    x = (np.random.default_rng(0).standard_cauchy(100_000) ** 3).astype("f4")
    exact = x.astype("f8").sum()
    for mode in ("native", "compensated"):
        found = from_numpy(x).sum(accumulate=mode, dtype="f8").item()
        assert abs(found - exact) <= 1e-14 * np.abs(x.astype("f8")).sum()

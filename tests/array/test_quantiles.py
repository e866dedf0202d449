"""Quantiles by every method, dtype and dtype of levels, equal to NumPy's to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daskasc.array import AscendArray, asnumpy, from_numpy

from .reference import check

METHODS = (
    "inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen "
    "weibull linear median_unbiased normal_unbiased lower higher midpoint nearest"
).split()
VALUES = (0.0, 0.1, 0.3, 1 / 3, 0.7, 1.0)
SIZES = (21, 101)


def same(expected: Any, found: Any, label: Any) -> None:
    """Equal dtype, shape and bits but for the sign of zeros."""
    if isinstance(expected, np.ndarray) and expected.ndim:
        assert isinstance(found, AscendArray), label
    one, other = np.asarray(expected), asnumpy(found)
    assert one.dtype == other.dtype, label
    np.testing.assert_array_equal(other, one, err_msg=str(label))


def levels(kind: str) -> list[Any]:
    """The levels as Python numbers, or as scalars and an array of a dtype."""
    if kind == "weak":
        return list(VALUES)
    array = np.array(VALUES, kind)
    return [array[2], array.reshape(2, 3)]


@pytest.mark.parametrize("kind", ["weak", "f2", "f4", "f8"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8"])
@pytest.mark.usefixtures("no_fallback")
def test_all_methods_and_levels(dtype: str, kind: str) -> None:
    for size in SIZES:
        host = np.arange(size).astype(dtype)
        card = from_numpy(host)
        for method in METHODS:
            for q in levels(kind):
                label = (size, method, q)
                kwargs: Any = {"method": method}
                same(np.quantile(host, q, **kwargs), np.quantile(card, q, **kwargs), label)
                p = q * 100 if kind == "weak" else (q * 100).astype(kind).clip(0, 100)
                same(np.percentile(host, p, **kwargs), np.percentile(card, p, **kwargs), label)


@pytest.mark.parametrize("kind", ["weak", "f2", "f4", "f8"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.usefixtures("no_fallback")
def test_all_methods_and_levels_without_nan(dtype: str, kind: str) -> None:
    random = np.random.default_rng(0)
    host = random.permuted(np.tile(np.arange(21), (4, 1)), axis=1).astype(dtype)
    host[0, :3] = host[1, 5] = np.nan
    host[2, 1:] = np.nan
    card = from_numpy(host)
    for method in METHODS:
        for q in levels(kind):
            kwargs: Any = {"method": method, "axis": 1}
            label = (method, q)
            same(np.nanquantile(host, q, **kwargs), np.nanquantile(card, q, **kwargs), label)
            p = q * 100 if kind == "weak" else (q * 100).astype(kind).clip(0, 100)
            same(np.nanpercentile(host, p, **kwargs), np.nanpercentile(card, p, **kwargs), label)


@pytest.mark.parametrize("q", [0, 1, True, [0, 1], np.int8(1), np.array([True, False])])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4"])
@pytest.mark.usefixtures("no_fallback")
def test_levels_of_integers(dtype: str, q: Any) -> None:
    host = np.array([[3, 1, 2], [9, 7, 8]], dtype)
    for method in METHODS:
        check(lambda a, method=method: np.quantile(a, q, axis=1, method=method), host)
        check(lambda a, method=method: np.percentile(a, q, axis=0, method=method), host)


def test_levels_of_float16_of_many_values() -> None:
    host = np.arange(70000, dtype="f4")
    # NumPy overflows in float16
    found = np.quantile(from_numpy(host), np.float16(0.5), method="lower")
    assert asnumpy(found) == np.quantile(host, np.float32(0.5), method="lower")


@pytest.mark.usefixtures("no_fallback")
def test_elements_are_picked_as_numpy_picks_them() -> None:
    check(lambda a: np.quantile(a, 0.3, method="higher"), np.arange(101, dtype="f4"))
    host = np.append(np.arange(21.0), np.nan).astype("f4")
    check(lambda a: np.nanquantile(a, 0.3, method="higher"), host)
    check(lambda a: np.quantile(a, [0.1, np.nan]), host)
    check(lambda a: np.quantile(a, np.zeros((1, 1, 1))), host)

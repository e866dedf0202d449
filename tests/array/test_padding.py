"""Padding against NumPy: statistics and ramps of narrow, wide and empty arrays, options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .reference import check

pytestmark = pytest.mark.usefixtures("no_fallback")

WIDE = [
    np.array([0, 2**53 + 1]),
    np.array([2**62 + 1, 2**62 + 3]),
    np.array([0, 2**64 - 2, 3, 0], "u8"),
    np.array([-(2**53) - 1, 5]),
]


@pytest.mark.parametrize("mode", ["maximum", "minimum"])
@pytest.mark.parametrize("host", WIDE, ids=str)
def test_extremes_of_wide_integers_are_exact(host: np.ndarray[Any, Any], mode: str) -> None:
    check(lambda a: np.pad(a, 2, mode), host)
    check(lambda a: np.pad(a[None], ((0, 0), (1, 2)), mode, stat_length=1), host)


@pytest.mark.parametrize("mode", ["maximum", "minimum", "mean", "median"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "u2", "i8", "f2", "f4", "f8"])
def test_statistics(mode: str, dtype: str) -> None:
    x = np.array([[1, 0, 3, 2], [5, 4, 1, 1]]).astype(dtype)
    for length in (None, 1, 2, 9, (1, 2), ((1, 2), (3, 1)), 1.6):
        check(lambda a, n=length: np.pad(a, ((1, 2), (0, 2)), mode, stat_length=n), x)


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("length", [0, (0, 1), (1, 0), -1])
def test_statistics_of_nothing(length: Any) -> None:
    x = np.array([1, 2, 3.0])
    for mode in ("mean", "median", "maximum", "minimum"):
        for width in (1, (0, 1), 0):
            check(lambda a, m=mode, w=width: np.pad(a, w, m, stat_length=length), x)


@pytest.mark.parametrize("dtype", "i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8".split())
def test_ramps(dtype: str) -> None:
    x = np.array([[2, 0], [100, 7]]).astype(dtype)
    for ends in (7, 0, (3, 90), ((1, 2), (3, 4)), 2.5, np.float32(1)):
        check(lambda a, e=ends: np.pad(a, ((2, 3), (1, 4)), "linear_ramp", end_values=e), x)
    if np.dtype(dtype).kind != "u":
        check(lambda a: np.pad(a, 3, "linear_ramp", end_values=-100), x)


@pytest.mark.parametrize("value", [-300, 300, 1j, np.int64(-300), np.float64(1.5), 2**63, True])
@pytest.mark.parametrize("dtype", ["i1", "u8", "f4"])
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_constants(value: Any, dtype: str) -> None:
    for values in (value, (1, value), ((1, 2), (value, 3))):
        check(lambda a, v=values: np.pad(a, 1, constant_values=v), np.ones((2, 2), dtype))


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("edge", {"foo": 1}),
        ("constant", {"stat_length": 2}),
        ("linear_ramp", {"constant_values": 2}),
        ("mean", {"end_values": 2}),
        ("reflect", {"stat_length": 2}),
        ("bad", {}),
        (3, {}),
        ("edge", {}),
    ],
)
@pytest.mark.parametrize("width", [1, -1, 1.5, np.uint8(1), {0: 1}, {-1: (2, 1)}])
def test_options(mode: Any, options: dict[str, Any], width: Any) -> None:
    check(lambda a: np.pad(a, width, mode, **options), np.arange(3.0))


@pytest.mark.parametrize("mode", ["edge", "mean", "maximum", "linear_ramp", "reflect", "wrap"])
def test_empty_arrays_grow_along_other_axes(mode: str) -> None:
    check(lambda a: np.pad(a, ((0, 0), (1, 2)), mode), np.zeros((0, 3), "i4"))
    check(lambda a: np.pad(a, ((0, 1), (1, 2)), mode), np.zeros((0, 3), "i4"))

"""NaN, infinities and starts of scans where torch's algorithms assume plain numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from .reference import check

pytestmark = pytest.mark.usefixtures("no_fallback")

INF, NAN = np.inf, np.nan
COMPLEX = ["c8", "c16"]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "edges", [[-3, -1, NAN, NAN], [1, NAN], [NAN], [0, 1, INF, INF, NAN, NAN, NAN, NAN], [1, 2, 3]]
)
def test_searches_among_edges_that_end_in_nan(edges: list[float], side: str, dtype: str) -> None:
    values = np.array([-4, -2, 0, 1, 2.5, INF, -INF, NAN], dtype)
    check(lambda e, v: np.searchsorted(e, v, side=side), np.array(edges, dtype), values)


@pytest.mark.parametrize(
    "bins", [[1, 2, NAN], [1, 2, NAN, NAN], [2, 2, 2], [1, 1, 0], [], [5], [1, 3, 2], [3, 1, 2]]
)
def test_bins_of_digitize_are_monotonic_by_numpys_rule(bins: list[float]) -> None:
    check(np.digitize, np.array([0.5, 1, 2.5, 4]), np.array(bins, float))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("first", [complex(INF, 0.5), complex(-0.0, -0.0), NAN, complex(0, NAN)])
def test_complex_scans_begin_with_the_first_element(first: complex, dtype: str) -> None:
    x = np.array([[first, 2 + 1j, complex(-0.0, 0.0)], [1, -1j, complex(0, INF)]], dtype)
    with np.errstate(all="ignore"):
        check(lambda a: np.cumsum(a, axis=1), x)
        check(lambda a: np.cumsum(a, axis=1), x[:, :1])
        check(lambda a: np.cumprod(a, axis=1), x)
        check(lambda a: np.cumprod(a[:1, :1]), x)
        check(lambda a: np.vander(a[0, :2], 3), x)


def test_real_elements_scanned_in_complex_numbers() -> None:
    x = np.array([-0.0, -INF, 2.0])
    with np.errstate(all="ignore"):
        for scan in (np.cumsum, np.cumprod, np.nancumprod, np.nancumsum):
            check(lambda a, scan=scan: scan(a, dtype="c16"), x)
            check(lambda a, scan=scan: scan(a[1:], dtype="c8"), x)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_extremes_of_nothing_but_complex_nan_are_the_first(dtype: str) -> None:
    x = np.array([[complex(0, NAN), complex(NAN, 1)], [complex(NAN, 2), 3]], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for extreme in (np.nanmin, np.nanmax):
            check(lambda a, extreme=extreme: extreme(a, axis=1), x)
            check(lambda a, extreme=extreme: extreme(a[:1], axis=(0, 1), keepdims=True), x)


@pytest.mark.parametrize("period", [None, 4.0])
def test_interpolation_of_complex_values_at_no_place(period: float | None) -> None:
    places = np.array([NAN, 1.0, INF, -INF])
    knots, values = np.array([0.0, 1, 2]), np.array([1j, 2, 3 - 1j])
    with np.errstate(all="ignore"):
        check(lambda x, k, v: np.interp(x, k, v, period=period), places, knots, values)
        check(lambda x, k, v: np.interp(x, k, v), places, knots[:1], values[:1])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_places_of_extremes_rank_what_stands_for_complex_nan(dtype: str) -> None:
    for values in ([complex(INF, INF), NAN], [complex(NAN, 1), complex(-INF, -1)], [NAN, 2, 1j]):
        for extreme in (np.nanargmin, np.nanargmax):
            check(extreme, np.array(values, dtype))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_clip_by_complex_bounds_with_a_nan(dtype: str) -> None:
    points = np.array([complex(a, b) for a in (0, 1, NAN) for b in (-2, 0, 4, NAN)], dtype)
    x, low, high = (part.ravel() for part in np.meshgrid(points, points, points))
    check(np.clip, x, low, high)
    check(lambda a, b: np.clip(a, b, None), x, low)
    check(lambda a, b: np.clip(a, None, b), x, low)
    check(lambda a, b: np.clip(a, b, 1 + 1j), x.real.copy(), low)
    check(lambda a: np.clip(a, -1j, 1 + 1j), x.real.copy())


@pytest.mark.parametrize("dtype", COMPLEX)
def test_signs_of_complex_numbers_at_the_ends_of_the_range(dtype: str) -> None:
    parts = (0.0, -0.0, 1e-45, 3e38, INF, -INF, NAN, -2.0, 5e-324, 1e300)
    with np.errstate(all="ignore"):
        check(np.sign, np.array([complex(a, b) for a in parts for b in parts]).astype(dtype))

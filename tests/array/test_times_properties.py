"""Random dates and differences, units, shapes and NaT: the card gives what NumPy gives."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .reference import check

PROFILE = settings(
    derandomize=True,
    deadline=None,
    max_examples=40,
    database=None,
    suppress_health_check=list(HealthCheck),
)
UNITS = "D h s ms 25s W".split()
SHAPES = [(), (0,), (1,), (5,), (3, 4), (1, 4), (3, 1), (0, 4), (2, 0)]
NAT = -(2**63)
TICKS = st.one_of(
    st.sampled_from([NAT, 0, 1, -1]), st.integers(-60, 60), st.integers(-(10**8), 10**8)
)
NUMBERS = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 2.5, np.inf, np.nan]), st.floats(-1000, 1000))


@st.composite
def times(draw: Any, kind: str, shapes: list[tuple[int, ...]]) -> np.ndarray[Any, Any]:
    """Array of times, sometimes not contiguous."""
    shape = draw(st.sampled_from(shapes))
    size = int(np.prod(shape))
    ticks = draw(st.lists(TICKS, min_size=size, max_size=size))
    array = np.array(ticks, np.int64).view(f"{kind}[{draw(st.sampled_from(UNITS))}]").reshape(shape)
    return array.T.copy().T if draw(st.booleans()) else array


def two(draw: Any, left: str, right: str) -> tuple[Any, Any]:
    """Two arrays that broadcast."""
    shapes = draw(st.sampled_from([[(3, 4), (1, 4), (4,), (3, 1), ()], [(0, 4), (4,), (1, 4)]]))
    return draw(times(left, shapes)), draw(times(right, shapes))


def compared(function: Callable[..., Any], *args: Any) -> None:
    with warnings.catch_warnings(), dask.config.set({"daskasc.fallback": "error"}):
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        check(function, *args)


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
CHOICES = [np.minimum, np.maximum, np.fmin, np.fmax]
PAIRS: dict[str, tuple[str, str, list[Callable[..., Any]]]] = {
    "dates": ("M8", "M8", [np.subtract, *COMPARISONS, *CHOICES]),
    "date and difference": ("M8", "m8", [np.add, np.subtract]),
    "difference and date": ("m8", "M8", [np.add]),
    "differences": (
        "m8",
        "m8",
        [
            *(np.add, np.subtract, np.divide, np.floor_divide, np.remainder, np.divmod),
            *(*COMPARISONS, *CHOICES),
        ],
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@PROFILE
@given(st.data())
def test_pairs(name: str, data: Any) -> None:
    left, right, functions = PAIRS[name]
    operands = two(data.draw, left, right)
    for function in functions:
        compared(function, *operands)


@PROFILE
@given(st.data())
def test_differences_and_numbers(data: Any) -> None:
    array = data.draw(times("m8", SHAPES))
    number = data.draw(NUMBERS)
    integer = data.draw(st.integers(-7, 7))
    for function in (np.multiply, np.divide, np.floor_divide):
        compared(function, array, np.float64(number))
        compared(function, array, np.full(array.shape[-1:], integer))
        compared(lambda a, f=function: f(a, integer), array)
    compared(lambda a: integer * a, array)
    compared(lambda a: a + integer, array)


UNARY: list[Callable[..., Any]] = [
    *(np.isnat, np.isfinite, np.sort, np.argsort, np.unique, np.ravel, np.nonzero),
    *(np.diff, np.count_nonzero, lambda a: a.astype("i8"), lambda a: a.astype("f8")),
    *(lambda a, unit=unit: a.astype(f"{a.dtype.kind}8[{unit}]") for unit in (*UNITS, "M", "Y")),
    lambda a: np.concatenate([a, a.astype(f"{a.dtype.kind}8[ms]")]),
    lambda a: np.where(np.isnat(a), a[:1], a),
    lambda a: np.unique(a, return_inverse=True, return_counts=True),
    lambda a: np.searchsorted(np.sort(a.ravel()), a),
    lambda a: np.isin(a, a.ravel()[:2]),
    lambda a: a[::-1],
    lambda a: np.argsort(a, axis=0, kind="stable"),
]


@pytest.mark.parametrize("kind", ["M8", "m8"])
@PROFILE
@given(st.data())
def test_one_array(kind: str, data: Any) -> None:
    array = data.draw(times(kind, [shape for shape in SHAPES if shape]))
    for function in UNARY:
        if function is not np.argsort or not array.size:  # NumPy's is not stable
            compared(function, array)


EXTREMES = [np.min, np.max, np.argmin, np.argmax, np.nanmin, np.nanmax, np.ptp]
SUMS = [np.sum, np.mean, np.cumsum, np.median, np.any, np.all]


@pytest.mark.parametrize("kind", ["M8", "m8"])
@PROFILE
@given(st.data())
def test_reductions(kind: str, data: Any) -> None:
    array = data.draw(times(kind, [(1,), (5,), (3, 4), (1, 4), (3, 1)]))
    axis = data.draw(st.sampled_from([None, *range(-array.ndim, array.ndim)]))
    functions = EXTREMES + (SUMS if kind == "m8" else [])
    for function in functions:
        compared(lambda a, f=function: f(a, axis=axis), array)


def stored(array: Any, index: Any, value: Any) -> Any:
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize("kind", ["M8", "m8"])
@PROFILE
@given(st.data())
def test_writes(kind: str, data: Any) -> None:
    array = data.draw(times(kind, [(3, 4)]))
    value = data.draw(times(kind, [(), (4,), (1, 4)]))
    for index in (np.s_[1], np.s_[::2], np.s_[[2, 0]], np.s_[:, 1:], np.s_[...]):
        compared(lambda a, v, i=index: stored(a, i, v), array, value)  # errors of shapes too
    compared(lambda a, v: stored(a, np.isnat(a), v), array, value.ravel()[0])

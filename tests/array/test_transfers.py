"""Functions that count as the card's bring no operand down behind the caller's back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import daskasc.array as namespace
from daskasc import device
from daskasc.array import coverage, from_numpy

from . import gaps
from .coverage_examples import EXAMPLES, arrays
from .reference import assert_same, up

ROWS = coverage.rows()
ON_CARD = [n for n, row in ROWS.items() if row.kind in ("device", "composite") and n in EXAMPLES]
# bytes that a call may read: some numbers that decide shapes or errors
FEW = 64
# line: why it reads more numbers than that
MORE = {"xp.histogramdd(x, bins=2)": "two ends of each of five columns"}


def written(function: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    array = array.copy()
    function(array, *args, **kwargs)
    return array


def downloaded() -> int:
    return device.counters.snapshot()["device_to_host_bytes"]


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", ON_CARD)
def test_examples_read_numbers_at_most(name: str) -> None:
    for line in EXAMPLES[name]:
        card = {key: from_numpy(value) for key, value in arrays().items()}
        before, gaps_before = downloaded(), gaps.met()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            eval(line, {"np": np, "written": written, "xp": namespace, **card})
        if gaps.met() == gaps_before:
            assert downloaded() - before <= (120 if line in MORE else FEW), line


N = 500
_random = np.random.default_rng(5)
V = _random.normal(size=N)
COUNTS = _random.integers(0, 4, N)
PLACES = _random.integers(-N, N, 90)
BINS = np.sort(_random.normal(size=60))
CUTS = np.sort(_random.integers(0, N, 40))
M = _random.normal(size=(N, 3))
# call, and the bytes that it may read
LARGE: list[tuple[Any, tuple[Any, ...], int]] = [
    (np.repeat, (V, COUNTS), 16),
    (np.repeat, (M, COUNTS, 0), 16),
    (np.repeat, (V, COUNTS > 1), 16),
    (np.repeat, (V, np.array([3])), 16),
    (np.repeat, (V, np.array(2, "u1")), 16),
    (np.repeat, (V[:0], COUNTS[:0]), 16),
    (np.delete, (V, PLACES), 16),
    (np.delete, (V, np.array(3)), 16),
    (np.delete, (V, V > 0), 16),
    (np.delete, (M, PLACES.reshape(9, 10), 0), 16),
    (np.delete, (M, PLACES.astype("i1"), 0), 16),
    (np.delete, (V, PLACES[:0]), 16),
    (np.insert, (V, PLACES, 7.0), 64),
    (np.insert, (V, PLACES, BINS[:1]), 64),
    (np.insert, (M, PLACES, M[:90], 0), 64),
    (np.insert, (V, V > 1, -1.0), 64),
    (np.insert, (V, np.array(4), BINS), 64),
    (np.insert, (V, np.array([N]), BINS), 64),
    (np.insert, (V, PLACES[:0], 1.0), 64),
    (np.digitize, (V, BINS), 2),
    (np.digitize, (V, BINS[::-1].copy(), True), 2),
    (np.digitize, (V, BINS[:1]), 2),
    (np.digitize, (V, BINS[:0]), 2),
    (np.histogram, (V, BINS), 1),
    (np.histogram, (V, BINS, None, True), 1),
    (np.histogram, (V, BINS.astype("f4")), 1),
    (np.histogram, (COUNTS, np.arange(5)), 1),
    (np.histogram2d, (V, M[:, 0].copy(), BINS), 2),
    (np.histogram_bin_edges, (V, BINS), 1),
    (np.array_split, (V, CUTS), 8 * 40),
    (np.array_split, (M, CUTS), 8 * 40),
    (np.split, (V, np.array(5)), 8),
    (np.split, (V, CUTS), 8 * 40),
]


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("case", LARGE, ids=lambda c: f"{c[0].__name__}")
def test_operands_stay_on_the_card(case: tuple[Any, tuple[Any, ...], int]) -> None:
    function, args, most = case
    card = up(args)
    before, gaps_before = device.counters.snapshot(), gaps.met()
    found = function(*card)
    after = device.counters.snapshot()
    if gaps.met() == gaps_before:
        assert after["device_to_host_bytes"] - before["device_to_host_bytes"] <= most
        assert after["host_to_device_bytes"] - before["host_to_device_bytes"] <= 64
    assert_same(function(*args), found)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.repeat, (V, COUNTS - 2)),
        (np.repeat, (V, COUNTS[:3])),
        (np.repeat, (V, COUNTS * 1.0)),
        (np.delete, (V, (V > 0)[:5])),
        (np.delete, (V, np.array([1, N]))),
        (np.delete, (V, V)),
        (np.insert, (V, np.array([1, N + 1]), 1.0)),
        (np.digitize, (V, V)),
        (np.histogram, (V, V)),
        (np.histogram, (V, M)),
        (np.array_split, (V, BINS)),
    ],
)
def test_errors_are_numpys(function: Any, args: tuple[Any, ...]) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whichever class NumPy raises
        function(*args)
    with pytest.raises(expected.type):
        function(*up(args))

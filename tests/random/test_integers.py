"""Integers: every dtype and range, without bias."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

from daskasc import random
from daskasc.array import from_numpy
from tests.array.reference import DTYPES

INTEGERS = [d for d in DTYPES if d[0] in "?iu"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_range_of_a_dtype(dtype) -> None:
    low, high = (0, 1) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    drawn = random.default_rng(1).integers(low, high, 40_000, dtype, endpoint=True)
    assert drawn.dtype == np.dtype(dtype)
    host = drawn.asnumpy()
    scaled = (host.astype("f8") - float(low) + 0.5) / (float(high) - float(low) + 1)
    assert np.histogram(scaled, 8, (0, 1))[0].min() > 4500 or dtype == "?"
    if dtype != "?":
        # every bit is as often set as not
        width = host.dtype.itemsize
        bits = np.unpackbits(host.view(f"u{width}").reshape(-1, 1).view("u1"), axis=1).mean(0)
        assert np.abs(bits - 0.5).max() < 0.015
        if width == 1:
            assert len(np.unique(host)) == 256
    same = random.default_rng(1).integers(low, int(high) + 1, 40_000, dtype)
    np.testing.assert_array_equal(same.asnumpy(), host)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 3),
        (-5, 2),
        (0, 3 * 2**30),  # a remainder of 2**32 would favour the lower quarter two to one
        (-(2**62), 2**62 + 1),
        (0, 3 * 2**61),
        (-(2**63), 2**62),
        (5, 6),
        (10, 10 + 2**32),
        (10, 10 + 2**32 + 1),
        (0, 2**32 - 1),
    ],
)
def test_ranges_are_uniform(low, high) -> None:
    drawn = random.default_rng(2).integers(low, high, 60_000).asnumpy()
    assert drawn.min() >= low
    assert drawn.max() < high
    span = high - low
    bins = min(span, 12)
    place = np.array([(int(x) - low) * bins // span for x in drawn])
    if bins > 1:
        edges = [(b * span + bins - 1) // bins for b in range(bins + 1)]
        expected = np.diff(np.array(edges, dtype=object)).astype("f8") / span * len(drawn)
        assert st.chisquare(np.bincount(place, minlength=bins), expected).pvalue > 1e-4
    # one range by one number, and the same range element by element
    many = random.default_rng(2).integers(np.full(500, low), high).asnumpy()
    assert many.min() >= low
    assert many.max() < high


def test_upper_half_of_uint64() -> None:
    low, high = 2**63, 2**64 - 10
    drawn = random.default_rng(3).integers(low, high, 10_000, "u8").asnumpy()
    assert drawn.min() >= low
    assert drawn.max() < high
    rows = random.default_rng(3).integers(
        np.array([0, low], "u8"), np.array([5, high], "u8"), (5000, 2), "u8"
    )
    host = rows.asnumpy()
    assert host[:, 0].max() == 4
    assert host[:, 1].min() >= low
    top = np.float64(host[:, 1].max())
    assert top > 2**63 + 0.99 * 2**63


@pytest.mark.parametrize("endpoint", [False, True])
def test_bounds_by_element(endpoint) -> None:
    low = np.array([[0], [10]])
    high = np.array([2, 15, 1000])
    high = np.maximum(high, low + 1)
    for bounds in ((low, high), (from_numpy(low), from_numpy(high)), (from_numpy(low), high)):
        drawn = random.default_rng(4).integers(*bounds, (2000, 2, 3), endpoint=endpoint).asnumpy()
        np.testing.assert_array_equal(drawn.min((0,))[:, :2], np.broadcast_to(low, (2, 3))[:, :2])
        np.testing.assert_array_equal(
            drawn.max((0,))[:, :2], (high if endpoint else high - 1)[:, :2]
        )
        assert st.kstest(drawn[:, 0, 2] / 1000, st.uniform().cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("low", "high", "kwargs"),
    [
        (5, 5, {}),
        (6, 5, {"endpoint": True}),
        (0, 300, {"dtype": "u1"}),
        (-1, 3, {"dtype": "u4"}),
        (0, 2**63 + 1, {}),
        (0, 3, {"dtype": "f8"}),
        ([1, 2], [2, 2], {}),
        ([-1, 2], [2, 3], {"dtype": "u8"}),
        ([0], [257], {"dtype": "u1"}),
        ([-(2**63)], [-(2**63)], {}),
        ([0], [0], {"dtype": "u8"}),
    ],
)
def test_bad_bounds(low, high, kwargs) -> None:
    with pytest.raises((ValueError, TypeError)) as expected:
        np.random.default_rng(0).integers(low, high, **kwargs)
    with pytest.raises(expected.type, match=r"[a-z]"):
        random.default_rng(0).integers(low, high, **kwargs)
    if isinstance(low, list):
        with pytest.raises(expected.type, match=r"low|bounds"):
            random.default_rng(0).integers(
                from_numpy(np.array(low)), from_numpy(np.array(high)), **kwargs
            )


def test_nothing_from_nothing() -> None:
    rng = random.default_rng(0)
    assert rng.integers(0, 0, size=0).shape == (0,)
    assert rng.integers(np.array([3]), 3, size=(0, 1)).shape == (0, 1)
    assert int(rng.integers(7, 8)) == 7
    with pytest.raises(TypeError, match="integers"):
        rng.integers(from_numpy(np.array([0.5])), 3)

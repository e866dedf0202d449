"""Orders and samples against NumPy's rules and exact probabilities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats as st

from daskasc import random
from daskasc.array import AscendArray, from_numpy
from tests.array.reference import DTYPES, data


def counts(rows) -> list[int]:
    """How often each order of three occurs."""
    orders = {order: i for i, order in enumerate(itertools.permutations(range(3)))}
    return np.bincount([orders[tuple(row)] for row in rows], minlength=6).tolist()


def test_all_orders_are_as_likely() -> None:
    rng = random.default_rng(1)
    x = np.tile(np.arange(3), (6000, 1))
    assert st.chisquare(counts(rng.permuted(x, axis=1).asnumpy())).pvalue > 1e-4
    singly = [rng.permutation(3).asnumpy() for _ in range(600)]
    assert st.chisquare(counts(singly)).pvalue > 1e-4


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_permutation_moves_whole_slices(dtype, axis) -> None:
    x = data(dtype, (4, 6))
    for given in (x, from_numpy(x)):
        found = random.default_rng(2).permutation(given, axis)
        assert isinstance(found, AscendArray)
        assert found.dtype == x.dtype
        slices = lambda a: sorted(s.tobytes() for s in np.moveaxis(a, axis, 0))  # noqa: E731
        assert slices(found.asnumpy()) == slices(x)
        changed = from_numpy(x)
        assert random.default_rng(2).shuffle(changed, axis) is None
        np.testing.assert_array_equal(changed.asnumpy(), found.asnumpy())
        free = random.default_rng(2).permuted(given, axis=axis).asnumpy()
        for a, b in zip(np.moveaxis(free, axis, -1), np.moveaxis(x, axis, -1), strict=True):
            assert sorted(e.tobytes() for e in a) == sorted(e.tobytes() for e in b)


def test_shuffle_on_the_host() -> None:
    x = np.arange(12).reshape(6, 2)
    random.default_rng(3).shuffle(x)
    assert sorted(map(tuple, x.tolist())) == [(2 * i, 2 * i + 1) for i in range(6)]
    names = list("abcdef")
    random.default_rng(3).shuffle(names)
    assert [names.index(c) for c in "abcdef"] == [x[:, 0].tolist().index(2 * i) for i in range(6)]
    with pytest.raises(NotImplementedError, match="Axis"):
        random.default_rng(3).shuffle(names, axis=1)
    with pytest.raises(TypeError):
        random.default_rng(3).shuffle("abc")


def test_permuted_out() -> None:
    x = from_numpy(np.arange(6).reshape(2, 3))
    assert random.default_rng(1).permuted(x, out=x) is x
    assert sorted(x.asnumpy().flat) == list(range(6))
    with pytest.raises(ValueError, match="shape"):
        random.default_rng(1).permuted(x, out=from_numpy(np.zeros(6, int)))
    with pytest.raises(TypeError, match="card"):
        random.default_rng(1).permuted(x, out=np.zeros((2, 3), int))
    for out in (np.zeros((2, 3), "i4"), np.zeros((2, 3), "f8")):
        safe = np.can_cast("i8", out.dtype, "safe")
        given = from_numpy(out)
        if safe:
            assert random.default_rng(1).permuted(x, out=given).dtype == np.float64
            continue
        with pytest.raises(TypeError, match="Cannot cast"):
            np.random.default_rng(1).permuted(x.asnumpy(), out=out)
        with pytest.raises(TypeError, match="Cannot cast"):
            random.default_rng(1).permuted(x, out=given)


@pytest.mark.parametrize("size", [None, (), 3, (2, 3), (0,)])
@pytest.mark.parametrize("a", [7, np.arange(7.0), np.arange(14).reshape(7, 2)])
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("p", [None, [0.1, 0.2, 0.1, 0.1, 0.2, 0.2, 0.1]])
def test_choice_has_numpys_shapes(a, size, replace, p) -> None:
    expected = np.asarray(np.random.default_rng(0).choice(a, size, replace, p))
    for given in (a, from_numpy(a)) if isinstance(a, np.ndarray) else (a,):
        found = random.default_rng(0).choice(given, size, replace, p)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert np.isin(found.asnumpy(), np.arange(14)).all()
    sides = np.arange(21).reshape(3, 7)
    found = random.default_rng(0).choice(sides, size, replace, p, axis=1)
    assert found.shape == np.random.default_rng(0).choice(sides, size, replace, p, axis=1).shape


def test_choice_follows_its_probabilities() -> None:
    p = np.array([0.1, 0.0, 0.3, 0.6])
    drawn = random.default_rng(1).choice(4, 20_000, p=p).asnumpy()
    found = np.bincount(drawn, minlength=4)
    assert not found[1]
    assert st.chisquare(found[p > 0], 20_000 * p[p > 0]).pvalue > 1e-4
    even = random.default_rng(1).choice(5, 20_000).asnumpy()
    assert st.chisquare(np.bincount(even, minlength=5)).pvalue > 1e-4


def test_choice_without_replacement() -> None:
    p = np.array([0.5, 0.3, 0.2])
    rng = random.default_rng(2)
    pairs = [tuple(rng.choice(3, 2, replace=False, p=p).asnumpy()) for _ in range(1500)]
    orders = list(itertools.permutations(range(3), 2))
    expected = [p[i] * p[j] / (1 - p[i]) for i, j in orders]
    found = [pairs.count(order) for order in orders]
    assert st.chisquare(found, np.array(expected) * len(pairs)).pvalue > 1e-4
    whole = rng.choice(50, 50, replace=False).asnumpy()
    assert sorted(whole) == list(range(50))


@pytest.mark.parametrize(
    "args",
    [
        (0, 1),
        (-1, 2),
        (2.5,),
        ([], 1),
        (3, 4, False),
        (3, 2, True, [0.5, 0.5]),
        (2, 2, True, [0.5, 0.6]),
        (2, 2, True, [1.5, -0.5]),
        (2, 2, True, [np.nan, 1.0]),
        (2, 2, True, [[0.5, 0.5]]),
        (3, 2, False, [1.0, 0.0, 0.0]),
    ],
)
def test_choice_errors_are_numpys(args) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
        np.random.default_rng(0).choice(*args)
    with pytest.raises(expected.type, match=r"[a-z]"):
        random.default_rng(0).choice(*args)


def test_bad_axes() -> None:
    rng = random.default_rng(0)
    for call in (rng.permutation, rng.shuffle):
        with pytest.raises(np.exceptions.AxisError):
            call(from_numpy(np.arange(3)), axis=1)
    with pytest.raises(np.exceptions.AxisError):
        rng.choice(np.arange(3), axis=1)


@pytest.mark.parametrize("dtype", ["M8[D]", "m8[s]"])
def test_times_keep_their_unit(dtype) -> None:
    x = np.array([3, 5, 7, "NaT"], dtype)
    for given in (x, from_numpy(x)):
        rng = random.default_rng(1)
        found = [rng.permutation(given), rng.permuted(given), rng.choice(given, 4, False)]
        changed = from_numpy(x)
        rng.shuffle(changed)
        out = from_numpy(np.zeros(4, dtype))
        rng.permuted(given, out=out)
        for each in (*found, changed, out):
            assert each.dtype == x.dtype
            np.testing.assert_array_equal(np.sort(each.asnumpy()), np.sort(x))
    with pytest.raises(TypeError):
        random.default_rng(1).normal(from_numpy(x), 1.0)


def test_bytes() -> None:
    drawn = random.default_rng(1).bytes(11)
    assert type(drawn) is bytes
    assert len(drawn) == 11
    assert random.default_rng(1).bytes(0) == b""
    words = random.SplitMix64(1).random_raw(2).asnumpy()
    assert drawn == words.tobytes()[:11]

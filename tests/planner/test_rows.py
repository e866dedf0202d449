"""Rows of the table of reductions beyond sums and moments: values, ties, collectives."""

from __future__ import annotations

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from dask.utils import ensure_dict

from daskasc.planner import Planner
from tests.planner.test_planner import annotations, gangs, planned, value

EXTREMES = ("argmax", "argmin", "nanargmax", "nanargmin")


def host(shape=(24, 6, 5), dtype="f8"):
    return (np.random.default_rng(3).normal(size=shape) * 4).astype(dtype)


def of(name, module, x, **kwargs):
    return getattr(module, name)(x, **kwargs)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_places_of_extremes_equal_numpy_ties_included(name, axis, keepdims):
    x = host(dtype="i4") // 3  # many equal values
    lazy = of(name, da, da.from_array(x, chunks=(5, 4, 2)), axis=axis, keepdims=keepdims)
    expected = of(name, np, x, axis=axis, keepdims=keepdims)
    for cards in (1, 3, 4):
        got = value(lazy, cards)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_the_first_of_equal_values_is_the_first_in_the_whole_array():
    x = np.zeros((3, 4))
    x[0, 2] = x[1, 0] = 5  # the chunk of the second is walked first
    assert value(da.from_array(x, chunks=(3, 2)).argmax(), 2) == x.argmax() == 2


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("axis", [None, 0])
def test_not_a_number_in_places_of_extremes(name, axis):
    x = host((12, 6))
    x[3, 2] = x[7, 2] = x[7, 0] = np.nan
    x[:2, 1] = np.nan  # a whole chunk
    x[4, 3], x[5, 4] = np.inf, -np.inf
    got = value(of(name, da, da.from_array(x, chunks=(2, 3)), axis=axis), 4)
    np.testing.assert_array_equal(got, of(name, np, x, axis=axis))


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_nothing_but_not_a_number_is_an_error(name):
    x = host((12, 6))
    x[:, 1] = np.nan
    with pytest.raises(ValueError, match="All-NaN slice"):
        value(of(name, da, da.from_array(x, chunks=(2, 3)), axis=0), 4)
    # infinities and NaN: the first, as in NumPy
    y = np.full((4, 2), np.inf if name == "nanargmin" else -np.inf)
    y[0, 0] = np.nan
    got = value(of(name, da, da.from_array(y, chunks=(2, 2)), axis=0), 2)
    np.testing.assert_array_equal(got, of(name, np, y, axis=0))


@pytest.mark.parametrize("name", EXTREMES)
def test_places_of_extremes_over_chunks_without_elements(name):
    x = host((7, 6))
    lazy = da.from_array(x, chunks=((0, 2, 0, 5, 0), (0, 4, 2)))
    for axis in (None, 0, 1):
        got = value(of(name, da, lazy, axis=axis), 4)
        np.testing.assert_array_equal(got, of(name, np, x, axis=axis))
    empty = da.from_array(x[:0], chunks=((0, 0), (6,)))
    with pytest.raises(ValueError, match="empty sequence"):
        value(of(name, da, empty, axis=0), 2)


@pytest.mark.parametrize("name", EXTREMES)
def test_places_of_extremes_of_masked_arrays(name):
    x = np.ma.masked_greater(host((12, 6)), 5.0)
    x[0, 0] = np.ma.masked
    got = value(of(name, da, da.from_array(x, chunks=(3, 3)), axis=0), 2)
    np.testing.assert_array_equal(got, getattr(x, name.removeprefix("nan"))(axis=0))


@pytest.mark.parametrize("dtype", ["?", "u1", "c16", "M8[h]"])
def test_places_of_extremes_of_other_dtypes(dtype):
    x = host((12, 6), "i8" if dtype[0] == "M" else "f8").astype(dtype)
    for name in ("argmax", "argmin"):
        got = value(of(name, da, da.from_array(x, chunks=(2, 3)), axis=0), 4)
        np.testing.assert_array_equal(got, of(name, np, x, axis=0))


@pytest.mark.parametrize("k", [1, 3, -3, 24, 40, -40])
@pytest.mark.parametrize("axis", [0, 1])
def test_largest_and_their_places(k, axis):
    x = host()
    chunks = da.from_array(x, chunks=(5, 2, 5))
    ascending = np.sort(x, axis=axis)
    expected = np.flip(ascending, axis) if k > 0 else ascending
    expected = expected.take(range(min(abs(k), x.shape[axis])), axis=axis)
    np.testing.assert_array_equal(value(da.topk(chunks, k, axis=axis), 4), expected)
    places = value(da.argtopk(chunks, k, axis=axis), 4)
    assert places.dtype == np.intp
    np.testing.assert_array_equal(np.take_along_axis(x, places, axis), expected)


def test_places_of_the_largest_do_not_depend_on_the_cards_and_begin_with_the_lowest():
    x = da.from_array(np.array([1, 3, 3, 0, 3, 2, 3, 0]), chunks=1)
    for cards in (1, 2, 3, 8):
        np.testing.assert_array_equal(value(da.argtopk(x, 4), cards), [1, 2, 4, 6])
        np.testing.assert_array_equal(value(da.argtopk(x, -2), cards), [3, 7])


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_moments_of_any_order(order):
    x = host()
    got = value(da.reductions.moment(da.from_array(x, chunks=(5, 4, 5)), order, axis=0), 4)
    np.testing.assert_allclose(got, ((x - x.mean(axis=0)) ** order).mean(axis=0), atol=1e-12)


def counts(x):
    """Name, lazy value and NumPy's of functions that count or sum."""
    h = x.compute()
    bins, limits = 5, (-9, 9)
    line, lower = x[:, 0, 0], x[:, :2, 0]
    weights = np.arange(1.0, 25.0)
    lazy_weights = da.from_array(weights, chunks=line.chunks)
    whole = abs(line).astype("i8")
    pairs = [
        (da.count_nonzero(x > 0, axis=0), np.count_nonzero(h > 0, axis=0)),
        (da.bincount(whole), np.bincount(abs(h[:, 0, 0]).astype("i8"))),
        (
            da.bincount(whole, weights=lazy_weights, minlength=20),
            np.bincount(abs(h[:, 0, 0]).astype("i8"), weights, 20),
        ),
        (
            da.histogram(line, bins=bins, range=limits)[0],
            np.histogram(h[:, 0, 0], bins=bins, range=limits)[0],
        ),
        (
            da.histogramdd(lower, bins=(3, 4), range=(limits, limits))[0],
            np.histogramdd(h[:, :2, 0], bins=(3, 4), range=(limits, limits))[0],
        ),
        (
            da.average(x, axis=0, weights=lazy_weights),
            np.average(h, axis=0, weights=weights),
        ),
        (da.ptp(x, axis=0), np.ptp(h, axis=0)),
    ]
    return pairs


def test_what_counts_and_averages_goes_through_collectives():
    for lazy, expected in counts(da.from_array(host(), chunks=(3, 6, 5))):
        graph, _ = planned(lazy, 4)
        assert 1 <= len(gangs(graph)) <= 2  # a quotient has two sums
        np.testing.assert_allclose(value(lazy, 4), expected)


def contractions(x, h):
    return [
        (x.T @ x, h.T @ h, 1),
        (da.dot(x.T, x), h.T @ h, 1),
        (da.tensordot(x, x, axes=(0, 0)), h.T @ h, 1),
        (da.einsum("ab,ac->bc", x, x), h.T @ h, 1),
        (da.einsum("ab,ab->", x, x), (h * h).sum(), 1),
        (da.cov(x, rowvar=False), np.cov(h, rowvar=False), 2),
        (da.corrcoef(x.T), np.corrcoef(h.T), 2),
    ]


def test_a_contraction_is_one_collective_of_partial_products():
    h = host((32, 6))
    x = da.from_array(h, chunks=(4, 6)).persist()
    for lazy, expected, number in contractions(x, h):
        graph, _ = planned(lazy, 4)
        assert len(gangs(graph)) == number
        np.testing.assert_allclose(value(lazy, 4), expected)


def test_integer_contractions_are_reduced_by_the_library():
    h = host((32, 6), "i8")
    x = da.from_array(h, chunks=(4, 6))
    assert [gang.op for gang in gangs(planned(x.T @ x, 4)[0]).values()] == ["sum"]
    np.testing.assert_array_equal(value(x.T @ x, 4), h.T @ h)


def test_distinct_values_are_joined_on_the_card_first():
    h = host((24,), "i4") // 2
    lazy = da.routines.unique_no_structured_arr(da.from_array(h, chunks=2))
    graph, _ = planned(lazy, 4)
    (gang,) = gangs(graph).values()
    assert gang.members == (0, 1, 2, 3)
    np.testing.assert_array_equal(value(lazy, 4), np.unique(h))


def test_tall_matrices_gather_their_factors_once():
    h = host((256, 3))
    x = da.from_array(h, chunks=(32, 3))
    q, r = da.linalg.qr(x)
    assert len(gangs(planned(r, 4)[0])) == 1
    assert len(gangs(planned(q, 4)[0])) == 1
    np.testing.assert_allclose(value(q @ r, 4), h)
    np.testing.assert_allclose(abs(value(r, 4)), abs(np.linalg.qr(h)[1]))
    u, s, v = da.linalg.svd(x)
    assert len(gangs(planned(s, 4)[0])) == 1
    np.testing.assert_allclose(value(s, 4), np.linalg.svd(h)[1])
    np.testing.assert_allclose(value((u * s) @ v, 4), h)
    # chunks so low that dask stacks their factors in several steps
    q, r = da.linalg.qr(da.from_array(h[:64], chunks=(8, 3)))
    np.testing.assert_allclose(value(q @ r, 4), h[:64])


def shipped_ops(x, y):
    yield from (of(name, da, x, axis=0) for name in EXTREMES)
    yield from (da.topk(x, 2, axis=0), da.argtopk(x, 2, axis=0), y.T @ y, da.cumsum(x, axis=0))
    yield from (da.linalg.qr(y)[1], da.routines.unique_no_structured_arr(y[:, 0]))


def test_rows_are_recognised_in_graphs_that_were_pickled():
    x = da.from_array(host(), chunks=(4, 6, 5))
    y = da.from_array(host((256, 4)), chunks=(32, 4))
    for lazy in shipped_ops(x, y):
        keys = list(dask.core.flatten(lazy.__dask_keys__()))
        graph = Planner(4)(cloudpickle.loads(cloudpickle.dumps(lazy.dask)), keys)
        assert len(gangs(graph)) == 1, lazy


def test_nothing_crosses_cards_but_in_collectives():
    x = da.from_array(host(), chunks=(2, 6, 5))
    for lazy in (x.argmax(axis=0), x.argmin(), da.topk(x, 2, axis=0), da.argtopk(x, 2, axis=0)):
        graph, _ = planned(lazy, 4)
        owners, inside = annotations(graph, "card"), annotations(graph, "gang")
        tasks = ensure_dict(graph)
        assert len(gangs(graph)) == 1
        for key, node in tasks.items():
            if key in inside or any(dependency in inside for dependency in node.dependencies):
                continue
            here = owners.get(key)
            assert {owners.get(d, here) for d in node.dependencies} <= {here}, key

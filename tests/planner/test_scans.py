"""Cumulative sums and products in two levels: values, bits, collectives and what moves."""

from __future__ import annotations

import operator

import dask.array as da
import numpy as np
import pytest
from dask.utils import ensure_dict

from daskasc.planner._emit import nodes_below, numbered
from daskasc.planner._prefix import add_offset, block_total, fold_totals, gathered_prefixes, prefix
from daskasc.planner._rules import step
from daskasc.planner._scans import _path
from daskasc.planner._sizes import array_size
from tests.planner.test_planner import annotations, gangs, planned, value

NAMES = ("cumsum", "cumprod", "nancumsum", "nancumprod")


def host(shape=(23, 6, 5), dtype="f8"):
    return np.random.default_rng(5).normal(1.0, 0.1, shape).astype(dtype)


def stage(key):
    return str(key[0]).split("-")[1] if isinstance(key, tuple) else ""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("chunks", [(3, 2, 5), (1, 6, 1), ((0, 4, 0, 0, 18, 1), 3, 5)], ids=str)
def test_equals_numpy(name, axis, chunks):
    x = host()
    if name.startswith("nan"):
        x[::4, 1] = np.nan
    lazy = getattr(da, name)(da.from_array(x, chunks=chunks), axis=axis)
    expected = getattr(np, name)(x, axis=axis)
    for cards in (1, 4):
        np.testing.assert_allclose(value(lazy, cards), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f4", "c8"])
def test_dtypes(dtype):
    x = (host() * 3).astype(dtype)
    for name in ("cumsum", "cumprod"):
        got = value(getattr(da, name)(da.from_array(x, chunks=(3, 6, 5)), axis=0), 4)
        expected = getattr(np, name)(x, axis=0)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-5)
    wide = value(da.cumsum(da.from_array(x, chunks=(3, 6, 5)), axis=0, dtype="c16"), 4)
    np.testing.assert_allclose(wide, np.cumsum(x, axis=0, dtype="c16"))


def test_a_flattened_scan():
    x = host((12, 6))
    np.testing.assert_allclose(value(da.cumsum(da.from_array(x, chunks=(3, 6))), 4), x.cumsum())


@pytest.mark.parametrize("name", NAMES)
def test_bits_do_not_depend_on_the_number_of_cards(name):
    x = da.from_array(host((37, 4), "f4"), chunks=(1, 2))
    lazy = getattr(da, name)(x, axis=0)
    one, *more = [value(lazy, cards) for cards in (1, 2, 3, 4, 8)]
    for other in more:
        np.testing.assert_array_equal(one, other)


def test_totals_cross_cards_in_one_collective_and_chunks_stay():
    x = da.from_array(host((64, 4)), chunks=(2, 4)).persist()
    graph, keys = planned(da.cumsum(x, axis=0), 4)
    (gang,) = gangs(graph).values()
    assert gang.op == "gather"
    owners, inside = annotations(graph, "card"), annotations(graph, "gang")
    tasks = ensure_dict(graph)
    moved = []
    for key, node in tasks.items():
        for dependency in node.dependencies:
            here = owners.get(dependency) in (None, owners.get(key))  # None: data in the graph
            if not here and dependency not in inside:
                moved.append(stage(dependency))
    # the owner hands each other card what comes before its chunks; the first needs nothing
    assert moved
    assert set(moved) == {"carry"}
    carries = [key for key in tasks if stage(key) == "carry"]
    assert len(carries) == 3
    assert [owners[key] for key in sorted(keys)] == [index // 8 for index in range(32)]
    assert all(len(tasks[key].dependencies) <= 9 for key in tasks if key not in inside)
    assert len(tasks) < 32 * 4 + 40


def test_chunks_of_one_card_need_no_collective():
    x = da.from_array(host((16, 12)), chunks=(2, 3))
    graph, _ = planned(da.cumsum(x, axis=1), 4)  # each line of chunks lies on one card
    assert gangs(graph) == {}
    np.testing.assert_allclose(value(da.cumsum(x, axis=1), 4), x.compute().cumsum(axis=1))


def test_only_what_is_wanted_is_computed():
    x = da.from_array(host((32, 3)), chunks=(2, 3))
    for lazy, expected in (
        (da.cumsum(x, axis=0)[-1], x.compute().sum(axis=0)),
        (da.cumsum(x, axis=0)[9], x.compute()[:10].sum(axis=0)),
        (da.cumsum(x, axis=0)[::7], x.compute().cumsum(axis=0)[::7]),
    ):
        np.testing.assert_allclose(value(lazy, 4), expected)
    graph, _ = planned(da.cumsum(x, axis=0)[9], 4)
    assert sum(stage(key) == "total" for key in ensure_dict(graph)) <= 5


def test_scans_feed_reductions_and_other_scans():
    x = da.from_array(host((24, 5)), chunks=(2, 5))
    h = x.compute()
    lazy = da.cumsum(x - x.mean(axis=0), axis=0).std(axis=0)
    np.testing.assert_allclose(value(lazy, 4), (h - h.mean(axis=0)).cumsum(axis=0).std(axis=0))
    twice = da.cumsum(da.cumsum(x, axis=0), axis=0)
    np.testing.assert_allclose(value(twice, 4), h.cumsum(axis=0).cumsum(axis=0))


def test_a_chain_of_an_unknown_operation_stays_stock():
    x = da.from_array(host((24, 5)), chunks=(2, 5))
    lazy = da.reductions.cumreduction(np.maximum.accumulate, _larger, -np.inf, x, axis=0)
    assert gangs(planned(lazy, 4)[0]) == {}
    np.testing.assert_array_equal(value(lazy, 4), np.maximum.accumulate(x.compute(), axis=0))


def test_dasks_other_method_stays_stock_and_on_cards_that_exist():
    x = da.from_array(host((24, 5)), chunks=(2, 5))
    lazy = da.cumsum(x, axis=0, method="blelloch")
    graph, _ = planned(lazy, 4)
    assert set(annotations(graph, "card").values()) <= {0, 1, 2, 3}
    np.testing.assert_allclose(value(lazy, 4), x.compute().cumsum(axis=0))


def _larger(left, right):
    return np.maximum(left, right)


def test_masked_chunks():
    x = np.ma.masked_greater(host((12, 4)), 1.1)
    got = value(da.cumsum(da.from_array(x, chunks=(2, 4)), axis=0), 4)
    np.testing.assert_allclose(got[~x.mask], x.cumsum(axis=0)[~x.mask])


def test_prefixes():
    assert block_total(0, np.ones((0, 2))) is None
    block = np.arange(6).reshape(3, 2)
    last = block_total(0, block)
    assert last.base is None
    np.testing.assert_array_equal(last, [[4, 5]])
    assert prefix(operator.add, [], None) is None
    assert prefix(operator.add, [(0, 1), 2], 100, 1, None, 20) == 121
    assert add_offset(operator.add, "b", [0], None, "a") == "ab"
    assert add_offset(operator.add, "b", [0], None, None) == "b"
    paths = [[0], [(0, 1)]]
    assert gathered_prefixes(operator.add, paths, [(0, 0), (1, 0)], [[1], [2]], None) == [1, 3]


class Total:
    """A total that counts how many of its kind there are."""

    alive = most = 0

    def __init__(self):
        Total.alive += 1
        Total.most = max(Total.most, Total.alive)

    def __del__(self):
        Total.alive -= 1


def added(left, right):
    return Total()


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("begun", [False, True])
def test_memory_of_folded_totals(count, begun):
    spans = nodes_below(0, count, 16)
    stops = {span: index for index, span in enumerate(spans)}
    one = array_size((1, 6), 8, card=True)
    for index, span in enumerate(spans):
        path = _path(0, count, span, stops)
        totals = [Total() for _ in spans[:index]]
        before = Total() if begun else None
        calls = {prefix: (added, path, before), add_offset: (added, Total(), path, before)}
        if index > 1:
            calls[fold_totals] = (added, numbered(0, index, {(i, i + 1): i for i in range(index)}))
        for function, arguments in calls.items():
            there = Total.most = Total.alive
            result = function(*arguments, *totals)
            kept = Total.alive - there
            sized = [one if isinstance(value, Total) else value for value in arguments]
            inputs = [one] * (len(totals) + begun + (function is add_offset))
            told = step(function, [*sized, *[one] * len(totals)], inputs, one)
            assert Total.most - there - kept <= told.scratch // 48
            assert told.scratch // 48 <= Total.most - there  # not idly large
            del result

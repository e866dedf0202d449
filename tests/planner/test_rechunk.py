"""Rechunking between cards: values, exchanges, what stays stock, and what the plan says."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from dask._task_spec import Task
from dask.array.core import concatenate_shaped
from dask.utils import ensure_dict

import daskasc
from daskasc.array import from_numpy
from daskasc.collectives import join, pack
from tests.planner.cards import on_cards
from tests.planner.test_planner import annotations, gangs, planned, value

CASES = [
    ((2, 17, 5), (23, 2, 5)),
    ((1, 17, 5), (23, 1, 5)),
    ((2, 3, 5), (7, 5, 2)),
    ((1, 1, 5), (4, 4, 5)),
    ((23, 1, 1), (1, 17, 5)),
    (((0, 4, 0, 0, 18, 1), 3, 5), (5, 17, 1)),
    ((1, 17, 5), ((0, 20, 3), (0, 1, 16), 5)),
]


def host(dtype="f8", shape=(23, 17, 5)):
    rng = np.random.default_rng(3)
    if dtype.startswith("M8"):
        return rng.integers(0, 999, shape).astype(dtype)
    return (rng.normal(size=shape) * 9).astype(dtype)


def noted(x, chunks):
    """Chunks of NumPy whose notes say that they lie on cards."""
    lazy = da.from_array(x, chunks=chunks)
    meta = from_numpy(np.empty((0,) * x.ndim, x.dtype))
    return lazy.map_blocks(_same, dtype=x.dtype, meta=meta)


def _same(block):
    return block


def exchanges(graph):
    return [gang for gang in gangs(graph).values() if gang.op == "exchange"]


@pytest.mark.parametrize(("old", "new"), CASES, ids=str)
@pytest.mark.parametrize("cards", [1, 2, 4])
def test_equals_numpy(old, new, cards):
    x = host()
    np.testing.assert_array_equal(value(noted(x, old).rechunk(new), cards), x)


@pytest.mark.parametrize("dtype", "? u1 i2 u4 i8 f2 f4 c8 c16 M8[s]".split())
def test_dtypes(dtype):
    x = host(dtype)
    lazy = noted(x, (2, 17, 5)).rechunk((23, 2, 5))
    assert len(exchanges(planned(lazy, 4)[0])) == 1
    got = value(lazy, 4)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, x)


def test_one_exchange_and_parts_cross_in_it_alone():
    x = on_cards((64, 64), (2, 64))
    graph, keys = planned(x.rechunk((64, 4)), 4)
    (gang,) = exchanges(graph)
    assert gang.members == (0, 1, 2, 3)
    tasks, owners = ensure_dict(graph), annotations(graph, "card")
    inside = annotations(graph, "gang")
    assert [owners[key] for key in sorted(keys)] == [index // 4 for index in range(16)]
    assert not any(_is(node, concatenate_shaped) for node in tasks.values())
    assert sum(_is(node, pack) for node in tasks.values()) == 4
    assert sum(_is(node, join) for node in tasks.values()) == 16
    for key, node in tasks.items():
        for dependency in node.dependencies:
            here = owners.get(dependency) in (None, owners.get(key))
            assert here or key in inside, f"{dependency} travels to {key}"
    # 3 tasks a card, the barrier and one that joins
    assert len(inside) == 3 * 4 + 2


def _is(node, function):
    return isinstance(node, Task) and node.func is function


def test_a_step_between_is_left_out():
    x = on_cards((64, 64), (1, 64))
    lazy = x.rechunk((64, 1))
    assert sum(name.startswith("rechunk-merge") for name in lazy.dask.layers) == 2
    graph, _ = planned(lazy, 4)
    (gang,) = exchanges(graph)
    assert gang.members == (0, 1, 2, 3)
    shapes = {len(node.args[1]) for node in ensure_dict(graph).values() if _is(node, join)}
    assert shapes == {64}  # of the first chunks, one part each


def test_a_step_that_is_used_otherwise_stays():
    x = host(shape=(64, 64))
    lazy = noted(x, (2, 64)).rechunk((64, 8))
    both = da.concatenate([lazy, lazy.rechunk((2, 64))], axis=1)
    np.testing.assert_array_equal(value(both, 4), np.concatenate([x, x], axis=1))
    back = lazy.rechunk((2, 64))
    np.testing.assert_array_equal(value(back, 4), x)
    np.testing.assert_array_equal(value(da.concatenate([back, x + lazy], axis=1), 4)[:, :64], x)


@pytest.mark.parametrize(
    "lazy",
    [
        lambda: on_cards((64, 8), (2, 8)).rechunk((4, 8)),  # along the cards' own chunks
        lambda: on_cards((64, 8), (4, 8)).rechunk((2, 4)),
        lambda: on_cards((60, 8), (2, 8)).rechunk((5, 8)),  # a few parts at the cards' borders
        lambda: on_cards((8, 8), (4, 8)).rechunk((8, 4)),  # a few parts in all
        lambda: da.ones((64, 64), chunks=(2, 64)).rechunk((64, 4)),  # on the host
    ],
)
def test_what_does_not_pay_stays_stock(lazy):
    assert exchanges(planned(lazy(), 4)[0]) == []
    np.testing.assert_array_equal(value(noted(np.ones((60, 8)), (2, 8)).rechunk((5, 8)), 4), 1)


def test_what_does_not_fit_stays_stock():
    lazy = on_cards((64, 64), (2, 64)).rechunk((64, 4))
    share = 64 * 64 * 8 // 4
    assert len(exchanges(planned(lazy, 4, capacity=2 * share)[0])) == 1
    assert exchanges(planned(lazy, 4, capacity=2 * share - 1, memory_check="off")[0]) == []


def test_stock_parts_are_cut_where_their_chunks_lie():
    lazy = on_cards((60, 8), (2, 8)).rechunk((5, 8))
    plan = daskasc.plan(lazy, cards=4, persist=True)
    assert plan.collectives == ()
    # of the chunks that two cards share, what the smaller side has
    assert plan.bytes_between_cards < 4 * 5 * 8 * 8


def test_the_plan_counts_bytes_and_memory():
    lazy = on_cards((64, 64), (2, 64)).rechunk((64, 4))
    plan = daskasc.plan(lazy, cards=4, persist=True)
    (one,) = plan.collectives
    whole = 64 * 64 * 8
    assert (one.name, one.operation, one.count) == ("rechunk", "exchange", 1)
    assert one.nbytes == plan.bytes_between_cards == whole * 3 // 4
    assert plan.unknown == {}
    share = whole // 4
    for peak in plan.peaks:
        assert 2 * share <= peak.total < 4 * share  # packing takes two shares
        assert peak.need == 2 * share


@pytest.mark.parametrize("cards", [2, 4])
def test_what_follows(cards):
    x = host(shape=(40, 24))
    lazy = noted(x, (2, 24)).rechunk((40, 3))
    np.testing.assert_allclose(value(lazy.sum(axis=1), cards), x.sum(axis=1))
    np.testing.assert_allclose(value((lazy + 1).std(axis=0), cards), (x + 1).std(axis=0))
    np.testing.assert_array_equal(value(lazy.map_blocks(np.sort, axis=0), cards), np.sort(x, 0))
    np.testing.assert_array_equal(value(lazy.rechunk((2, 24)) * 2, cards), x * 2)
    quarter = da.quantile(noted(x, (2, 24)), 0.25, axis=0)
    np.testing.assert_allclose(value(quarter, cards), np.quantile(x, 0.25, axis=0))
    part = noted(x, (2, 24)).rechunk((40, 3))[:, 5:9]
    np.testing.assert_array_equal(value(part, cards), x[:, 5:9])

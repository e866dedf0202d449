"""The graph pass against NumPy, and what it promises about tasks and cards."""

from __future__ import annotations

import pickle
import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from dask.utils import ensure_dict

from daskasc.collectives import Gang, barrier
from daskasc.errors import ConfigurationError
from daskasc.planner import Planner, SchedulerPlanner
from daskasc.planner._emit import nodes_below
from tests.planner.local import run_locally

REDUCTIONS = [
    "sum prod min max any all mean var std".split(),
    "nansum nanprod nanmin nanmax nanmean nanvar nanstd".split(),
]
NAMES = [name for group in REDUCTIONS for name in group]


def data(dtype="f8", shape=(23, 6, 5), missing=True):
    rng = np.random.default_rng(7)
    x = rng.normal(1.0, 0.3, shape)
    if dtype == "f8" and missing:
        x[rng.random(shape) < 0.2] = np.nan
        x[:, 0, 0] = np.nan
    return x.astype(dtype) if dtype != "i4" else (x * 10).astype("i4")


def planned(x, cards, **kwargs):
    keys = list(dask.core.flatten(x.__dask_keys__()))
    return Planner(cards, **kwargs)(x.dask, keys), keys


def value(x, cards, **kwargs):
    graph, _ = planned(x, cards, **kwargs)

    def build(nested):
        if isinstance(nested, list):
            return [build(item) for item in nested]
        return run_locally(graph, [nested])[0]

    blocks = build(x.__dask_keys__())
    return np.block(blocks) if x.ndim else blocks[0]


def gangs(graph):
    return {
        node.args[0].id: node.args[0]
        for node in ensure_dict(graph).values()
        if getattr(node, "func", None) is barrier
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_equals_numpy(name, axis, keepdims):
    x = data(missing=name.startswith("nan"))
    lazy = getattr(da, name)(da.from_array(x, chunks=(2, 3, 2)), axis=axis, keepdims=keepdims)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN slices, as NumPy
        got = value(lazy, 4)
        expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    assert np.shape(got) == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "nanstd", "max"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_bits_do_not_depend_on_the_number_of_cards(name, dtype):
    x = da.from_array(data(dtype, (37, 4, 6)), chunks=(3, 2, 6))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        results = [value(getattr(da, name)(x, axis=0), cards) for cards in (1, 2, 3, 4, 8)]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_one_collective_per_reduction_over_cards_and_none_within_one():
    x = da.ones((16, 8), chunks=(2, 8))
    graph, _ = planned(x.mean(axis=0), 4)
    (gang,) = gangs(graph).values()
    assert gang.members == (0, 1, 2, 3)
    assert len(gang.partial_keys) == 4
    assert gang.op == "gather"
    # each card's leaves are reduced along axis 1, which is not chunked
    graph, _ = planned(x.mean(axis=1), 4)
    assert gangs(graph) == {}


def test_exact_dtypes_take_the_reducing_collective():
    ints = da.ones((16, 8), chunks=(2, 8), dtype="i4")
    assert [g.op for g in gangs(planned(ints.sum(axis=0), 4)[0]).values()] == ["sum"]
    assert [g.op for g in gangs(planned((ints > 0).any(axis=0), 4)[0]).values()] == ["max"]
    assert [g.op for g in gangs(planned((ints > 0).all(axis=0), 4)[0]).values()] == ["min"]
    floats = da.ones((16, 8), chunks=(2, 8), dtype="f4")
    assert [g.op for g in gangs(planned(floats.sum(axis=0), 4)[0]).values()] == ["gather"]
    fast = planned(floats.mean(axis=0), 4, reproducible=False)[0]
    assert [g.op for g in gangs(fast).values()] == ["sum"]
    np.testing.assert_allclose(value(floats.mean(axis=0), 4, reproducible=False), 1)
    np.testing.assert_array_equal(value(ints.sum(axis=0), 4), np.full(8, 16))


def test_combining_stays_on_the_card_of_its_leaves():
    x = da.ones((64, 4), chunks=(1, 4))
    graph, _ = planned(x.sum(axis=0), 4, bundle=1)
    owners = annotations(graph, "card")
    tasks = ensure_dict(graph)
    for key, node in tasks.items():
        if "-node-" in str(key) or "-partial-" in str(key):
            assert {owners[dependency] for dependency in node.dependencies} == {owners[key]}
            assert len(node.dependencies) <= 8
    assert {owners[k] for k in owners if k[0].startswith("sum-partial")} == {0, 1, 2, 3}


def test_elementwise_work_has_the_owner_of_its_input():
    x = da.ones((16, 4), chunks=(2, 4))
    anomaly = x - x.mean(axis=0)
    graph, keys = planned(anomaly, 4)
    owners = annotations(graph, "card")
    assert [owners[key] for key in sorted(keys)] == [0, 0, 1, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal(value(anomaly, 4), np.zeros((16, 4)))


def test_reads_fused_with_a_small_input_are_spread():
    x = da.from_array(data(shape=(16, 4, 2), missing=False), chunks=(2, 4, 2))
    small = da.ones((4, 2), chunks=(4, 2)).map_blocks(lambda block: block, name="small")
    graph, _ = planned((x - small).sum(axis=0), 4)
    (gang,) = gangs(graph).values()
    assert gang.members == (0, 1, 2, 3)
    np.testing.assert_allclose(value((x - small).sum(axis=0), 4), (x.compute() - 1).sum(axis=0))


def annotations(graph, kind):
    found = {}
    for layer in graph.layers.values():
        if kind in (layer.annotations or {}):
            found.update({key: layer.annotations[kind](key) for key in layer})
    return found


def test_a_chunk_is_finished_before_the_next_is_read():
    x = da.from_array(data(shape=(32, 4, 2), missing=False), chunks=(2, 4, 2)) + 1
    total = x.sum(axis=0)
    outputs = [total, (x * 2).max(axis=0), (x - total).min(axis=0)]
    graph = Planner(2)(
        dask.highlevelgraph.HighLevelGraph.merge(*[y.dask for y in outputs]),
        [y.__dask_keys__() for y in outputs],
    )
    rank, cards = annotations(graph, "rank"), annotations(graph, "card")
    tasks = ensure_dict(graph)
    assert rank.keys() == tasks.keys()
    for key, node in tasks.items():
        assert all(rank[dependency] <= rank[key] for dependency in node.dependencies)
    in_gangs = annotations(graph, "gang")
    chunkwise = {key for key in rank if len(key) == 4} - in_gangs.keys()
    of_card_0 = {key for key in chunkwise if cards.get(key) == 0 and rank[key] < 1}
    # both reductions that need nothing else take chunk i before anything takes chunk i + 1
    assert {rank[key] for key in of_card_0} == {index / 16 for index in range(8)}
    # what needs the sum comes after it, in the next phase, again chunk by chunk
    later = sorted(value for value in set(rank.values()) if value >= 1)
    assert later[0] == 1.0
    assert len(later) >= 8


def test_off_is_the_stock_pass():
    x = da.ones((16, 8), chunks=(2, 8)).mean(axis=0)
    with dask.config.set({"daskasc.planner.enabled": False}):
        graph, keys = planned(x, 4)
        shipped = pickle.loads(pickle.dumps(Planner(4)))
    assert gangs(graph) == {}
    assert shipped.enabled is False
    np.testing.assert_array_equal(run_locally(graph, keys)[0], np.ones(8))


def test_planner_is_a_value():
    assert Planner(4) == Planner(4)
    assert len({Planner(4), Planner(4), Planner(2)}) == 2
    assert pickle.loads(pickle.dumps(Planner(4))) == Planner(4).resolved()
    with pytest.raises(ConfigurationError, match="at least one card"):
        Planner(0)


def test_in_the_client_it_is_the_stock_pass_and_arrives_as_a_planner():
    here = SchedulerPlanner(Planner(4))
    assert here == SchedulerPlanner(Planner(4))
    x = da.ones((16, 8), chunks=(2, 8)).mean(axis=0)
    with dask.config.set(array_optimize=here):
        np.testing.assert_array_equal(x.compute(scheduler="sync"), np.ones(8))
    assert pickle.loads(pickle.dumps(here)) == Planner(4).resolved()


def _own_sum(partials, axis, keepdims):
    return np.sum(partials, axis=axis, keepdims=keepdims)


def test_wanted_partials_and_unknown_reductions_stay_stock():
    x = da.from_array(data(shape=(24, 6, 5), missing=False), chunks=(2, 6, 5))
    unknown = da.median(x, axis=0)
    assert gangs(planned(unknown, 4)[0]) == {}
    np.testing.assert_allclose(value(unknown, 4), np.median(x.compute(), axis=0))
    own = da.reduction(x, np.sum, _own_sum, axis=0, dtype="f8")
    assert gangs(planned(own, 4)[0]) == {}
    np.testing.assert_allclose(value(own, 4), x.compute().sum(axis=0))


def test_several_outputs_share_chunks():
    x = da.from_array(data(shape=(24, 6, 5), missing=False), chunks=(2, 6, 5)) * 2
    a, b = x.mean(axis=0), x.max(axis=0)
    graph = Planner(4)(
        dask.highlevelgraph.HighLevelGraph.merge(a.dask, b.dask),
        [a.__dask_keys__(), b.__dask_keys__()],
    )
    assert len(gangs(graph)) == 2
    got = run_locally(graph, [a.__dask_keys__()[0][0], b.__dask_keys__()[0][0]])
    np.testing.assert_allclose(got[0], x.mean(axis=0).compute())
    np.testing.assert_allclose(got[1], x.max(axis=0).compute())


@pytest.mark.parametrize("split_every", [2, 3, 100])
def test_any_split_every(split_every):
    x = da.from_array(data(shape=(23, 6, 5), missing=False), chunks=(2, 3, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        got = value(x.var(axis=(0, 1), split_every=split_every, ddof=1), 3)
    np.testing.assert_allclose(got, x.compute().var(axis=(0, 1), ddof=1))


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd", "mean", "sum"])
@pytest.mark.parametrize("sizes", [(1, 1, 0, 2), (0, 4, 0), (2, 2, 0, 0)])
def test_chunks_without_elements(name, sizes):
    host = np.array([0.0, 1.0, 2.0, 5.0])
    x = da.from_array(host, chunks=4).rechunk((tuple(sizes),))
    with np.errstate(all="ignore"):
        got = value(getattr(da, name)(x), 3)
    np.testing.assert_allclose(got, getattr(np, name)(host))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["var", "std", "mean", "max", "nanvar", "nanmean"])
def test_not_a_number_and_infinity_propagate_as_in_numpy(name, bad):
    host = np.arange(40.0).reshape(20, 2)
    host[7, 0] = bad
    x = da.from_array(host, chunks=(3, 2))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        got = value(getattr(da, name)(x, axis=0), 3)
        expected = getattr(np, name)(host, axis=0)
    np.testing.assert_allclose(got, expected)


def test_gangs_are_plain_values():
    gang = next(iter(gangs(planned(da.ones((8, 2), chunks=(1, 2)).sum(axis=0), 2)[0]).values()))
    assert isinstance(gang, Gang)
    assert pickle.loads(pickle.dumps(gang)) == gang
    assert gang.cards == 2


@pytest.mark.parametrize("fan_in", [2, 4, 8, 16])
def test_steps_above_the_leaves_are_full(fan_in):
    def steps(low, high):
        if high - low == 1:
            return 0
        spans = nodes_below(low, high, fan_in)
        assert 1 < len(spans) <= fan_in
        assert [low, *(stop for _, stop in spans)] == [*(start for start, _ in spans), high]
        return 1 + sum(steps(*span) for span in spans)

    for leaves in [*range(1, 300), 1000, 50_000]:
        assert steps(0, leaves) <= 2 * leaves / (fan_in - 1) + 1

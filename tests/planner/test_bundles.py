"""Bundles: the same bits, fewer tasks, less memory, and only what nobody else uses."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import Task, TaskRef
from dask.highlevelgraph import HighLevelGraph
from dask.utils import ensure_dict

import daskasc
from daskasc.planner import Planner
from daskasc.planner._bundles import chunks_in, is_bundle
from daskasc.planner._sizes import Sizes
from daskasc.planner._stream import run_bundle

from .cards import on_cards
from .local import run_locally
from .test_planner import annotations, data, planned, value

KIB = 1024


def bundles(graph):
    return {key: node for key, node in ensure_dict(graph).items() if is_bundle(node)}


def source(host):
    return da.from_array(host, chunks=(1, *host.shape[1:]))


REDUCTIONS = {
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(),
    "std": lambda x: x.std(axis=(0, 2)),
    "nanmax": lambda x: da.nanmax(x, axis=0),
    "argmax": lambda x: x.argmax(axis=0),
    "topk": lambda x: da.topk(x, 3, axis=0),
    "two arrays": lambda x: (x * (x[::-1] + 1)).sum(axis=0),
    "anomaly": lambda x: (x - x.mean(axis=0)).std(axis=0),
}


@pytest.mark.parametrize("cards", [1, 3])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_bits_do_not_depend_on_the_size_of_bundles(name, cards):
    x = source(data("f4", (45, 3, 4)))
    lazy = REDUCTIONS[name](x)
    single = value(lazy, cards, bundle=1)
    for bundle in (2, 8, 20, 64):
        np.testing.assert_array_equal(value(lazy, cards, bundle=bundle), single)


@pytest.mark.parametrize("cards", [1, 4, 8])
def test_a_task_takes_many_chunks(cards):
    chunks = 4096
    x = da.ones((chunks,), chunks=1)
    graph, _ = planned(x.sum(), cards, bundle=64)
    found = bundles(graph)
    assert sum(map(chunks_in, found.values())) == chunks
    assert len(ensure_dict(graph)) <= chunks // 32 + 3 * cards + 10
    assert all(32 < chunks_in(node) <= 64 for node in found.values())
    owners, ranks = annotations(graph, "card"), annotations(graph, "rank")
    assert {owners[key] for key in found} == set(range(cards))
    assert len({ranks[key] for key in found}) == len(found)  # one after the other


def test_a_chunk_that_others_use_stays_a_task():
    x = on_cards((16, 8), (1, 8))
    for others in (x + 1, x[::-1].max(axis=0)[None], x[1:].max(axis=0)[None]):
        graph, _ = planned(da.concatenate([x.sum(axis=0)[None], others]), 2)
        assert bundles(graph) == {}  # sixteen inputs of a bundle would wait together
    twice = (x * x[::-1]).sum(axis=0)
    assert bundles(planned(twice, 2)[0]) == {}
    np.testing.assert_array_equal(
        value(da.stack([source(np.ones((16, 8))).sum(axis=0)] * 2), 2), np.full((2, 8), 16.0)
    )


def read(host):
    """Chunks that are tasks of their own, for several users."""
    return source(host).map_blocks(np.negative, dtype=host.dtype)


JOINT = {
    "two": lambda x: [x.sum(axis=0), x.max(axis=0)],
    "four": lambda x: [x.mean(axis=0), x.std(axis=0), x.argmax(axis=0), (x > 0).any(axis=0)],
    "all and some axes": lambda x: [x.mean(), x.min(axis=(0, 1)), x.sum(axis=0)],
    "one with a second array": lambda x: [(x * (x[::-1] + 1)).sum(axis=0), x.max(axis=0)],
    "in two layers": lambda x: [(x + 1).sum(axis=0), (x + 1).max(axis=0), (x * 2).min(axis=0)],
    "the second pass too": lambda x: [x.mean(axis=0), (x - x.mean(axis=0)).std(axis=0)],
}


@pytest.mark.parametrize("cards", [1, 3])
@pytest.mark.parametrize("name", JOINT)
def test_bits_of_reductions_of_the_same_chunks(name, cards):
    lazy = JOINT[name](read(data("f4", (45, 3, 4))))
    for one, several in zip(
        run_all(lazy, cards, bundle=1), run_all(lazy, cards, bundle=16, prefetch=1), strict=True
    ):
        np.testing.assert_array_equal(one, several)


def run_all(lazy, cards, **kwargs):
    graph, keys = planned_together(lazy, cards, **kwargs)
    return [np.asarray(found) for found in run_locally(graph, keys)]


def planned_together(lazy, cards, **kwargs):
    merged = HighLevelGraph.merge(*(one.dask for one in lazy))
    keys = list(dask.core.flatten([one.__dask_keys__() for one in lazy]))
    assert len(keys) == len(lazy)  # one chunk each
    return Planner(cards, **kwargs)(merged, keys), keys


@pytest.mark.parametrize("name", ["two", "four"])
@pytest.mark.parametrize("cards", [1, 4])
def test_reductions_of_the_same_chunks_share_bundles(name, cards):
    chunks = 256
    lazy = JOINT[name](on_cards((chunks, 2, 2), (1, 2, 2)))
    graph, _ = planned_together(lazy, cards, bundle=64)
    found = bundles(graph)
    assert sum(map(chunks_in, found.values())) == chunks
    assert all(32 < chunks_in(node) <= 64 for node in found.values())
    owners, ranks = annotations(graph, "card"), annotations(graph, "rank")
    assert {owners[key] for key in found} == set(range(cards))
    assert len({ranks[key] for key in found}) == len(found)
    per_bundle = 1 + len(lazy)
    assert len(ensure_dict(graph)) <= per_bundle * chunks // 32 + len(lazy) * (3 * cards + 12)


def test_reductions_that_wait_for_each_other_share_none():
    x, y = on_cards((64, 4), (1, 4)), on_cards((64, 5), (1, 5))
    a, c = x.sum(), y.sum()
    # of each pair one waits for one of the other
    graph, _ = planned_together([a, c, (x - c).max(axis=0), (y - a).max(axis=0)], 2)
    assert bundles(graph) == {}
    graph, _ = planned_together([a, (x - c).max(axis=0)], 2)
    assert sum(map(chunks_in, bundles(graph).values())) == 128


def test_reductions_of_the_same_chunks_take_each_once_and_one_at_a_time():
    x = on_cards((64, 16, 16), (1, 16, 16))
    both = [x.sum(axis=0), x.max(axis=0)]
    chunk = 16 * 16 * 8
    with dask.config.set({"daskasc.planner.bundle": 1}):
        single = daskasc.plan(*both, cards=1, persist=True)
    many = daskasc.plan(*both, cards=1, persist=True)
    assert many.kinds["bundle"] == 1
    assert many.bytes_host_to_device == single.bytes_host_to_device == 64 * chunk
    assert many.peak_device_bytes <= 22 * chunk < single.peak_device_bytes


def test_results_that_all_chunks_use_do_not_hinder():
    x = da.random.default_rng(1).normal(size=(32, 8), chunks=(1, 8)).map_blocks(np.negative)
    late = ((x - da.ones(8).sum()) ** 2).sum(axis=0)
    graph, _ = planned(late, 2)
    assert sum(map(chunks_in, bundles(graph).values())) == 32


def test_halos_are_not_bundled():
    x = da.ones((32, 4), chunks=(4, 4))
    lazy = x.map_overlap(lambda block: block, depth=1, boundary="none").sum(axis=0)
    np.testing.assert_array_equal(value(lazy, 2), value(lazy, 2, bundle=1))
    graph, _ = planned(lazy, 2)
    assert bundles(graph) == {}


def test_partial_results_wait_in_small_numbers():
    x = on_cards((64, 16, 16), (1, 16, 16)).sum(axis=0)
    chunk = 16 * 16 * 8
    with dask.config.set({"daskasc.planner.bundle": 1}):
        single = daskasc.plan(x, cards=1, persist=True)
    many = daskasc.plan(x, cards=1, persist=True)
    assert many.kinds["bundle"] == 1
    assert many.peak_device_bytes <= 11 * chunk < 22 * chunk < single.peak_device_bytes


def test_a_bundle_that_a_card_cannot_hold_is_cut():
    x = on_cards((64, 16, 16), (1, 16, 16)).sum(axis=0)
    sizes = []
    for capacity in (20 * KIB, 19 * KIB, 15 * KIB, 13 * KIB, 11 * KIB):
        graph, _ = planned(x, 1, capacity=capacity, fan_in=2)
        sizes.append(max(map(chunks_in, bundles(graph).values()), default=1))
    assert sizes == [64, 32, 8, 4, 2]
    spilling, _ = planned(x, 1, capacity=64 * KIB, stored_limit=6 * KIB)
    assert bundles(spilling) == {}


def test_errors_name_the_chunk():
    def fails(block):
        raise ValueError("bad data")

    x = da.from_array(np.ones((8, 2)), chunks=(1, 2)).map_blocks(
        fails, dtype="f8", meta=np.empty((0, 0))
    )
    with pytest.raises(ValueError, match="bad data") as caught:
        value(x.sum(), 1)
    (note,) = caught.value.__notes__
    assert "in step ('sum-" in note
    assert ", 0, 0)" in note


def test_values_are_let_go_as_soon_as_possible():
    alive: set[str] = set()

    class Chunk:
        def __init__(self, name):
            self.name = name
            alive.add(name)

        def __del__(self):
            alive.discard(self.name)

    seen = []

    def read(name):
        seen.append(len(alive))
        return Chunk(name)

    def double(chunk):
        return len(chunk.name)

    steps = {}
    for i in range(4):
        steps[f"r{i}"] = Task(f"r{i}", read, f"chunk {i}")
        steps[f"d{i}"] = Task(f"d{i}", double, TaskRef(f"r{i}"))
    steps["all"] = Task("all", lambda *given: sum(given), *(TaskRef(f"d{i}") for i in range(4)))
    assert run_bundle(steps, (), 0) == 28
    assert seen == [0, 0, 0, 0]
    assert not alive
    assert run_bundle({"x": Task("x", double, TaskRef("y"))}, ("y",), 0, Chunk("four")) == 4


def test_configuration():
    x = da.ones((64,), chunks=1).sum()
    with dask.config.set({"daskasc.planner.bundle": 8}):
        assert daskasc.plan(x, cards=1).kinds["bundle"] == 8
    with (
        dask.config.set({"daskasc.planner.bundle": 0}),
        pytest.raises(daskasc.errors.ConfigurationError, match=r"planner\.bundle is 0"),
    ):
        daskasc.plan(x, cards=1)


@pytest.mark.parametrize("chunks", [(2, 16), ((3, 5, 4, 4, 16), 16), (5, 7)])
@pytest.mark.parametrize("name", ["sum", "std"])
def test_figures_of_alike_chunks_are_those_of_each(name, chunks, monkeypatch):
    x = da.random.default_rng(2).normal(size=(32, 16), chunks=chunks) * 2
    lazy = getattr(x, name)(axis=0)
    cached = daskasc.plan(lazy, cards=2)
    monkeypatch.setattr(Sizes, "uniform", lambda sizes, name: False)
    assert daskasc.plan(lazy, cards=2) == cached

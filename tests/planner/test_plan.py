"""Plans: counts, bytes and projected memory, without a cluster and without running anything."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import pytest

import daskasc
from daskasc.errors import ConfigurationError, InputError
from daskasc.planner import _combine, _counting, _partials, _prefix, _rules
from tests.planner.cards import on_cards

KIB = 1024


def never(block):
    raise AssertionError("a plan runs nothing")


def test_a_mean_over_cards():
    x = on_cards((64, 16, 16), (4, 16, 16))
    plan = daskasc.plan(x.mean(axis=0), cards=4)
    chunk, partial = 4 * 16 * 16 * 8, 2 * 16 * 16 * 8
    assert plan.cards == 4
    assert plan.chunks == (4, 4, 4, 4)
    assert plan.kinds == {"bundle": 4, "combine": 1, "collective": 13, "gather": 1}
    assert plan.tasks == 19
    with dask.config.set({"daskasc.planner.bundle": 1}):
        single = daskasc.plan(x.mean(axis=0), cards=4)
    assert single.kinds == {"chunk": 16, "combine": 5, "collective": 13, "gather": 1}
    assert single.tasks == 35
    assert single.collectives == plan.collectives
    assert single.bytes_host_to_device == plan.bytes_host_to_device
    assert single.peak_device_bytes > plan.peak_device_bytes
    (one,) = plan.collectives
    assert (one.name, one.operation, one.count, one.nbytes) == ("mean", "gather", 1, 3 * partial)
    assert plan.bytes_host_to_device == 16 * chunk
    assert plan.bytes_between_cards == 3 * partial
    assert plan.bytes_read == 0
    assert plan.unknown == {}
    assert plan.fits is None
    # a chunk, its partial result, and those that wait; card 0 also gathers one of each card
    assert all(peak.total >= chunk + partial for peak in plan.peaks)
    assert all(peak.total <= chunk + 6 * partial for peak in plan.peaks[1:])


def test_elementwise_work_moves_nothing_and_keeps_its_result():
    x = on_cards((64, 16, 16), (4, 16, 16))
    plan = daskasc.plan(da.sqrt(x * 2 + 1), cards=4, persist=True)
    chunk = 4 * 16 * 16 * 8
    assert plan.kinds == {"chunk": 16}
    assert plan.bytes_between_cards == 0
    assert [peak.stored for peak in plan.peaks] == [4 * chunk] * 4
    # besides the last result its argument, and the argument's argument
    assert [peak.total for peak in plan.peaks] == [5 * chunk] * 4
    collected = daskasc.plan(da.sqrt(x * 2 + 1), cards=4)
    assert collected.kinds == {"chunk": 16, "gather": 1}
    assert collected.bytes_between_cards == 12 * chunk
    assert collected.peak_device_bytes == 3 * 16 * chunk


def test_a_view_counts_as_the_memory_that_it_keeps():
    x = on_cards((64, 16, 16), (4, 16, 16))
    row = 16 * 16 * 8

    def stored(wanted):
        return daskasc.plan(wanted, cards=1, persist=True).peaks[0].stored

    # dask copies parts that are at most half as large as their chunks
    assert stored(x[:, :8]) <= (16 * 2 + 3 * 4) * row
    assert 16 * 4 * row <= stored(x[:, :12]) <= (16 * 4 + 3 * 4) * row
    assert stored(x[:, :12].transpose(2, 1, 0)) == stored(x[:, :12])
    # what was trimmed stays as long as the chunk: a row on each side
    overlapping = x.map_overlap(np.negative, {0: 1}, boundary="none", dtype="f8", meta=x._meta)
    assert stored(overlapping) >= (16 * 4 + 2 * 15) * row
    assert daskasc.plan(overlapping, cards=4, persist=True).unknown == {}
    around = x.map_overlap(np.negative, {0: 1}, boundary="periodic", dtype="f8", meta=x._meta)
    assert daskasc.plan(around, cards=4, persist=True).unknown == {}
    # a copy on another card takes its elements only
    moved = daskasc.plan(overlapping, cards=4, persist=True).bytes_between_cards
    assert moved == 6 * row


PLANNED_ANEW = """
import daskasc
from tests.planner.cards import on_cards

x = on_cards((64, 16, 16), (4, 16, 16))
print(daskasc.plan(x.sum(0), (x * 2).max(0), (x - 1).min(0), cards=4).peaks)
"""


def test_a_plan_does_not_depend_on_the_order_of_sets():
    def planned(seed):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        command = [sys.executable, "-c", PLANNED_ANEW]
        return subprocess.check_output(command, text=True, env=environment, timeout=120)

    assert len({planned(seed) for seed in range(3)}) == 1


def test_several_collections_share_their_chunks():
    x = on_cards((64, 16, 16), (4, 16, 16))
    total = daskasc.plan(x.sum(axis=0), cards=4)
    both = daskasc.plan(x.sum(axis=0), {"highest": x.max(axis=0)}, cards=4)
    assert [one.name for one in both.collectives] == ["max", "sum"]
    assert both.bytes_host_to_device == total.bytes_host_to_device
    assert sorted(both.kinds) == ["bundle", "collective", "combine", "gather"]


def test_bytes_of_a_store(tmp_path):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(tmp_path / "x.zarr", shape=(40, 10), chunks=(4, 10), dtype="f4")
    stored[:] = 1
    x = daskasc.from_zarr(tmp_path / "x.zarr")
    plan = daskasc.plan(x.sum(axis=0), cards=2)
    assert plan.kinds["bundle"] == 2
    assert plan.chunks == (5, 5)
    assert plan.bytes_read == plan.bytes_host_to_device == 40 * 10 * 4
    assert plan.peak_host_bytes > 0


def test_xarray_objects_and_the_accessor():
    xr = pytest.importorskip("xarray")
    import daskasc.xr

    x = on_cards((64, 16, 16), (4, 16, 16))
    array = xr.DataArray(x, dims=("time", "y", "x"), name="t")
    plan = daskasc.plan(array.mean("time"), cards=4)
    assert plan.chunks == (4, 4, 4, 4)
    assert array.mean("time").npu.plan(cards=4).kinds == plan.kinds
    both = xr.Dataset({"a": array, "b": array * 2}).mean("time").npu.plan(cards=4, persist=True)
    assert [one.count for one in both.collectives] == [2]


def test_no_function_of_the_graph_is_called():
    x = da.ones((8, 8), chunks=(2, 8)).map_blocks(never, dtype="f8", meta=np.empty((0, 0)))
    assert daskasc.plan(x.sum(), x + 1, cards=2).tasks > 0


def test_unknown_sizes_are_said():
    x = on_cards((64, 16), (4, 16))
    plan = daskasc.plan(x[x > 0] * 2, cards=2, persist=True)
    assert sum(plan.unknown.values()) == 16
    assert "size unknown" in str(plan)


def test_memory_and_spilling():
    x = on_cards((64, 16, 16), (4, 16, 16))
    assert daskasc.plan(x, cards=2, memory="1MiB").fits is True
    tight = daskasc.plan(x, cards=2, memory=8 * KIB)
    assert tight.fits is False
    assert "cannot hold" in str(tight)
    with dask.config.set(array_optimize=daskasc.Planner(2, capacity=64 * KIB, stored_limit=KIB)):
        spilling = daskasc.plan(x, persist=True)
    assert spilling.cards == 2
    assert spilling.fits is True
    assert spilling.spill_bytes == spilling.peaks[0].stored - KIB
    assert "will spill about" in str(spilling)
    assert spilling.peak_device_bytes < max(peak.total for peak in spilling.peaks)


def test_blocks_of_memory_are_as_large_as_the_allocator_makes_them():
    x = on_cards((64, 16, 16), (4, 16, 16))
    chunk = 4 * 16 * 16 * 8
    with dask.config.set(array_optimize=daskasc.Planner(4, padding=544)):
        plan = daskasc.plan(da.sqrt(x * 2 + 1), persist=True)
    assert [peak.stored for peak in plan.peaks] == [4 * (chunk + 544)] * 4
    assert all(5 * (chunk + 544) <= peak.total < 5 * chunk + 16 * 544 for peak in plan.peaks)


def test_text_and_html():
    plan = daskasc.plan(on_cards((64, 16), (4, 16)).mean(axis=0), cards=2)
    text, html = str(plan), plan._repr_html_()
    assert text.startswith("plan for 2 cards: ")
    assert "collective mean: 1 x gather" in text
    assert text.splitlines()[-1].split()[0] == "1"
    assert html.count("<tr>") == 3
    assert "collective mean" in html


def test_wrong_input():
    x = da.ones(8, chunks=4)
    with pytest.raises(ConfigurationError, match=r"no cluster is open.*plan\(x, cards=8\)"):
        daskasc.plan(x)
    for cards in (0, -1, 2.5, True, "4"):
        with pytest.raises(ConfigurationError, match="allowed: integers >= 1"):
            daskasc.plan(x, cards=cards)
    for memory in ("much", -5, 0):
        with pytest.raises(ConfigurationError, match="memory is"):
            daskasc.plan(x, cards=2, memory=memory)
    for nothing in ((), (np.ones(3),), (3, "a")):
        with pytest.raises(InputError, match="plan takes dask collections"):
            daskasc.plan(*nothing, cards=2)


def test_delayed_functions_are_counted_but_not_planned():
    plan = daskasc.plan(dask.delayed(len)([1, 2]), da.ones(8, chunks=4), cards=2)
    assert plan.kinds["unplanned"] >= 1


def test_planning_leaves_the_collection_as_it_was():
    x = on_cards((64, 16), (4, 16)).mean(axis=0)
    before = dict(x.dask.layers)
    daskasc.plan(x, cards=4)
    assert dict(x.dask.layers) == before


def test_planning_imports_no_torch():
    code = (
        "import sys, dask.array as da, daskasc\n"
        "daskasc.plan(da.ones((64, 4), chunks=(4, 4)).mean(axis=0), cards=4)\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("chunks", [50, 500])
def test_cost_grows_with_the_number_of_chunks_only(chunks):
    x = on_cards((2 * chunks, 4), (2, 4))
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        daskasc.plan((x - x.mean(axis=0)).std(axis=0), cards=4)
    finally:
        sys.setprofile(None)
    assert calls < 3000 * chunks


def test_every_task_function_of_the_planner_has_a_rule():
    functions = {"deposit", "barrier", "collect"} | {
        name
        for module in (_combine, _counting, _partials, _prefix)
        for name, found in vars(module).items()
        if inspect.isfunction(found) and (inspect.getdoc(found) or "").startswith("Task: ")
    }
    assert {"gather_merged", "gather_nodes", "arg_leaf", "add_offset", "narrow"} <= functions
    assert functions <= _rules._RULES.keys()


def test_bytes_between_servers():
    x = on_cards((64, 16, 16), (4, 16, 16))
    one = daskasc.plan(x.rechunk((64, 4, 16)), cards=4, persist=True)
    assert (one.servers, one.bytes_between_servers) == (1, 0)
    assert "server" not in str(one)
    two = daskasc.plan(x.rechunk((64, 4, 16)), cards=4, persist=True, servers=2)
    assert two.servers == 2
    assert two.bytes_between_cards == one.bytes_between_cards == 12 * 64 * 16 * 16 * 8 // 16
    # of the three others two are in the other server
    assert two.bytes_between_servers == 8 * 64 * 16 * 16 * 8 // 16
    assert [c.between_servers for c in two.collectives] == [two.bytes_between_servers]
    assert "plan for 4 cards in 2 servers" in str(two)
    assert "between servers 64.00 kiB" in two._repr_html_()


def test_neighbours_are_in_one_server_first():
    x = on_cards((16, 8, 8), (1, 8, 8))
    moved = da.overlap.overlap(x, {0: 1}, {0: "none"})
    contiguous = daskasc.plan(moved, cards=4, persist=True, servers=2)
    mixed = daskasc.plan(moved, cards=4, persist=True, servers=(0, 1, 0, 1))
    halo = 8 * 8 * 8
    assert contiguous.bytes_between_cards == mixed.bytes_between_cards == 6 * halo
    assert contiguous.bytes_between_servers == mixed.bytes_between_servers == 2 * halo


@pytest.mark.parametrize("servers", [0, 5, True, (0, 1), "two", (0, 1, None, 1)])
def test_servers_that_cannot_be(servers):
    with pytest.raises(ConfigurationError, match="server"):
        daskasc.plan(on_cards((4,), (1,)), cards=4, servers=servers)

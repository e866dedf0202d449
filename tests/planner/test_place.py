"""Chosen owners of chunks, and what keeps them."""

from __future__ import annotations

import importlib
import pickle

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import Alias
from dask.highlevelgraph import HighLevelGraph

import daskasc
from daskasc import Planner, topology
from daskasc.errors import InputError, PlacementError
from tests.planner.cards import on_cards
from tests.planner.local import run_locally


def owners(x, cards=4):
    """Card of each wanted chunk, in C order."""
    keys = list(dask.core.flatten(x.__dask_keys__()))
    # as it goes to the scheduler
    graph = Planner(cards)(pickle.loads(pickle.dumps(x.dask)), keys)
    assert isinstance(graph, HighLevelGraph)
    found = {}
    for layer in graph.layers.values():
        if "card" in (layer.annotations or {}):
            found.update({key: layer.annotations["card"](key) for key in layer})
    return [found.get(key) for key in sorted(keys)]


def grid():
    """Six by two chunks."""
    return da.from_array(np.arange(24.0 * 4).reshape(24, 4), chunks=(4, 2))


CYCLIC = [n % 4 for n in range(12)]
EXPLICIT = [[3, 3], [2, 2], [1, 1], [0, 0], [3, 2], [1, 0]]


@pytest.mark.parametrize(
    ("how", "axis", "expected"),
    [
        ("block", None, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]),
        ("block", 0, [0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3]),
        ("block", 1, [0, 2] * 6),
        ("cyclic", None, CYCLIC),
        ("cyclic", 0, [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1]),
        ("cyclic", -1, [0, 1] * 6),
        (EXPLICIT, None, list(np.ravel(EXPLICIT))),
        (np.array(EXPLICIT, "u1"), None, list(np.ravel(EXPLICIT))),
        ({(i, j): EXPLICIT[i][j] for i in range(6) for j in range(2)}, None, np.ravel(EXPLICIT)),
    ],
    ids=str,
)
def test_owners_are_as_asked(how, axis, expected):
    x = daskasc.place(grid(), how, axis)
    assert owners(x) == list(expected)
    # fused with what comes after it
    assert owners(da.sqrt(x + 1)) == list(expected)


def test_values_and_types_stay():
    x = grid()
    y = daskasc.place(x, EXPLICIT)
    assert (y.chunks, y.dtype, type(y._meta)) == (x.chunks, x.dtype, type(x._meta))
    np.testing.assert_array_equal(y.compute(scheduler="sync"), x.compute(scheduler="sync"))
    assert daskasc.place(x, EXPLICIT).name == y.name
    assert daskasc.place(x, "cyclic").name != daskasc.place(x, "cyclic", axis=0).name
    card = daskasc.place(on_cards((8, 2), (2, 2)), "cyclic")
    assert type(card._meta).__name__ == "AscendArray"


def test_slices_transposes_stacks_and_arithmetic_keep_owners():
    x = daskasc.place(grid(), "cyclic")
    flat = owners(x)
    assert owners(x[4:16]) == flat[2:8]
    assert owners(x[::2, :1] * 2) == flat[::2]
    assert owners(x[::-1]) == [card for row in range(5, -1, -1) for card in flat[2 * row :][:2]]
    assert owners(x.T + 1) == [*flat[::2], *flat[1::2]]
    assert owners(da.stack([x, x + 1])) == flat + flat
    assert owners(da.concatenate([x, -x], axis=0)) == flat + flat
    assert owners(x + grid()) == flat
    assert owners(x.map_blocks(np.negative)) == flat
    assert owners(x - x.mean(axis=0)) == flat


def test_reductions_of_placed_chunks_are_right():
    x = grid()
    for how in ("cyclic", EXPLICIT):
        y = daskasc.place(x, how).mean(axis=0)
        keys = y.__dask_keys__()
        graph = Planner(4)(y.dask, keys)
        got = np.concatenate(run_locally(graph, keys))
        np.testing.assert_allclose(got, x.compute(scheduler="sync").mean(axis=0))


def test_halos_are_cut_where_their_chunks_lie():
    x = daskasc.place(on_cards((24, 4), (4, 4)), "cyclic", axis=0)
    y = x.map_overlap(np.sin, depth={0: 1}, boundary="none", dtype="f8", meta=x._meta)
    assert owners(y) == owners(x)
    plan = daskasc.plan(y, cards=4, persist=True)
    assert plan.bytes_between_cards == 10 * 4 * 8  # two rows at each of five borders


def test_a_replicated_array_decides_nothing():
    small = daskasc.place(da.ones((6, 2), chunks=(1, 1)), "replicate")
    x = daskasc.place(grid(), EXPLICIT)
    scaled = x * small.repeat(4, axis=0)[:, [0, 0, 1, 1]].rechunk((4, 2))
    assert owners(scaled) == list(np.ravel(EXPLICIT))
    assert None not in owners(small)


def test_data_are_read_where_they_are_placed():
    parts = [dask.delayed(np.ones)(3, dask_key_name=f"load-{n}") for n in range(4)]
    x = da.concatenate([da.from_delayed(part, (3,), "f8") for part in parts])
    placed = daskasc.place(x, [3, 2, 1, 0])
    keys = placed.__dask_keys__()
    planned = Planner(4).planned(placed.dask, keys)
    tasks = [key for key, node in planned.graph.items() if not isinstance(node, Alias)]
    assert sorted(planned.owners[key] for key in tasks) == [0, 1, 2, 3]
    assert daskasc.plan(placed, cards=4, persist=True).bytes_between_cards == 0


def test_stored_chunks_decide_as_well():
    x = grid().map_blocks(np.negative, name="stored")
    where = {(x.name, i, j): EXPLICIT[i][j] for i in range(6) for j in range(2)}
    futures = da.Array({key: _Future(key) for key in where}, x.name, x.chunks, x.dtype)
    block = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert owners(futures + 1) == block
    topology.add_residence(4, where.get)
    try:
        assert owners(futures + 1) == list(np.ravel(EXPLICIT))
        assert owners(futures + 1, cards=2) == [0] * 6 + [1] * 6  # not this cluster
    finally:
        topology.remove_residence(where.get)
        topology.remove_residence(where.get)
    assert topology.residence(next(iter(where)), 4) is None


class _Future:
    """Stands for a chunk on the cluster, as dask recognises one."""

    __dask_future__ = True

    def __init__(self, key):
        self.key = key


def test_xarray_objects():
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(grid(), dims=("time", "x"), coords={"x": [1, 2, 3, 4]}, name="t")
    placed = daskasc.place(array, "cyclic", axis="time")
    assert owners(placed.data) == [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1]
    assert placed.name == "t"
    importlib.import_module("daskasc.xr")  # the accessor
    assert array.npu.place("cyclic", "time").data.name == placed.data.name
    assert array.to_dataset().npu.place("cyclic", "time").t.data.name == placed.data.name
    xr.testing.assert_equal(placed, array)
    ds = xr.Dataset({"t": array, "host": ("y", [1.0, 2.0])})
    both = daskasc.place(ds, EXPLICIT)
    assert owners(both.t.data) == list(np.ravel(EXPLICIT))
    assert owners((both.t - 1).transpose("x", "time").data)[:6] == [r[0] for r in EXPLICIT]
    assert both.host.variable._data is ds.host.variable._data
    with pytest.raises(InputError, match="has the dimensions"):
        daskasc.place(array, "cyclic", axis="height")
    with pytest.raises(InputError, match="has no chunks to place"):
        daskasc.place(array.compute())
    with pytest.raises(InputError, match="no chunked data variable"):
        daskasc.place(ds[["host"]])


@pytest.mark.parametrize(
    ("how", "axis", "message"),
    [
        ("blocks", None, "how is 'blocks'; allowed: block, cyclic, replicate"),
        ("cyclic", 2, "axis is 2; allowed: None, or integers from -2 to 1"),
        ("cyclic", 0.5, "axis is 0.5"),
        ("cyclic", True, "axis is True"),
        ("cyclic", "time", "a dask array has numbered axes"),
        ("replicate", 0, "axis is 0; allowed: None"),
        (EXPLICIT, 0, "axis goes with how='block'"),
        ([0, 1, 2], None, r"how has shape \(3,\).* shape \(6, 2\)"),
        (np.full((6, 2), 1.5), None, "dtype float64"),
        (np.full((6, 2), -1), None, "integers >= 0"),
        ([[0], [1, 2]], None, "card numbers are integers"),
        (None, None, "card numbers are integers"),
        ({(0, 0): 1}, None, r"has \(0, 1\) too"),
        ({(i, j): 0 for i in range(7) for j in range(2)}, None, r"has no \(6, 0\)"),
    ],
    ids=str,
)
def test_wrong_input(how, axis, message):
    with pytest.raises(InputError, match=message):
        daskasc.place(grid(), how, axis)


def test_what_holds_no_chunks_cannot_be_placed():
    for other in (np.ones(3), 3, [grid()]):
        with pytest.raises(InputError, match="place takes a dask array"):
            daskasc.place(other)


def test_a_card_that_the_plan_lacks():
    x = daskasc.place(grid(), np.full((6, 2), 4))
    assert owners(x, cards=5) == [4] * 12
    with pytest.raises(
        PlacementError, match=r"was placed on card 4, but the plan has cards 0 to 3"
    ):
        owners(x)


def test_an_array_without_axes():
    x = daskasc.place(da.ones((), chunks=()), "cyclic")
    assert owners(x + 1) == [0]
    assert owners(daskasc.place(da.ones((), chunks=()), np.array(3)) + 1) == [3]

"""Placed chunks on cards: they lie where they were asked to, and work on them moves no others."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import wait

import daskasc
from daskasc.array import from_numpy
from daskasc.errors import PlacementError

ROW = 64 * 8


def source() -> da.Array:
    """Eight chunks of 4 rows, each row 512 bytes."""
    x = da.arange(32 * 64, chunks=4 * 64, dtype="f8").reshape(32, 64)
    return x.map_blocks(from_numpy, dtype="f8", meta=from_numpy(np.empty((0, 0))))


def host() -> np.ndarray:
    return np.arange(32.0 * 64).reshape(32, 64)


def cards(client, x) -> list[int]:
    """Card of each chunk of a persisted array, in C order."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    names = {address: int(worker["id"]) for address, worker in workers.items()}
    where = client.who_has(x)
    keys = sorted(dask.core.flatten(x.__dask_keys__()))
    holders = [where[str(key)] if str(key) in where else where[key] for key in keys]
    assert all(len(found) == 1 for found in holders)
    return [names[found[0]] for found in holders]


def moved(client, *collections):
    """Bytes that cards fetch from others while something is persisted, and what was persisted."""
    client.cluster.reset_counters()
    persisted = client.persist(list(collections))
    wait(persisted, timeout=60)
    return client.cluster.report().bytes_between_cards, persisted


EXPLICIT = [[3], [3], [0], [1], [1], [2], [2], [0]]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("block", [0, 0, 1, 1, 2, 2, 3, 3]),
        ("cyclic", [0, 1, 2, 3, 0, 1, 2, 3]),
        (EXPLICIT, [3, 3, 0, 1, 1, 2, 2, 0]),
    ],
    ids=["block", "cyclic", "explicit"],
)
def test_chunks_lie_where_they_were_placed_and_elementwise_work_moves_nothing(
    client4, how, expected
):
    nbytes, (x,) = moved(client4, daskasc.place(source(), how))
    assert cards(client4, x) == expected
    assert nbytes == 0
    # the chunks are there already; what is computed of them follows, also through persist
    nbytes, (y,) = moved(client4, (x * 2 + x).T)
    assert nbytes == 0
    assert cards(client4, y) == expected
    nbytes, (z,) = moved(client4, da.stack([y[:, 4:], -y[:, 4:]]))
    assert nbytes == 0
    assert cards(client4, z) == expected[1:] * 2
    np.testing.assert_array_equal(z[0].compute(), (host() * 3).T[:, 4:])
    np.testing.assert_allclose(x.mean(axis=0).compute(), host().mean(axis=0))


def test_map_overlap_moves_halos_only(client4):
    _, (x,) = moved(client4, daskasc.place(source(), "cyclic"))
    smooth = x.map_overlap(_smooth, depth={0: 1}, boundary="none", dtype="f8", meta=x._meta)
    nbytes, (y,) = moved(client4, smooth)
    assert cards(client4, y) == cards(client4, x)
    # one row each way at each of the seven borders
    assert 0 < nbytes <= 14 * ROW
    assert daskasc.plan(smooth, persist=True).bytes_between_cards in (0, 14 * ROW)
    expected = host()
    np.testing.assert_array_equal(y[5].compute(), expected[4] + expected[6])


def _smooth(block):
    result = block * 1
    result[1:-1] = block[:-2] + block[2:]
    return result


def test_xarray_objects_keep_their_placement(client4):
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(source(), dims=("time", "x"), name="t")
    ds = daskasc.place(xr.Dataset({"a": array, "b": array + 1}), EXPLICIT)
    nbytes, (kept,) = moved(client4, ds)
    assert nbytes == 0
    assert cards(client4, kept.a.data) == cards(client4, kept.b.data) == list(np.ravel(EXPLICIT))
    nbytes, (both,) = moved(client4, kept.a + kept.b)
    assert nbytes == 0
    np.testing.assert_array_equal(both.sum("time").compute(), (2 * host() + 1).sum(axis=0))


def test_a_card_that_is_not_there_is_an_error_of_the_client(client4):
    x = daskasc.place(source(), np.full((8, 1), 7))
    with pytest.raises(PlacementError, match="placed on card 7, but the plan has cards 0 to 3"):
        x.sum().compute()

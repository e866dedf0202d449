"""The same graph on 1, 2, 4 and 8 cards, and on stock dask with NumPy."""

from __future__ import annotations

import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import futures_of, wait

import daskasc
from daskasc.array import AscendArray
from daskasc.collectives import stats
from daskasc.errors import CollectiveError, ConfigurationError, PlacementError
from tests.collectives.gangs import check_one_order
from tests.integration.sources import made, traced, whole

CHUNKS = 11
NAMES = (
    "sum prod min max any all mean var std nansum nanprod nanmin nanmax nanmean nanvar nanstd"
).split()


def collections(x):
    """Every reduction of the table over one axis, and some over several and all."""
    found = {(name, 0): getattr(da, name)(x, axis=0) for name in NAMES}
    for name in ("sum", "mean", "var", "nanmax"):
        for axis in ((0, 2), None):
            found[name, axis] = getattr(da, name)(x, axis=axis)
    return found


def on_cards(client, folder, dtype):
    lazy = collections(traced(CHUNKS, folder, dtype=dtype))
    assert all(type(value._meta) is AscendArray for value in lazy.values())
    computed = client.gather(client.compute(list(lazy.values())))
    return {key: np.asarray(value) for key, value in zip(lazy, computed, strict=True)}


@pytest.fixture(scope="module")
def by_cards(cluster4, tmp_path_factory):
    results = {}
    for cards in (1, 2, 4, 8):
        folder = tmp_path_factory.mktemp(f"cards{cards}")
        if cards == 4:
            with dask.config.set(array_optimize=daskasc.SchedulerPlanner(daskasc.Planner(4))):
                results[cards] = _both(cluster4, folder)
            continue
        try:
            opened = daskasc.LocalNPUCluster(
                n_workers=cards, dashboard_address=":0", local_directory=str(folder)
            )
        except ConfigurationError as error:
            if cards <= 4 or "are visible" not in str(error):
                raise
            continue  # a server of fewer cards
        with opened as cluster:
            results[cards] = _both(cluster, folder)
    return results


def _both(cluster, folder):
    with cluster.get_client() as client:
        return {dtype: on_cards(client, folder / dtype, dtype) for dtype in ("f4", "i4")}


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_any_number_of_cards_gives_the_same_bits(by_cards, dtype):
    reference = by_cards[1][dtype]
    assert {1, 2, 4} <= by_cards.keys()
    for cards, found in by_cards.items():
        for key, value in found[dtype].items():
            np.testing.assert_array_equal(value, reference[key], err_msg=f"{key}, {cards} cards")
            assert value.dtype == reference[key].dtype


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_cards_agree_with_stock_dask_on_numpy(by_cards, dtype):
    x = da.from_array(whole(CHUNKS, dtype), chunks=(4, 6, 5))
    with dask.config.set(array_optimize=None), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        lazy = collections(x)
        stock = dict(zip(lazy, dask.compute(*lazy.values(), scheduler="synchronous"), strict=True))
    for key, value in by_cards[4][dtype].items():
        assert value.dtype == np.asarray(stock[key]).dtype, key
        np.testing.assert_allclose(value, stock[key], rtol=2e-5, err_msg=str(key))


def test_planner_off_gives_equal_results(client4, tmp_path):
    x = traced(8, tmp_path / "x")
    lazy = [x.mean(axis=0), x.std(axis=(0, 1)), x.max()]
    planned = client4.gather(client4.compute(lazy))
    before = client4.cluster.report().collectives
    with dask.config.set({"daskasc.planner.enabled": False}):
        stock = client4.gather(client4.compute(lazy))
    assert client4.cluster.report().collectives == before
    for ours, theirs in zip(planned, stock, strict=True):
        assert isinstance(ours, np.ndarray | np.generic)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_chunks_stay_on_their_cards(client4, tmp_path):
    x = traced(8, tmp_path / "x").persist()
    client4.gather(client4.compute(x.sum()))
    where = client4.who_has(x)
    names = {a: w["id"] for a, w in client4.scheduler_info(n_workers=-1)["workers"].items()}
    cards = [
        int(names[where[f"{(key)}"][0]]) if f"{key}" in where else int(names[where[key][0]])
        for key in sorted(dask.core.flatten(x.__dask_keys__()))
    ]
    assert cards == [0, 0, 1, 1, 2, 2, 3, 3]
    before = client4.cluster.report().bytes_between_cards
    client4.gather(client4.compute((x * 2 + 1).map_blocks(_nothing, drop_axis=[1, 2], dtype="f8")))
    assert client4.cluster.report().bytes_between_cards - before < 1000


def _nothing(block):
    from daskasc.array import from_numpy

    assert type(block) is AscendArray
    return from_numpy(np.zeros(1))


def _on_card(block):
    from daskasc.array import asarray

    return asarray(block)


def test_times_on_the_cards(client4):
    host = np.arange(-500, 500).astype("M8[h]").reshape(40, 25)
    host[3, 4] = "NaT"
    x = da.from_array(host, chunks=(10, 25)).map_blocks(_on_card).persist()
    kinds = client4.gather(client4.map(lambda block: type(block).__name__, futures_of(x)))
    assert set(kinds) == {"TimeArray"}
    before = client4.cluster.report().collectives
    steps = x - x[0, 0]
    lazy = [x.max(axis=0), x.min(), steps.sum(axis=0), steps[:, 5:].mean(), x.astype("M8[D]")]
    found = client4.gather(client4.compute([*lazy, da.isnull(x).sum()]))
    expected = host - host[0, 0]
    for ours, theirs in zip(
        found,
        [
            host.max(axis=0),
            host.min(),
            expected.sum(axis=0),
            expected[:, 5:].mean(),
            host.astype("M8[D]"),
            1,
        ],
        strict=True,
    ):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_array_equal(ours, theirs)
    assert client4.cluster.report().collectives > before


def test_ten_reductions_in_flight(client4, tmp_path):
    arrays = [traced(8, tmp_path / str(number)) + number for number in range(10)]
    futures = client4.compute([x.mean(axis=0) for x in arrays])
    expected = whole(8).mean(axis=0)
    for number, value in enumerate(client4.gather(futures)):
        np.testing.assert_allclose(value, expected + number, rtol=1e-12)
    assert len(check_one_order(client4)) >= 10, client4.run_on_scheduler(stats)["reasons"]


def test_a_local_scheduler_beside_an_open_cluster(client4):
    x = da.from_array(whole(8), chunks=(4, 6, 5))
    for scheduler in ("threads", "synchronous"):
        got = x.mean(axis=0).compute(scheduler=scheduler)
        np.testing.assert_allclose(got, whole(8).mean(axis=0))


def test_reductions_inside_delayed(client4, tmp_path):
    x = traced(8, tmp_path / "x")
    expected = whole(8).mean(axis=0)
    inside = dask.delayed(lambda mean: np.asarray(mean.asnumpy()).sum())(x.mean(axis=0))
    np.testing.assert_allclose(inside.compute(), expected.sum())
    chunks = x.mean(axis=0).to_delayed().ravel()
    np.testing.assert_allclose(dask.compute(*chunks)[0], expected)


def test_a_plan_whose_keys_were_renamed_is_an_error(client4, tmp_path):
    x = traced(8, tmp_path / "x")
    with dask.config.set(array_optimize=daskasc.Planner(4)):  # plans in the client, before renaming
        renamed = dask.delayed(str)(x.mean(axis=0))
        future = client4.compute(renamed)
    with pytest.raises(CollectiveError, match="renamed after planning"):
        future.result(timeout=60)


def test_a_bad_chunk_fails_what_depends_on_it_and_nothing_else(client4, tmp_path):
    x = traced(24, tmp_path / "x").map_blocks(_break_the_second, dtype="f8")
    futures = client4.compute(x.to_delayed().ravel().tolist(), optimize_graph=False)
    planned = futures_of(x.persist())
    for some in (futures, planned):
        wait(some, timeout=60)
        assert sorted(future.status for future in some) == ["error"] + ["finished"] * 23


def _break_the_second(block, block_info=None):
    if block_info and block_info[0]["chunk-location"][0] == 1:
        raise ArithmeticError("the second chunk is bad")
    return block


def test_chunks_stream_through_the_cards(client4, tmp_path):
    client4.cluster.reset_counters()
    x = traced(80, tmp_path / "x", repeat=400)  # 384 kB a chunk, 7.7 MB a card
    outputs = [x.sum(axis=0), (x * 2).max(axis=0), (x - 1).min(axis=0)]
    client4.gather(client4.compute(outputs))
    assert max(client4.cluster.report().peak_device_bytes) < 12 * 400 * 4 * 6 * 5 * 8
    assert set(made(tmp_path / "x").values()) == {1}


def test_overlapping_computations_share_their_chunks(client4, tmp_path):
    x = traced(16, tmp_path / "x", seconds=0.02)
    first = client4.compute(x.mean(axis=0))
    second = client4.compute([x.mean(axis=0), x.std(axis=0), x.max()])
    np.testing.assert_allclose(first.result(timeout=60), whole(16).mean(axis=0))
    np.testing.assert_allclose(client4.gather(second)[1], whole(16).std(axis=0))


def test_a_plan_for_another_number_of_cards_is_an_error(client4, tmp_path):
    for cards in (2, 8):
        x = traced(8, tmp_path / str(cards))
        planner = daskasc.SchedulerPlanner(daskasc.Planner(cards))
        with dask.config.set(array_optimize=planner):
            future = client4.compute(x.mean(axis=0))
        with pytest.raises(PlacementError, match=f"planned for {cards} cards.* has 4"):
            future.result(timeout=60)

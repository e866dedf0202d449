"""Bundles that read ahead on workers: the values, what a card holds, and who is asked."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import get_worker, wait

import daskasc
from daskasc.array import from_numpy

from .test_projection import settled

zarr = pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """48 chunks of 64 KiB, and their values."""
    values = np.random.default_rng(5).normal(size=(96, 64, 128)).astype("f4")
    store = str(tmp_path_factory.mktemp("ahead") / "x.zarr")
    zarr.open_array(store, mode="w", shape=values.shape, chunks=(2, 64, 128), dtype="f4")[:] = (
        values
    )
    return store, values


GRAPHS = {
    "mean": lambda x: x.mean(axis=0),
    "chain": lambda x: da.sqrt(x * x + 1).max(axis=0),
    "std": lambda x: x.std(axis=(0, 2)),
    "anomaly": lambda x: (x - x.mean(axis=0)).std(axis=0),
    "kept": lambda x: x + 1,
}


@pytest.mark.parametrize("ahead", [0, 1, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_values_and_peak(client4, stored, name, ahead):
    store, values = stored
    lazy = GRAPHS[name](daskasc.from_zarr(store))
    cluster = client4.cluster
    with dask.config.set({"daskasc.planner.prefetch": ahead}):
        plan = daskasc.plan(lazy)
        before = settled(cluster)
        cluster.reset_counters()
        running = client4.compute(lazy)
        wait(running, timeout=60)
    report = cluster.report()
    # the same bits as without, and those of NumPy but for the order of sums
    with dask.config.set({"daskasc.planner.prefetch": 0}):
        np.testing.assert_array_equal(running.result(), client4.compute(lazy).result())
    expected = np.asarray(GRAPHS[name](da.from_array(values, chunks=-1)))
    np.testing.assert_allclose(running.result(), expected, rtol=2e-5, atol=1e-6)
    for most, left, peak in zip(report.peak_device_bytes, before, plan.peaks, strict=True):
        assert most - left <= peak.limited(plan.stored_limit)


class Asking:
    """Array-like whose reading needs to know its worker and its task."""

    shape, ndim, dtype = (16, 4), 2, np.dtype("f4")

    def __getitem__(self, index):
        from distributed.utils import thread_state

        assert thread_state.key is not None
        return np.full((1, 4), float(get_worker().name), "f4")

    def __dask_tokenize__(self):
        return "asking"


def test_a_reader_knows_its_worker_and_task(client4):
    meta = np.empty((0, 0), "f4")
    x = da.from_array(Asking(), chunks=(1, 4), asarray=False, fancy=False, meta=meta)
    x = x.map_blocks(from_numpy, dtype="f4", meta=from_numpy(meta))
    names = sorted(float(worker["name"]) for worker in workers(client4))
    with dask.config.set({"daskasc.planner.prefetch": 2}):
        found = client4.compute(x.sum(axis=0)).result()
    np.testing.assert_array_equal(found, np.full(4, 4 * sum(names)))


def workers(client):
    return client.scheduler_info(n_workers=-1)["workers"].values()

"""A task that always kills its worker fails by its own name; what was beside it runs to its end."""

from __future__ import annotations

import os
import signal
import time

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, KilledWorker

import daskasc
from daskasc.array import from_numpy

pytestmark = [pytest.mark.kill, pytest.mark.timeout(200)]


def _deadly(block_id):
    if block_id == (4,):
        os.kill(os.getpid(), signal.SIGKILL)
    return from_numpy(np.full(3, float(block_id[0]), "f4"))


def _slow(block_id):
    time.sleep(0.1)
    return from_numpy(np.full(3, float(block_id[0]), "f4"))


def lazy(function, chunks):
    meta = from_numpy(np.empty(0, "f4"))
    return da.map_blocks(function, chunks=((3,) * chunks,), dtype="f4", meta=meta)


@pytest.fixture
def cluster(tmp_path):
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 2}),
        daskasc.LocalNPUCluster(
            n_workers=2, dashboard_address=":0", local_directory=str(tmp_path)
        ) as cluster,
    ):
        yield cluster


def test_neighbours_of_a_deadly_task_are_not_blamed(cluster):
    with cluster.get_client() as client, Client(cluster, set_as_default=False) as other:
        deadly = client.persist(lazy(_deadly, 6) + 1)  # 3 to 5 on card 1
        innocent = other.compute(lazy(_slow, 12).sum())
        with pytest.raises(KilledWorker) as caught:
            deadly.compute()
        assert caught.value.task == (deadly.name, 4)
        assert innocent.result(timeout=100) == 3 * sum(range(12))

"""Workers that pause, and a scheduler that is restarted, while collectives are under way."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Status
from distributed.client import FutureCancelledError

import daskasc
from daskasc.collectives._worker import part_of
from tests.faults import deaths
from tests.integration.sources import worker_of

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


@pytest.fixture
def cards(tmp_path: Path) -> Any:
    with (
        # no pausing and resuming but the tests'
        dask.config.set(
            {"daskasc.collectives.timeout": "5s", "distributed.worker.memory.pause": False}
        ),
        daskasc.LocalNPUCluster(
            n_workers=2, dashboard_address=":0", local_directory=str(tmp_path)
        ) as cluster,
    ):
        yield cluster


def pause(dask_worker: Any) -> None:
    dask_worker.status = Status.paused


def resume(dask_worker: Any) -> None:
    dask_worker.status = Status.running


def slow_exchange(dask_worker: Any) -> None:
    part = part_of(dask_worker)
    exchange = part.exchange

    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(3)
        return exchange(*args, **kwargs)

    part.exchange = slow


def check(found: Any, seed: int) -> None:
    np.testing.assert_allclose(found, 2 * deaths.whole(seed).std(axis=0), rtol=1e-5)


@pytest.mark.parametrize("during", ["before", "inside"])
def test_a_paused_worker_holds_up_and_breaks_nothing(cards, during):
    with cards.get_client() as client:
        check(deaths.made(9).std(axis=0).compute(), 9)
        address = worker_of(client, 1)
        if during == "inside":
            client.run(slow_exchange)
            running = client.compute(deaths.made(1).std(axis=0))
            time.sleep(1.5)
        client.run(pause, workers=[address])
        if during == "before":
            running = client.compute(deaths.made(1).std(axis=0))
            time.sleep(7)  # longer than a collective may take
            assert running.status == "pending"
        client.run(resume, workers=[address])
        check(running.result(timeout=60), 1)


def test_a_restart_with_a_collective_under_way_is_told_and_leaves_nothing(cards):
    with cards.get_client() as client:
        client.run(slow_exchange)
        running = client.compute(deaths.made(1).std(axis=0))
        time.sleep(1.5)
        client.restart(timeout=120)
        with pytest.raises(FutureCancelledError, match="restart"):
            running.result(timeout=10)
        check(client.compute(deaths.made(3).std(axis=0)).result(timeout=60), 3)

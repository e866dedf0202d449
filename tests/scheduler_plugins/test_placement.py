from __future__ import annotations

import os
import signal
import time

import dask
import pytest
from distributed import get_worker, wait

from daskasc.errors import PlacementError
from tests.collectives import gangs


@pytest.fixture(scope="module")
def client():
    with gangs.cluster(2) as found:
        yield found


def where(*_):
    return int(get_worker().name)


def delayed_on(card, *dependencies):
    with dask.annotate(card=card):
        return dask.delayed(where, pure=False)(*dependencies)


def test_tasks_run_on_the_worker_of_their_card(client):
    with dask.config.set({"optimization.fuse.active": False}):
        futures = client.compute([delayed_on(i % 2) for i in range(10)], optimize_graph=False)
    assert client.gather(futures) == [i % 2 for i in range(10)]


@pytest.mark.parametrize("card", [2, 99, -1, "0"])
def test_card_that_the_cluster_has_not_is_an_error_at_once(client, card):
    start = time.monotonic()
    impossible = delayed_on(card, delayed_on(0))
    future = client.compute(dask.delayed(where)(impossible), optimize_graph=False)
    with pytest.raises(PlacementError, match=f"card {card!r}.*cards 0 to 1"):
        future.result(30)
    assert time.monotonic() - start < 10
    assert client.compute(delayed_on(1), optimize_graph=False).result(30) == 1


def sleepy():
    time.sleep(0.5)
    return where()


@pytest.mark.kill
def test_tasks_of_a_restarted_worker_find_its_new_address():
    with gangs.cluster(2, **{"placement.rejoin-timeout": "60s"}) as client:
        before = gangs.by_card(client, gangs.pid)
        with dask.annotate(card=1):
            tasks = [dask.delayed(sleepy, pure=False)() for _ in range(3)]
        futures = client.compute(tasks, optimize_graph=False)
        time.sleep(0.7)
        os.kill(before[1], signal.SIGKILL)
        wait(futures, timeout=60)
        assert client.gather(futures) == [1, 1, 1]
        after = gangs.by_card(client, gangs.pid)
        assert before[0] == after[0]
        assert before[1] != after[1]

"""A worker killed at the worst moments: right results, and only unfinished work is done again."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from distributed import wait

import daskasc
from tests.integration.sources import made, traced, whole, worker_of

CARDS = 3
CHUNKS = 12  # chunks 0-3 on card 0, 4-7 on card 1, 8-11 on card 2
OF_CARD_1 = {4, 5, 6, 7}

pytestmark = pytest.mark.kill


@pytest.fixture
def cluster(tmp_path):
    with daskasc.LocalNPUCluster(
        n_workers=CARDS, dashboard_address=":0", local_directory=str(tmp_path)
    ) as cluster:
        yield cluster


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def pid_of_card(client, card):
    address = worker_of(client, card)
    return client.run(os.getpid, workers=[address])[address]


def done_keys(dask_scheduler=None):
    return [str(t.key) for t in dask_scheduler.tasks.values() if t.state == "memory"]


def deposits(client, card):
    return [
        key
        for key in client.run_on_scheduler(done_keys)
        if "-deposit-" in key and key.rstrip(")").endswith(str(card))
    ]


def test_killed_while_chunks_load(cluster, tmp_path):
    with cluster.get_client() as client:
        victim = pid_of_card(client, 1)
        folder = tmp_path / "made"
        future = client.compute(traced(CHUNKS, folder, seconds=0.3).mean(axis=0))
        wait_until(lambda: len(OF_CARD_1 & set(made(folder))) >= 2)
        os.kill(victim, signal.SIGKILL)
        np.testing.assert_allclose(future.result(timeout=120), whole(CHUNKS).mean(axis=0))
        again = {chunk for chunk, times in made(folder).items() if times > 1}
        assert again, "the kill came too late to lose anything"
        assert again <= OF_CARD_1


def test_killed_after_deposit(cluster, tmp_path):
    with cluster.get_client() as client:
        victim = pid_of_card(client, 1)
        folder, flag = tmp_path / "made", tmp_path / "go"
        x = traced(CHUNKS, folder, wait_for=flag, waiting=(11,))
        future = client.compute(x.var(axis=0))
        wait_until(lambda: deposits(client, 1))
        os.kill(victim, signal.SIGKILL)
        flag.touch()
        np.testing.assert_allclose(future.result(timeout=120), whole(CHUNKS).var(axis=0))
        assert {chunk for chunk, times in made(folder).items() if times > 1} == OF_CARD_1


def die_inside_the_next_collective(flag, dask_worker=None):
    """Replace the exchange of one worker: wait until the others are inside, then die."""
    from daskasc.collectives._worker import part_of

    part = part_of(dask_worker)

    def exchange(group, order, partials):
        time.sleep(1.0)
        with open(flag, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    part.exchange = exchange


def test_killed_inside_a_collective(cluster, tmp_path):
    with cluster.get_client() as client:
        first, second, flag = tmp_path / "first", tmp_path / "second", tmp_path / "died"
        before = set(client.run(os.getpid).values())
        finished = client.compute(traced(CHUNKS, first).sum(axis=0))
        kept = traced(CHUNKS, first).mean(axis=0).persist()
        finished.result(timeout=60)
        victim = worker_of(client, 1)
        client.run(die_inside_the_next_collective, str(flag), workers=[victim])
        gangs = client.run_on_scheduler(sequencer_stats)["gangs"]
        future = client.compute(traced(CHUNKS, second).max(axis=0))
        np.testing.assert_array_equal(future.result(timeout=240), whole(CHUNKS).max(axis=0))
        assert flag.exists()
        # what had been finished was not done again; of the rest, only what the dead card held
        assert set(made(first).values()) == {2}
        assert {chunk for chunk, times in made(second).items() if times > 1} == OF_CARD_1
        np.testing.assert_allclose(kept.compute(), whole(CHUNKS).mean(axis=0))
        assert set(made(first).values()) == {2}
        stats = client.run_on_scheduler(sequencer_stats)
        assert stats["gangs"] == gangs + 1
        # every process that was inside the failed collective has been replaced
        assert not before & set(client.run(os.getpid).values())


def pencils(folder):
    return traced(CHUNKS, folder).rechunk((4 * CHUNKS, 1, 5))


def test_killed_inside_an_exchange(cluster, tmp_path):
    with cluster.get_client() as client:
        flag, folder = tmp_path / "died", tmp_path / "made"
        assert [one.operation for one in daskasc.plan(pencils(folder)).collectives] == ["exchange"]
        victim = worker_of(client, 1)
        client.run(die_inside_the_next_collective, str(flag), workers=[victim])
        future = client.compute(pencils(folder))
        np.testing.assert_array_equal(future.result(timeout=240), whole(CHUNKS))
        assert flag.exists()


def test_killed_after_an_exchange(cluster, tmp_path):
    with cluster.get_client() as client:
        victim = pid_of_card(client, 1)
        chunks = pencils(tmp_path / "made").persist()
        wait(chunks, timeout=60)
        before = client.run_on_scheduler(sequencer_stats)
        os.kill(victim, signal.SIGKILL)
        np.testing.assert_array_equal(chunks.compute(), whole(CHUNKS))
        after = client.run_on_scheduler(sequencer_stats)
        assert after["gangs"] > before["gangs"]
        assert after["waiting_results"] == 0


def sequencer_stats(dask_scheduler=None):
    return dask_scheduler.plugins["daskasc-sequencer"].stats()

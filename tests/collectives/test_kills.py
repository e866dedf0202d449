"""Workers killed by SIGKILL at each stage of a collective, on clusters of their own."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from daskasc.collectives import stats
from daskasc.errors import CollectiveError, PlacementError
from tests.collectives.gangs import (
    Graph,
    by_card,
    cluster,
    gang,
    noted,
    pid,
    wait_for,
)

pytestmark = [pytest.mark.kill, pytest.mark.timeout(200)]

ALL = (0, 1, 2)
LIMITS = {"collectives.timeout": "40s", "placement.rejoin-timeout": "40s"}


def value(name: str) -> np.ndarray:
    from tests.collectives.gangs import numbers

    return sum(numbers(name, card) for card in ALL)


def runs(path: str) -> Counter:
    return Counter(Path(path).read_text().split()) if Path(path).exists() else Counter()


def in_memory(client, key):
    def look(dask_scheduler):
        task = dask_scheduler.tasks.get(key)
        return task is not None and task.state == "memory"

    return client.run_on_scheduler(look)


def warmed(client, path):
    """One finished collective, whose result the client keeps."""
    graph = Graph()
    graph.add(gang("w0", ALL, 0, "sum"), noted, path, "w0", 0.0)
    future = graph.submit(client)[0]
    np.testing.assert_array_equal(future.result(60), value("w0"))
    return future


def test_killed_before_its_deposit(tmp_path):
    path = str(tmp_path / "runs")
    with cluster(3, **LIMITS) as client:
        kept = warmed(client, path)
        graph = Graph()
        graph.add(gang("k1", ALL, 0, "sum"), noted, path, "k1", 2.0)
        future = graph.submit(client)[0]
        wait_for(lambda: runs(path)["k1-1"])
        os.kill(by_card(client, pid)[1], signal.SIGKILL)
        np.testing.assert_array_equal(future.result(90), value("k1"))
        np.testing.assert_array_equal(kept.result(30), value("w0"))
        found = runs(path)
        assert found.pop("k1-1") == 2
        assert set(found.values()) == {1}
        assert client.run_on_scheduler(stats).get("restarts", 0) == 0


def delayed(path, name, card):
    """Card 0 is late, so that the other deposits wait for it."""
    return noted(path, name, 4.0 if card == 0 else 0.0, card)


def test_killed_after_its_deposit(tmp_path):
    path = str(tmp_path / "runs")
    with cluster(3, **LIMITS) as client:
        kept = warmed(client, path)
        graph = Graph()
        graph.add(gang("k2", ALL, 0, "sum"), delayed, path, "k2")
        pids = by_card(client, pid)
        future = graph.submit(client)[0]
        wait_for(lambda: in_memory(client, "k2-deposit-1"))
        os.kill(pids[1], signal.SIGKILL)
        np.testing.assert_array_equal(future.result(90), value("k2"))
        np.testing.assert_array_equal(kept.result(30), value("w0"))
        found = runs(path)
        assert found.pop("k2-1") == 2
        assert set(found.values()) == {1}
        assert client.run_on_scheduler(stats).get("restarts", 0) == 0


def hang_in(name, dask_worker):
    """Stop inside the exchange of one collective, after its start."""
    import time

    from daskasc.collectives import _exchange
    from daskasc.collectives._worker import part_of

    def slow(group, order, partials):
        if order.gang == name:
            time.sleep(100)
        return _exchange.run(group, order, partials)

    part_of(dask_worker).exchange = slow


@pytest.mark.parametrize("owner", [0, 1])
def test_killed_inside_a_collective(tmp_path, owner):
    path = str(tmp_path / "runs")
    with cluster(3, **LIMITS) as client:
        kept = warmed(client, path)
        addresses = by_card(client, lambda dask_worker: dask_worker.address)
        pids = by_card(client, pid)
        client.run(hang_in, "k3", workers=[addresses[1]])
        graph = Graph()
        graph.add(gang("k3", ALL, owner, "sum"), noted, path, "k3", 0.0)
        future = graph.submit(client)[0]
        wait_for(lambda: in_memory(client, "k3-deposit-1"))
        wait_for(lambda: client.run_on_scheduler(in_flight) == ["k3"])
        os.kill(pids[1], signal.SIGKILL)
        np.testing.assert_array_equal(future.result(120), value("k3"))
        np.testing.assert_array_equal(kept.result(30), value("w0"))
        found, report = runs(path), client.run_on_scheduler(stats)
        assert found.pop("k3-1") == 2
        assert set(found.values()) == {1}  # evacuated, not computed again
        assert report["restarts"] == 2
        assert report["epochs"] == 2
        after = by_card(client, pid)
        assert not set(after.values()) & set(pids.values())


def in_flight(dask_scheduler):
    epoch = dask_scheduler.plugins["daskasc-sequencer"].keeper.book.current
    return list(epoch.in_flight.values()) if epoch else []


def test_member_that_hangs_is_restarted(tmp_path):
    path = str(tmp_path / "runs")
    with cluster(3, **{**LIMITS, "collectives.timeout": "15s"}) as client:
        addresses = by_card(client, lambda dask_worker: dask_worker.address)
        client.run(hang_in, "k6", workers=[addresses[2]])
        graph = Graph()
        graph.add(gang("k6", ALL, 0, "sum"), noted, path, "k6", 0.0)
        np.testing.assert_array_equal(graph.submit(client)[0].result(120), value("k6"))
        assert client.run_on_scheduler(stats)["restarts"] == 3


def wrong_sums():
    """Let this process fail the self-test of the next group."""
    from daskasc.collectives._group import Group

    Group.all_reduce = lambda group, tensor, op: None


def test_failed_self_test_restarts_the_worker(tmp_path):
    path = str(tmp_path / "runs")
    with cluster(3, **LIMITS) as client:
        before = by_card(client, pid)
        addresses = by_card(client, lambda dask_worker: dask_worker.address)
        for address in addresses.values():
            client.run(wrong_sums, workers=[address])
        graph = Graph()
        graph.add(gang("k7", ALL, 0, "sum"), noted, path, "k7", 0.0)
        np.testing.assert_array_equal(graph.submit(client)[0].result(120), value("k7"))
        report = client.run_on_scheduler(stats)
        assert report["forming_failures"] == 1
        assert report["epochs"] == 1
        assert not set(before.values()) & set(by_card(client, pid).values())


def test_card_that_stays_away_is_taken_over(tmp_path):
    path = str(tmp_path / "runs")
    with cluster(3, **{**LIMITS, "placement.rejoin-timeout": "1s"}) as client:
        kept = warmed(client, path)
        workers = client.cluster.workers
        client.sync(workers[1].close)
        graph = Graph()
        graph.add(gang("k4", ALL, 1, "gather"), noted, path, "k4", 0.0)
        result = graph.submit(client)[0].result(60)
        assert len(result) == 3
        np.testing.assert_array_equal(sum(result), value("k4"))
        np.testing.assert_array_equal(kept.result(30), value("w0"))
        for card in (0, 2):
            client.sync(workers[card].close)
        graph = Graph()
        graph.add(gang("k5", ALL, 1, "gather"), noted, path, "k5", 0.0)
        with pytest.raises((PlacementError, CollectiveError)):
            graph.submit(client)[0].result(60)

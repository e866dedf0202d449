"""Collectives after the last attempt in a group: from worker to worker, with the same results."""

from __future__ import annotations

import time

import numpy as np
import pytest

from daskasc.collectives import methods, stats
from daskasc.errors import CollectiveError
from tests.collectives.gangs import Graph, by_card, cluster, gang, numbers, pid, wait_for
from tests.collectives.test_collectives import ALL, check_empty, nested, run_one
from tests.collectives.test_exchange import check, items, submit

LIMITS = {"collectives.timeout": "15s", "collectives.retries": 0}


def break_links(dask_worker):
    """Let every collective of a worker fail."""
    from daskasc.collectives._worker import part_of

    def broken(group, order, partials):
        raise RuntimeError("link down")

    part_of(dask_worker).exchange = broken


def hang(dask_worker):
    """Let a worker stay out of every collective."""
    from daskasc.collectives._worker import part_of

    part_of(dask_worker).exchange = lambda group, order, partials: time.sleep(100)


@pytest.fixture(scope="module")
def client():
    with cluster(3, **LIMITS) as client:
        client.run(break_links)
        yield client


@pytest.mark.parametrize("op", ["gather", "sum", "prod", "min", "max"])
@pytest.mark.parametrize(("members", "owner"), [(ALL, 1), ((0, 2), 2), ((1,), 1)])
def test_reductions(client, op, members, owner):
    name = f"r{owner}{len(members)}"
    found = gang(f"{name}-{op}", members, owner, op)
    before = client.run_on_scheduler(stats)
    result = run_one(client, found, numbers, name)
    partials = [numbers(name, card) for card in members]
    if op == "gather":
        np.testing.assert_array_equal(result, partials)
    else:
        fold = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}[op]
        np.testing.assert_array_equal(result, fold(partials, axis=0))
    after = client.run_on_scheduler(stats)
    assert after["relayed"] == before.get("relayed", 0) + 1
    check_empty(client)


def test_nested_partials(client):
    n, rest = run_one(client, gang("n-relay", ALL, 2, "sum"), nested).values()
    assert n == 6
    np.testing.assert_array_equal(rest[0], np.arange(3.0) * 3)
    assert rest[1:] == (None, 3 * 2**70, 3)


@pytest.mark.parametrize("takers", [ALL, (2,)])
def test_exchanges(client, takers):
    futures = submit(client, f"x-relay-{len(takers)}", items, takers)
    check(client.gather(futures), takers)
    del futures
    check_empty(client)


def test_after_the_first_no_further_attempt_is_made(client):
    run_one(client, gang("w1", ALL, 0, "sum"), numbers, "w1")
    pids, before = by_card(client, pid), client.run_on_scheduler(stats)
    graph = Graph()
    for i in range(10):
        graph.add(gang(f"a{i}", ALL, i % 3, "sum"), numbers, f"a{i}")
    for i, result in enumerate(client.gather(graph.submit(client))):
        np.testing.assert_array_equal(result, sum(numbers(f"a{i}", card) for card in ALL))
    after = client.run_on_scheduler(stats)
    assert after["relayed"] == before["relayed"] + 10
    assert (after["retries"], after["epochs"]) == (before["retries"], before["epochs"]) == (1, 1)
    assert by_card(client, pid) == pids
    assert sum(count.get("relay", 0) for count in client.run(methods).values()) >= 10
    (reason,) = [line for line in after["reasons"] if "worker to worker" in line]
    assert "link down" in reason


def test_cancelled_while_it_is_relayed(client):
    futures = submit(client, "c-relay", items)
    time.sleep(0.1)
    client.cancel(futures)
    del futures
    check_empty(client)
    wait_for(lambda: not client.run_on_scheduler(stats)["running"])


def test_a_rank_that_stalls():
    with cluster(3, **{**LIMITS, "collectives.timeout": "5s"}) as client:
        addresses = by_card(client, lambda dask_worker: dask_worker.address)
        client.run(hang, workers=[addresses[1]])
        start = time.monotonic()
        result = run_one(client, gang("s1", ALL, 0, "sum"), numbers, "s1")
        np.testing.assert_array_equal(result, sum(numbers("s1", card) for card in ALL))
        assert time.monotonic() - start < 30
        assert client.run_on_scheduler(stats)["relayed"] == 1


def refuse_groups(dask_worker):
    from daskasc.collectives._group import Group

    def wrong(group):
        raise CollectiveError("no route")

    Group.self_test = wrong


def test_a_group_that_cannot_be_formed():
    with cluster(3, **LIMITS) as client:
        client.run(refuse_groups)
        result = run_one(client, gang("g1", ALL, 0, "gather"), numbers, "g1")
        np.testing.assert_array_equal(result, [numbers("g1", card) for card in ALL])
        found = client.run_on_scheduler(stats)
        assert found["relayed"] == 1
        assert found["forming_failures"] == 1


def test_switched_off():
    with cluster(3, **LIMITS, **{"collectives.relay": False}) as client:
        client.run(break_links)
        with pytest.raises(CollectiveError, match="link down"):
            run_one(client, gang("o1", ALL, 0, "sum"), numbers, "o1")
        assert client.run_on_scheduler(stats).get("relayed", 0) == 0

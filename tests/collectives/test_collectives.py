"""Collectives of three worker processes over gloo, with NumPy partials (no card involved)."""

from __future__ import annotations

import functools
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from distributed import wait

from daskasc.collectives import stats
from daskasc.errors import CollectiveError, CollectiveMismatchError
from tests.collectives.gangs import (
    Graph,
    by_card,
    check_one_order,
    gang,
    holdings,
    numbers,
    wait_for,
)

ALL = (0, 1, 2)


def run_one(client, found, make, *args):
    graph = Graph()
    graph.add(found, make, *args)
    return client.gather(graph.submit(client))[0]


def tasks_of(prefix, dask_scheduler):
    return [key for key in dask_scheduler.tasks if key.startswith(prefix)]


def in_memory(dask_scheduler):
    return [str(task.key) for task in dask_scheduler.tasks.values() if task.state == "memory"]


def check_empty(client):
    """Nothing is held once all results are collected."""
    nothing = {"held": 0, "published": 0}
    wait_for(lambda: all(h == nothing for h in client.run(holdings).values()))
    found = client.run_on_scheduler(stats)
    assert found["waiting_results"] == 0
    assert found["running"] == 0


def test_ten_in_flight_are_right_and_in_one_order(client):
    graph = Graph()
    for i in range(10):
        graph.add(gang(f"t{i}", ALL, i % 3, "gather" if i % 2 else "sum"), numbers, f"t{i}")
    futures = graph.submit(client)
    for i, result in enumerate(client.gather(futures)):
        expected = [numbers(f"t{i}", card) for card in ALL]
        np.testing.assert_array_equal(result, expected if i % 2 else sum(expected))
    ran = check_one_order(client)
    assert {name for _, _, name in ran} >= {f"t{i}" for i in range(10)}
    assert [seq for _, seq, _ in ran] == list(range(len(ran)))
    del futures
    check_empty(client)


def nested(card):
    return {"n": np.int64(card + 1), "rest": (np.arange(3.0) * card, None, 2**70, card)}


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
def test_nested_partials(client, op):
    n, rest = (result := run_one(client, gang(f"n-{op}", ALL, 1, op), nested)).values()
    assert list(result) == ["n", "rest"]
    fold = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}[op]
    assert n == fold([1, 2, 3])
    assert isinstance(n, np.int64)
    np.testing.assert_array_equal(rest[0], fold([np.arange(3.0) * c for c in ALL], axis=0))
    big = 2**70
    assert rest[1:] == (
        None,
        {"sum": 3 * big, "prod": big**3, "min": big, "max": big}[op],
        {"sum": 3, "prod": 0, "min": 0, "max": 2}[op],
    )


def various(card):
    return [
        np.arange(card),  # another length on each card, none on card 0
        np.array(card, dtype=">f4"),
        np.array([True, False])[::-1],
        np.datetime64("2020-01-01") + card,
        np.zeros((0, 3), dtype="c8"),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        f"card {card}",
    ]


@pytest.mark.parametrize(("members", "owner"), [((0, 2), 2), ((1,), 1), (ALL, 0)])
def test_gather_keeps_dtypes_shapes_and_order(client, members, owner):
    found = gang(f"v{members}{owner}", members, owner, "gather")
    result = run_one(client, found, various)
    assert len(result) == len(members)
    for card, got in zip(members, result, strict=True):
        for value, expected in zip(got, various(card), strict=True):
            assert type(value) is type(expected)
            np.testing.assert_array_equal(value, expected)
            if isinstance(expected, np.ndarray):
                assert value.dtype == expected.dtype
                assert value.shape == expected.shape


def test_sums_do_not_depend_on_timing(client):
    def awkward(name, card):
        return np.random.default_rng(card).normal(size=1000) * 10.0 ** (5 * card)

    expected = awkward("", 0) + awkward("", 1) + awkward("", 2)
    for attempt in range(3):
        found = gang(f"awkward{attempt}", ALL, attempt, "sum")
        np.testing.assert_array_equal(run_one(client, found, awkward, str(attempt)), expected)


def other_shape(card):
    return np.zeros(3 + card)


def test_partials_that_differ_are_an_error(client):
    with pytest.raises(CollectiveMismatchError, match=r"<f8\[3\] on card 0 and <f8\[4\]"):
        run_one(client, gang("differ", ALL, 0, "sum"), other_shape)
    np.testing.assert_array_equal(
        run_one(client, gang("x7", ALL, 0, "sum"), numbers, "x7"),
        sum(numbers("x7", c) for c in ALL),
    )


def unsendable(card):
    return {card}


def test_partial_that_cannot_be_sent(client):
    with pytest.raises(CollectiveError, match=r"builtins\.set"):
        run_one(client, gang("unsendable", ALL, 0, "sum"), unsendable)


def test_same_gang_again_runs_anew(client):
    before = client.run_on_scheduler(stats).get("gangs", 0)
    for _ in range(2):
        run_one(client, gang("r1", ALL, 0, "sum"), numbers, "r1")
        wait_for(lambda: not client.run_on_scheduler(tasks_of, "r1"))
    assert client.run_on_scheduler(stats)["gangs"] == before + 2


def slow(name, card):
    time.sleep(0.5)
    return numbers(name, card)


def test_cancelled_collectives_leave_nothing(client):
    for delay in (0.1, 0.55):
        graph = Graph()
        for i in range(6):
            graph.add(gang(f"c{i}", ALL, i % 3, "gather"), slow, f"c{i}")
        futures = graph.submit(client)
        time.sleep(delay)
        client.cancel(futures)
        del futures
        wait_for(lambda: not client.run_on_scheduler(tasks_of, "c"))
    result = run_one(client, gang("c9", ALL, 1, "sum"), numbers, "c9")
    np.testing.assert_array_equal(result, sum(numbers("c9", c) for c in ALL))
    check_empty(client)


def forget_once(name, seconds, dask_worker):
    """Lose the result of one gang between its barrier and its collect task."""
    from daskasc.collectives._worker import part_of

    part = part_of(dask_worker)
    take, lost = part.take, []

    def losing(gang, stamp, card=None):
        if gang == name and not lost:
            lost.append(take(gang, stamp, card))
            time.sleep(seconds)
            return None
        return take(gang, stamp, card)

    part.take = losing


@pytest.mark.parametrize("seconds", [0, 2], ids=["at once", "after the other cards are done"])
def test_result_lost_before_collect_runs_the_collective_again(client, seconds):
    name = f"l{seconds}"
    before = client.run_on_scheduler(stats)
    client.run(forget_once, name, seconds)
    result = run_one(client, gang(name, ALL, 2, "sum"), numbers, name)
    np.testing.assert_array_equal(result, sum(numbers(name, c) for c in ALL))
    after = client.run_on_scheduler(stats)
    assert after["gangs"] == before.get("gangs", 0) + 2
    assert after["redos"] == before.get("redos", 0) + 1
    check_empty(client)


def finish_late(flag, result, *_):
    wait_for(Path(flag).exists)
    return result


def lose(keys, dask_scheduler):
    """Lose results as with a worker that held the only copies."""
    lost = [key for key in keys if dask_scheduler.tasks[key].state == "memory"]
    dask_scheduler.transitions(dict.fromkeys(lost, "released"), stimulus_id="test")


@pytest.mark.parametrize("card", ALL)
def test_a_card_that_collects_again_after_all_were_done(client, tmp_path, card):
    flag = tmp_path / "go"
    name = f"a{card}"
    found = gang(name, ALL, 1, "sum")
    graph = Graph(functools.partial(finish_late, str(flag)))
    graph.add(found, numbers, name)
    (future,) = graph.submit(client)
    done = {str(key) for key in found.collect_keys}
    wait_for(lambda: done <= set(client.run_on_scheduler(in_memory)))
    client.run_on_scheduler(lose, [found.barrier_key, found.collect_keys[card]])
    flag.touch()
    np.testing.assert_array_equal(future.result(60), sum(numbers(name, c) for c in ALL))
    del future
    check_empty(client)


def fail_to_prepare(name, dask_worker):
    from daskasc.collectives import _exchange
    from daskasc.collectives._worker import part_of

    part = part_of(dask_worker)

    def without_memory(group, order, partials):
        if order.gang == name and group.rank == 1:
            partials = {}
        return _exchange.run(group, order, partials)

    part.exchange = without_memory


def test_member_that_cannot_prepare_leaves_the_group_intact(client):
    before = client.run_on_scheduler(stats)
    client.run(fail_to_prepare, "u1")
    with pytest.raises(CollectiveError, match="rank 1 could not prepare"):
        run_one(client, gang("u1", ALL, 0, "gather"), numbers, "u1")
    run_one(client, gang("u2", ALL, 0, "gather"), numbers, "u2")
    after = client.run_on_scheduler(stats)
    assert after["epochs"] == before["epochs"]
    assert after.get("restarts", 0) == before.get("restarts", 0)


def test_partials_moved_to_other_workers(client):
    graph = Graph()
    found = gang("m1", ALL, 0, "gather")
    keys = {
        key: client.submit(numbers, "m1", card, workers=(card + 1) % 3, key=key)
        for card, key in zip(ALL, found.partial_keys, strict=True)
    }
    wait(list(keys.values()))
    graph.add(found, numbers, "m1")
    result = client.gather(graph.submit(client))[0]
    np.testing.assert_array_equal(result, [numbers("m1", c) for c in ALL])


def scramble(dask_worker):
    """Hold back two stamped gangs and run them in the wrong order."""
    from daskasc.collectives._thread import StrictOrder
    from daskasc.collectives._worker import part_of

    class Swapped(StrictOrder):
        held = None

        def push(self, seq, item):
            ready = super().push(seq, item)
            if not ready or self.held == []:
                return ready
            pairs = (self.held or []) + ready
            if len(pairs) < 2:
                self.held = pairs
                return []
            self.held = []
            return [pairs[1], pairs[0], *pairs[2:]]

    part = part_of(dask_worker)
    order = Swapped()
    order.next = part.order.next
    part.order = order


def test_wrong_order_on_one_worker_is_an_error_never_a_wrong_value(client):
    run_one(client, gang("s8", ALL, 0, "sum"), numbers, "s8")
    before = client.run_on_scheduler(stats)
    graph = Graph()
    for i in range(4):
        graph.add(gang(f"s{i}", ALL, i % 3, "sum"), numbers, f"s{i}")
    by_name = by_card(client, lambda dask_worker: dask_worker.address)
    client.run(scramble, workers=[by_name[1]])
    futures = graph.submit(client)
    wait(futures)
    failed = []
    for i, future in enumerate(futures):
        if future.status == "error":
            failed.append(i)
            with pytest.raises(CollectiveMismatchError, match="nothing was exchanged"):
                future.result()
        else:
            np.testing.assert_array_equal(future.result(), sum(numbers(f"s{i}", c) for c in ALL))
    assert len(failed) == 2
    run_one(client, gang("s9", ALL, 0, "sum"), numbers, "s9")
    assert client.run_on_scheduler(stats)["epochs"] == before["epochs"]


def test_client_and_scheduler_load_no_torch():
    code = (
        "import sys\n"
        "from tests.collectives.gangs import Graph, cluster, gang, numbers\n"
        "with cluster(2) as client:\n"
        "    graph = Graph()\n"
        "    graph.add(gang('g1', (0, 1), 1, 'gather', cards=2), numbers, 'g1')\n"
        "    assert len(client.gather(graph.submit(client))[0]) == 2\n"
        "    assert 'torch' not in sys.modules, 'torch'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr

"""Collectives over four workers in two servers: merging, and what may go wrong in between."""

from __future__ import annotations

import functools
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from daskasc.collectives import methods, stats
from daskasc.collectives._exchange import Order, choose_method
from daskasc.errors import CollectiveError
from daskasc.topology import Levels
from tests.collectives.gangs import Graph, by_card, cluster, gang, wait_for
from tests.collectives.test_collectives import check_empty
from tests.collectives.test_device import FOLDS, off_card, on_card

ALL, SERVERS = (0, 1, 2, 3), (0, 0, 1, 1)
LIMITS = {"collectives.timeout": "40s", "placement.rejoin-timeout": "40s"}


def order(op="sum", dtype="int64", kind="device", sources=ALL, servers=SERVERS, merge=None):
    manifests = ({"text": "*", "skeleton": b"", "leaves": ((kind, dtype, (2,), b""),)},) * 4
    return Order(1, 0, 0, "g", op, ALL, ALL, sources, 0, manifests, (), servers, merge)


@pytest.mark.parametrize(
    ("found", "ranks", "reproducible", "method"),
    [
        (order(), (0, 0, 1, 1), True, "servers_reduce"),
        (order(), (0, 0, 0, 0), True, "all_reduce"),
        (order(), (0, 1, 2, 3), True, "all_reduce"),  # no two in one server
        (order(), (0, 1, 0, 1), True, "all_reduce"),  # not where they were planned
        (order(servers=()), (0, 0, 1, 1), True, "all_reduce"),
        (order(dtype="float32"), (0, 0, 1, 1), True, "gather"),
        (order(dtype="float32"), (0, 0, 1, 1), False, "servers_reduce"),
        (order(dtype="uint32"), (0, 0, 1, 1), True, "servers_gather"),
        (order(sources=(0, 0, 2, 2)), (0, 0, 1, 1), True, "servers_gather"),
        (order(sources=(0, 1, 0, 1)), (0, 0, 1, 1), True, "gather"),
        (order(kind="numpy"), (0, 0, 1, 1), True, "gather"),
        (order("gather"), (0, 0, 1, 1), True, "gather"),
        (order("gather", merge=b"f"), (0, 0, 1, 1), True, "servers_gather"),
        (order("gather", merge=b"f"), (0, 0, 0, 0), True, "gather"),
    ],
)
def test_method(found, ranks, reproducible, method):
    assert choose_method(found, 4, "gloo", reproducible, Levels(ranks)) == method


@pytest.fixture(scope="module")
def client():
    """Four plain workers in two servers, shared by a module."""
    with cluster(4, "aabb") as found:
        yield found


def run_one(client, found, make, *args):
    graph = Graph(off_card)
    graph.add(found, make, *args)
    return client.gather(graph.submit(client))[0]


def various(card):
    return {
        "n": np.full((3, 2), card // 2 + 1, "i8"),  # one number in each server
        "total": np.arange(6.0).reshape(3, 2) * (card + 1),
        "none": np.zeros((0, 2), "f4"),
        "nan": np.full(4, np.nan, "f4"),
        "one": np.array(card, "u2"),
        "dates": np.array([card, -card, "NaT"], "M8[s]"),
    }


def listed(server, partials):
    """Says who merged what; nothing is combined."""
    return (server, [partial["total"] for partial in partials], dict(partials[0]))


@pytest.mark.parametrize("owner", ALL)
def test_servers_merge_what_their_members_bring(client, owner):
    found = gang(f"m{owner}", ALL, owner, "gather", 4, servers=SERVERS, merge=listed)
    before = by_card(client, methods)[owner].get("servers_gather", 0)
    result = run_one(client, found, on_card, various)
    assert by_card(client, methods)[owner]["servers_gather"] == before + 1
    assert [server for server, _, _ in result] == [0, 1]
    for server, totals, first in result:
        for card, total in zip((2 * server, 2 * server + 1), totals, strict=True):
            np.testing.assert_array_equal(total, various(card)["total"])
        for name, value in various(2 * server).items():
            assert first[name].dtype == value.dtype
            assert first[name].shape == value.shape
            np.testing.assert_array_equal(first[name], value)
    check_empty(client)


def test_one_level_gives_the_same(client):
    """A plan for other servers than there are: the owner merges."""
    found = gang("flat", ALL, 1, "gather", 4, servers=(0, 1, 0, 1), merge=listed)
    result = run_one(client, found, on_card, various)
    assert [server for server, _, _ in result] == [0, 1]
    np.testing.assert_array_equal(result[1][1][1], various(3)["total"])


def exact(card):
    return [
        np.array([True, False, card == 1]),
        np.array([100, 3 + card, 7], "i1"),
        np.array([2**62, card], "i8"),
        np.array([2**31, card, 5], "u4"),
        np.zeros((0, 2), "i4"),
    ]


def without_unsigned(card):
    return [leaf for leaf in exact(card) if leaf.dtype != "u4"]


@pytest.mark.parametrize("op", list(FOLDS))
@pytest.mark.parametrize(
    ("make", "method"), [(exact, "servers_gather"), (without_unsigned, "servers_reduce")]
)
def test_exact_dtypes_give_numpys_result(client, op, make, method):
    before = by_card(client, methods)[2].get(method, 0)
    found = gang(f"{method}-{op}", ALL, 2, op, 4, servers=SERVERS)
    result = run_one(client, found, on_card, make)
    assert by_card(client, methods)[2][method] == before + 1
    with np.errstate(over="ignore"):
        for index, got in enumerate(result):
            wanted = functools.reduce(FOLDS[op], [make(card)[index] for card in ALL])
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)


def failing(server, partials):
    if server == 1:
        raise ValueError("cannot merge")
    return partials


def test_an_error_while_merging_is_named_and_leaves_the_group_usable(client):
    found = gang("before", ALL, 1, "gather", 4, servers=SERVERS, merge=listed)
    run_one(client, found, on_card, various)
    epochs = client.run_on_scheduler(stats)["epochs"]
    found = gang("failing", ALL, 1, "gather", 4, servers=SERVERS, merge=failing)
    with pytest.raises(CollectiveError, match=r"could not merge.*server: ValueError: cannot merge"):
        run_one(client, found, on_card, various)
    found = gang("after", ALL, 1, "gather", 4, servers=SERVERS, merge=listed)
    assert len(run_one(client, found, on_card, various)) == 2
    assert client.run_on_scheduler(stats)["epochs"] == epochs
    check_empty(client)


def slow_at_first(folder, server, partials):
    """Wait for the end in the leader of server 1, the first time."""
    note = Path(folder) / f"server-{server}"
    if server == 1 and not note.exists():
        note.write_text(str(os.getpid()))
        time.sleep(100)
    return np.sum([partial["total"].asnumpy() for partial in partials], axis=0)


def totals():
    return [various(0)["total"] + various(1)["total"], various(2)["total"] + various(3)["total"]]


@pytest.mark.kill
@pytest.mark.timeout(400)
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "hanging"])
def test_a_leader_lost_between_the_levels(tmp_path, killed):
    limits = LIMITS if killed else {**LIMITS, "collectives.timeout": "15s"}
    with cluster(4, "aabb", **limits) as client:
        graph = Graph(off_card)
        merge = functools.partial(slow_at_first, str(tmp_path))
        graph.add(gang("k1", ALL, 0, "gather", 4, servers=SERVERS, merge=merge), on_card, various)
        future = graph.submit(client)[0]
        note = tmp_path / "server-1"
        wait_for(lambda: note.exists() and note.read_text(), 120)
        if killed:
            os.kill(int(note.read_text()), signal.SIGKILL)
        np.testing.assert_array_equal(future.result(200), totals())
        assert client.run_on_scheduler(stats)["restarts"] == (3 if killed else 4)
        assert client.run_on_scheduler(stats)["epochs"] == 2


def test_servers_with_unequal_numbers_of_cards():
    with cluster(4, "abbb", **LIMITS) as client:
        for owner in (0, 3):
            servers = (0, 1, 1, 1)
            found = gang(f"u{owner}", ALL, owner, "gather", 4, servers=servers, merge=listed)
            (_, one, _), (_, three, _) = run_one(client, found, on_card, various)
            for card, total in zip(ALL, (*one, *three), strict=True):
                np.testing.assert_array_equal(total, various(card)["total"])
            assert by_card(client, methods)[owner]["servers_gather"] >= 1

"""Reductions over several servers: the same bits, less between servers."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest

import daskasc
from daskasc import Planner
from daskasc.collectives import Gang, barrier, collect, deposit
from tests.planner.cards import on_cards
from tests.planner.local import run_locally

WHERE = [
    (0, 0, 1, 1),
    (0, 1, 0, 1),
    (0, 0, 0, 0, 1, 1, 1, 1),
    (0, 1, 0, 1, 0, 1),
    (2, 2, 1, 1, 1, 0, 0),
    (0, 1, 2, 3),
]
NAMES = "sum prod min max any mean std argmax nanmean nanmin".split()


def whole(chunks):
    return np.random.default_rng(chunks).normal(1.0, 2.0, (chunks, 7)).astype("f4")


def planned(x, name, **options):
    lazy = getattr(da, name)(x, axis=0)
    graph = Planner(**options)(lazy.__dask_graph__(), lazy.__dask_keys__())
    return dict(graph), lazy.__dask_keys__()


@pytest.mark.parametrize("servers", WHERE, ids=str)
@pytest.mark.parametrize("chunks", [5, 16, 23])
def test_any_servers_give_the_same_bits(servers, chunks):
    x = da.from_array(whole(chunks), chunks=(1, 7))
    for name in NAMES:
        (expected,) = run_locally(*planned(x, name, cards=1))
        for two_level in (True, False):
            options = {"cards": len(servers), "servers": servers, "two_level": two_level}
            (found,) = run_locally(*planned(x, name, **options))
            assert np.asarray(found).tobytes() == np.asarray(expected).tobytes(), name


def test_topk_and_unique():
    x = da.from_array(whole(16), chunks=(1, 7))
    for lazy in (da.topk(x, 3, axis=0), da.unique(x.ravel().round())):
        keys = lazy.__dask_keys__()
        first, second = (
            run_locally(Planner(8, servers=servers)(lazy.__dask_graph__(), keys), keys)[0]
            for servers in ((0,) * 8, (0, 0, 0, 0, 1, 1, 1, 1))
        )
        np.testing.assert_array_equal(first, second)


def gangs(graph):
    return [node.args[0] for node in graph.values() if getattr(node, "func", None) is barrier]


def test_only_the_owner_knows_all_members():
    graph, _ = planned(on_cards((16, 4), (1, 4)), "max", cards=4, servers=(0, 0, 1, 1))
    (gang,) = gangs(graph)
    assert gang.servers == (0, 0, 1, 1)
    known = [n.args[-2] for n in graph.values() if getattr(n, "func", None) in (collect, deposit)]
    assert sum(isinstance(one, Gang) for one in known) == 1
    assert len(known) == 8


@pytest.mark.parametrize(
    ("options", "servers"),
    [
        ({"cards": 4}, ()),
        ({"cards": 4, "servers": (0,) * 4}, ()),
        ({"cards": 4, "servers": (0, 1, 2, 3)}, ()),
        ({"cards": 4, "servers": (0, 0, 1, 1), "two_level": False}, ()),
        ({"cards": 4, "servers": (0, 0, 0, 1)}, (0, 0, 0, 1)),
    ],
)
def test_two_levels_where_they_gain_something(options, servers):
    graph, _ = planned(on_cards((16, 4), (1, 4)), "mean", **options)
    (gang,) = gangs(graph)
    assert gang.servers == servers
    assert (gang.merge is not None) == bool(servers)


@pytest.mark.parametrize(("name", "partials"), [("max", 1), ("mean", 2), ("std", 3)])
def test_a_server_sends_one_contribution(name, partials):
    x = on_cards((64, 16, 16), (4, 16, 16))
    lazy = getattr(x, name)(axis=0)
    output = 16 * 16 * 8
    plan = daskasc.plan(lazy, cards=8, servers=4, persist=True)
    assert plan.bytes_between_servers == 3 * partials * output
    assert plan.bytes_between_cards == 7 * partials * output
    with dask.config.set({"daskasc.collectives.two-level": False}):
        flat = daskasc.plan(lazy, cards=8, servers=4, persist=True)
    assert flat.bytes_between_servers == 6 * partials * output
    assert flat.bytes_between_cards == plan.bytes_between_cards
    assert flat.tasks == plan.tasks
    # the owner holds the contributions of four servers, not of eight cards
    assert plan.peak_device_bytes <= flat.peak_device_bytes


def test_integer_sums():
    x = on_cards((64, 16, 16), (4, 16, 16), "i8")
    plan = daskasc.plan(x.sum(axis=0), cards=8, servers=2, persist=True)
    assert plan.collectives[0].operation == "sum"
    assert plan.bytes_between_servers == 16 * 16 * 8


def test_servers_of_other_cards_are_an_error():
    with pytest.raises(daskasc.errors.ConfigurationError, match="servers of 2 cards"):
        Planner(4, servers=(0, 1))

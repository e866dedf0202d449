"""Exchanges of three worker processes: every member brings an item for each and takes its own."""

from __future__ import annotations

import numpy as np
import pytest
from dask._task_spec import Task, TaskRef
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from daskasc.collectives import Cut, Gang, barrier, collect, deposit, receive, settle, stats
from daskasc.errors import CollectiveError
from tests.collectives.gangs import by_card, wait_for
from tests.collectives.test_collectives import ALL, check_empty, forget_once, tasks_of

NOTHING = Cut(((),) * len(ALL), 0, 0)


def submit(client, name, make, takers=ALL):
    """Run an exchange; futures of what the cards `takers` get."""
    gang = Gang(
        id=name,
        members=ALL,
        owner=1,
        op="exchange",
        partial_keys=tuple(f"{name}-pack-{c}" for c in ALL),
        barrier_key=f"{name}-barrier",
        collect_keys=tuple(f"{name}-collect-{c}" for c in ALL),
        cards=len(ALL),
        receive_keys=tuple(f"{name}-receive-{c}" if c in takers else None for c in ALL),
        settle_key=f"{name}-settle",
    )
    tasks, cards = {}, {}

    def put(task, card):
        tasks[task.key], cards[task.key] = task, card
        return TaskRef(task.key)

    stamp, tokens, collected = TaskRef(gang.barrier_key), [], []
    for card, partial, key in zip(ALL, gang.partial_keys, gang.collect_keys, strict=True):
        whole = put(Task(partial, make, card), card)
        tokens.append(put(Task(f"{name}-deposit-{card}", deposit, whole, gang, card), card))
        collected.append(put(Task(key, collect, stamp, whole, gang, card), card))
    put(Task(gang.barrier_key, barrier, gang, *tokens), gang.owner)
    settled = put(Task(gang.settle_key, settle, *collected), gang.owner)
    keys = [key for key in gang.receive_keys if key is not None]
    for card, key in zip(ALL, gang.receive_keys, strict=True):
        if key is not None:
            put(Task(key, receive, stamp, settled, gang, card, NOTHING), card)
    layer = MaterializedLayer(
        tasks, annotations={"card": cards.get, "gang": dict.fromkeys(tasks, name).get}
    )
    return client.get(HighLevelGraph({"x": layer}, {"x": set()}), keys, sync=False)


def items(card):
    """For member j: an array whose length and values tell both cards, and more."""
    return [
        [np.full(card + 2 * j, 10 * card + j, "f4"), f"{card} to {j}", np.zeros((0, 2))]
        for j in ALL
    ]


def check(found, takers=ALL):
    for card, lists in zip(takers, found, strict=True):
        for source, (values, text, empty) in zip(ALL, lists, strict=True):
            np.testing.assert_array_equal(values, items(source)[card][0])
            assert values.dtype == np.float32
            assert text == f"{source} to {card}"
            assert empty.shape == (0, 2)


@pytest.mark.parametrize("takers", [ALL, (0, 2), (1,)])
def test_every_member_gets_what_is_for_it(client, takers):
    before = client.run_on_scheduler(stats).get("gangs", 0)
    name = f"x{takers}"
    check(client.gather(submit(client, name, items, takers)), takers)
    assert client.run_on_scheduler(stats)["gangs"] == before + 1
    wait_for(lambda: not client.run_on_scheduler(tasks_of, name))
    check_empty(client)


@pytest.mark.parametrize("seconds", [0, 2], ids=["at once", "after the others are done"])
def test_a_lost_result_makes_all_bring_their_items_again(client, seconds):
    name = f"lost{seconds}"
    before = client.run_on_scheduler(stats)
    address = by_card(client, lambda dask_worker: dask_worker.address)[2]
    client.run(forget_once, name, seconds, workers=[address])
    check(client.gather(submit(client, name, items)))
    after = client.run_on_scheduler(stats)
    assert after["gangs"] == before["gangs"] + 2
    assert after["redos"] == before.get("redos", 0) + 1
    wait_for(lambda: not client.run_on_scheduler(tasks_of, name))
    check_empty(client)


def too_few(card):
    return items(card)[:2]


def test_items_for_some_members_only_are_an_error(client):
    with pytest.raises(CollectiveError, match="brings 2 items into an exchange of 3"):
        client.gather(submit(client, "few", too_few))
    check(client.gather(submit(client, "again", items)))


def no_list(card):
    return {"card": card}


def test_a_partial_that_is_no_list_is_an_error(client):
    with pytest.raises(CollectiveError, match="takes lists, one item a member"):
        client.gather(submit(client, "none", no_list))

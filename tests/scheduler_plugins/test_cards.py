from __future__ import annotations

import pytest

from scheduler_plugins._cards import CardMap


def full(cards: int = 3, given: bool = True) -> CardMap:
    found = CardMap(cards if given else None, patience=10.0)
    for card in range(cards):
        found.joined(str(card), f"a{card}")
    return found


@pytest.mark.parametrize(
    ("name", "card"),
    [("0", 0), (7, 7), ("12", 12), ("01", None), ("-1", None), ("npu0", None), ("²", None)],
)
def test_worker_names_that_are_cards(name, card):
    assert CardMap.card_of(name) == card


def test_learns_the_number_of_cards():
    cards = CardMap(None, 10.0)
    assert cards.cards == 0
    cards.joined("2", "a2")
    assert cards.cards == 3
    assert not cards.fixed


def test_workers_beyond_the_given_number_serve_nothing():
    cards = CardMap(2, 10.0)
    assert not cards.joined("2", "a2").moved
    assert cards.hosts() == {}


def test_lost_and_back_in_time():
    cards = full()
    assert cards.lost("a1", now=100.0).moved == {1}
    assert cards.host(1) is None
    assert cards.missing() == {1}
    assert cards.next_deadline() == 110.0
    assert not cards.expire(109.0).moved
    assert cards.joined("1", "b1").moved == {1}
    assert cards.host(1) == "b1"
    assert cards.next_deadline() is None


def test_after_the_deadline_others_take_over_round_robin():
    cards = full(4)
    cards.lost("a1", 0.0)
    cards.lost("a2", 1.0)
    assert cards.expire(20.0).moved == {1, 2}
    assert [cards.host(c) for c in range(4)] == ["a0", "a0", "a3", "a3"]
    assert cards.joined("1", "b1").moved == {1}
    assert cards.host(1) == "b1"


def test_loss_of_a_worker_that_took_over():
    cards = full(3)
    cards.lost("a1", 0.0)
    cards.expire(10.0)
    assert cards.host(1) == "a0"
    assert cards.lost("a0", 20.0).moved == {0, 1}
    assert cards.expire(30.0).moved == {0, 1}
    assert set(cards.hosts().values()) == {"a2"}


def test_nobody_left_gives_up_and_starts_again_on_demand():
    cards = full(1)
    cards.lost("a0", 0.0)
    changes = cards.expire(10.0)
    assert changes.abandoned == {0}
    assert not changes.moved
    assert cards.next_deadline() is None
    cards.wanted([0], 50.0)
    assert cards.next_deadline() == 60.0


def test_card_never_seen():
    given = CardMap(3, 10.0)
    given.joined("0", "a0")
    given.wanted([0, 2], 5.0)
    assert given.missing() == {2}
    assert given.expire(15.0).moved == {2}
    learnt = CardMap(None, 10.0)
    learnt.joined("0", "a0")
    learnt.wanted([2], 5.0)
    assert learnt.expire(15.0).abandoned == {2}


def test_loss_of_an_unknown_worker_changes_nothing():
    cards = full()
    assert not cards.lost("elsewhere", 0.0).moved
    assert len(cards.hosts()) == 3


def in_servers(*servers: str) -> CardMap:
    found = CardMap(len(servers), patience=10.0)
    for card, server in enumerate(servers):
        found.joined(str(card), f"a{card}", server)
    return found


def test_servers_are_numbered_once_all_cards_are_known():
    cards = CardMap(3, 10.0)
    cards.joined("1", "a1", "west")
    cards.joined("0", "a0", "east")
    assert cards.servers() == ()
    cards.joined("2", "a2", "west")
    assert cards.servers() == (0, 1, 1)
    assert cards.server_of("a2") == "west"
    assert cards.server_of("a7") is None
    cards.lost("a2", 0.0)
    assert cards.servers() == (0, 1, 1)
    cards.joined("2", "b2", "east")
    assert cards.servers() == (0, 1, 0)


def test_a_card_is_taken_over_in_its_own_server():
    cards = in_servers("east", "east", "west", "west")
    cards.lost("a2", 0.0)
    cards.expire(20.0)
    assert cards.host(2) == "a3"
    cards.lost("a3", 30.0)
    assert cards.expire(50.0).moved == {2, 3}
    assert {cards.host(2), cards.host(3)} == {"a0", "a1"}

"""Owner maps: pure arithmetic."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskasc import topology
from daskasc.errors import ConfigurationError, PlacementError
from daskasc.topology import block_owner, cover, middle


@given(st.integers(1, 500), st.integers(1, 16))
def test_blocks_are_contiguous_balanced_and_complete(size, cards):
    owners = [block_owner(index, size, cards) for index in range(size)]
    assert owners == sorted(owners)
    counts = [owners.count(card) for card in range(cards)]
    assert max(counts) - min(counts) <= 1


@given(st.integers(1, 300), st.sampled_from([1, 2, 4, 8]))
def test_blocks_of_powers_of_two_are_few_tree_nodes(size, cards):
    owners = [block_owner(index, size, cards) for index in range(size)]
    spans = list(cover(owners))
    assert [index for span in spans for index in span] == list(range(size))
    assert all(len({owners[index] for index in span}) == 1 for span in spans)
    if size % cards == 0 and (size // cards) & (size // cards - 1) == 0:
        assert len(spans) == cards


@given(st.integers(0, 100), st.integers(2, 100))
def test_middle_is_inside(low, length):
    split = middle(low, low + length)
    assert low < split < low + length
    assert split - low >= low + length - split


def test_no_cards_is_an_error():
    with pytest.raises(ConfigurationError, match="at least one card"):
        block_owner(0, 4, 0)


def test_placements():
    rows = topology.Placement("cyclic", (3, 2), axis=0)
    assert [rows.owner((i, j), 2) for i in range(3) for j in range(2)] == [0, 0, 1, 1, 0, 0]
    block = topology.Placement("block", (3, 2))
    assert [block.owner((i, j), 3) for i in range(3) for j in range(2)] == [0, 0, 1, 1, 2, 2]
    assert topology.Placement("replicate", (3, 2)).owner((0, 0), 3) is None
    given = topology.Placement("explicit", (2,), cards=(1, 5))
    assert given.owner((0,), 2) == 1
    with pytest.raises(PlacementError, match=r"chunk \(1,\) was placed on card 5"):
        given.owner((1,), 2)


def test_residences_belong_to_a_number_of_cards():
    first, second = {"a": 1}.get, {"a": 2, "b": 0}.get
    topology.add_residence(4, first)
    topology.add_residence(4, second)
    topology.add_residence(2, {"c": 1}.get)
    try:
        found = [topology.residence(key, cards) for cards in (4, 2) for key in "abc"]
    finally:
        topology._residences.clear()
    assert found == [1, 0, None, None, None, 1]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=24), st.integers(1, 300))
def test_blocks_stay_in_one_server_first(servers, size):
    order = topology.server_order(servers)
    assert sorted(order) == list(range(len(servers)))
    owners = [order[block_owner(index, size, len(servers))] for index in range(size)]
    met = [servers[owner] for owner in owners]
    changes = sum(a != b for a, b in itertools.pairwise(met))
    assert changes == len(set(met)) - 1
    counts = [owners.count(card) for card in range(len(servers))]
    assert max(counts) - min(counts) <= 1


def test_order_of_cards_that_are_in_turn_already():
    assert topology.even_servers(8, 2) == (0, 0, 0, 0, 1, 1, 1, 1)
    assert topology.even_servers(5, 2) == (0, 0, 0, 1, 1)
    assert topology.server_order((0, 0, 1, 1)) == (0, 1, 2, 3)
    assert topology.server_order((7, 3, 7, 3)) == (0, 2, 1, 3)
    block = topology.Placement("block", (8,))
    owners = [block.owner((i,), 4, (0, 2, 1, 3)) for i in range(8)]
    assert owners == [0, 0, 2, 2, 1, 1, 3, 3]
    for servers in (0, 5):
        with pytest.raises(ConfigurationError, match=f"{servers} servers for 4 cards"):
            topology.even_servers(4, servers)


def test_surveys_belong_to_a_number_of_cards(monkeypatch):
    monkeypatch.setattr(topology, "_surveyors", [])  # open clusters have theirs

    def first():
        return (0, 0, 1, 1)

    def unfinished():
        return ()

    assert topology.servers_of(4) == ()
    topology.add_survey(4, unfinished)
    topology.add_survey(4, first)
    try:
        assert topology.servers_of(4) == (0, 0, 1, 1)
        assert topology.servers_of(2) == ()
        topology.add_survey(4, lambda: (0, 1, 0, 1))
        assert topology.servers_of(4) == (0, 1, 0, 1)
        topology.remove_survey(topology._surveyors[-1][1])
        topology.add_survey(4, unfinished)
        assert topology.servers_of(4) == (0, 0, 1, 1)
        topology.remove_survey(unfinished)
    finally:
        topology.remove_survey(first)
        topology.remove_survey(unfinished)
    topology.remove_survey(first)
    assert topology.servers_of(4) == ()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_levels(servers):
    levels = topology.Levels(servers)
    members = range(len(servers))
    assert levels.several == (1 < len(set(servers)) < len(servers))
    for owner in members:
        rail = levels.rail(owner)
        assert sorted(rail) == list(rail)
        assert sorted(servers[leader] for leader in rail) == sorted(set(servers))
        assert owner in rail
        for member in members:
            assert member in levels.mates(member)
            leader = levels.leader(member, owner)
            assert servers[leader] == servers[member]
            assert leader in rail
    groups = levels.groups()
    assert len(groups) == len(set(groups))
    wanted = {levels.mates(member) for member in members} | {levels.rail(o) for o in members}
    assert set(groups) == {group for group in wanted if len(group) > 1}


def test_leaders_have_the_owners_place():
    levels = topology.Levels((0, 0, 0, 0, 1, 1, 1, 1))
    assert levels.rail(2) == levels.rail(6) == (2, 6)
    assert levels.groups() == [(0, 1, 2, 3), (4, 5, 6, 7), (0, 4), (1, 5), (2, 6), (3, 7)]
    uneven = topology.Levels((0, 0, 0, 1))
    assert [uneven.rail(owner) for owner in range(4)] == [(0, 3), (1, 3), (2, 3), (0, 3)]
    assert uneven.groups() == [(0, 1, 2), (0, 3), (1, 3), (2, 3)]

"""Owner maps: pure arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskasc.errors import ConfigurationError
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

"""Which card owns which chunk: pure arithmetic over chunk grids.

A grid of ``n`` chunks, numbered in C order, is cut into contiguous blocks, one a card::

    chunk      0   1   2   3   4   5   6   7   8   9
    3 cards   [0   0   0   0] [1   1   1] [2   2   2]

so neighbours stay together, equal grids have equal owners (elementwise work moves nothing), and
the blocks of two cards differ by at most one chunk. The boundaries are those of repeated halving
wherever the number of cards is a power of two: the blocks of 2, 4 and 8 cards are nodes of one
fixed binary tree, which is what lets sums keep their bits when the number of cards changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from daskasc.errors import ConfigurationError


def block_owner(index: int, size: int, cards: int) -> int:
    """Card that owns chunk `index` of a grid of `size` chunks.

    Parameters
    ----------
    index : int
        Position of the chunk in C order, ``0 <= index < size``.
    size : int
        Number of chunks of the grid.
    cards : int
        Number of cards.

    Returns
    -------
    int
        The owner, in ``range(cards)``; non-decreasing in `index`. A grid smaller than the number
        of cards is spread over them.

    Raises
    ------
    ConfigurationError
        `cards` is not positive.
    """
    if cards < 1:
        raise ConfigurationError(f"an owner map needs at least one card, got {cards}")
    return index * cards // size


def middle(low: int, high: int) -> int:
    """Where the fixed binary tree splits ``range(low, high)``; the first half is the larger."""
    return low + (high - low + 1) // 2


def cover(owners: Sequence[int], low: int = 0, high: int | None = None) -> Iterator[range]:
    """Largest nodes of the fixed binary tree whose leaves have one owner.

    Parameters
    ----------
    owners : sequence of int
        Owner of each leaf.
    low, high : int
        Part of the leaves to cover; all of them by default.

    Yields
    ------
    range
        Consecutive ranges of leaves that together cover ``range(low, high)``. With contiguous
        blocks of p cards over m leaves there are O(p log m) of them, and p where the block
        boundaries are tree nodes.
    """
    if high is None:
        high = len(owners)
    if high - low < 1:
        return
    if all(owner == owners[low] for owner in owners[low + 1 : high]):
        yield range(low, high)
        return
    split = middle(low, high)
    yield from cover(owners, low, split)
    yield from cover(owners, split, high)

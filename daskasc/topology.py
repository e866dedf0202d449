"""Which card owns which chunk: pure arithmetic over chunk grids.

A grid of ``n`` chunks, numbered in C order, is cut into contiguous blocks, one a card::

    chunk      0   1   2   3   4   5   6   7   8   9
    3 cards   [0   0   0   0] [1   1   1] [2   2   2]

so neighbours stay together, equal grids have equal owners (elementwise work moves nothing), and
the blocks of two cards differ by at most one chunk. The boundaries are those of repeated halving
wherever the number of cards is a power of two: the blocks of 2, 4 and 8 cards are nodes of one
fixed binary tree, which is what lets sums keep their bits when the number of cards changes.

Cards are in *servers*, and what crosses servers is slower than what stays in one. Blocks are given
to the cards server by server, whatever the cards' numbers are::

    chunk      0   1   2   3   4   5   6   7
    servers    a   b   a   b                     of the cards 0, 1, 2, 3
    owner     [0   0] [2   2] [1   1] [3   3]    server a: chunks 0 to 3, server b: 4 to 7

so neighbours are in one server first, and the blocks of a server, like those of a card, are
contiguous.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from daskasc.errors import ConfigurationError, PlacementError

# under which a worker tells the scheduler its server, where it does not go by its address
NODE = "daskasc-node"

# finds the card of a stored chunk; with the number of cards, one entry a scheduler in this process
Finder = Callable[[Hashable], int | None]
_residences: list[tuple[int, Finder]] = []
# tells the server of each card, or nothing; with the number of cards, as above
Surveyor = Callable[[], tuple[int, ...]]
_surveyors: list[tuple[int, Surveyor]] = []


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


def even_servers(cards: int, servers: int) -> tuple[int, ...]:
    """Server of each card where `servers` servers have equally many cards, numbered in turn.

    Raises
    ------
    ConfigurationError
        There are fewer cards than servers, or no server.
    """
    if not 1 <= servers <= cards:
        raise ConfigurationError(f"{servers} servers for {cards} cards; allowed: 1 to {cards}")
    return tuple(block_owner(card, cards, servers) for card in range(cards))


def server_order(servers: Sequence[int]) -> tuple[int, ...]:
    """Cards in the order in which they get blocks of chunks: server by server.

    Parameters
    ----------
    servers : sequence of int
        Server of each card.

    Returns
    -------
    tuple of int
        Cards; servers come in the order of their lowest cards, and cards of a server in their own.
        That is all cards in order where each server has consecutive ones.
    """
    first: dict[int, int] = {}
    for card, server in enumerate(servers):
        first.setdefault(server, card)
    return tuple(sorted(range(len(servers)), key=lambda card: (first[servers[card]], card)))


class Levels:
    """Who is together in a server, and who speaks for it: of cards, or of ranks of a group.

    In a collective in two levels a server's *leader* gets what the others in its server have, and
    sends what becomes of it to the owner. The leader has the place in its server that the owner
    has in its own, so owners lead their own servers, and the work of leading spreads with that of
    owning. The leaders of all servers are a *rail*::

        server 0   [0   1   2   3]        owner 2: leaders 2 and 6, rail (2, 6)
        server 1   [4   5   6   7]        owner 3: leaders 3 and 7, rail (3, 7)

    Parameters
    ----------
    servers : sequence of int
        Server of each member.
    """

    def __init__(self, servers: Sequence[int]) -> None:
        self.servers = tuple(servers)
        groups: dict[int, list[int]] = {}
        for member, server in enumerate(self.servers):
            groups.setdefault(server, []).append(member)
        self._groups = {server: tuple(members) for server, members in groups.items()}

    @property
    def several(self) -> bool:
        """Whether there are several servers, and one of them has several members."""
        return 1 < len(self._groups) < len(self.servers)

    def mates(self, member: int) -> tuple[int, ...]:
        """Members in the server of `member`, itself included."""
        return self._groups[self.servers[member]]

    def leader(self, member: int, owner: int) -> int:
        """Leader of the server of `member` where `owner` gets the result."""
        mates = self.mates(member)
        return mates[self.mates(owner).index(owner) % len(mates)]

    def rail(self, owner: int) -> tuple[int, ...]:
        """Leaders of all servers, ascending."""
        return tuple(sorted(self.leader(members[0], owner) for members in self._groups.values()))

    def groups(self) -> list[tuple[int, ...]]:
        """Members of each server, then those of each rail: each once, none with one member."""
        rails = sorted({self.rail(owner) for owner in range(len(self.servers))})
        found = dict.fromkeys([*self._groups.values(), *rails])
        return [members for members in found if len(members) > 1]


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


@dataclass(frozen=True)
class Placement:
    """Which card owns which chunk of an array, as a user asked for it.

    Parameters
    ----------
    how : {"block", "cyclic", "replicate", "explicit"}
        ``block``: contiguous blocks, ``cyclic``: in turn, ``replicate``: wherever it is needed,
        ``explicit``: as listed in `cards`.
    numblocks : tuple of int
        Shape of the chunk grid.
    axis : int, optional
        Count chunks along this axis instead of all in C order.
    cards : tuple of int
        Card of each chunk in C order, for ``explicit``.
    """

    how: str
    numblocks: tuple[int, ...]
    axis: int | None = None
    cards: tuple[int, ...] = ()

    def owner(
        self, index: Sequence[int], cards: int, order: Sequence[int] | None = None
    ) -> int | None:
        """Card of the chunk at grid position `index`; None where any card may have it.

        Parameters
        ----------
        index : sequence of int
            Position in the grid.
        cards : int
            Number of cards.
        order : sequence of int, optional
            Order in which cards get blocks, see :func:`server_order`.

        Raises
        ------
        PlacementError
            The chunk was given to a card that the plan does not have.
        """
        if self.how == "replicate":
            return None
        place, size = 0, math.prod(self.numblocks)
        if self.axis is not None:
            place, size = index[self.axis], self.numblocks[self.axis]
        else:
            for position, length in zip(index, self.numblocks, strict=True):
                place = place * length + position
        if self.how == "block":
            owner = block_owner(place, size, cards)
            return owner if order is None else order[owner]
        if self.how == "cyclic":
            return place % cards if order is None else order[place % cards]
        if self.cards[place] >= cards:
            raise PlacementError(
                f"chunk {tuple(index)} was placed on card {self.cards[place]}, but the plan has "
                f"cards 0 to {cards - 1}; place it on one of these, or use more cards"
            )
        return self.cards[place]


def add_residence(cards: int, find: Finder) -> None:
    """Let plans for `cards` cards ask `find` on which card a stored chunk lies."""
    _residences.append((cards, find))


def remove_residence(find: Finder) -> None:
    """Ask no more; does nothing where it was not added."""
    _residences[:] = [entry for entry in _residences if entry[1] != find]


def residence(key: Hashable, cards: int) -> int | None:
    """Card on which a stored chunk lies; None where that is not known in this process."""
    for known, find in _residences[:]:
        if known == cards and (card := find(key)) is not None:
            return card
    return None


def add_survey(cards: int, look: Surveyor) -> None:
    """Let plans for `cards` cards ask `look` which server each card is in."""
    _surveyors.append((cards, look))


def remove_survey(look: Surveyor) -> None:
    """Ask no more; does nothing where it was not added."""
    _surveyors[:] = [entry for entry in _surveyors if entry[1] != look]


def servers_of(cards: int) -> tuple[int, ...]:
    """Server of each card, numbered from 0; empty where that is not known in this process.

    Of several schedulers of this process with as many cards, the one that was started last answers,
    as the cluster opened last plans. Another answer costs time, but no value is wrong for it.
    """
    for known, look in reversed(_surveyors[:]):
        if known == cards and (found := look()):
            return found
    return ()

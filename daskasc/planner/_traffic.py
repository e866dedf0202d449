"""Bytes that a planned graph moves between cards, and between servers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dask._task_spec import Task
from dask.typing import Key

from daskasc.collectives import Cut, Gang, barrier
from daskasc.topology import Levels

if TYPE_CHECKING:
    from daskasc.planner._optimize import Planned


class Moved(NamedTuple):
    """Bytes that come to a card from others, and those of them that come from other servers."""

    cards: int
    servers: int


@dataclass(frozen=True)
class Collective:
    """Exchanges over the cards that one reduction, or rechunking, needs.

    Attributes
    ----------
    name : str
        Row of the table of reductions, or ``rechunk``.
    operation : str
        ``gather``, ``exchange``, or the reducing operation.
    count : int
        Number of exchanges: of a reduction one an output chunk, of a rechunked array one.
    nbytes : int
        Bytes that come to a card from others.
    between_servers : int
        Those of them that come from other servers.
    """

    name: str
    operation: str
    count: int
    nbytes: int
    between_servers: int = 0


def in_collectives(planned: Planned) -> tuple[Collective, ...]:
    """Exchanges over the cards, summed up by reduction and operation."""
    counts: Counter[tuple[str, str]] = Counter()
    cards: Counter[tuple[str, str]] = Counter()
    servers: Counter[tuple[str, str]] = Counter()
    for node in planned.graph.values():
        if isinstance(node, Task) and node.func is barrier:
            gang: Gang = node.args[0]
            which = (gang.id.rpartition("-")[0], gang.op)
            moved = _crossing(planned, gang)
            counts[which] += 1
            cards[which] += moved.cards
            servers[which] += moved.servers
    return tuple(
        Collective(name, op, count, cards[name, op], servers[name, op])
        for (name, op), count in sorted(counts.items())
    )


def _servers(planned: Planned) -> Sequence[int]:
    """Server of each card; all in one where nothing is known of them."""
    return planned.planner.servers or (0,) * planned.planner.cards


def _crossing(planned: Planned, gang: Gang) -> Moved:
    """Bytes that a collective brings to other cards."""
    servers = _servers(planned)
    if gang.op == "exchange":
        return _exchanged(planned, gang, servers)
    home = servers[gang.owner]
    sizes = [planned.estimate.size(partial).nbytes or 0 for partial in gang.partial_keys]
    if gang.servers:
        return _in_two_levels(planned, gang, sizes)
    moved = across = 0
    for card, size in zip(gang.members, sizes, strict=True):
        if card != gang.owner:
            moved += size
            across += size if servers[card] != home else 0
    return Moved(moved, across)


def _in_two_levels(planned: Planned, gang: Gang, sizes: list[int]) -> Moved:
    """All but the leaders' partials stay in their servers; each other server sends what it made."""
    levels = Levels(_servers(planned))
    near = sum(
        size
        for card, size in zip(gang.members, sizes, strict=True)
        if levels.leader(card, gang.owner) != card
    )
    if gang.merge is not None:
        made = planned.estimate.contributions(gang)
    else:
        made = dict.fromkeys(gang.servers, max(sizes))
    home = gang.servers[gang.members.index(gang.owner)]
    far = sum(size for server, size in made.items() if server != home)
    return Moved(near + far, far)


def _exchanged(planned: Planned, gang: Gang, servers: Sequence[int]) -> Moved:
    moved = across = 0
    for card, partial in zip(gang.members, gang.partial_keys, strict=True):
        task = planned.graph[partial]
        if isinstance(task, Task):
            cut: Cut = task.args[0]
            moved += cut.nbytes - cut.own
            across += sum(
                size
                for other, size in zip(gang.members, cut.sizes, strict=True)
                if servers[other] != servers[card]
            )
    return Moved(moved, across)


def moved_outside(planned: Planned) -> Moved:
    """Bytes that travel outside collectives, each value once a card."""
    size, servers = planned.estimate.size, _servers(planned)
    copies: set[tuple[Key, int]] = set()
    moved = across = 0
    for key, node in planned.graph.items():
        card = planned.owners.get(key)
        shares: defaultdict[int, int] = defaultdict(int)
        for dependency in node.dependencies:
            owner = planned.owners.get(dependency)
            if owner is None or owner == card:
                continue
            if card is None:
                shares[owner] += size(dependency).on_card
            else:
                copies.add((dependency, card))
        if shares:
            # what no card owns runs where most of its arguments lie
            most = max(shares, key=lambda owner: shares[owner])
            moved += sum(shares.values()) - shares[most]
            across += sum(n for owner, n in shares.items() if servers[owner] != servers[most])
    for key, card in copies:
        moved += size(key).on_card
        across += size(key).on_card if servers[planned.owners[key]] != servers[card] else 0
    return Moved(moved, across)

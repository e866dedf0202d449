"""Most memory that a planned graph can take on each card, whatever the timing.

A card lets tasks in by rank (``daskasc.planner.in-flight``), so at any time there is a lowest
unfinished rank, number *i* of the card's ranks, and only tasks of ranks *i* to *i + f - 1* can have
run beyond those before. Nothing else is certain: the worker may be ahead of the scheduler, which
frees a value only once it has heard of all its users. So a value counts

- from the first *i* at which its maker may run, or at which a user on this card may fetch it from
  another one,
- to the first *i* at which all its users have surely run: users on this card by their rank, users
  elsewhere by what on this card depends on them,

and wanted results to the end. The card's one thread adds the scratch of one task that may run::

    i            0    1    2    3    4          f = 2
    chunk 0     |=========|                     made in 0, last user in 0: counts while i < 1
    chunk 1     |==============|                may be there while i = 0
    chunk 2          |=============|
    result      |================================

Chunks that lie on a card already when the graph arrives count from the beginning to their last use.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

import numpy as np
from dask._task_spec import Alias, GraphNode, Task
from dask.typing import Key

from daskasc.planner._bundles import chunks_in, is_bundle
from daskasc.planner._combine import gather_nodes
from daskasc.planner._sizes import Size
from daskasc.planner._stream import outcome
from daskasc.planner._work import Work, target

Series = np.ndarray[tuple[int], np.dtype[np.int64]]
# blocks of memory in a value of several arrays, such as the partials of a variance, and in the
# scratch of a task: for rounding, so a few more or less do not matter
_BLOCKS = 4
_SCRATCH_BLOCKS = 8


@dataclass(frozen=True)
class Peak:
    """Memory of one card, in bytes.

    Attributes
    ----------
    card : int
        Number of the card.
    stored : int
        Most bytes of results that wait for their users or are wanted.
    total : int
        Most bytes with the scratch of the task that runs.
    need : int
        Most bytes of one task: arguments, scratch and result.
    host : int
        Most bytes of results and scratch in the worker's host memory.
    """

    card: int
    stored: int
    total: int
    need: int
    host: int

    def limited(self, limit: int | None) -> int:
        """Most bytes on the card where stored results give way above `limit` bytes."""
        if limit is None or self.stored <= limit:
            return self.total
        return min(self.total, limit + self.need)


def _holders(node: GraphNode, work: Work) -> Iterable[Key]:
    """Dependencies whose memory a task's result lies in, if it lies in no other."""
    if isinstance(node, Alias):
        return node.dependencies
    if not isinstance(node, Task):
        return ()
    if node.func is gather_nodes or node.func is outcome:
        return node.dependencies
    return () if work.view is None else (target(node.args[work.view]),)


class _Books:
    """Values and scratch over the positions of one card."""

    def __init__(self, positions: int) -> None:
        self.positions = positions
        self._change = np.zeros(positions + 1, np.int64)
        self._scratch = np.zeros(positions, np.int64)

    def hold(self, start: int, end: float, nbytes: int) -> None:
        if nbytes and end > start:
            self._change[start] += nbytes
            self._change[int(min(end, self.positions))] -= nbytes

    def run(self, start: int, end: float, nbytes: int) -> None:
        part = self._scratch[start : int(min(end, self.positions))]
        np.maximum(part, nbytes, out=part)

    def stored(self) -> Series:
        return np.cumsum(self._change[:-1])

    def total(self) -> Series:
        return self.stored() + self._scratch


class Projection:
    """Peaks of a planned graph.

    Parameters
    ----------
    graph : mapping
        The planned graph.
    users : mapping
        For each key the keys of the tasks that use it.
    owners, ranks : mapping
        Card of each pinned task; rank of each task.
    gangs : set
        Tasks of collectives, which do not wait for their rank.
    outputs : set
        Wanted keys.
    work, inputs : mapping
        What each task makes and needs; sizes of data that are there already, as
        :class:`~daskasc.planner._work.Estimate` finds them.
    cards, in_flight : int
        Number of cards; ranks that a card works on at a time.
    padding : int
        Bytes by which the cards' allocator may round up a block.
    """

    def __init__(
        self,
        graph: Mapping[Key, GraphNode],
        users: Mapping[Key, Set[Key]],
        owners: Mapping[Key, int],
        ranks: Mapping[Key, float],
        gangs: Set[Key],
        outputs: Set[Key],
        estimate: tuple[Mapping[Key, Work], Mapping[Key, Size]],
        cards: int,
        in_flight: int,
        padding: int = 0,
    ) -> None:
        self._graph, self._users, self._owners, self._ranks = graph, users, owners, ranks
        self._gangs, self._outputs, self._work = gangs, outputs, estimate[0]
        self._present = estimate[1]
        self._cards, self._in_flight, self._padding = cards, in_flight, padding
        self._places = self._rank_places()
        self._done: dict[tuple[int, Key], float] = {}
        self._first = self._first_uses()

    def peaks(self) -> list[Peak]:
        """Peaks of all cards."""
        card_books = [_Books(len(places) + 1) for places in self._places]
        host_books = [_Books(len(places) + 1) for places in self._places]
        need = [0] * self._cards
        for key, work in self._work.items():
            self._place(key, work, card_books, host_books, need)
        for key in self._present:
            self._place_present(key, card_books)
        return [
            Peak(
                card,
                int(books.stored().max()),
                int(books.total().max()),
                need[card],
                int(host_books[card].total().max()),
            )
            for card, books in enumerate(card_books)
        ]

    # -- positions ---------------------------------------------------------------------------

    def _watched(self, key: Key) -> bool:
        return key in self._owners and key not in self._gangs

    def _rank_places(self) -> list[list[float]]:
        found: list[set[float]] = [set() for _ in range(self._cards)]
        for key, card in self._owners.items():
            if key in self._graph and self._watched(key):
                found[card].add(self._ranks[key])
        return [sorted(ranks) for ranks in found]

    def _position(self, card: int, key: Key) -> int:
        """Number of a task's rank among those of a card; a rank in between counts as the lower."""
        places = self._places[card]
        return max(0, bisect.bisect_right(places, self._ranks[key]) - 1)

    def _first_uses(self) -> dict[Key, dict[int, int]]:
        """For each value and card the position of its first direct user there, plus 1."""
        found: dict[Key, dict[int, int]] = {}
        for key in self._graph:
            if not self._watched(key):
                continue
            card = self._owners[key]
            after = self._position(card, key) + 1
            for dependency in self._graph[key].dependencies:
                by_card = found.setdefault(dependency, {})
                by_card[card] = min(after, by_card.get(card, after))
        return found

    def _done_at(self, card: int, key: Key) -> float:
        """Position of `card` from which on a task has surely run; infinity if there is none."""
        if self._watched(key) and self._owners[key] == card:
            return self._position(card, key) + 1
        direct = self._first.get(key, {}).get(card)
        if direct is not None:
            return direct
        stack = [key]
        while stack:
            now = stack[-1]
            if (card, now) in self._done:
                stack.pop()
                continue
            best, waits = math.inf, False
            for user in self._users.get(now, ()):
                known = self._known_done(card, user)
                if known is None:
                    stack.append(user)
                    waits = True
                else:
                    best = min(best, known)
            if not waits:
                self._done[card, now] = best
                stack.pop()
        return self._done[card, key]

    def _known_done(self, card: int, key: Key) -> float | None:
        if self._watched(key) and self._owners[key] == card:
            return self._position(card, key) + 1
        direct = self._first.get(key, {}).get(card)
        return direct if direct is not None else self._done.get((card, key))

    # -- values ------------------------------------------------------------------------------

    def _start(self, card: int, key: Key) -> int:
        return max(0, self._position(card, key) - self._in_flight + 1)

    def _released(self, card: int, key: Key) -> float:
        if key in self._outputs:
            return math.inf
        ends = [0.0]
        for user in self._users.get(key, ()):
            shared = self._owners.get(user) == card and key in self._refers(user)
            ends.append(self._released(card, user) if shared else self._done_at(card, user))
        return max(ends)

    def _refers(self, key: Key) -> Iterable[Key]:
        return _holders(self._graph[key], self._work[key])

    def _place(
        self,
        key: Key,
        work: Work,
        card_books: list[_Books],
        host_books: list[_Books],
        need: list[int],
    ) -> None:
        owner = self._owners.get(key)
        # a task that no card owns may run on any, once all its arguments are there
        homes = range(self._cards) if owner is None else (owner,)
        arguments = sum(self._bytes(dependency) for dependency in self._graph[key].dependencies)
        out = work.out
        size, host_size = self._allocated(out.kept_on_card, out), out.on_host
        holders = self._refers(key)
        if owner is not None and holders and all(one in self._work for one in holders):
            size = 0  # theirs, or that of the copies of them
        for card in homes:
            end = self._positions(card) if owner is None else self._position(card, key) + 1
            start = self._start(card, key) if owner is not None else self._positions(card) - 1
            ends = max(float(end), self._released(card, key)) if owner is not None else math.inf
            card_books[card].hold(start, ends, size)
            host_books[card].hold(start, ends, host_size)
            if key in self._gangs:
                end = int(min(self._positions(card), self._done_at(card, key)))
            scratch = work.scratch + self._padding * self._blocks(key) if work.scratch else 0
            card_books[card].run(start, max(end, start + 1), scratch)
            host_books[card].run(start, max(end, start + 1), max(0, work.host - host_size))
            need[card] = max(need[card], arguments + max(work.peak, size))
        if out.on_card:
            self._place_copies(key, self._allocated(out.on_card, out), owner, card_books)

    def _blocks(self, key: Key) -> int:
        """Blocks of memory in the scratch of a task: joined pieces, partials that wait."""
        node = self._graph[key]
        pieces = len(node.dependencies)
        waiting = chunks_in(node).bit_length() if is_bundle(node) else 0
        return _SCRATCH_BLOCKS + pieces + waiting * _BLOCKS * _BLOCKS

    def _place_copies(
        self, key: Key, nbytes: int, owner: int | None, card_books: list[_Books]
    ) -> None:
        """Copies on the cards whose tasks fetch a value from another one."""
        starts: dict[int, int] = {}
        for user in self._users.get(key, ()):
            card = self._owners.get(user)
            for home in range(self._cards) if card is None else (card,):
                if home != owner:
                    start = self._positions(home) - 1 if card is None else self._start(home, user)
                    starts[home] = min(start, starts.get(home, start))
        for card, start in starts.items():
            card_books[card].hold(start, max(start + 1.0, self._released(card, key)), nbytes)

    def _place_present(self, key: Key, card_books: list[_Books]) -> None:
        size = self._present[key]
        nbytes = self._allocated(size.kept_on_card, size)
        users = [user for user in self._users.get(key, ()) if user in self._owners]
        for card in {self._owners[user] for user in users}:
            # its other holders are outside this graph
            card_books[card].hold(0, math.inf, nbytes)

    def _positions(self, card: int) -> int:
        return len(self._places[card]) + 1

    def _size(self, key: Key) -> Size | None:
        return self._work[key].out if key in self._work else self._present.get(key)

    def _bytes(self, key: Key) -> int:
        size = self._size(key)
        return 0 if size is None else size.kept_on_card

    def _allocated(self, nbytes: int, size: Size) -> int:
        """Bytes of a value of some size, or of what it keeps, as the allocator counts them."""
        if not nbytes:
            return 0
        blocks = _BLOCKS if size.shape is None else 1
        return nbytes + blocks * self._padding

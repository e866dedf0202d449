"""How many chunks a card works on at a time: the decisions behind ``chunk_placement``.

A planned graph gives every task a card and a *rank*; ranks never fall along an edge. Tasks pinned
to a worker are all sent to it at once, and while the scheduler hears of a finished read the worker
goes on with the next reads, until all chunks lie in its memory. So the tasks that *begin* a rank
(all their inputs have lower ranks) are held back::

    ranks of a card     0.0   0.1   0.2   0.3   0.4 ...
                       |-- open: in_flight --|  held: their beginnings wait
    all of 0.0 done           |------ open ------|

The lowest unfinished rank of all cards is always open, and nothing that it needs is held, so the
graph always moves on. No task gets an input that it would not have otherwise: a task that fails
takes along what depends on it and nothing else.
"""

from __future__ import annotations

import bisect
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

Key = Hashable


@dataclass
class _Card:
    ranks: list[float]
    unfinished: list[set[Key]]
    begins: list[list[Key]]
    opened: int  # number of open ranks
    first: int = field(default=0)  # lowest unfinished one


class Window:
    """The chunks of one graph that are in flight, card by card.

    Parameters
    ----------
    in_flight : int
        Ranks that a card has open at a time, at least 1.
    cards, ranks : mapping
        Card and rank of each task; tasks of collectives, which wait for other cards, left out.
    inputs : mapping
        Keys that each task needs; others than those in `cards` are ignored.
    """

    def __init__(
        self,
        in_flight: int,
        cards: Mapping[Key, int],
        ranks: Mapping[Key, float],
        inputs: Mapping[Key, Iterable[Key]],
    ) -> None:
        self._in_flight = in_flight
        self._place: dict[Key, tuple[int, int]] = {}
        self._cards: dict[int, _Card] = {}
        found: dict[int, set[float]] = {}
        for key, card in cards.items():
            found.setdefault(card, set()).add(ranks[key])
        for card, numbers in found.items():
            order = sorted(numbers)
            self._cards[card] = _Card(
                order, [set() for _ in order], [[] for _ in order], min(in_flight, len(order))
            )
        for key, card in cards.items():
            state = self._cards[card]
            index = bisect.bisect_left(state.ranks, ranks[key])
            self._place[key] = (card, index)
            state.unfinished[index].add(key)
            if all(ranks[i] < ranks[key] for i in inputs[key] if i in cards):
                state.begins[index].append(key)

    def held(self) -> set[Key]:
        """Tasks that have to wait now."""
        return {
            key
            for state in self._cards.values()
            for keys in state.begins[state.opened :]
            for key in keys
        }

    @property
    def open(self) -> bool:
        """Whether nothing waits any more."""
        return all(state.opened == len(state.ranks) for state in self._cards.values())

    def waiting_cards(self) -> list[int]:
        """Cards that have something to open."""
        return [c for c, state in self._cards.items() if state.opened < len(state.ranks)]

    def finished(self, key: Key) -> list[Key]:
        """A task is done, failed or not needed any more; returns the tasks to let go."""
        card, index = self._place[key]
        state = self._cards[card]
        state.unfinished[index].discard(key)
        while state.first < len(state.ranks) and not state.unfinished[state.first]:
            state.first += 1
        return self._open(state, state.first + self._in_flight)

    def push(self, card: int) -> list[Key]:
        """Open one more rank of a card, whatever is unfinished; returns the tasks to let go."""
        state = self._cards[card]
        return self._open(state, state.opened + 1)

    def _open(self, state: _Card, until: int) -> list[Key]:
        until = min(until, len(state.ranks))
        if until <= state.opened:
            return []
        keys = [key for begins in state.begins[state.opened : until] for key in begins]
        state.opened = until
        return keys

    def keys(self) -> Iterable[Key]:
        """All tasks that the window watches."""
        return self._place.keys()

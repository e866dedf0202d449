"""Who is to blame when a worker dies: what was there runs again one task at a time.

A task pinned to a card is sent to its worker before the worker can run it. When that dies, the
scheduler suspects every task that it had, and fails those that were with more than
``distributed.scheduler.allowed-failures`` dead workers. So one task that always kills its worker
would take its neighbours along, those of other users too. After a death the card's suspects are
held back and let in one after the other, by priority. The next death then has one suspect. What a
suspect needs, directly or not, is never held back, on any card: so the one whose turn it is always
gets there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

Key = Hashable


class Suspects:
    """Tasks that wait for their turn, card by card."""

    def __init__(self) -> None:
        self._queues: dict[int, list[Key]] = {}
        self._card: dict[Key, int] = {}

    def holds(self, key: Key) -> bool:
        """Whether a task has to wait."""
        card = self._card.get(key)
        return card is not None and self._queues[card][0] != key

    def replace(self, queues: Mapping[int, Sequence[Key]]) -> list[Key]:
        """Take suspects by card and priority in the place of all known; returns those let go."""
        held = [key for key in self._card if self.holds(key)]
        self._queues = {card: list(queue) for card, queue in queues.items() if queue}
        self._card = {key: card for card, queue in self._queues.items() for key in queue}
        return [key for key in held if not self.holds(key)]

    def finished(self, key: Key) -> Key | None:
        """A task is done, failed or not needed any more; returns the one whose turn it is now."""
        card = self._card.pop(key, None)
        if card is None:
            return None
        queue = self._queues[card]
        first = queue[0] == key
        queue.remove(key)
        if not queue:
            del self._queues[card]
            return None
        return queue[0] if first else None

    def clear(self) -> None:
        """Forget everything."""
        self._queues.clear()
        self._card.clear()

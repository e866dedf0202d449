"""Who is to blame when a worker dies: what was there runs again one task at a time.

A task pinned to a card is sent to its worker before the worker can run it. When that dies, the
scheduler suspects every task that it had, and fails those that were with more than
``distributed.scheduler.allowed-failures`` dead workers. So one task that always kills its worker
would take its neighbours along, those of other users too. After a death the card's suspects are
held back and let in one after the other, by priority: no task waits for one that comes after it.
The next death then has one suspect.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

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

    def set(self, card: int, keys: Iterable[Key]) -> None:
        """Take the suspects of a card, by priority, in the place of those known of it."""
        for key in self._queues.pop(card, ()):
            del self._card[key]
        queue = list(keys)
        if queue:
            self._queues[card] = queue
            self._card.update(dict.fromkeys(queue, card))

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

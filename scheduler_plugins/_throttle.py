"""Holds back the tasks that :mod:`scheduler_plugins._window` says have to wait.

A held task is pinned to an address that no worker has, so the scheduler keeps it aside; letting it
go pins it to its card. Should a card sit idle although it has something to open (a task was dropped
in a way that this module did not see), a timer opens the next rank: a window may cost memory,
never the end of a computation.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from scheduler_plugins._window import Window

Key = Hashable

_TICK = 0.5
_IDLE_TICKS = 2


class Throttle:
    """The windows of all graphs that run.

    Parameters
    ----------
    release : callable
        Called in the event loop, outside of any transition, with keys to let go.
    idle : callable
        Whether the worker of a card has nothing to run.
    """

    def __init__(self, release: Callable[[list[Key]], None], idle: Callable[[int], bool]) -> None:
        self._release = release
        self._idle = idle
        self._windows: list[Window] = []
        self._watch: dict[Key, list[Window]] = {}
        self._held: set[Key] = set()
        self._idle_ticks: Counter[tuple[int, int]] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def holds(self, key: Key) -> bool:
        """Whether a task has to wait."""
        return key in self._held

    def add(self, window: Window, fresh: Iterable[Key], over: Iterable[Key]) -> None:
        """Take in a graph.

        Parameters
        ----------
        window : Window
            The graph's chunks.
        fresh : iterable of Key
            Tasks that are new to the scheduler; no others are held.
        over : iterable of Key
            Tasks that are finished already.
        """
        for key in window.keys():
            self._watch.setdefault(key, []).append(window)
        self._windows.append(window)
        self._held |= window.held() & set(fresh)
        self._let_go([key for done in over for key in self._finish(done)])
        self._set_timer()

    def finished(self, key: Key) -> None:
        """A task is done, failed or not needed any more."""
        if key in self._watch:
            self._let_go(self._finish(key))

    def clear(self) -> None:
        """Forget everything."""
        self._windows.clear()
        self._watch.clear()
        self._held.clear()
        self._idle_ticks.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _finish(self, key: Key) -> list[Key]:
        return [k for window in self._watch.pop(key, ()) for k in window.finished(key)]

    def _let_go(self, keys: list[Key]) -> None:
        free = [key for key in keys if key in self._held]
        self._held.difference_update(free)
        if free:
            # a hook of the scheduler runs in the midst of a transition
            asyncio.get_running_loop().call_soon(self._release, free)

    def _set_timer(self) -> None:
        self._windows = [window for window in self._windows if not window.open]
        if self._windows and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_TICK, self._tick)

    def _tick(self) -> None:
        self._timer = None
        for window in self._windows:
            for card in window.waiting_cards():
                place = (id(window), card)
                self._idle_ticks[place] = self._idle_ticks[place] + 1 if self._idle(card) else 0
                if self._idle_ticks[place] >= _IDLE_TICKS:
                    self._let_go(window.push(card))
        if not self._windows:
            self._idle_ticks.clear()
        self._set_timer()

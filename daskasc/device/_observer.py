"""Who is told of calls and copies while they run: nobody, or the recorder of active profiles.

``active`` is None nearly always. Sites on the general path test it and go their plain way; the
operators' fast tables are emptied and stay empty while somebody observes, so that operators take
the slow way, which tests it. The plain way and the observed one run the same code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Observer(Protocol):
    """What an observer is told; called in the thread that does the work."""

    def run(self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return ``function(*args, **kwargs)``, noting it as a call of `name`."""

    def moved(self, counter: str, n: int) -> None:
        """Note that `n` was added to a counter of ``device.counters``."""

    def fell_back(self, name: str, nbytes: int) -> None:
        """Note that `name` is computed on the host, with `nbytes` brought down for it."""

    def converted(self, reason: str, nbytes: int) -> None:
        """Note a copy of `nbytes` that the program did not ask for."""


active: Observer | None = None
_listeners: list[Callable[[], None]] = []


def install(who: Observer | None) -> None:
    """Let `who` be told from now on; None: nobody."""
    global active
    active = who
    for listener in _listeners:
        listener()


def on_install(listener: Callable[[], None]) -> None:
    """Call `listener` after each :func:`install`: for tables of what goes unobserved."""
    _listeners.append(listener)


def observed(name: str) -> Callable[[F], F]:
    """Let a function's calls be seen under `name`."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            who = active
            if who is None:
                return function(*args, **kwargs)
            return who.run(name, function, args, kwargs)

        return cast(F, wrapper)

    return decorate

"""A copy from a card to the host that is under way, and the pieces in which copies are made.

A card's copies run in the order of its stream, behind the work that was queued before them and
ahead of what is queued after. A :class:`Transfer` therefore waits for one event, recorded right
behind its copy, and never for the whole stream or device.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np


class Event(Protocol):
    """What is used of ``torch.npu.Event`` and ``torch.cuda.Event``."""

    def record(self) -> None:
        """Mark the end of what the calling thread's stream has been given."""
        ...

    def query(self) -> bool:
        """Whether everything before the event is done."""
        ...

    def synchronize(self) -> None:
        """Wait for everything before the event."""
        ...


class Transfer:
    """A copy of an array's elements into host memory, possibly still under way.

    Parameters
    ----------
    array : ndarray
        Where the elements arrive.
    event : Event, optional
        Done when the card has copied; None if it has already.
    arrive : callable, optional
        Called once after the event, to move the elements from a staging buffer into `array`.
    abandon : callable, optional
        Called instead of `arrive` if the transfer is given up before that.

    Notes
    -----
    Any thread may wait, several at once too. A transfer that is given up (nothing refers to it)
    leaves an `out` array unfilled or partly filled.
    """

    __slots__ = ("__weakref__", "_abandon", "_array", "_arrive", "_event", "_lock")

    def __init__(
        self,
        array: np.ndarray[Any, Any],
        event: Event | None = None,
        arrive: Callable[[], None] | None = None,
        abandon: Callable[[], None] | None = None,
    ) -> None:
        self._array = array
        self._event = event
        self._arrive = arrive
        self._abandon = abandon
        self._lock = threading.Lock()

    def done(self) -> bool:
        """Whether the card has copied the elements; does not wait."""
        event = self._event
        return event is None or bool(event.query())

    def synchronize(self) -> None:
        """Wait until the elements are in the host array."""
        with self._lock:
            if self._event is not None:
                self._event.synchronize()
            if self._arrive is not None:
                self._arrive()
            self._event = self._arrive = self._abandon = None

    def result(self) -> np.ndarray[Any, Any]:
        """Wait, and return the host array."""
        self.synchronize()
        return self._array

    def __del__(self) -> None:
        # at interpreter exit the driver may be half gone
        with contextlib.suppress(Exception):
            if self._abandon is not None:
                self._abandon()

    def __repr__(self) -> str:
        state = "done" if self.done() else "under way"
        return f"<Transfer of {self._array.nbytes} bytes, {state}>"


def pieces(shape: tuple[int, ...], most: int) -> Iterator[tuple[Any, ...]]:
    """Indices that cut an array of `shape` into blocks of at most `most` elements, in C order.

    A block is whole along its last axes, so a block of a contiguous array is contiguous. Each index
    ends with an Ellipsis, so that it gives a view of a 0-d array too.
    """
    if not math.prod(shape):
        return
    axis = 0  # the first axis that is whole in a block, but for the one before it
    while axis < len(shape) and math.prod(shape[axis:]) > most:
        axis += 1
    if not axis:
        yield (...,)
        return
    rows = max(most // math.prod(shape[axis:]), 1)
    outer = [range(0, n) for n in shape[: axis - 1]]
    for place in itertools.product(*outer):
        for start in range(0, shape[axis - 1], rows):
            yield (*(slice(i, i + 1) for i in place), slice(start, start + rows), ...)

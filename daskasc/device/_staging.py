"""Pooled host buffers between storage and card.

A first touch of fresh pages costs more than decoding into them, so buffers are kept and reused.
Sizes are rounded up to a class (quarters of a power of two: at most 25 % waste). Buffers in use
belong to their taker; idle ones are kept up to ``daskasc.memory.staging`` bytes in total, and a
buffer that would go over it is freed. On npu and cuda the memory is pinned, which makes copies
to the card run at the bus's speed, and lets them run behind the caller.

A buffer that a copy still reads or writes comes back with an event. It is idle, but nobody gets
it, and its memory is not freed, before that event is done: a taker prefers a buffer that is done,
then a new one while the pool's limit allows, and otherwise waits for the oldest::

    lend -> copy queued, event recorded -> release(event) -> event done -> next taker
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from daskasc import config
from daskasc.device import _state
from daskasc.device._transfer import Event

_SMALLEST = 4096


def size_class(nbytes: int) -> int:
    """Bytes that a buffer for `nbytes` really has."""
    if nbytes <= _SMALLEST:
        return _SMALLEST
    step = 1 << max((nbytes - 1).bit_length() - 3, 0)
    return -(-nbytes // step) * step


class Loan:
    """A buffer lent by a pool until :meth:`release`.

    Attributes
    ----------
    buffer : ndarray of uint8
        Writable, of the size asked for; its contents are arbitrary.
    """

    __slots__ = ("_pinned", "_pool", "_whole", "buffer")

    def __init__(
        self, pool: StagingPool, whole: np.ndarray[Any, Any], pinned: bool, nbytes: int
    ) -> None:
        self._pool: StagingPool | None = pool
        self._whole = whole
        self._pinned = pinned
        self.buffer = whole[:nbytes]

    def release(self, event: Event | None = None) -> None:
        """Give the buffer back; the next taker gets it when `event` is done. Once only."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool._give_back(self._whole, self._pinned, event)

    def abandon(self, event: Event | None) -> None:
        """As :meth:`release`, from a finalizer: takes no lock, which its thread may hold."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool._abandoned.append((self._whole, self._pinned, event))


class StagingPool:
    """Reusable host buffers; see the module's description. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._abandoned: deque[tuple[np.ndarray[Any, Any], bool, Event | None]] = deque()
        # oldest first; an event is None where no copy is under way
        self._idle: dict[tuple[int, bool], list[tuple[np.ndarray[Any, Any], Event | None]]] = {}
        self._idle_bytes = 0

    @property
    def idle_bytes(self) -> int:
        """Bytes held for reuse."""
        self._collect()
        return self._idle_bytes

    def lend(self, nbytes: int) -> Loan:
        """Lend a buffer of `nbytes` until its ``release``; may wait for a copy under way."""
        if nbytes < 0:
            raise ValueError(f"nbytes is {nbytes}; allowed: 0 and more")
        self._collect()
        backend = _state.attached()
        pinned = backend is not None and backend.pins_memory
        size = size_class(nbytes)
        buffer = self._reuse(size, pinned)
        if buffer is None:
            buffer = backend.host_buffer(size) if backend else np.empty(size, np.uint8)
        return Loan(self, buffer, pinned, nbytes)

    @contextlib.contextmanager
    def take(self, nbytes: int) -> Iterator[np.ndarray[Any, Any]]:
        """Lend a writable uint8 array of `nbytes`; its contents are arbitrary.

        The array must not be used after the block: it is handed to the next taker.
        """
        loan = self.lend(nbytes)
        try:
            yield loan.buffer
        finally:
            loan.release()

    def clear(self) -> None:
        """Free all idle buffers; waits for the copies that use them."""
        self._collect()
        with self._lock:
            entries = [entry for entries in self._idle.values() for entry in entries]
            self._idle.clear()
            self._idle_bytes = 0
        for _, event in entries:
            _wait(event)

    def _collect(self) -> None:
        """Take back what finalizers gave up."""
        while True:
            try:
                loan = self._abandoned.popleft()
            except IndexError:
                return
            self._give_back(*loan)

    def _reuse(self, size: int, pinned: bool) -> np.ndarray[Any, Any] | None:
        limit = config.staging_bytes()
        with self._lock:
            idle = self._idle.get((size, pinned))
            if not idle:
                return None
            chosen = next((i for i, (_, event) in enumerate(idle) if _is_done(event)), None)
            if chosen is None and self._idle_bytes + size <= limit:
                return None
            buffer, event = idle.pop(chosen or 0)
            self._idle_bytes -= size
        try:
            _wait(event)
        except BaseException:
            self._give_back(buffer, pinned, event)
            raise
        return buffer

    def _give_back(
        self, buffer: np.ndarray[Any, Any], pinned: bool, event: Event | None = None
    ) -> None:
        limit = config.staging_bytes()
        dropped: list[tuple[np.ndarray[Any, Any], Event | None]] = []
        with self._lock:
            # room is made by dropping the other sizes first: those are the ones not in use now
            others = [key for key in self._idle if key != (buffer.nbytes, pinned)]
            for key in others if buffer.nbytes <= limit else ():
                while self._idle_bytes + buffer.nbytes > limit and self._idle[key]:
                    dropped.append(self._idle[key].pop())
                    self._idle_bytes -= key[0]
                if not self._idle[key]:
                    del self._idle[key]
            if self._idle_bytes + buffer.nbytes <= limit:
                self._idle.setdefault((buffer.nbytes, pinned), []).append((buffer, event))
                self._idle_bytes += buffer.nbytes
            else:
                dropped.append((buffer, event))
        for _, pending in dropped:
            _wait(pending)


def _is_done(event: Event | None) -> bool:
    return event is None or bool(event.query())


def _wait(event: Event | None) -> None:
    if event is not None:
        event.synchronize()


staging = StagingPool()

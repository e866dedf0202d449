"""Pooled host buffers between storage and card.

A first touch of fresh pages costs more than decoding into them, so buffers are kept and reused.
Sizes are rounded up to a class (quarters of a power of two: at most 25 % waste). Buffers in use
belong to their taker; idle ones are kept up to ``daskasc.memory.staging`` bytes in total, and a
buffer that would go over it is freed. On npu and cuda the memory is pinned, which makes copies
to the card run at the bus's speed.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from daskasc import config
from daskasc.device import _state

_SMALLEST = 4096


def size_class(nbytes: int) -> int:
    """Bytes that a buffer for `nbytes` really has."""
    if nbytes <= _SMALLEST:
        return _SMALLEST
    step = 1 << max((nbytes - 1).bit_length() - 3, 0)
    return -(-nbytes // step) * step


class StagingPool:
    """Reusable host buffers; see the module's description. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[int, bool], list[np.ndarray[Any, Any]]] = {}
        self._idle_bytes = 0

    @property
    def idle_bytes(self) -> int:
        """Bytes held for reuse."""
        return self._idle_bytes

    @contextlib.contextmanager
    def take(self, nbytes: int) -> Iterator[np.ndarray[Any, Any]]:
        """Lend a writable uint8 array of `nbytes`; its contents are arbitrary.

        The array must not be used after the block: it is handed to the next taker.
        """
        if nbytes < 0:
            raise ValueError(f"nbytes is {nbytes}; allowed: 0 and more")
        backend = _state.attached()
        pinned = backend is not None and backend.pins_memory
        size = size_class(nbytes)
        buffer = self._reuse(size, pinned)
        if buffer is None:
            buffer = backend.host_buffer(size) if backend else np.empty(size, np.uint8)
        try:
            yield buffer[:nbytes]
        finally:
            self._give_back(buffer, pinned)

    def clear(self) -> None:
        """Free all idle buffers."""
        with self._lock:
            self._idle.clear()
            self._idle_bytes = 0

    def _reuse(self, size: int, pinned: bool) -> np.ndarray[Any, Any] | None:
        with self._lock:
            idle = self._idle.get((size, pinned))
            if not idle:
                return None
            self._idle_bytes -= size
            return idle.pop()

    def _give_back(self, buffer: np.ndarray[Any, Any], pinned: bool) -> None:
        limit = config.staging_bytes()
        with self._lock:
            if buffer.nbytes > limit:
                return
            # room is made by dropping the other sizes first: those are the ones not in use now
            for key in [key for key in self._idle if key != (buffer.nbytes, pinned)]:
                while self._idle_bytes + buffer.nbytes > limit and self._idle[key]:
                    self._idle_bytes -= self._idle[key].pop().nbytes
                if not self._idle[key]:
                    del self._idle[key]
            if self._idle_bytes + buffer.nbytes <= limit:
                self._idle.setdefault((buffer.nbytes, pinned), []).append(buffer)
                self._idle_bytes += buffer.nbytes


staging = StagingPool()

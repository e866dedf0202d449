"""Counts of what crosses between host and card, and of functions computed on the host.

One process-wide object. Adding takes a lock; readers get copies. Counters are plain integers in
bytes or calls and only grow until :meth:`Counters.reset`.
"""

from __future__ import annotations

import threading

from daskasc.device import _observer

NAMES = (
    "host_to_device_bytes",
    "device_to_host_bytes",
    "peer_bytes_received",
    "collective_bytes",
    "collectives",
    "host_copies",
)


class Counters:
    """Thread-safe named counters, and host fallbacks by function name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values = dict.fromkeys(NAMES, 0)
        self._fallbacks: dict[str, tuple[int, int]] = {}

    def add(self, name: str, n: int) -> None:
        """Add `n` to a counter; `name` is one of :data:`NAMES`."""
        if name not in self._values:
            raise KeyError(f"no counter {name!r}; known: {', '.join(NAMES)}")
        with self._lock:
            self._values[name] += n
        if (who := _observer.active) is not None:
            who.moved(name, n)

    def snapshot(self) -> dict[str, int]:
        """Copy of all counters."""
        with self._lock:
            return dict(self._values)

    def record_fallback(self, function_name: str, nbytes: int) -> None:
        """Note one call computed on the host and the bytes brought down for it."""
        with self._lock:
            calls, total = self._fallbacks.get(function_name, (0, 0))
            self._fallbacks[function_name] = (calls + 1, total + nbytes)
        if (who := _observer.active) is not None:
            who.fell_back(function_name, nbytes)

    def fallbacks(self) -> dict[str, tuple[int, int]]:
        """Copy of ``{function name: (calls, bytes)}``."""
        with self._lock:
            return dict(self._fallbacks)

    def reset(self) -> None:
        """Set everything to zero."""
        with self._lock:
            self._values = dict.fromkeys(NAMES, 0)
            self._fallbacks.clear()


counters = Counters()

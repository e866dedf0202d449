"""A worker's memory for task results: card -> host memory -> disk.

::

    __setitem__ ──> card level (values that hold arrays on the card; least recently used goes first)
                       │  stored bytes > device limit                     ▲ __getitem__
                       ▼                                                  │
                    host level (everything else, and spilled values in their host form)
                       │  managed bytes > host target: distributed's SpillBuffer
                       ▼
                    disk (worker's local directory)

Invariants
----------
- a key is in exactly one of the two mappings, whatever fails: a value that cannot be moved stays
  where it is and is not tried again;
- stored bytes on the card never exceed the limit, not even for a moment: room is made before a
  value is put in or brought back. A value that is larger than the limit alone goes to the host at
  once, and every reader gets a copy of its own;
- the limit also counts what the allocator says: when running tasks hold more than the limit leaves,
  stored values make way, as far as that helps;
- without a device limit nothing leaves the card, without a host target nothing goes to disk; all
  else is the same code.

All methods may be called from any thread; they run one at a time and may copy gigabytes.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any, Literal

from dask.typing import Key
from distributed.spill import SpillBuffer

from daskasc import device
from daskasc.cluster._hostform import HostForm, device_bytes

_logger = logging.getLogger(__name__)


class DeviceStore(MutableMapping[Key, object]):
    """Mapping of keys to results, used as ``Worker(data=(DeviceStore, {...}))``.

    Parameters
    ----------
    worker_local_directory : str
        Directory of the worker; spilled values go below it.
    host_target : int, optional
        Bytes of host memory for results before they go to disk; None for no limit.
    max_spill : int or False
        Most bytes on disk, as in distributed.
    shared_memory : bool
        Whether the card's memory is the host's (stand-in cards). Then distributed's monitor may
        push values from the card to disk when the process grows too large.

    Attributes
    ----------
    device_limit : int or None
        Bytes of card memory for stored values; None for no limit. Set it once the card is known.
    """

    def __init__(
        self,
        worker_local_directory: str,
        host_target: int | None = None,
        max_spill: int | Literal[False] = False,
        shared_memory: bool = False,
    ) -> None:
        self.device_limit: int | None = None
        self._shared_memory = shared_memory
        self._lock = threading.RLock()
        self._card: OrderedDict[Key, object] = OrderedDict()
        self._weights: dict[Key, int] = {}
        self._stuck: set[Key] = set()
        self._stored = 0
        self._peak_stored = 0
        self._spilled = 0
        self._host: MutableMapping[Key, Any] = {}
        if host_target is not None:
            directory = str(Path(worker_local_directory) / "storage")
            self._host = SpillBuffer(directory, target=host_target, max_spill=max_spill)

    # -- mapping ---------------------------------------------------------------------------------

    def __setitem__(self, key: Key, value: object) -> None:
        weight = device_bytes(value)
        with self._lock:
            self._discard(key)
            if not weight:
                self._host[key] = value
            elif self._too_large(weight) and self._to_host(key, value, weight):
                pass
            else:
                self._make_room(weight, upcoming=0)
                self._put_on_card(key, value, weight)

    def __getitem__(self, key: Key) -> object:
        with self._lock:
            if key in self._card:
                self._card.move_to_end(key)
                return self._card[key]
            value = self._host[key]
            if not isinstance(value, HostForm):
                return value
            weight = value.device_bytes
            self._make_room(weight, upcoming=weight)
            restored = value.restore()
            if not self._too_large(weight):
                del self._host[key]
                self._put_on_card(key, restored, weight)
            return restored

    def __delitem__(self, key: Key) -> None:
        with self._lock:
            if not self._discard(key):
                raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._card or key in self._host

    def __iter__(self) -> Iterator[Key]:
        with self._lock:
            keys = [*self._card, *self._host]
        return iter(keys)

    def __len__(self) -> int:
        with self._lock:
            return len(self._card) + len(self._host)

    # -- figures ---------------------------------------------------------------------------------

    @property
    def stored_bytes(self) -> int:
        """Bytes of card memory that stored values take now."""
        return self._stored

    @property
    def peak_stored_bytes(self) -> int:
        """Most bytes of card memory that stored values took since :meth:`reset_counters`."""
        return self._peak_stored

    @property
    def spilled_to_host_bytes(self) -> int:
        """Bytes moved from the card to the host to make room since :meth:`reset_counters`."""
        return self._spilled

    @property
    def spilled_to_disk_bytes(self) -> int:
        """Bytes written to disk since the worker started."""
        if isinstance(self._host, SpillBuffer):
            return int(self._host.cumulative_metrics["disk-write", "bytes"])
        return 0

    def reset_counters(self) -> None:
        """Start :attr:`peak_stored_bytes` and :attr:`spilled_to_host_bytes` again."""
        with self._lock:
            self._peak_stored = self._stored
            self._spilled = 0

    # -- what distributed's memory monitor, metrics and dashboard ask for ------------------------

    @property
    def fast(self) -> bool:
        """Whether :meth:`evict` can free host memory."""
        if not isinstance(self._host, SpillBuffer):
            return False
        with self._lock:
            return bool(self._host.fast) or (self._shared_memory and self._victim() is not None)

    def evict(self) -> int:
        """Move one value from host memory to disk; -1 when that failed. Never raises."""
        with self._lock:
            if not isinstance(self._host, SpillBuffer):
                return -1
            if not self._host.fast and self._shared_memory:
                self._evict_from_card()
            return self._host.evict() if self._host.fast else -1

    @property
    def spilled_total(self) -> tuple[int, int]:
        """Bytes now on disk: as values, and as written."""
        if isinstance(self._host, SpillBuffer):
            memory, disk = self._host.spilled_total
            return memory, disk
        return 0, 0

    @property
    def cumulative_metrics(self) -> dict[tuple[str, str], float]:
        """Distributed's spill metrics."""
        if isinstance(self._host, SpillBuffer):
            return self._host.cumulative_metrics
        return {}

    # -- making room -----------------------------------------------------------------------------

    def free_device_memory(self, nbytes: int) -> int:
        """Move stored values to the host until `nbytes` are freed; returns the bytes moved.

        For the handling of an allocator's out-of-memory error. Values that a task still uses keep
        their memory until it ends.
        """
        freed = 0
        with self._lock:
            while freed < nbytes and (moved := self._evict_from_card()):
                freed += moved
        return freed

    def _too_large(self, weight: int) -> bool:
        return self.device_limit is not None and weight > self.device_limit

    def _make_room(self, weight: int, upcoming: int) -> None:
        """Evict until `weight` fits; `upcoming` of it the allocator does not count yet."""
        limit = self.device_limit
        if limit is None:
            return
        while self._stored + min(weight, limit) > limit and self._evict_from_card():
            pass
        if self._stored:
            # Not a loop on the allocator's figure: evicted values may still be used by a task.
            used = device.current().memory().used
            self.free_device_memory(min(self._stored, used + upcoming - limit))

    def _victim(self) -> Key | None:
        return next((key for key in self._card if key not in self._stuck), None)

    def _evict_from_card(self) -> int:
        """Move the least recently used value to the host; 0 when none can be moved."""
        while (key := self._victim()) is not None:
            weight = self._weights[key]
            if self._to_host(key, self._card[key], weight):
                del self._card[key]
                del self._weights[key]
                self._stored -= weight
                return weight
        return 0

    def _to_host(self, key: Key, value: object, weight: int) -> bool:
        try:
            self._host[key] = HostForm.of(value, weight)
        except Exception:
            # Any class may refuse to be pickled, in any way; the value stays usable on the card.
            if key in self._host:
                del self._host[key]
            self._stuck.add(key)
            _logger.warning(
                "%r (%d bytes) cannot leave the card and stays there", key, weight, exc_info=True
            )
            return False
        self._spilled += weight
        return True

    def _put_on_card(self, key: Key, value: object, weight: int) -> None:
        self._card[key] = value
        self._weights[key] = weight
        self._stored += weight
        self._peak_stored = max(self._peak_stored, self._stored)

    def _discard(self, key: Key) -> bool:
        if key in self._card:
            del self._card[key]
            self._stuck.discard(key)
            self._stored -= self._weights.pop(key)
            return True
        if key in self._host:
            del self._host[key]
            return True
        return False

    def __repr__(self) -> str:
        limit = "no limit" if self.device_limit is None else f"{self.device_limit} bytes"
        return (
            f"<DeviceStore: {len(self._card)} values, {self._stored} bytes on the card ({limit}); "
            f"{len(self._host)} on the host>"
        )

    def __sizeof__(self) -> int:
        return sys.getsizeof(self._card)

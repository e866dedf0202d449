"""The stand-in card: a plain process whose torch tensors in host memory play the card's part.

There is no allocator to ask, so an attached stand-in counts the storages that live arrays hold.
Releases arrive from finalizers, which may run inside any allocation, also while this object's
lock is held by the same thread. They only append to a deque, which is atomic; the next
:meth:`CpuBackend.retain` or :meth:`CpuBackend.memory` applies them under the lock. A release is
queued before its storage is freed, so a new storage at the same address is always counted after it.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from daskasc.device._backend import (
    Backend,
    MemoryInfo,
    host_memory,
    host_view,
    limited,
    to_host,
    to_host_tensor,
)
from daskasc.device._counters import counters
from daskasc.device._discovery import count
from daskasc.device._torch import torch
from daskasc.device._transfer import Transfer


class CpuBackend(Backend):
    """Host memory as a card (`card` set), or as the place of a process without one (None)."""

    kind = "cpu"
    family = "cpu"
    collective_backend = "gloo"

    def __init__(self, card: int | None, memory_limit: int | None, threads: int | None) -> None:
        super().__init__(card, torch().device("cpu"), threads)
        self.accounts = card is not None
        share = host_memory() // count("cpu")
        self._capacity = share if memory_limit is None else limited(host_memory(), memory_limit)
        self._lock = threading.Lock()
        self._held: dict[int, list[int]] = {}  # storage address -> [arrays, bytes]
        self._released: deque[int] = deque()
        self._used = 0
        self._peak = 0
        self._marked_peak = 0

    def activate_thread(self) -> None:
        """Nothing to do: host memory has no current device."""

    def synchronize(self) -> None:
        """Nothing to do: operators on the host have finished when they return."""

    def upload(self, array: np.ndarray[Any, Any], blocking: bool = True) -> Any:
        """Copy into torch's memory, so that the source can be reused at once."""
        return to_host_tensor(array)

    def fill(self, tensor: Any, array: np.ndarray[Any, Any]) -> None:
        """Copy into the tensor's memory."""
        np.copyto(host_view(tensor), array, casting="unsafe")
        counters.add("host_to_device_bytes", array.nbytes)

    def download(
        self, tensor: Any, out: np.ndarray[Any, Any] | None = None
    ) -> np.ndarray[Any, Any]:
        """Copy out of torch's memory."""
        if out is None:
            return to_host(tensor)
        np.copyto(out, host_view(tensor.detach().resolve_conj().resolve_neg()))
        counters.add("device_to_host_bytes", out.nbytes)
        return out

    def start_download(self, tensor: Any, out: np.ndarray[Any, Any] | None = None) -> Transfer:
        """Copy at once: the transfer is done when it is returned."""
        return Transfer(self.download(tensor, out))

    def memory(self) -> MemoryInfo:
        """Bytes of the storages that live arrays hold; capacity is the limit, or a fair share."""
        with self._lock:
            self._apply_releases()
            return MemoryInfo(self._used, self._peak, self._capacity)

    def reset_peak(self) -> None:
        """Set the peak to what is used now."""
        with self._lock:
            self._apply_releases()
            self._peak = self._used

    def mark_peak(self) -> int | None:
        """Set the marked peak to what is used now, and return what it was."""
        if not self.accounts:
            return None
        with self._lock:
            self._apply_releases()
            before, self._marked_peak = self._marked_peak, self._used
        return before

    def peak_since_mark(self) -> int | None:
        """Most bytes that live arrays held since the mark."""
        return self._marked_peak if self.accounts else None

    def empty_cache(self) -> None:
        """Nothing to do: the host allocator keeps no cache of ours."""

    def is_out_of_memory(self, error: BaseException) -> bool:
        """MemoryError, or torch's message for a failed host allocation."""
        if isinstance(error, MemoryError):
            return True
        return isinstance(error, RuntimeError) and "not enough memory" in str(error)

    def retain(self, tensor: Any) -> int:
        """Count one more array on the tensor's storage; its address is the account's number."""
        storage = tensor.untyped_storage()
        address = int(storage.data_ptr())
        if not address:
            return 0
        with self._lock:
            if self._released:
                self._apply_releases()
            entry = self._held.get(address)
            if entry is None:
                nbytes = storage.nbytes()
                self._held[address] = [1, nbytes]
                self._used = used = self._used + nbytes
                if used > self._peak:
                    self._peak = used
                if used > self._marked_peak:
                    self._marked_peak = used
            else:
                entry[0] += 1
        return address

    def release(self, account: int) -> None:
        """Queue one array less on the storage; safe in finalizers."""
        self._released.append(account)

    def _apply_releases(self) -> None:
        while self._released:
            address = self._released.popleft()
            entry = self._held.get(address)
            if entry is None:
                continue
            entry[0] -= 1
            if not entry[0]:
                del self._held[address]
                self._used -= entry[1]


def make(card: int | None, *, memory_limit: int | None, threads: int | None) -> Backend:
    """Build the backend; `card` None gives the host backend."""
    return CpuBackend(card, memory_limit, threads)

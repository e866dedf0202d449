"""What a kind of card has to do: the interface, and what all kinds share.

Invariants: a backend belongs to one process and to device index 0 in it; :meth:`Backend.upload`
always copies, :meth:`Backend.download` always returns own memory; both count their bytes.
"""

from __future__ import annotations

import abc
import contextlib
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from daskasc.device import _capabilities
from daskasc.device._counters import counters
from daskasc.device._dtypes import BFLOAT16, numpy_dtype, torch_dtype
from daskasc.device._torch import torch
from daskasc.device._transfer import Event, Transfer


class MemoryInfo(NamedTuple):
    """Bytes of a card's memory: in use now, most in use since the last reset, usable at all."""

    used: int
    peak: int
    capacity: int


class Backend(abc.ABC):
    """One card as seen by its process.

    Attributes
    ----------
    kind : {"npu", "cuda", "cpu"}
    family : str
        Row of the capability table, a key of ``device.capabilities.FAMILIES``.
    card : int or None
        Number in the cluster; None for the host backend of a process without a card.
    torch_device : torch.device
    collective_backend : {"hccl", "nccl", "gloo"}
    accounts : bool
        Whether arrays have to report their storages through :meth:`retain` and :meth:`release`.
    restricts : bool
        Whether :meth:`supports` can say no.
    fast_float64 : bool
        Whether float64 is worth its time inside operators on float32.
    pins_memory : bool
        Whether :meth:`host_buffer` gives pinned memory.
    has_dlpack : bool
        Whether torch shares the card's memory by DLPack.
    """

    kind: str
    family: str
    collective_backend: str
    accounts: bool = False
    restricts: bool = False
    fast_float64: bool = True
    pins_memory: bool = False
    has_dlpack: bool = True

    def __init__(self, card: int | None, torch_device: Any, threads: int | None) -> None:
        self.card = card
        self.torch_device = torch_device
        if threads is not None:
            torch().set_num_threads(threads)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} card={self.card}>"

    @abc.abstractmethod
    def activate_thread(self) -> None:
        """Make the card the calling thread's current device (device choice is thread-local)."""

    @abc.abstractmethod
    def synchronize(self) -> None:
        """Wait until the card has done what the calling thread queued."""

    def mark(self) -> Event | None:
        """Event behind what the calling thread has queued; None where nothing is queued."""
        return None

    @contextlib.contextmanager
    def beside(self, after: Event | None) -> Iterator[Callable[[Any], None]]:
        """Let the card do what a block queues beside what other threads queue.

        Parameters
        ----------
        after : Event or None
            Mark behind which it may begin.

        Yields
        ------
        callable
            After the block, the thread that uses a tensor made in it has to call this with it.
        """
        yield lambda tensor: None

    @abc.abstractmethod
    def upload(self, array: np.ndarray[Any, Any], blocking: bool = True) -> Any:
        """Copy a NumPy array of any strides and byte order into a new tensor on the card.

        `array` may be changed afterwards in any case. With `blocking` False the copy runs behind
        the caller, out of pinned buffers; what the caller queues later runs after it.
        """

    @abc.abstractmethod
    def fill(self, tensor: Any, array: np.ndarray[Any, Any]) -> None:
        """Copy a NumPy array of the same shape into an existing tensor, converting its dtype."""

    @abc.abstractmethod
    def download(
        self, tensor: Any, out: np.ndarray[Any, Any] | None = None
    ) -> np.ndarray[Any, Any]:
        """Copy a tensor into a new NumPy array, or into `out` of the same shape and dtype."""

    @abc.abstractmethod
    def start_download(self, tensor: Any, out: np.ndarray[Any, Any] | None = None) -> Transfer:
        """Begin such a copy, in the order of the calling thread's stream."""

    @abc.abstractmethod
    def memory(self) -> MemoryInfo:
        """Bytes used, peak and capacity."""

    @abc.abstractmethod
    def reset_peak(self) -> None:
        """Set the peak to what is used now."""

    def mark_peak(self) -> int | None:
        """Begin a peak of its own beside the one of :meth:`memory`; returns the one before it.

        None where nobody keeps the books of memory.
        """
        return None

    def peak_since_mark(self) -> int | None:
        """Most bytes in use since :meth:`mark_peak`."""
        return None

    @abc.abstractmethod
    def empty_cache(self) -> None:
        """Give cached free blocks back; may wait for the card."""

    @abc.abstractmethod
    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether `error` says that the card's memory is exhausted."""

    def host_buffer(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Return a new uint8 host buffer for copies to this card."""
        return np.empty(nbytes, np.uint8)

    # not abstract: keeping no accounts is the ordinary case, the allocator knows better
    def retain(self, tensor: Any) -> int:
        """Note that an array holds `tensor`'s storage; returns the number of the account.

        Called only where `accounts` is set.
        """
        return 0

    def release(self, account: int) -> None:  # noqa: B027
        """Note that an array let the storage of an account go; pairs with :meth:`retain`."""

    def supports(self, operator: str, dtype: str) -> bool:
        """Whether the card computes `operator` for `dtype` (NumPy's name), in whatever form."""
        limit = _capabilities.limit(self.family, operator, dtype)
        return limit is None or bool(limit.remedy)


def to_host(tensor: Any) -> np.ndarray[Any, Any]:
    """NumPy array of a tensor on any device: own memory, bfloat16 included; counts the bytes."""
    module = torch()
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype is module.bfloat16:
        bits = _copy_down(tensor.view(module.int16))
        result = bits.view(BFLOAT16)
    else:
        result = _copy_down(tensor)
    counters.add("device_to_host_bytes", result.nbytes)
    return result


def _copy_down(tensor: Any) -> np.ndarray[Any, Any]:
    if tensor.device.type == "cpu":
        return np.array(tensor.numpy(), order="C", copy=True)
    host: np.ndarray[Any, Any] = tensor.contiguous().cpu().numpy()
    return host


def host_view(tensor: Any) -> np.ndarray[Any, Any]:
    """NumPy array over the memory of a tensor on the host, bfloat16 included."""
    module = torch()
    if tensor.dtype is module.bfloat16:
        bits: np.ndarray[Any, Any] = tensor.view(module.int16).numpy()
        return bits.view(BFLOAT16)
    view: np.ndarray[Any, Any] = tensor.numpy()
    return view


def shareable(array: np.ndarray[Any, Any]) -> bool:
    """Whether torch takes an array's memory as it is.

    Axes of length 1 have any strides, also in arrays that NumPy calls contiguous.
    """
    flags = array.flags
    return bool(
        flags.writeable
        and flags.aligned
        and array.dtype.isnative
        and all(step >= 0 and step % array.itemsize == 0 for step in array.strides)
    )


def as_bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """View of an array of this machine's byte order that torch can take.

    bfloat16 is int16 there, and of two dtypes that are equal (``long`` and ``longlong``) torch
    knows one.
    """
    if array.dtype == BFLOAT16:
        return array.view(np.int16)
    known = numpy_dtype(torch_dtype(array.dtype))
    return array if array.dtype.char == known.char else array.view(known)


def to_host_tensor(array: np.ndarray[Any, Any]) -> Any:
    """Torch tensor on the host with a copy of `array`."""
    result = torch().empty(array.shape, dtype=torch_dtype(array.dtype))
    target = result.view(torch().int16) if array.dtype == BFLOAT16 else result
    np.copyto(target.numpy(), as_bits(array))
    counters.add("host_to_device_bytes", array.nbytes)
    return result


def host_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or its control group's limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            limit = int((Path("/sys/fs/cgroup") / name).read_text())
        except (OSError, ValueError):
            continue
        if 0 < limit < total:
            total = limit
    return total


def limited(capacity: int, memory_limit: int | None) -> int:
    """Capacity to report under an optional limit."""
    return capacity if memory_limit is None else min(capacity, math.floor(memory_limit))

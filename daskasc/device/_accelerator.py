"""What npu and cuda share: a device with an allocator, streams and pinned host memory.

``torch.npu`` mirrors ``torch.cuda``'s public functions, so one class serves both; a subclass
names the module and adds what differs. Written against these public functions only.

Copies that run behind the caller go through pinned buffers in pieces. Each piece is queued on the
calling thread's stream with an event right behind it, and its buffer goes back to the pool with
that event; nothing waits for the stream or the device as a whole.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from daskasc.device._backend import (
    Backend,
    MemoryInfo,
    as_bits,
    host_view,
    limited,
    shareable,
    to_host,
)
from daskasc.device._counters import counters
from daskasc.device._dtypes import BFLOAT16, numpy_dtype, torch_dtype
from daskasc.device._staging import Loan, staging
from daskasc.device._torch import torch
from daskasc.device._transfer import Event, Transfer, pieces
from daskasc.errors import DeviceUnavailableError

PIECE = 1 << 24  # bytes of a pinned buffer in a copy that is made in pieces


class AcceleratorBackend(Backend):
    """Device index 0 of this process; its driver module is ``torch.npu`` or ``torch.cuda``."""

    pins_memory = True
    visibility: str

    def __init__(
        self, card: int, driver: Any, memory_limit: int | None, threads: int | None
    ) -> None:
        self._driver = driver
        self._limit = memory_limit
        self._of_thread = threading.local()
        # the allocator has one peak: what it was before it was set back, for memory() and the mark
        self._peak_before = 0
        self._marked_peak = 0
        visible = driver.device_count() if driver.is_available() else 0
        if visible < 1:
            raise DeviceUnavailableError(
                f"{self.kind} card {card}: the driver shows {visible} devices to this process; "
                f"check {self.visibility} and the driver's own tool"
            )
        super().__init__(card, torch().device(self.kind, 0), threads)
        self.activate_thread()
        self._capacity = limited(int(driver.mem_get_info()[1]), memory_limit)

    def activate_thread(self) -> None:
        """Make device 0 the calling thread's; a fresh thread may otherwise open another context."""
        self._driver.set_device(0)

    def synchronize(self) -> None:
        """Wait for the calling thread's current stream."""
        self._driver.current_stream().synchronize()

    @contextlib.contextmanager
    def beside(self, after: Event | None) -> Iterator[Callable[[Any], None]]:
        """Queue on a stream of the calling thread's own; who uses a tensor lets its stream wait."""
        own = self._of_thread
        if not hasattr(own, "stream"):
            own.stream = self._driver.Stream()
        done = self._driver.Event()

        def use(tensor: Any) -> None:
            user = self._driver.current_stream()
            user.wait_event(done)
            # its memory is not another's before what the user queues is done
            tensor.record_stream(user)

        with self._driver.stream(own.stream):
            if after is not None:
                own.stream.wait_event(after)
            yield use
            done.record()

    def upload(self, array: np.ndarray[Any, Any], blocking: bool = True) -> Any:
        """Copy straight to the card, or in pieces through pinned buffers.

        Arrays that torch cannot take as they are (strided, read-only, of the other byte order)
        go through pinned buffers in any case.
        """
        module = torch()
        dtype = torch_dtype(array.dtype)
        if blocking and array.flags.c_contiguous and shareable(array):
            result = module.from_numpy(as_bits(array)).to(self.torch_device)
            counters.add("host_to_device_bytes", array.nbytes)
            return result.view(dtype) if result.dtype is not dtype else result
        result = module.empty(array.shape, dtype=dtype, device=self.torch_device)
        self.fill(result, array)
        return result

    def fill(self, tensor: Any, array: np.ndarray[Any, Any]) -> None:
        """Copy in pieces through pinned buffers; allocates nothing on the card.

        (But for the piece itself where `tensor` is not contiguous.)
        """
        dtype = numpy_dtype(tensor.dtype)
        for index in pieces(array.shape, PIECE // dtype.itemsize):
            part = array[index]
            with self._lent(part.size * dtype.itemsize) as loan:
                packed = _typed(loan, dtype, part.shape)
                np.copyto(packed, part, casting="unsafe")
                source = torch().from_numpy(as_bits(packed)).view(tensor.dtype)
                self._queue(tensor[index], source)
                loan.release(self.mark())
        counters.add("host_to_device_bytes", array.nbytes)

    def download(
        self, tensor: Any, out: np.ndarray[Any, Any] | None = None
    ) -> np.ndarray[Any, Any]:
        """Copy to the host; waits for the card."""
        if out is None:
            return to_host(tensor)
        # one piece is unpacked while the next one is copied
        under_way: deque[Transfer] = deque()
        for index in pieces(out.shape, PIECE // out.itemsize):
            under_way.append(self.start_download(tensor[index], out[index]))
            if len(under_way) > 1:
                under_way.popleft().synchronize()
        for transfer in under_way:
            transfer.synchronize()
        return out

    def start_download(self, tensor: Any, out: np.ndarray[Any, Any] | None = None) -> Transfer:
        """Copy into new pinned memory, or through a pinned buffer into `out`."""
        module = torch()
        tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
        dtype = numpy_dtype(tensor.dtype)
        counters.add("device_to_host_bytes", tensor.numel() * dtype.itemsize)
        if out is None:
            host = self._pinned(tensor.shape, tensor.dtype)
            self._queue(host, tensor)
            return Transfer(host_view(host), self.mark())
        with self._lent(tensor.numel() * dtype.itemsize) as loan:
            packed = _typed(loan, dtype, tuple(tensor.shape))
            bits = tensor.view(module.int16) if dtype == BFLOAT16 else tensor
            self._queue(module.from_numpy(as_bits(packed)), bits)
            event = self.mark()

        def arrive() -> None:
            np.copyto(out, packed)
            loan.release()

        return Transfer(out, event, arrive, functools.partial(loan.abandon, event))

    @contextlib.contextmanager
    def _lent(self, nbytes: int) -> Iterator[Loan]:
        """Lend a buffer to a block, which releases it itself unless it raises."""
        loan = staging.lend(nbytes)
        try:
            yield loan
        except BaseException:
            # what was queued may still use the buffer; if waiting fails, nobody gets it again
            self.synchronize()
            loan.release()
            raise

    def _queue(self, target: Any, source: Any) -> None:
        """Queue a copy between pinned memory and the card on the current stream."""
        target.copy_(source, non_blocking=True)

    def mark(self) -> Event:
        """Event behind what the calling thread has queued."""
        event: Event = self._driver.Event()
        event.record()
        return event

    def _pinned(self, shape: Any, dtype: Any) -> Any:
        """Return a new tensor in pinned host memory."""
        return torch().empty(shape, dtype=dtype, pin_memory=True)

    def memory(self) -> MemoryInfo:
        """Figures of the allocator, cached free blocks not included."""
        stats = self._driver.memory_stats()
        used = int(stats.get("allocated_bytes.all.current", 0))
        return MemoryInfo(used, max(self._peak_before, self._own_peak()), self._capacity)

    def _own_peak(self) -> int:
        return int(self._driver.memory_stats().get("allocated_bytes.all.peak", 0))

    def reset_peak(self) -> None:
        """Set the allocator's peak to what is used now."""
        self._marked_peak = max(self._marked_peak, self._own_peak())
        self._peak_before = 0
        self._driver.reset_peak_memory_stats()

    def mark_peak(self) -> int | None:
        """Set the allocator's peak back, remembering it for :meth:`memory`."""
        before = self.peak_since_mark()
        self._peak_before = max(self._peak_before, self._own_peak())
        self._marked_peak = 0
        self._driver.reset_peak_memory_stats()
        return before

    def peak_since_mark(self) -> int | None:
        """Most bytes allocated since the mark."""
        return max(self._marked_peak, self._own_peak())

    def empty_cache(self) -> None:
        """Give cached free blocks back to the driver; may wait for the card."""
        self._driver.empty_cache()

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Torch's out-of-memory error, or a runtime error that says so."""
        if isinstance(error, torch().OutOfMemoryError):
            return True
        return isinstance(error, RuntimeError) and "out of memory" in str(error).lower()

    def host_buffer(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Return pinned host memory."""
        buffer: np.ndarray[Any, Any] = self._pinned(nbytes, torch().uint8).numpy()
        return buffer


def _typed(loan: Loan, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return loan.buffer.view(dtype).reshape(shape)

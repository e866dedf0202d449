"""What npu and cuda share: a device with an allocator, streams and pinned host memory.

``torch.npu`` mirrors ``torch.cuda``'s public functions, so one class serves both; a subclass
names the module and adds what differs. Written against these public functions only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.device._backend import Backend, MemoryInfo, as_bits, limited, to_host
from daskasc.device._counters import counters
from daskasc.device._dtypes import torch_dtype
from daskasc.device._staging import staging
from daskasc.device._torch import torch
from daskasc.errors import DeviceUnavailableError


class AcceleratorBackend(Backend):
    """Device index 0 of this process; its driver module is ``torch.npu`` or ``torch.cuda``."""

    pins_memory = True
    visibility: str

    def __init__(
        self, card: int, driver: Any, memory_limit: int | None, threads: int | None
    ) -> None:
        self._driver = driver
        self._limit = memory_limit
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

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        """Copy to the card; arrays that torch cannot take as they are go through staging."""
        module = torch()
        bits = as_bits(array) if array.flags.c_contiguous else array
        counters.add("host_to_device_bytes", array.nbytes)
        dtype = torch_dtype(array.dtype)
        if bits.flags.c_contiguous and bits.flags.writeable and bits.dtype.isnative:
            result = module.from_numpy(bits).to(self.torch_device)
        else:
            with staging.take(array.nbytes) as buffer:
                packed = buffer.view(array.dtype.newbyteorder("=")).reshape(array.shape)
                np.copyto(packed, array)
                result = module.from_numpy(as_bits(packed)).to(self.torch_device)
                # the buffer goes to the next taker when this block ends
                self.synchronize()
        return result.view(dtype) if result.dtype is not dtype else result

    def download(self, tensor: Any) -> np.ndarray[Any, Any]:
        """Copy to the host; waits for the card."""
        return to_host(tensor)

    def memory(self) -> MemoryInfo:
        """Figures of the allocator, cached free blocks not included."""
        stats = self._driver.memory_stats()
        used = int(stats.get("allocated_bytes.all.current", 0))
        peak = int(stats.get("allocated_bytes.all.peak", 0))
        return MemoryInfo(used, peak, self._capacity)

    def reset_peak(self) -> None:
        """Set the allocator's peak to what is used now."""
        self._driver.reset_peak_memory_stats()

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
        module = torch()
        buffer: np.ndarray[Any, Any] = module.empty(
            nbytes, dtype=module.uint8, pin_memory=True
        ).numpy()
        return buffer

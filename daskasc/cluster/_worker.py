"""What a worker process needs beyond distributed's: its card, its limits, its report.

A plugin and not a preload module: distributed logs and forgets errors of a preload's setup, and a
worker without its card must not start. The plugin is handed to the worker's constructor, so it is
set up before the worker is known to the scheduler, and its error ends the worker's start.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import WorkerPlugin

from daskasc import config, device, registration
from daskasc.cluster import _sampling
from daskasc.cluster._spawning import UninterruptedSpawn, ignore_interrupts
from daskasc.cluster._store import DeviceStore
from daskasc.errors import DeviceUnavailableError

if TYPE_CHECKING:
    from distributed.worker import Worker


class CardPlugin(WorkerPlugin):
    """Attach the worker process to its card.

    Parameters
    ----------
    kind : {"npu", "cuda", "cpu"}
        Kind of card.
    card : int
        Logical number of the card.
    device_memory_limit : None, "auto", float, int or str
        Memory of the card for stored chunks.
    capacity : int, optional
        Bytes that a stand-in card pretends to have.
    threads : int, optional
        Threads that torch uses in this process.
    timeout : float
        Seconds that attaching may take.
    """

    name = "daskasc-card"

    def __init__(
        self,
        kind: str,
        card: int,
        device_memory_limit: float | int | str | None,
        capacity: int | None,
        threads: int | None,
        timeout: float,
    ) -> None:
        self._kind = kind
        self._card = card
        self._device_memory_limit = device_memory_limit
        self._capacity = capacity
        self._threads = threads
        self._timeout = timeout
        self._spawn = UninterruptedSpawn()

    async def setup(self, worker: Worker) -> None:
        """Attach in the thread that runs the tasks.

        Raises
        ------
        DeviceUnavailableError
            The card or its software cannot be used, or does not answer in time.
        """
        if worker.nanny:
            ignore_interrupts()
        loop = asyncio.get_running_loop()
        attaching = loop.run_in_executor(worker.executors["default"], self._attach, worker)
        try:
            await asyncio.wait_for(attaching, self._timeout)
        except TimeoutError:
            raise DeviceUnavailableError(
                f"{self._kind} card {self._card} could not be attached within {self._timeout:g} s "
                "(start_timeout); look at the driver, or allow more time"
            ) from None
        _sampling.install(worker)
        worker.handlers["daskasc_report"] = lambda: self._report(worker)
        worker.handlers["daskasc_reset"] = lambda: self._reset(worker)

    def _attach(self, worker: Worker) -> None:
        backend = device.attach(self._kind, self._card, self._capacity, self._threads)
        backend.activate_thread()
        store = worker.data
        if isinstance(store, DeviceStore):
            capacity = backend.memory().capacity
            store.device_limit = config.parse_memory_limit(
                self._device_memory_limit, capacity, name="device_memory_limit"
            )
        # the first task must not pay for the imports
        registration.register_array_type()

    def _report(self, worker: Worker) -> dict[str, Any]:
        memory = device.current().memory()
        counts = device.counters.snapshot()
        store = worker.data
        own = isinstance(store, DeviceStore)
        return {
            "card": self._card,
            "used_device_bytes": memory.used,
            "peak_device_bytes": memory.peak,
            "capacity_device_bytes": memory.capacity,
            "stored_device_bytes": store.stored_bytes if own else 0,
            "bytes_host_to_device": counts["host_to_device_bytes"],
            "bytes_device_to_host": counts["device_to_host_bytes"],
            "bytes_from_peers": counts["peer_bytes_received"],
            "bytes_collective": counts["collective_bytes"],
            "bytes_spilled_to_host": store.spilled_to_host_bytes if own else 0,
            "bytes_spilled_to_disk": store.spilled_to_disk_bytes if own else 0,
            "host_copies": counts["host_copies"],
            "fallbacks": {name: list(v) for name, v in device.counters.fallbacks().items()},
        }

    def _reset(self, worker: Worker) -> str:
        device.counters.reset()
        device.current().reset_peak()
        if isinstance(worker.data, DeviceStore):
            worker.data.reset_counters()
        return "OK"

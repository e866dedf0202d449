"""Two clusters side by side, plain dask workers and cards, and what one run on either takes.

Both have the same number of worker processes with one task thread, and their schedulers run in this
process. The workers compute with one thread each.

- **Seconds** from handing the graph over until all result chunks are in the workers' memory.
- **Scheduler CPU**: CPU time of this process without the main thread (which builds the graph and
  then waits), less what the process takes while nothing runs. It covers the scheduler with its
  optimisation of the graph, on our side the planner, and for both the client's and the nannies'
  part in the event loop.
- **Bytes between workers**: what workers received of each other's results (distributed's own log),
  what its peer-to-peer rechunk sent to others, and what collectives brought to cards. The tokens
  of collectives are in it; what the cards report of arrays alone is listed beside.
- **Peak**: the most resident memory of a worker process in the run, over what it had before it
  (Linux; freed memory is given back before). Card memory of the stand-in is resident memory; its
  own accounts are listed beside. On real cards the accounts are added.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import dask
import numpy as np
from dask.array.optimization import optimize
from distributed import Client, LocalCluster, SchedulerPlugin, wait

import daskasc

LIMIT = 1800.0
_IDLE = 1.0
# what runs while nothing runs: clocks looked at 50 times a second, stacks 100 times
QUIET = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "60s",
    "distributed.worker.profile.enabled": False,
}
_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


@dataclass(frozen=True)
class Run:
    """What one run took; bytes, seconds."""

    seconds: float
    scheduler_cpu: float
    peak: int
    between: int
    busiest: int
    tasks: int
    peak_on_card: int | None = None
    arrays_between_cards: int | None = None


class _Tasks(SchedulerPlugin):
    """Counts the tasks of the graphs that a scheduler takes."""

    name = "benchmark-tasks"

    def __init__(self) -> None:
        self.count = 0

    def update_graph(self, scheduler: Any, *, tasks: list[Any], **kwargs: Any) -> None:
        """Count."""
        self.count += len(tasks)


@dataclass
class Side:
    """One of the clusters.

    Attributes
    ----------
    name : {"dask", "daskasc"}
    cluster, client : LocalCluster, Client
    settings : dict
        Dask configuration under which graphs of this side are built and optimised.
    """

    name: str
    cluster: Any
    client: Client
    settings: dict[str, Any]
    tasks: _Tasks = field(default_factory=_Tasks)

    def __post_init__(self) -> None:
        self.cluster.scheduler.add_plugin(self.tasks, name=self.tasks.name)

    @property
    def has_cards(self) -> bool:
        """Whether this is the side of the cards."""
        return isinstance(self.cluster, daskasc.LocalNPUCluster)

    def run(
        self, build: Callable[[], Any], keep: Callable[[Any], None] | None = None, idle: float = 0.0
    ) -> Run:
        """Build, run and forget a computation.

        Parameters
        ----------
        build : callable
            Makes the dask array.
        keep : callable, optional
            Gets its value, after the measurement.
        idle : float
            CPU seconds a second that this process takes anyway, see :func:`idle_load`.
        """
        before = self.client.run(_begin)
        if self.has_cards:
            self.cluster.reset_counters()
        self.tasks.count = 0
        with self.client.as_current(), dask.config.set(self.settings):
            lazy = build()
            cpu, start = _others_cpu(), time.perf_counter()
            running = self.client.persist(lazy)
            ended = wait(running, timeout=LIMIT).done
            taken = time.perf_counter() - start
            cpu = max(_others_cpu() - cpu - idle * taken, 0.0)
            for future in ended:
                if future.status != "finished":
                    future.result()  # raises
            del ended
            tasks = self.tasks.count
            after = self.client.run(_end)
            report = self.cluster.report() if self.has_cards else None
            if keep is not None:
                keep(np.asarray(self.client.compute(running).result(timeout=LIMIT)))
        del running
        crossed = {address: received for address, (_, received) in after.items()}
        peak = max(peak - before[address] for address, (peak, _) in after.items())
        on_card = arrays = None
        if report is not None:
            addresses = {
                info["name"]: a for a, info in self.client.scheduler_info(-1)["workers"].items()
            }
            for card in report.cards:
                crossed[addresses[card.card]] += card.bytes_collective
            on_card, arrays = max(report.peak_device_bytes), report.bytes_between_cards
            if report.device != "cpu":
                peak += on_card
        between, busiest = sum(crossed.values()), max(crossed.values())
        return Run(taken, cpu, peak, between, busiest, tasks, on_card, arrays)


@contextlib.contextmanager
def sides(workers: int, folder: str) -> Generator[dict[str, Side]]:
    """Both clusters, the plain one first."""
    # one line at the start and one at the end of each rechunk
    logging.getLogger("distributed.shuffle._scheduler_plugin").setLevel(logging.ERROR)
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(QUIET))
        # None would switch dask's own optimisation off
        stock = {
            "array_optimize": dask.config.get("array_optimize", None) or optimize,
            "array.rechunk.method": dask.config.get("array.rechunk.method", None),
        }
        options: dict[str, Any] = {"dashboard_address": ":0", "local_directory": folder}
        plain = stack.enter_context(
            LocalCluster(n_workers=workers, threads_per_worker=1, env=_ONE_THREAD, **options)
        )
        plain_client = stack.enter_context(Client(plain, set_as_default=False))
        cards = stack.enter_context(daskasc.LocalNPUCluster(n_workers=workers, **options))
        cards_client = stack.enter_context(Client(cards, set_as_default=False))
        own = {key: dask.config.get(key) for key in stock}
        yield {
            "dask": Side("dask", plain, plain_client, stock),
            "daskasc": Side("daskasc", cards, cards_client, own),
        }


def idle_load() -> float:
    """CPU seconds a second of this process's other threads; ask before anything has run.

    After a run the scheduler is still busy with forgetting it. The least of three looks.
    """
    rates = []
    for _ in range(3):
        before, start = _others_cpu(), time.perf_counter()
        time.sleep(_IDLE)
        rates.append((_others_cpu() - before) / (time.perf_counter() - start))
    return min(rates)


def same(values: Mapping[str, Any], workload: str, tolerance: float) -> None:
    """Fail where the sides' values differ."""
    np.testing.assert_allclose(
        values["daskasc"], values["dask"], rtol=tolerance, atol=tolerance, err_msg=workload
    )


def _others_cpu() -> float:
    return time.process_time() - time.thread_time()


def _begin(dask_worker: Any) -> int:
    """On a worker: give freed memory back, start counting; returns the resident bytes."""
    import ctypes
    import gc
    from pathlib import Path

    from distributed.shuffle._core import ShuffleRun

    gc.collect()
    with contextlib.suppress(AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
    dask_worker.transfer_incoming_log.clear()
    if not hasattr(ShuffleRun, "sent_to_others"):
        plain = ShuffleRun.send

        async def counting(self: Any, address: str, shards: list[Any]) -> Any:
            if address != self.local_address:
                ShuffleRun.sent_to_others += _array_bytes(shards)
            return await plain(self, address, shards)

        ShuffleRun.send = counting
    ShuffleRun.sent_to_others = 0
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    return _resident("VmRSS")


def _end(dask_worker: Any) -> tuple[int, int]:
    """On a worker: peak of the resident bytes, and bytes received (in a shuffle: sent)."""
    from distributed.shuffle._core import ShuffleRun

    received = sum(entry["total"] for entry in dask_worker.transfer_incoming_log)
    return _resident("VmHWM"), received + ShuffleRun.sent_to_others


def _resident(name: str) -> int:
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def _array_bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (list, tuple)):
        return sum(map(_array_bytes, value))
    return len(value) if isinstance(value, bytes) else 0

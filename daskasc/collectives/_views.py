"""What ran where: for tests, ``client.run`` and ``client.run_on_scheduler``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskasc.collectives._worker import part_of

if TYPE_CHECKING:
    from distributed import Scheduler, Worker


def executed(dask_worker: Worker) -> list[tuple[int, int, str]]:
    """``(epoch, seq, gang id)`` of the latest collectives of a worker, in the order it ran them."""
    return list(part_of(dask_worker).log)


def methods(dask_worker: Worker) -> dict[str, int]:
    """How many collectives of a worker went by which method."""
    return dict(part_of(dask_worker).methods)


def stats(dask_scheduler: Scheduler) -> dict[str, Any]:
    """Counters and log of the scheduler's sequencer."""
    found: dict[str, Any] = dask_scheduler.plugins["daskasc-sequencer"].stats()
    return found

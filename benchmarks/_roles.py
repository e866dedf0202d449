"""Processes of a cluster over several servers: ``python _roles.py scheduler|worker ...``.

A scheduler with this project's plugins, and workers with one stand-in card each, as
``daskasc.LocalNPUCluster`` sets them up on one machine.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import numpy as np

PORT = 8786
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MEMORY = 2**31


async def scheduler(host: str, cards: str) -> None:
    """Serve until the process ends."""
    from distributed import Scheduler

    plugins = ["scheduler_plugins.chunk_placement", "scheduler_plugins.collective_sequencer"]
    made = Scheduler(
        host=host,
        port=PORT,
        dashboard=False,
        preload=plugins,
        preload_argv=[["--cards", cards], []],
    )
    async with made:
        await made.finished()


async def worker(host: str, address: str, card: str, folder: str) -> None:
    """Serve one card until the process ends."""
    from distributed import Worker

    from daskasc.cluster._store import DeviceStore
    from daskasc.cluster._worker import CardPlugin
    from daskasc.collectives import CollectivesPlugin

    made = Worker(
        f"tcp://{address}:{PORT}",
        host=host,
        name=int(card),
        nthreads=1,
        memory_limit=0,
        dashboard=False,
        local_directory=folder,
        data=(DeviceStore, {"host_target": None, "shared_memory": True}),
        plugins=(CardPlugin("cpu", int(card), None, _MEMORY, 1, 120.0), CollectivesPlugin()),
    )
    async with made:
        await made.finished()


def chunk(block_id: tuple[int, ...], shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of a chunk, the same wherever it is made."""
    numbers = np.random.default_rng(block_id[0]).integers(0, 1000, shape)
    return numbers.astype(dtype) if dtype.startswith("i") else (numbers / 7).astype(dtype)


def chunk_on_card(block_id: tuple[int, ...], shape: tuple[int, ...], dtype: str) -> Any:
    """The same on the card of the worker that makes it."""
    from daskasc.array import from_numpy

    return from_numpy(chunk(block_id, shape, dtype))


if __name__ == "__main__":
    for variable in _THREADS:
        os.environ.setdefault(variable, "1")
    # stand-in cards need no other software, even where it is installed
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    role, *arguments = sys.argv[1:]
    asyncio.run({"scheduler": scheduler, "worker": worker}[role](*arguments))

"""Chunked arrays whose chunks are made on the cards and leave a trace of every making."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np

CHUNK = (4, 6, 5)


def values(index: int) -> np.ndarray:
    """The values of chunk `index`: reproducible, float64."""
    return np.random.default_rng(index).normal(10.0, 3.0, CHUNK)


def _make(
    index: np.ndarray,
    folder: str,
    seconds: float,
    wait_for: str | None,
    waiting: tuple[int, ...],
    dtype: str,
    repeat: int,
) -> Any:
    from daskasc.array import from_numpy

    number = int(index.ravel()[0])
    with (Path(folder) / f"{number}-{os.getpid()}-{time.time_ns()}").open("w"):
        pass
    if wait_for and number in waiting:
        deadline = time.monotonic() + 120
        while not Path(wait_for).exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{wait_for} did not appear")
            time.sleep(0.02)
    time.sleep(seconds)
    return from_numpy(np.tile(values(number).astype(dtype), (repeat, 1, 1)))


def traced(
    chunks: int,
    folder: Path,
    *,
    seconds: float = 0.0,
    wait_for: Path | None = None,
    waiting: tuple[int, ...] = (),
    dtype: str = "f8",
    repeat: int = 1,
) -> da.Array:
    """Array of `chunks` chunks along its first axis; each making leaves a file in `folder`.

    Parameters
    ----------
    chunks : int
        Number of chunks.
    folder : Path
        Where the traces go.
    seconds : float
        Time that the making of a chunk takes.
    wait_for : Path, optional
        The chunks in `waiting` are made only once this file exists.
    waiting : tuple of int
        Numbers of those chunks.
    dtype : str
        Type of the values.
    repeat : int
        How often a chunk repeats its values along the first axis.
    """
    from daskasc.array import from_numpy

    folder.mkdir(exist_ok=True)
    numbers = da.arange(chunks, chunks=1)[:, None, None]
    return numbers.map_blocks(
        _make,
        str(folder),
        seconds,
        str(wait_for) if wait_for else None,
        waiting,
        dtype,
        repeat,
        chunks=((CHUNK[0] * repeat,) * chunks, (CHUNK[1],), (CHUNK[2],)),
        dtype=dtype,
        meta=from_numpy(np.empty((0, 0, 0), dtype)),
    )


def whole(chunks: int, dtype: str = "f8") -> np.ndarray:
    """The same array in NumPy."""
    return np.concatenate([values(index).astype(dtype) for index in range(chunks)])


def worker_of(client: Any, card: int) -> str:
    """Address of the worker of a card."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return next(address for address, worker in workers.items() if worker["id"] == card)


def made(folder: Path) -> Counter[int]:
    """How often each chunk has been made so far."""
    return Counter(int(path.name.split("-")[0]) for path in folder.iterdir())

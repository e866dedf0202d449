"""Deaths of worker processes at chosen points, and arrays whose values are known in NumPy."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np

ROWS, COLUMNS = 12, 3  # chunks: of each output chunk of a reduction another card is the owner
CHUNK = (4, 10)


def die_once(flag: str) -> None:
    """End this process by SIGKILL, unless the flag says that one has died already."""
    with contextlib.suppress(FileExistsError), open(flag, "x"):
        os.kill(os.getpid(), signal.SIGKILL)


def block(row: int, column: int, seed: int) -> np.ndarray:
    """Values of one chunk, float32."""
    return np.random.default_rng([seed, row, column]).normal(10, 3, CHUNK).astype("f4")


def whole(seed: int) -> np.ndarray:
    """All values in NumPy."""
    return np.block([[block(i, j, seed) for j in range(COLUMNS)] for i in range(ROWS)])


def _make(place: np.ndarray, seed: int, flag: str | None) -> Any:
    from daskasc.array import from_numpy

    row, column = divmod(int(place.ravel()[0]), COLUMNS)
    if flag is not None and row == ROWS // 2:  # a row of the card in the middle
        die_once(flag)
    return from_numpy(block(row, column, seed))


def _double(x: Any, flag: str | None) -> Any:
    if flag is not None and Path(flag).with_suffix(".armed").exists():
        die_once(flag)
    return x * 2


def made(seed: int, *, load: str | None = None, work: str | None = None) -> da.Array:
    """Twice the values of :func:`whole`; `load` and `work` are flags of deaths in those steps."""
    from daskasc.array import from_numpy

    meta = from_numpy(np.empty((0, 0), "f4"))
    places = da.arange(ROWS * COLUMNS, chunks=1).reshape(ROWS, COLUMNS)
    x = places.map_blocks(
        _make,
        seed,
        load,
        chunks=((CHUNK[0],) * ROWS, (CHUNK[1],) * COLUMNS),
        dtype="f4",
        meta=meta,
    )
    return x.map_blocks(_double, work, dtype="f4", meta=meta)


# -- where a worker dies; each of these runs in the worker that is to die


def in_deposit(flag: str, dask_worker: Any) -> None:
    """While it describes a partial."""
    from daskasc.collectives import _tasks

    _before(_tasks, "describe", flag)


def in_barrier(flag: str, dask_worker: Any) -> None:
    """While it waits for a collective."""
    from daskasc.collectives import _tasks

    _before(_tasks, "secede", flag)


def in_prepare(flag: str, dask_worker: Any) -> None:
    """While it takes hold of partials."""
    from daskasc.collectives._worker import part_of

    part = part_of(dask_worker)
    handler = part.prepare

    async def prepare(**order: Any) -> Any:
        die_once(flag)
        return await handler(**order)

    dask_worker.handlers["daskasc_collective_prepare"] = prepare


def in_forming(flag: str, dask_worker: Any) -> None:
    """While it joins a group."""
    from daskasc.collectives._group import Group

    _before(Group, "self_test", flag)


def in_collective(flag: str, dask_worker: Any) -> None:
    """Inside the exchange, where the others wait for it."""
    from daskasc.collectives._worker import part_of

    _before(part_of(dask_worker), "exchange", flag)


def in_collect(flag: str, dask_worker: Any) -> None:
    """When the result is there and about to be taken."""
    from daskasc.collectives._worker import part_of

    _before(part_of(dask_worker), "take", flag)


def _before(owner: Any, name: str, flag: str) -> None:
    function: Callable[..., Any] = getattr(owner, name)

    def dying(*args: Any, **kwargs: Any) -> Any:
        die_once(flag)
        return function(*args, **kwargs)

    setattr(owner, name, dying)

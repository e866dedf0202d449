"""Reductions from a Zarr store: daskasc's cards against plain dask workers, in one run.

Both sides have the same number of single-threaded worker processes and read the same store. The
runs are interleaved, results are compared before times, and the figure is the ratio of the medians
(above 1: daskasc is faster). The spread of each side is printed: on a busy machine single
values vary by 20 %.

Usage: ``python benchmarks/reductions.py [--cards 2] [--repeats 5] [--size 512MiB]``
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import zarr
from dask.utils import parse_bytes
from distributed import Client, LocalCluster

import daskasc

WORKLOADS: dict[str, Callable[[Any], Any]] = {
    "mean over time": lambda x: x.mean(axis=0),
    "zonal mean": lambda x: x.mean(axis=2),
    "global mean": lambda x: x.mean(),
    "std over time": lambda x: x.std(axis=0),
    "nanmean over time": lambda x: da.nanmean(x, axis=0),
    "anomaly, max over time": lambda x: abs(x - 280).max(axis=0),
}


def make_store(path: Path, size: int) -> None:
    """Write a store of about `size` bytes: float32, (time, 181, 360), ten steps a chunk."""
    steps = max(size // (181 * 360 * 4) // 10, 1) * 10
    array = zarr.create_array(path, shape=(steps, 181, 360), chunks=(10, 181, 360), dtype="f4")
    rng = np.random.default_rng(1)
    for start in range(0, steps, 10):
        array[start : start + 10] = np.round(rng.normal(280, 10, (10, 181, 360)), 1)


def timed(client: Client, x: da.Array, work: Callable[[Any], Any]) -> tuple[float, np.ndarray]:
    """Seconds and value of one run; nothing stays in the workers' memory."""
    lazy = work(x)
    start = time.perf_counter()
    value = client.compute(lazy).result(timeout=600)
    return time.perf_counter() - start, np.asarray(value)


def main() -> None:
    """Run all workloads and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cards", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--size", default="512MiB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path = Path(folder) / "store.zarr"
        make_store(path, parse_bytes(options.size))
        plain = stack.enter_context(
            LocalCluster(
                n_workers=options.cards,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=folder,
            )
        )
        plain_client = stack.enter_context(Client(plain, set_as_default=False))
        stock = dask.config.get("array_optimize", None)
        cards = stack.enter_context(
            daskasc.LocalNPUCluster(
                n_workers=options.cards, dashboard_address=":0", local_directory=folder
            )
        )
        planner = dask.config.get("array_optimize")
        cards_client = stack.enter_context(cards.get_client())
        sides = {
            "dask": (plain_client, da.from_zarr(str(path)), stock),
            "daskasc": (cards_client, daskasc.from_zarr(path), planner),
        }
        print(f"{options.cards} workers, {options.size}, median of {options.repeats}, seconds")
        for name, work in WORKLOADS.items():
            times: dict[str, list[float]] = {side: [] for side in sides}
            values = {}
            for _ in range(options.repeats + 1):
                for side, (client, x, optimizer) in sides.items():
                    with dask.config.set(array_optimize=optimizer):
                        seconds, values[side] = timed(client, x, work)
                    times[side].append(seconds)
            np.testing.assert_allclose(values["daskasc"], values["dask"], rtol=2e-5)
            medians = {side: statistics.median(runs[1:]) for side, runs in times.items()}
            spread = "  ".join(
                f"{side} {medians[side]:6.2f} ({min(runs[1:]):.2f}-{max(runs[1:]):.2f})"
                for side, runs in times.items()
            )
            print(f"{name:24} {spread}  ratio {medians['dask'] / medians['daskasc']:.2f}")


if __name__ == "__main__":
    main()

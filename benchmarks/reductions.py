"""Reductions and rechunking: daskasc's cards against plain dask workers with NumPy, in one run.

Both sides have the same number of single-threaded worker processes and read the same uncompressed
Zarr arrays; results stay on the workers. The runs are interleaved and results are compared before
times. What is measured, and how, is said in ``_sides.py``. Each cell of the table is ``dask /
daskasc (ratio)``; above 1 daskasc is faster or needs less.

Usage: ``python benchmarks/reductions.py [--workers 2 4 8] [--repeats 5] [--size 64MiB]
[--only cumsum] [--json FILE]``
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import zarr
from _measure import Result, check, header, medians, parser, ratio, row, write
from _sides import Run, Side, idle_load, same, sides
from dask.utils import parse_bytes

import daskasc

GRID = (181, 360)
STEPS = 4
CHUNKS = {"pancakes": (STEPS, *GRID), "pencils": (-1, 23, 45), "tall": (STEPS * GRID[0], GRID[1])}
COLUMNS = ("seconds", "scheduler CPU ms", "KiB between", "peak MiB", "tasks")


class Workload(NamedTuple):
    """A computation, the stored array that it reads, and how exact float32 lets it be."""

    source: str
    work: Callable[[Any], Any]
    tolerance: float = 1e-5


WORKLOADS: dict[str, Workload] = {
    "x.mean(0)": Workload("pancakes", lambda x: x.mean(axis=0)),
    "x.std()": Workload("pancakes", lambda x: x.std(), 1e-4),
    "zonal mean": Workload("pancakes", lambda x: x.mean(axis=-1)),
    "(x - x.mean(0)).std(0)": Workload("pancakes", lambda x: (x - x.mean(0)).std(0), 1e-4),
    "x.T @ x": Workload("tall", lambda x: x.T @ x),
    "argmax": Workload("pancakes", lambda x: x.argmax(axis=0), 0),
    "cumsum": Workload("pancakes", lambda x: x.cumsum(axis=0), 1e-4),
    "quantile(0.9, axis=0)": Workload("pancakes", lambda x: da.quantile(x, 0.9, axis=0)),
    "pencil -> pancake": Workload("pencils", lambda x: x.rechunk((STEPS, -1, -1)), 0),
    "pancake -> pencil": Workload("pancakes", lambda x: x.rechunk(CHUNKS["pencils"]), 0),
    "elementwise": Workload("pancakes", lambda x: x * 2 + 1),
    "nanmean(0)": Workload("pancakes", lambda x: da.nanmean(x, axis=0)),
    "abs(x - 280).max(0)": Workload("pancakes", lambda x: abs(x - 280).max(axis=0)),
}


def make_stores(folder: Path, size: int) -> None:
    """Write the same data three times, each about `size` bytes: float32, values of 280 +- 10."""
    steps = max(size // (GRID[0] * GRID[1] * 4 * STEPS), 1) * STEPS
    shapes = {
        "pancakes": (steps, *GRID),
        "pencils": (steps, *GRID),
        "tall": (steps * GRID[0], GRID[1]),
    }
    rng = np.random.default_rng(1)
    data = np.round(rng.normal(280, 10, shapes["pancakes"]), 1).astype("f4")
    for name, shape in shapes.items():
        chunks = tuple(n if n > 0 else steps for n in CHUNKS[name])
        stored = zarr.create_array(
            folder / name, shape=shape, chunks=chunks, dtype="f4", compressors=None
        )
        stored[...] = data.reshape(shape)


def opened(side: Side, path: Path) -> da.Array:
    """A stored array as the side reads it."""
    return daskasc.from_zarr(path) if side.has_cards else da.from_zarr(str(path))


def measure(
    name: str, folder: Path, both: dict[str, Side], repeats: int, idle: float
) -> dict[str, list[Run]]:
    """Runs of each side, after one whose values were compared."""
    workload = WORKLOADS[name]
    builds = {
        side: lambda s=it: workload.work(opened(s, folder / workload.source))
        for side, it in both.items()
    }
    values: dict[str, Any] = {}
    for side, it in both.items():
        it.run(builds[side], lambda value, side=side: values.update({side: value}))
    same(values, name, workload.tolerance)
    runs: dict[str, list[Run]] = {side: [] for side in both}
    for _ in range(repeats):
        for side, it in both.items():
            runs[side].append(it.run(builds[side], idle=idle))
    return runs


def summed_up(name: str, runs: dict[str, list[Run]], workers: int, chunks: int) -> list[Result]:
    """Medians of both sides."""
    seconds = medians({side: [run.seconds for run in those] for side, those in runs.items()})
    results = []
    for side, those in runs.items():
        more = {
            "workers": workers,
            "chunks": chunks,
            "scheduler_cpu_s": statistics.median(run.scheduler_cpu for run in those),
            "bytes_at_busiest": typical(those, "busiest"),
            "array_bytes_between_cards": typical(those, "arrays_between_cards"),
            "peak_device_bytes": typical(those, "peak_on_card"),
            "least_s": min(run.seconds for run in those),
            "most_s": max(run.seconds for run in those),
        }
        figures = [typical(those, figure) for figure in ("peak", "between", "tasks")]
        times = ratio(seconds["dask"], seconds[side])
        results.append(Result(name, side, seconds[side], times, *figures, more))
    return results


def typical(runs: list[Run], figure: str) -> int | None:
    """Median of a whole number, None where it does not apply."""
    values = [value for run in runs if (value := getattr(run, figure)) is not None]
    return int(statistics.median(values)) if values else None


def cells(pair: list[Result]) -> list[str]:
    """One line of the table."""
    figures: list[Callable[[Result], float]] = [
        lambda r: r.median_s,
        lambda r: r.more["scheduler_cpu_s"] * 1e3,
        lambda r: (r.bytes_between_cards or 0) / 2**10,
        lambda r: (r.peak_bytes or 0) / 2**20,
        lambda r: r.tasks or 0,
    ]
    shown = []
    for figure in figures:
        stock, ours = (figure(one) for one in pair)
        times = ratio(stock, ours)
        shown.append(f"{stock:.4g} / {ours:.4g} ({'-' if times is None else f'{times:.2f}'})")
    return [*shown, f"{pair[1].more['peak_device_bytes'] / 2**20:.4g}"]


def checks(results: list[Result], workers: int, output: int) -> None:
    """Print which expectations are met."""
    ours = {one.workload: one for one in results if one.variant == "daskasc"}
    stock = {one.workload: one for one in results if one.variant == "dask"}
    if (mean := ours.get("x.mean(0)")) is not None:
        limit = 2 * (workers - 1) / workers
        times = mean.more["array_bytes_between_cards"] / workers / output
        everything = (mean.bytes_between_cards or 0) / workers / output
        busiest = mean.more["bytes_at_busiest"] / output
        check(
            f"x.mean(0) moves at most 2(N-1)/N = {limit:.2f} times its output a worker",
            times <= limit,
            f"{times:.5g} on average ({everything:.5g} with the tokens of the collectives), "
            f"{busiest:.5g} to the busiest",
        )
    if (plain := ours.get("elementwise")) is not None:
        moved = plain.bytes_between_cards or 0
        check("elementwise work moves nothing", moved == 0, f"{moved} bytes")
    shares = {
        name: one.more["scheduler_cpu_s"] / stock[name].more["scheduler_cpu_s"]
        for name, one in ours.items()
        if stock[name].more["scheduler_cpu_s"] > 0
    }
    met = sum(share <= 0.1 for share in shares.values())
    listed = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    check(
        "scheduler CPU a chunk is at most 0.10 of stock dask's",
        met == len(shares),
        f"{met} of {len(shares)} workloads; {listed}",
    )


def main(arguments: list[str] | None = None) -> None:
    """Print a table and the checks for each number of workers."""
    options = parser(__doc__, "64MiB", "bytes of the array")
    options.add_argument("--workers", type=int, nargs="+", default=[2], help="of each side")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--only", nargs="+", default=list(WORKLOADS), choices=list(WORKLOADS))
    chosen = options.parse_args(arguments)
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        stores = Path(folder)
        make_stores(stores, parse_bytes(chosen.size))
        chunks = {name: da.from_zarr(str(stores / name)).npartitions for name in CHUNKS}
        for workers in chosen.workers:
            with sides(workers, folder) as both:
                print(
                    f"\n{workers} workers, {chosen.size} in {chunks['pancakes']} pancakes or "
                    f"{chunks['pencils']} pencils, medians of {chosen.repeats}; dask / daskasc "
                    "(ratio)\n"
                )
                header(["", *COLUMNS, "card's accounts MiB"])
                mine: list[Result] = []
                idle = idle_load()
                for name in chosen.only:
                    runs = measure(name, stores, both, chosen.repeats, idle)
                    pair = summed_up(name, runs, workers, chunks[WORKLOADS[name].source])
                    row([name, *cells(pair)])
                    mine += pair
                print()
                checks(mine, workers, GRID[0] * GRID[1] * 4)
                results += mine
                write(chosen.json, results)


if __name__ == "__main__":
    main()

"""What reading ahead gains where chunks come from storage with a latency.

One worker on either side computes ``sqrt(x * x + 1).mean(0)`` of chunks whose reading waits for
`latency` milliseconds (a sleep: an object store, a busy disk; no CPU) before it makes them. Plain
dask runs a task a chunk; bundles read 0, 1 or 2 chunks ahead (``daskasc.planner.prefetch``). The
values are compared first. On stand-in cards reading and computing share the cores, so only the
waiting can be hidden; on real cards uploads are as well.

Usage: ``python benchmarks/read_ahead.py [--size 64] [--latency 0 10 40] [--repeats 3]
[--json FILE]``
"""

from __future__ import annotations

import functools
import tempfile
import time
from typing import Any

import dask
import dask.array as da
import numpy as np
from _measure import Result, check, compared, header, interleaved, medians, parser, row, write
from _sides import Side, same, sides

from daskasc.array import from_numpy

SHAPE = (1, 512, 512)
AHEAD = (0, 1, 2)


class Slow:
    """Array-like of one row a chunk that waits before it gives one."""

    dtype, ndim = np.dtype("f4"), 3

    def __init__(self, chunks: int, latency: float) -> None:
        self.shape = (chunks, *SHAPE[1:])
        self.latency = latency

    def __getitem__(self, index: tuple[slice, ...]) -> np.ndarray:
        time.sleep(self.latency)
        return np.full(SHAPE, index[0].start % 7, self.dtype)

    def __dask_tokenize__(self) -> Any:
        return "slow", self.shape, self.latency


def build(chunks: int, latency: float, on_cards: bool) -> da.Array:
    """The computation's dask array."""
    meta = np.empty((0, 0, 0), "f4")
    slow = Slow(chunks, latency)
    x = da.from_array(slow, chunks=SHAPE, asarray=False, fancy=False, meta=meta)
    if on_cards:
        x = x.map_blocks(from_numpy, dtype="f4", meta=from_numpy(meta))
    return da.sqrt(x * x + 1).mean(axis=0)


def measured(latency: float, chunks: int, both: dict[str, Side], repeats: int) -> list[Result]:
    """Results of one latency."""
    values: dict[str, Any] = {}

    def run(side: Side, ahead: int) -> float:
        name = side.name if not side.has_cards else f"{ahead} ahead"
        make = functools.partial(build, chunks, latency / 1000, side.has_cards)
        keep = None if name in values else functools.partial(values.__setitem__, name)
        with dask.config.set({"daskasc.planner.prefetch": ahead}):
            return side.run(make, keep).seconds

    works = {"dask": functools.partial(run, both["dask"], 0)}
    works |= {f"{ahead} ahead": functools.partial(run, both["daskasc"], ahead) for ahead in AHEAD}
    times = medians(interleaved(works, repeats))
    for name in list(works)[1:]:
        same({"dask": values["dask"], "daskasc": values[name]}, f"{latency:g} ms, {name}", 1e-6)
    return compared(f"{latency:g} ms", times, {"latency_ms": latency, "chunks": chunks})


def main(arguments: list[str] | None = None) -> None:
    """Print the table and the check."""
    options = parser(__doc__, 64, "chunks of 1 MiB")
    options.add_argument("--latency", type=float, nargs="+", default=[0.0, 10.0, 40.0])
    options.add_argument("--repeats", type=int, default=3)
    chosen = options.parse_args(arguments)
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder, sides(1, folder) as both:
        for latency in chosen.latency:
            results += measured(latency, chosen.size, both, chosen.repeats)
    names = list(dict.fromkeys(one.variant for one in results))
    print(f"seconds for {chosen.size} chunks of 1 MiB, medians of {chosen.repeats}\n")
    header(["latency of a chunk", *names])
    for latency in dict.fromkeys(one.workload for one in results):
        found = [one for one in results if one.workload == latency]
        row([latency, *(f"{one.median_s:.2f} ({one.ratio:.2f})" for one in found)])
    print()
    last = {one.variant: one.median_s for one in results[-len(names) :]}
    gain = last["0 ahead"] / last["1 ahead"]
    check("at the largest latency reading 1 ahead gains at least 1.1", gain >= 1.1, f"{gain:.2f}")
    write(chosen.json, results)


if __name__ == "__main__":
    main()

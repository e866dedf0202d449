"""Whole arrays against NumPy: ratios of times from 1e3 to 1e7 elements, at one and two threads.

NumPy runs on one thread always; torch on as many as the column says. Both sides take turns in one
process, results are compared before times, and the figure is the ratio of the medians (above 1:
AscendArray is faster). On the CPU stand-in this compares torch's kernels, and what the array layer
adds, with NumPy's; it says nothing about a card. On a machine with other load take ``--cpu-time``:
CPU time of the thread instead of wall time, for one thread only.

Usage: ``python benchmarks/elementwise.py [--quick] [--cpu-time] [--repeats 7] [--only add sort]``
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import asnumpy, from_numpy

Data = dict[str, Any]
WORKLOADS: dict[str, Callable[[Data], Any]] = {
    "add": lambda d: d["u"] + d["v"],
    "chain": lambda d: np.sqrt(d["u"] * d["u"] + d["v"] * d["v"]) * 0.5 + np.exp(-d["t"] / 300),
    "mean": lambda d: d["u"].mean(),
    "mean over axis 0": lambda d: d["grid"].mean(axis=0),
    "nanmean": lambda d: np.nanmean(d["gaps"]),
    "nanmean over axis 0": lambda d: np.nanmean(d["gappy grid"], axis=0),
    "var": lambda d: d["u"].var(),
    "var over axis 0": lambda d: d["grid"].var(axis=0),
    "sort": lambda d: np.sort(d["u"]),
    "matmul": lambda d: d["square"] @ d["square"],
    "boolean index": lambda d: d["u"][d["mask"]],
}


def make_data(size: int) -> Data:
    """float32 arrays of about `size` elements."""
    rng = np.random.default_rng(1)
    u, v, t = (rng.normal(size=size).astype("f4") for _ in "uvt")
    gaps = np.where(rng.random(size) < 0.1, np.float32(np.nan), u)
    rows = max(int(size**0.5) // 2, 1)
    side = min(max(int(size**0.5), 1), 1024)
    return {
        "u": u,
        "v": v,
        "t": 280 + t,
        "gaps": gaps,
        "mask": v > 0,
        "grid": u[: rows * (size // rows)].reshape(rows, -1),
        "gappy grid": gaps[: rows * (size // rows)].reshape(rows, -1),
        "square": u[: side * side].reshape(side, side),
    }


def timed(work: Callable[[Data], Any], data: Data, calls: int, clock: Callable[[], float]) -> float:
    """Seconds of one call."""
    start = clock()
    for _ in range(calls):
        work(data)
    device.current().synchronize()
    return (clock() - start) / calls


def compare(
    name: str, size: int, threads: tuple[int, ...], repeats: int, clock: Callable[[], float]
) -> list[float]:
    """NumPy's median seconds, then the ratio for each number of threads."""
    work, torch = WORKLOADS[name], device.torch()
    host = make_data(size)
    card = {key: from_numpy(value) for key, value in host.items()}
    expected = np.asarray(work(host))
    np.testing.assert_allclose(asnumpy(work(card)), expected, rtol=2e-4, atol=2e-4)
    calls = max(int(2e-3 / max(timed(work, host, 1, clock), 1e-6)), 1)
    times: dict[int, list[float]] = {0: [], **{n: [] for n in threads}}
    for _ in range(repeats):
        times[0].append(timed(work, host, calls, clock))
        for n in threads:
            torch.set_num_threads(n)
            times[n].append(timed(work, card, calls, clock))
    medians = {n: statistics.median(values) for n, values in times.items()}
    return [medians[0], *(medians[0] / medians[n] for n in threads)]


def main(arguments: list[str] | None = None) -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small sizes, two repeats")
    parser.add_argument("--cpu-time", action="store_true", help="of one thread; not wall time")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--largest", type=int, default=10**7)
    parser.add_argument("--only", nargs="*", default=list(WORKLOADS), choices=list(WORKLOADS))
    options = parser.parse_args(arguments)
    sizes = [n for n in (10**3, 10**4, 10**5, 10**6, 10**7) if n <= options.largest]
    repeats = options.repeats
    if options.quick:
        sizes, repeats = [100, 1000], 2
    torch = device.torch()
    before = torch.get_num_threads()
    threads = (1,) if options.cpu_time else (1, 2)
    clock = time.thread_time if options.cpu_time else time.perf_counter
    print(
        f"float32; ratio NumPy / AscendArray at {' and '.join(map(str, threads))} thread(s), "
        f"{'CPU' if options.cpu_time else 'wall'} time (above 1: AscendArray is faster)\n"
    )
    print("| | " + " | ".join(f"{size:.0e}".replace("e+0", "e") for size in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    try:
        for name in options.only:
            cells = []
            for size in sizes:
                seconds, *ratios = compare(name, size, threads, repeats, clock)
                shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
                cells.append(f"{shown} ({seconds * 1e3:.3g} ms)")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    main()

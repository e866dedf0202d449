"""Whole arrays against NumPy: ratios of times from 1e3 elements up, at one and two threads.

NumPy runs on one thread always; torch on as many as the column says. Both sides take turns in one
process, results are compared before times, and the figure is the ratio of the medians (above 1:
AscendArray is faster). On the CPU stand-in this compares torch's kernels, and what the array layer
adds, with NumPy's; it says nothing about a card. On a machine with other load take ``--cpu-time``:
CPU time of the thread instead of wall time, for one thread only.

Usage: ``python benchmarks/elementwise.py [--size 10000000] [--cpu-time] [--repeats 7]
[--only add sort] [--json FILE]``
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import Result, compared, header, interleaved, medians, parser, row, seconds, write

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


def compare(
    name: str, size: int, threads: tuple[int, ...], repeats: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Median seconds of NumPy, then of AscendArray with each number of threads."""
    work, torch = WORKLOADS[name], device.torch()
    host = make_data(size)
    card = {key: from_numpy(value) for key, value in host.items()}
    expected = np.asarray(work(host))
    np.testing.assert_allclose(asnumpy(work(card)), expected, rtol=2e-4, atol=2e-4)
    calls = max(int(2e-3 / max(seconds(lambda: work(host), 1, clock), 1e-6)), 1)

    def by_numpy() -> float:
        return seconds(lambda: work(host), calls, clock)

    def by_card(n: int) -> float:
        torch.set_num_threads(n)
        start = clock()
        for _ in range(calls):
            work(card)
        device.current().synchronize()
        return (clock() - start) / calls

    turns: dict[str, Callable[[], float]] = {"NumPy": by_numpy}
    turns |= {f"AscendArray, {n} thread(s)": lambda n=n: by_card(n) for n in threads}
    return medians(interleaved(turns, repeats))


def sizes_up_to(largest: int) -> list[int]:
    """Powers of ten from 1000 to `largest`, or `largest` itself where that is less."""
    return [10**n for n in range(3, 10) if 10**n <= largest] or [largest]


def main(arguments: list[str] | None = None) -> None:
    """Print a Markdown table."""
    options = parser(__doc__, 10**7, "elements of the largest arrays; also smaller powers of ten")
    options.add_argument("--cpu-time", action="store_true", help="of one thread; not wall time")
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--only", nargs="*", default=list(WORKLOADS), choices=list(WORKLOADS))
    chosen = options.parse_args(arguments)
    sizes = sizes_up_to(chosen.size)
    torch = device.torch()
    before = torch.get_num_threads()
    threads = (1,) if chosen.cpu_time else (1, 2)
    clock = time.thread_time if chosen.cpu_time else time.perf_counter
    print(
        f"float32; ratio NumPy / AscendArray at {' and '.join(map(str, threads))} thread(s), "
        f"{'CPU' if chosen.cpu_time else 'wall'} time (above 1: AscendArray is faster); in "
        "brackets NumPy's time\n"
    )
    header(["", *(f"{size:.0e}".replace("e+0", "e") for size in sizes)])
    results: list[Result] = []
    try:
        for name in chosen.only:
            cells = []
            for size in sizes:
                found = compare(name, size, threads, chosen.repeats, clock)
                rows = compared(name, found, {"elements": size})
                shown = ", ".join(f"{one.ratio or 0:.2f}" for one in rows[1:])
                cells.append(f"{shown} ({found['NumPy'] * 1e3:.3g} ms)")
                results += rows
            row([name, *cells])
    finally:
        torch.set_num_threads(before)
    write(chosen.json, results)


if __name__ == "__main__":
    main()

"""Random numbers: milliseconds for a million of them, by daskasc, torch and NumPy.

CPU time of one thread, the least of several runs. On the CPU stand-in this compares the words by
position (``daskasc.random``) with torch's Mersenne Twister and NumPy's PCG64; it says nothing about
a card.

Usage: ``python benchmarks/random_numbers.py [--size 1000000] [--repeats 15]``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device, random


def works(size: int) -> dict[str, tuple[Callable[[], Any], ...]]:
    """Rows of the table: by daskasc, torch and NumPy."""
    torch = device.torch()
    card, host = random.default_rng(1), np.random.default_rng(1)
    own = torch.Generator().manual_seed(1)
    rows: dict[str, tuple[Callable[[], Any], ...]] = {}
    for name, form in (("random", torch.rand), ("standard_normal", torch.randn)):
        for dtype in (np.float32, np.float64):
            kind = device.torch_dtype(dtype)
            rows[f"{name} {np.dtype(dtype)}"] = (
                lambda n=name, d=dtype: getattr(card, n)(size, dtype=d),
                lambda f=form, k=kind: f(size, generator=own, dtype=k),
                lambda n=name, d=dtype: getattr(host, n)(size, dtype=d),
            )
    rows["integers of 1000"] = (
        lambda: card.integers(0, 1000, size),
        lambda: torch.randint(0, 1000, (size,), generator=own),
        lambda: host.integers(0, 1000, size),
    )
    return rows


def least(work: Callable[[], Any], repeats: int) -> float:
    """Milliseconds of the fastest run, after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times) * 1e3


def main(arguments: list[str] | None = None) -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=10**6)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args(arguments)
    torch = device.torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    print(f"milliseconds for {options.size} numbers, CPU time of one thread\n")
    print("| | daskasc | torch | NumPy |\n|---|---|---|---|")
    try:
        for name, row in works(options.size).items():
            shown = " | ".join(f"{least(work, options.repeats):.3g}" for work in row)
            print(f"| {name} | {shown} |", flush=True)
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    main()

"""Random numbers: milliseconds for a million of them, by daskasc, torch and NumPy.

CPU time of one thread, medians of runs that take turns. On the CPU stand-in this compares the words
by position (``daskasc.random``) with torch's Mersenne Twister and NumPy's PCG64; it says nothing
about a card. The three draw different numbers by design: what is compared before the times is the
mean with the distribution's.

Usage: ``python benchmarks/random_numbers.py [--size 1000000] [--repeats 15] [--json FILE]``
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import Result, compared, header, interleaved, medians, parser, row, seconds, write

from daskasc import device, random
from daskasc.array import asnumpy

SIDES = ("daskasc", "torch", "NumPy")


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


def check_mean(draws: tuple[Callable[[], Any], ...], name: str, size: int) -> None:
    """Fail where a side's mean is not that of the distribution, to six standard errors."""
    mean, deviation = {"random": (0.5, 12**-0.5), "standard_normal": (0.0, 1.0)}.get(
        name.split()[0], (499.5, 1000 * 12**-0.5)
    )
    limit = 6 * deviation / math.sqrt(size)
    for side, draw in zip(SIDES, draws, strict=True):
        drawn = asnumpy(draw()) if side == "daskasc" else np.asarray(draw())
        found = float(drawn.mean(dtype=np.float64))
        if drawn.shape != (size,) or abs(found - mean) > limit:
            raise AssertionError(f"{name} by {side}: mean {found}, should be {mean} +- {limit}")


def main(arguments: list[str] | None = None) -> None:
    """Print a Markdown table."""
    options = parser(__doc__, 10**6, "numbers drawn at a time")
    options.add_argument("--repeats", type=int, default=15)
    chosen = options.parse_args(arguments)
    torch = device.torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    results: list[Result] = []
    print(f"milliseconds for {chosen.size} numbers, CPU time of one thread\n")
    header(["", *SIDES])
    try:
        for name, draws in works(chosen.size).items():
            check_mean(draws, name, chosen.size)
            turns = {
                side: lambda d=draw: seconds(d, clock=time.thread_time)
                for side, draw in zip(SIDES, draws, strict=True)
            }
            found = medians(interleaved(turns, chosen.repeats))
            row([name, *(f"{found[side] * 1e3:.3g}" for side in SIDES)])
            order = sorted(found, key=lambda side: side != "NumPy")  # the reference
            results += compared(name, {side: found[side] for side in order})
    finally:
        torch.set_num_threads(before)
    write(chosen.json, results)


if __name__ == "__main__":
    main()

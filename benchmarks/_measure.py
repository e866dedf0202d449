"""What the benchmarks share: options, runs that take turns, the table, JSON, and checks.

A script compares variants of a workload. The first variant is the reference; `ratio` is the
reference's time over a variant's, so above 1 the variant is faster. Other ratios have the same
sense: above 1 the variant needs less.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Result:
    """Figures of one variant of a workload; sizes in bytes, None where they do not apply.

    Attributes
    ----------
    workload, variant : str
        Row and column of the table.
    median_s : float
        Seconds.
    ratio : float or None
        The reference's seconds over these.
    peak_bytes, bytes_between_cards, tasks : int or None
        Peak memory of the busiest worker, bytes between all workers, tasks of the graph.
    more : mapping
        Figures that only some scripts have.
    """

    workload: str
    variant: str
    median_s: float
    ratio: float | None = None
    peak_bytes: int | None = None
    bytes_between_cards: int | None = None
    tasks: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As an object of the JSON file."""
        own = {key: value for key, value in vars(self).items() if key != "more"}
        return {key: value for key, value in {**own, **self.more}.items() if value is not None}


def parser(doc: str | None, size: str | int, meaning: str) -> argparse.ArgumentParser:
    """Parser with ``--size`` and ``--json``.

    Parameters
    ----------
    doc : str
        The script's docstring; its first line is shown.
    size : str or int
        Default; its type is the option's.
    meaning : str
        What the size is of.
    """
    made = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    made.add_argument(
        "--size",
        type=type(size),
        default=size,
        help=f"{meaning} (default: %(default)s); a small one makes a quick run",
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    return made


def write(path: Path | None, results: Iterable[Result]) -> None:
    """Write a list of objects; nothing without a path."""
    if path is not None:
        path.write_text(json.dumps([one.as_dict() for one in results], indent=1) + "\n")


def interleaved(works: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Seconds that each work says it took, by name; the works take turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(work())
    return times


def medians(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Median of each variant."""
    return {name: statistics.median(values) for name, values in times.items()}


def seconds(
    work: Callable[[], Any], calls: int = 1, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds of one call, the mean of several."""
    start = clock()
    for _ in range(calls):
        work()
    return (clock() - start) / calls


def compared(
    workload: str, times: Mapping[str, float], more: Mapping[str, Any] | None = None
) -> list[Result]:
    """Results of a workload's variants, the first one being the reference."""
    reference = next(iter(times.values()))
    return [
        Result(workload, variant, value, ratio(reference, value), more=more or {})
        for variant, value in times.items()
    ]


def ratio(reference: float, value: float) -> float | None:
    """How many times less than the reference; None where that is no number."""
    return reference / value if value > 0 and math.isfinite(reference / value) else None


def header(cells: Sequence[str]) -> None:
    """Print the head of a Markdown table."""
    row(cells)
    print("|" + "---|" * len(cells))


def row(cells: Iterable[str]) -> None:
    """Print a line of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def check(expectation: str, met: bool, figure: str) -> None:
    """Print whether an expectation is met, and what was measured."""
    print(f"{'met   ' if met else 'MISSED'} {expectation}: {figure}")

"""What a chunk costs before anything runs: building and planning graphs of one-element chunks.

The graph is ``x.mean()`` of chunks of one element from a reader that reads nothing, at a hundredth
of the size, a tenth, and all of it. CPU microseconds a chunk of one thread, medians of runs that
take turns: building, this package's planner, and dask's own optimiser on the same graph. Where
costs a chunk do not grow with the graph, the columns are equal.

With ``--run`` the graphs run as well, on as many plain dask workers as cards, both sides by turns
(see ``_sides.py``); ``--run-size`` limits them, and ``--stock-size`` those of plain dask, which
takes minutes for 100,000 chunks. The CPU of the scheduler then covers planning and all messages
about the tasks.

The values are compared first: of the planned graph for one card at the smallest size, run in this
process, and of every graph that ran.

Usage: ``python benchmarks/planner.py [--size 100000] [--cards 2] [--repeats 3] [--run]
[--run-size 10000] [--stock-size 10000] [--json FILE]``
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from _measure import Result, check, header, interleaved, medians, parser, ratio, row, write
from _sides import Run, Side, idle_load, sides
from dask.array.optimization import optimize

from daskasc import Planner
from daskasc.array import from_numpy

WORKLOAD = "x.mean()"


def read(block_id: tuple[int, ...] | None = None) -> np.ndarray:
    """A chunk of one element."""
    assert block_id is not None
    return np.full(1, block_id[0] % 7, "f8")


def read_to_card(block_id: tuple[int, ...] | None = None) -> Any:
    """The same on a card."""
    return from_numpy(read(block_id))


def build(chunks: int, on_cards: bool = False) -> da.Array:
    """Mean of chunks of one element."""
    meta = np.empty(0, "f8")
    x = da.map_blocks(
        read_to_card if on_cards else read,
        chunks=((1,) * chunks,),
        dtype="f8",
        meta=from_numpy(meta) if on_cards else meta,
    )
    return x.mean()


def expected(chunks: int) -> float:
    """Its value."""
    return float(np.mean(np.arange(chunks) % 7))


def planned(chunks: int, cards: int) -> tuple[Any, Any]:
    """The planned graph and the wanted keys."""
    mean = build(chunks)
    return Planner(cards=cards)(mean.__dask_graph__(), mean.__dask_keys__()), mean.__dask_keys__()


def cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of this thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def optimised(
    optimiser: Callable[..., Any], chunks: int, tasks: dict[str, int], name: str
) -> float:
    """CPU seconds of an optimiser on a graph of its own; notes the number of tasks."""
    mean = build(chunks)
    graph, keys = mean.__dask_graph__(), mean.__dask_keys__()
    start = time.thread_time()
    tasks[name] = len(optimiser(graph, keys))
    return time.thread_time() - start


def without_running(chunks: int, cards: int, repeats: int) -> list[Result]:
    """Costs of building, of dask's optimiser and of the planner."""
    tasks: dict[str, int] = {}
    turns = {
        "building": lambda: cpu(partial(build, chunks)),
        "dask": lambda: optimised(optimize, chunks, tasks, "dask"),
        "planner": lambda: optimised(Planner(cards=cards), chunks, tasks, "planner"),
    }
    found = medians(interleaved(turns, repeats))
    return [
        Result(
            WORKLOAD,
            f"{name}, not run",
            value,
            ratio(found["dask"], value) if name != "building" else None,
            tasks=tasks.get(name),
            more={"chunks": chunks, "cpu_us_per_chunk": value / chunks * 1e6},
        )
        for name, value in found.items()
    ]


def running(chunks: int, both: dict[str, Side], repeats: int, idle: float) -> list[Result]:
    """Costs of running, after a run whose values were compared."""
    builds = {name: partial(build, chunks, side.has_cards) for name, side in both.items()}
    stock = "dask" in both
    for name, side in both.items():
        side.run(builds[name], partial(compare, chunks, name))
    runs: dict[str, list[Run]] = {name: [] for name in both}
    for _ in range(repeats):
        for name, side in both.items():
            runs[name].append(side.run(builds[name], idle=idle))
    seconds = medians({name: [run.seconds for run in those] for name, those in runs.items()})
    results = []
    for name, those in runs.items():
        busy = statistics.median(run.scheduler_cpu for run in those)
        more = {"chunks": chunks, "cpu_us_per_chunk": busy / chunks * 1e6}
        figures = [
            int(statistics.median(map(int, f))) for f in zip(*map(_sizes, those), strict=True)
        ]
        times = ratio(seconds["dask"], seconds[name]) if stock else None
        results.append(Result(WORKLOAD, f"{name}, run", seconds[name], times, *figures, more))
    return results


def _sizes(run: Run) -> tuple[int, int, int]:
    return run.peak, run.between, run.tasks


def compare(chunks: int, name: str, value: Any) -> None:
    """Fail where a value is wrong."""
    np.testing.assert_allclose(value, expected(chunks), rtol=1e-12, err_msg=f"{chunks} by {name}")


def show(results: list[Result]) -> None:
    """Print one line a variant."""
    sizes = sorted({one.more["chunks"] for one in results})
    header(["CPU us a chunk (tasks)", *(f"{size} chunks" for size in sizes)])
    for variant in dict.fromkeys(one.variant for one in results):
        cells = []
        for size in sizes:
            these = [r for r in results if r.variant == variant and r.more["chunks"] == size]
            cells += [_cell(one) for one in these] or ["-"]
        row([variant, *cells])


def _cell(one: Result) -> str:
    shown = f"{one.more['cpu_us_per_chunk']:.1f}"
    shown += "" if one.tasks is None else f" ({one.tasks})"
    return shown if not one.variant.endswith(", run") else f"{shown}, {one.median_s:.3g} s"


def checks(results: list[Result]) -> None:
    """Print which expectations are met."""
    per_chunk: dict[str, dict[int, float]] = {}
    for one in results:
        costs = per_chunk.setdefault(one.variant, {})
        costs[one.more["chunks"]] = one.more["cpu_us_per_chunk"]
    least = min(next(iter(per_chunk.values())))
    ways = {
        "built and planned": ("building, not run", "planner, not run"),
        "run": ("daskasc, run",),
    }
    for way, parts in ways.items():
        if parts[-1] not in per_chunk:
            continue
        most = max(per_chunk[parts[-1]])
        small, large = (sum(per_chunk[part][size] for part in parts) for size in (least, most))
        check(
            f"{way}, a chunk costs no more of {most} than of {least}",
            0 < large <= small,
            f"{large:.1f} us of CPU against {small:.1f}, {ratio(large, small) or 0:.2f} times",
        )
    if "daskasc, run" in per_chunk and "dask, run" in per_chunk:
        most = max(per_chunk["dask, run"])
        ours, stock = (per_chunk[f"{side}, run"][most] for side in ("daskasc", "dask"))
        check(
            f"scheduler CPU a chunk of {most} is at most 0.10 of stock dask's",
            0 < ours <= 0.1 * stock,
            f"{ours:.1f} us against {stock:.1f}, {ratio(ours, stock) or 0:.2f} times",
        )


def main(arguments: list[str] | None = None) -> None:
    """Print the table and the checks."""
    options = parser(__doc__, 100_000, "chunks of the largest graph")
    options.add_argument("--cards", type=int, default=2, help="cards to plan for, and to run on")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--run", action="store_true", help="run the graphs as well")
    options.add_argument(
        "--run-size", type=int, default=10_000, help="largest graph to run (default: %(default)s)"
    )
    options.add_argument(
        "--stock-size",
        type=int,
        default=10_000,
        help="largest graph that plain dask runs (default: %(default)s)",
    )
    chosen = options.parse_args(arguments)
    sizes = sorted({max(chosen.size // part, 1) for part in (100, 10, 1)})
    graph, keys = planned(sizes[0], 1)
    (value,) = dask.get(graph, keys)
    compare(sizes[0], "the planned graph", value)
    results: list[Result] = []
    for size in sizes:
        results += without_running(size, chosen.cards, chosen.repeats)
    if chosen.run:
        with tempfile.TemporaryDirectory() as folder, sides(chosen.cards, folder) as both:
            idle = idle_load()
            for size in (size for size in sizes if size <= chosen.run_size):
                taking_part = {
                    name: side
                    for name, side in both.items()
                    if side.has_cards or size <= chosen.stock_size
                }
                results += running(size, taking_part, chosen.repeats, idle)
    print(f"planned for {chosen.cards} cards, medians of {chosen.repeats}\n")
    show(results)
    print()
    checks(results)
    write(chosen.json, results)


if __name__ == "__main__":
    main()

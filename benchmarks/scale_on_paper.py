"""Many servers on paper: up to 64 servers with 8 cards each, without any card.

The workers are fakes in the scheduler's process (see ``_fakes.py``): tasks finish the moment they
arrive, while the scheduler plans, pins, orders collectives and sends messages as for real ones. For
each number of workers a graph is planned, which tells the bytes between cards and between servers,
and run; dask's own graph of the same computation runs on the same fakes. Numbers are measured, none
is extrapolated.

- **CPU**: microseconds a chunk of the scheduler, its planner or optimiser, and the client's part in
  the event loop, that is of this process without the fakes and without the thread that waits;
- **planning**: CPU milliseconds of the planner, or of dask's optimiser, in one thread by itself.

Usage: ``python benchmarks/scale_on_paper.py [--size 16] [--workers 8 64 512] [--repeats 1]
[--only x.mean(0)] [--json FILE]``
"""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from _fakes import Fakes, fake_cluster
from _measure import Result, check, header, parser, ratio, row, write
from dask.array.optimization import optimize
from distributed import wait

from daskasc import Planner, SchedulerPlanner, plan
from daskasc.array import from_numpy
from daskasc.topology import even_servers

A_SERVER = 8
SIDE = 512
LIMIT = 1800.0
QUIET = {
    "distributed.admin.tick.interval": "10s",
    "distributed.admin.tick.limit": "600s",
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.work-stealing": False,
    "array.rechunk.method": "tasks",
}


def nothing(block_id: tuple[int, ...] | None = None) -> Any:
    """A chunk that nobody reads."""
    raise AssertionError("fakes compute nothing")


def array(chunks: int) -> da.Array:
    """Chunks of 1 MiB, float32; another name each time, so that nothing is found done."""
    return da.map_blocks(
        nothing,
        chunks=((1,) * chunks, (SIDE,), (SIDE,)),
        dtype="f4",
        meta=from_numpy(np.empty((0, 0, 0), "f4")),
        name=f"x-{uuid.uuid4().hex}",
    )


WORKLOADS: dict[str, Callable[[Any], Any]] = {
    "x.mean(0)": lambda x: x.mean(axis=0),
    "x.max(0)": lambda x: x.max(axis=0),
    "x * 2 + 1": lambda x: x * 2 + 1,
    "(x - x.mean(0)).std(0)": lambda x: (x - x.mean(axis=0)).std(axis=0),
}
VARIANTS = ("dask", "flat", "two levels")


def optimiser(variant: str, workers: int, servers: int) -> Any:
    """What plans the graphs of a variant."""
    if variant == "dask":
        return optimize
    return Planner(
        workers, servers=even_servers(workers, servers), two_level=variant == "two levels"
    )


def planning(lazy: Any, found: Any) -> float:
    """CPU seconds of planning in this thread."""
    graph, keys = lazy.__dask_graph__(), lazy.__dask_keys__()
    start = time.thread_time()
    found(graph, keys)
    return time.thread_time() - start


def run(client: Any, fakes: Fakes, lazy: Any, found: Any) -> tuple[float, float, int]:
    """Seconds, CPU seconds of the scheduler, tasks."""
    chosen = found if found is optimize else SchedulerPlanner(found)
    with dask.config.set(array_optimize=chosen):
        tasks, cpu, start = fakes.tasks, _scheduler_cpu(fakes), time.perf_counter()
        running = client.persist(lazy)
        ended = wait(running, timeout=LIMIT).done
        taken, used = time.perf_counter() - start, _scheduler_cpu(fakes) - cpu
        assert all(future.status == "finished" for future in ended)
        return taken, used, fakes.tasks - tasks


def _scheduler_cpu(fakes: Fakes) -> float:
    return time.process_time() - time.thread_time() - fakes.cpu


def measure(
    client: Any, fakes: Fakes, name: str, workers: int, servers: int, chunks: int, repeats: int
) -> list[Result]:
    """Results of all variants of a workload."""
    work = WORKLOADS[name]
    results: list[Result] = []
    for variant in VARIANTS:
        if variant == "flat" and servers == 1:
            continue
        found = optimiser(variant, workers, servers)
        planned = planning(work(array(chunks)), found)
        runs = [run(client, fakes, work(array(chunks)), found) for _ in range(repeats)]
        seconds, used = (statistics.median(one[i] for one in runs) for i in range(2))
        more = {
            "workers": workers,
            "servers": servers,
            "chunks": chunks,
            "scheduler_cpu_s": used,
            "cpu_us_per_chunk": used / chunks * 1e6,
            "planning_s": planned,
        }
        between = None
        if variant != "dask":
            with dask.config.set({"daskasc.collectives.two-level": variant == "two levels"}):
                told = plan(work(array(chunks)), cards=workers, servers=servers, persist=True)
            between = told.bytes_between_cards
            more["bytes_between_servers"] = told.bytes_between_servers
        stock = results[0].median_s if results else seconds
        results.append(
            Result(
                name,
                variant,
                seconds,
                ratio(stock, seconds),
                bytes_between_cards=between,
                tasks=runs[-1][2],
                more=more,
            )
        )
    return results


def shown(one: Result, stock: Result) -> list[str]:
    """One line of the table."""
    more = one.more
    sizes = (one.bytes_between_cards, more.get("bytes_between_servers"))
    return [
        f"{more['servers']} x {more['workers'] // more['servers']}",
        one.workload,
        one.variant,
        str(more["chunks"]),
        str(one.tasks),
        *("-" if size is None else f"{size / 2**20:.1f}" for size in sizes),
        f"{more['cpu_us_per_chunk']:.0f}",
        f"{ratio(stock.more['cpu_us_per_chunk'], more['cpu_us_per_chunk']) or 0:.2f}",
        f"{more['planning_s'] * 1e3:.0f}",
        f"{one.median_s:.2f}",
    ]


COLUMNS = (
    "servers x cards|computation|variant|chunks|tasks|MiB between cards|MiB between servers|"
    "CPU us a chunk|ratio|planning ms|seconds"
)


def main(arguments: list[str] | None = None) -> None:
    """Print the table and the checks."""
    options = parser(__doc__, 16, "chunks a worker")
    options.add_argument("--workers", type=int, nargs="+", default=[8, 64, 512])
    options.add_argument("--repeats", type=int, default=1)
    options.add_argument("--only", nargs="+", default=list(WORKLOADS), choices=list(WORKLOADS))
    chosen = options.parse_args(arguments)
    results: list[Result] = []
    header(COLUMNS.split("|"))
    with dask.config.set(QUIET):
        for workers in chosen.workers:
            servers = max(1, workers // A_SERVER)
            with fake_cluster(workers, servers, SIDE * SIDE * 4) as (client, fakes):
                # forms the group, and meets each worker once
                run(client, fakes, array(workers).max(axis=0), optimiser("flat", workers, servers))
                for name in chosen.only:
                    chunks = chosen.size * workers
                    count = (workers, servers, chunks, chosen.repeats)
                    mine = measure(client, fakes, name, *count)
                    for one in mine:
                        row(shown(one, mine[0]))
                    results += mine
                    write(chosen.json, results)
    print()
    output = SIDE * SIDE * 4
    for one in results:
        if one.variant == "two levels" and one.workload == "x.max(0)":
            servers, crossed = one.more["servers"], one.more["bytes_between_servers"]
            check(
                f"x.max(0) on {servers} servers sends one output a server, but to its own",
                crossed == (servers - 1) * output,
                f"{crossed / output:g} outputs",
            )


if __name__ == "__main__":
    main()

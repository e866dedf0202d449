"""Reductions over two servers joined by a slow link: bytes over the link, seconds, ratios.

Two network namespaces stand for servers (see ``_namespaces.py``; root is needed), with two workers
each that have a stand-in card; the scheduler and the client are on the first. Three variants run on
the same workers, by turns, and their values are compared with NumPy's first:

- ``dask``: NumPy chunks, dask's own optimisation;
- ``flat``: cards, collectives in one level;
- ``two levels``: cards, collectives card -> server -> servers.

Bytes are what the link's own counters say, both ways, headers and all control messages included:
the row ``tiny`` is a reduction to one number, so it shows what control alone takes. Beside them
stand the bytes that the plan tells. Results stay on the workers.

Usage: ``python benchmarks/two_servers.py [--size 64] [--rate 100mbit] [--repeats 3]
[--only x.max(0)] [--json FILE]``
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from _measure import Result, check, header, medians, parser, ratio, row, write
from _namespaces import NotPermittedError, link_bytes, two_servers
from _roles import PORT, chunk, chunk_on_card

import daskasc
from daskasc import Planner, SchedulerPlanner, plan

CARDS = 4
LIMIT = 600.0
VARIANTS = ("dask", "flat", "two levels")


def array(on_cards: bool, chunks: int, side: int, dtype: str) -> da.Array:
    """`chunks` chunks of shape ``(1, side, side)``."""
    from daskasc.array import from_numpy

    meta = np.empty((0, 0, 0), dtype)
    return da.map_blocks(
        partial(chunk_on_card if on_cards else chunk, shape=(1, side, side), dtype=dtype),
        chunks=((1,) * chunks, (side,), (side,)),
        dtype=dtype,
        meta=from_numpy(meta) if on_cards else meta,
        # another name each time, so that no result of an earlier run is taken
        name=f"x-{uuid.uuid4().hex}",
    )


Work = Callable[[Any, int], Any]
WORKLOADS: dict[str, tuple[str, Work, Callable[[np.ndarray], np.ndarray]]] = {
    "tiny": ("f4", lambda x, n: x[:, :1, :1].max(axis=0), lambda x: x[:, :1, :1].max(axis=0)),
    "x.max(0)": ("f4", lambda x, n: x.max(axis=0), lambda x: x.max(axis=0)),
    "x.sum(0), integers": ("i4", lambda x, n: x.sum(axis=0), lambda x: x.sum(axis=0)),
    "x.mean(0)": ("f4", lambda x, n: x.mean(axis=0), lambda x: x.mean(axis=0, dtype="f8")),
    "x.std(0)": ("f4", lambda x, n: x.std(axis=0), lambda x: x.std(axis=0, dtype="f8")),
    "rechunk": ("f4", lambda x, n: x.rechunk((-1, max(1, n // 8), n)), lambda x: x),
}


# outputs that the other server may send: of a deviation sums in float32 and squares in float64
MOST = {"x.max(0)": 1.1, "x.sum(0), integers": 1.1, "x.mean(0)": 1.1, "x.std(0)": 3.1}


def settings(variant: str) -> dict[str, Any]:
    """Dask configuration of a variant."""
    from dask.array.optimization import optimize

    if variant == "dask":
        return {"array_optimize": optimize, "array.rechunk.method": None}
    planner = SchedulerPlanner(Planner(CARDS, two_level=variant == "two levels"))
    return {"array_optimize": planner, "array.rechunk.method": "tasks"}


def planned(lazy: Any, variant: str) -> dict[str, int]:
    """Tasks, and for cards the bytes that the plan tells."""
    from dask.array.optimization import optimize

    if variant == "dask":
        return {"tasks": len(dict(optimize(lazy.__dask_graph__(), lazy.__dask_keys__())))}
    with dask.config.set({"daskasc.collectives.two-level": variant == "two levels"}):
        found = plan(lazy, cards=CARDS, servers=2, persist=True)
    return {
        "tasks": found.tasks,
        "bytes_between_cards": found.bytes_between_cards,
        "planned_between_servers": found.bytes_between_servers,
    }


def fail_with(futures: Iterable[Any]) -> None:
    """Raise the error of the first one that failed."""
    for future in futures:
        if future.status != "finished":
            future.result()


def measure(
    client: Any, link: str, name: str, chunks: int, side: int, repeats: int
) -> list[Result]:
    """Results of all variants of a workload."""
    from distributed import wait

    dtype, work, eager = WORKLOADS[name]
    whole = np.concatenate([chunk((i, 0, 0), (1, side, side), dtype) for i in range(chunks)])
    expected = eager(whole)
    seconds: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    crossed: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    values: dict[str, np.ndarray] = {}
    plans: dict[str, dict[str, int]] = {}
    for turn in range(repeats + 1):
        for variant in VARIANTS:
            with dask.config.set(settings(variant)):
                lazy = work(array(variant != "dask", chunks, side, dtype), side)
                before, start = link_bytes(link), time.perf_counter()
                running = client.persist(lazy)
                done = wait(running, timeout=LIMIT).done
                taken, moved = time.perf_counter() - start, link_bytes(link) - before
                fail_with(done)
                del done
                if turn:  # the first forms the group, and its values are compared
                    seconds[variant].append(taken)
                    crossed[variant].append(moved)
                else:
                    values[variant] = np.asarray(client.compute(running).result(timeout=LIMIT))
                    plans[variant] = planned(lazy, variant)
                del running
                time.sleep(0.2)  # what is given up is told to the workers
    for variant, value in values.items():
        near = 0 if dtype == "i4" or name != "x.mean(0)" else 1e-5
        near = 1e-4 if name == "x.std(0)" else near
        np.testing.assert_allclose(value, expected, rtol=near, err_msg=f"{name}, {variant}")
    assert values["flat"].tobytes() == values["two levels"].tobytes(), name
    times, moved_typically = medians(seconds), medians(crossed)
    return [
        Result(
            name,
            variant,
            times[variant],
            ratio(times["dask"], times[variant]),
            bytes_between_cards=plans[variant].get("bytes_between_cards"),
            tasks=plans[variant]["tasks"],
            more={
                "bytes_between_servers": int(moved_typically[variant]),
                "planned_between_servers": plans[variant].get("planned_between_servers"),
                "bytes_ratio": ratio(moved_typically["dask"], moved_typically[variant]),
                "output_bytes": int(values[variant].nbytes),
            },
        )
        for variant in VARIANTS
    ]


def client_role(arguments: list[str]) -> None:
    """In the first server: measure, and write a list of objects."""
    from distributed import Client

    address, link, chunks, side, repeats, target, *names = arguments
    found: list[Result] = []
    with Client(f"tcp://{address}:{PORT}", timeout=120) as client:
        client.wait_for_workers(CARDS, timeout=240)
        for name in names:
            found += measure(client, link, name, int(chunks), int(side), int(repeats))
            Path(target).write_text(json.dumps([one.as_dict() for one in found]))


def results(path: Path) -> list[Result]:
    """What the client wrote."""
    own = ("workload", "variant", "median_s", "ratio", "bytes_between_cards", "tasks")
    return [
        Result(
            **{key: one[key] for key in own if key in one},
            more={key: value for key, value in one.items() if key not in own},
        )
        for one in json.loads(path.read_text())
    ]


def run(chunks: int, side: int, repeats: int, rate: str, names: list[str]) -> list[Result]:
    """Start two servers and measure in them.

    Raises
    ------
    NotPermittedError
        Namespaces cannot be made here.
    RuntimeError
        The measurement failed; its own output says why.
    """
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder, two_servers(rate) as servers:
        if servers.limited:
            print(f"The link is not slowed down: {servers.limited}")
        host = servers.addresses[0]
        # also where the package is not installed
        root = str(Path(daskasc.__file__).parents[1])
        python = ["env", f"PYTHONPATH={root}", sys.executable]
        role = [*python, str(here / "_roles.py")]
        servers.start(0, [*role, "scheduler", host, str(CARDS)])
        for card in range(CARDS):
            server = card * 2 // CARDS
            own = servers.addresses[server]
            servers.start(server, [*role, "worker", own, host, str(card), f"{folder}/{card}"])
        target = Path(folder) / "results.json"
        what = [host, servers.links[0], str(chunks), str(side), str(repeats), str(target)]
        script = [*python, str(here / "two_servers.py"), "--client"]
        client = servers.start(0, [*script, *what, *names])
        try:
            status: int | None = client.wait(LIMIT * len(names))
        except subprocess.TimeoutExpired:
            status = None
        if status != 0:
            raise RuntimeError(f"the measurement ended with status {status}")
        return results(target)


def shown(one: Result, stock: Result) -> list[str]:
    """One line of the table."""
    more, output = one.more, one.more["output_bytes"]
    crossed = more["bytes_between_servers"]
    told = more.get("planned_between_servers")
    return [
        one.workload,
        one.variant,
        f"{one.median_s:.3f}",
        f"{one.ratio or 0:.2f}",
        f"{crossed / 2**10:.1f}",
        f"{crossed / output:.2f}",
        f"{ratio(stock.more['bytes_between_servers'], crossed) or 0:.2f}",
        "-" if told is None else f"{told / 2**10:.1f}",
        str(one.tasks),
    ]


COLUMNS = ["", "", "seconds", "ratio", "KiB over the link", "in outputs", "ratio", "KiB planned"]


def main(arguments: list[str] | None = None) -> None:
    """Print the table and the checks."""
    options = parser(__doc__, 64, "chunks of the array, 1 MiB each at the default side")
    options.add_argument("--side", type=int, default=512, help="rows and columns of a chunk")
    options.add_argument("--rate", default="100mbit", help="of the link, as tc takes it")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--only", nargs="+", default=list(WORKLOADS), choices=list(WORKLOADS))
    chosen = options.parse_args(arguments)
    try:
        found = run(chosen.size, chosen.side, chosen.repeats, chosen.rate, chosen.only)
    except NotPermittedError as error:
        sys.exit(f"two_servers.py needs two network namespaces: {error}")
    write(chosen.json, found)
    print(
        f"\n2 servers with 2 cards each, link of {chosen.rate}; {chosen.size} chunks of "
        f"{chosen.side} x {chosen.side}; medians of {chosen.repeats}; ratios against dask, above 1 "
        "less\n"
    )
    header([*COLUMNS, "tasks"])
    for name in chosen.only:
        mine = [one for one in found if one.workload == name]
        for one in mine:
            row(shown(one, mine[0]))
    print()
    control = {one.variant: one.more["bytes_between_servers"] for one in found[: len(VARIANTS)]}
    for one in found:
        if one.variant != "two levels" or one.workload not in MOST:
            continue
        crossed = one.more["bytes_between_servers"]
        if chosen.only[0] == "tiny":
            crossed -= control["two levels"]
        times = crossed / one.more["output_bytes"]
        most = MOST[one.workload]
        check(f"{one.workload} sends at most {most} outputs", times <= most, f"{times:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        client_role(sys.argv[2:])
    else:
        main()

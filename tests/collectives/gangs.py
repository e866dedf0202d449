"""Graphs of collectives and clusters that run them, for the tests of this folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
from dask._task_spec import Task, TaskRef
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Client, LocalCluster, Nanny

from daskasc.collectives import CollectivesPlugin, Gang, barrier, collect, deposit, executed

SCHEDULER_PRELOADS = [
    "scheduler_plugins.chunk_placement",
    "scheduler_plugins.collective_sequencer",
]


@contextmanager
def cluster(cards: int = 3, servers: str = "", **settings: Any) -> Iterator[Client]:
    """A cluster with one plain worker process a card and the plugins of this project.

    Parameters
    ----------
    cards : int
        Number of workers.
    servers : str
        For each of them a letter, the server that it says it is in; all in one by default.
    **settings
        Configuration of this project.
    """
    arguments = [["--cards", str(cards)], []]
    options = {
        "distributed.scheduler.allowed-failures": 10,
        "distributed.comm.retry.count": 0,
        **{f"daskasc.{key}": value for key, value in settings.items()},
    }
    with (
        dask.config.set(options),
        LocalCluster(
            n_workers=0 if servers else cards,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
            # workers without cards; they need no card's software either
            env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
            scheduler_kwargs={"preload": SCHEDULER_PRELOADS, "preload_argv": arguments},
        ) as local,
        Client(local) as client,
    ):
        if servers:
            local.worker_spec = {card: _spec(local, card, servers[card]) for card in range(cards)}
            local.sync(local._correct_state)
            client.wait_for_workers(cards, timeout=120)
        client.register_plugin(CollectivesPlugin())
        yield client


def check_one_order(client: Client) -> list[tuple[int, int, str]]:
    """All workers ran their collectives in the order of the stamps; returns those that all ran.

    Workers need not have run the same ones: those before a restart are forgotten with the process,
    and a collective that failed may have been run by some.
    """
    logs = list(client.run(executed).values())
    ran: dict[tuple[int, int], str] = {}
    for log in logs:
        stamps = [(epoch, seq) for epoch, seq, _ in log]
        assert stamps == sorted(set(stamps))
        for epoch, seq, gang in log:
            assert ran.setdefault((epoch, seq), gang) == gang
    return sorted(set(logs[0]).intersection(*logs[1:]))


def _spec(local: LocalCluster, card: int, server: str) -> dict[str, Any]:
    # the nanny replaces what stands at the top of dask's configuration
    own = {**dask.config.get("daskasc"), "topology": {"node": server}}
    options = {"name": card, "config": {"daskasc": own}, "plugins": (CollectivesPlugin(),)}
    return {"cls": Nanny, "options": {**local.new_spec["options"], **options}}


def gang(
    name: str, members: tuple[int, ...], owner: int, op: str, cards: int = 3, **more: Any
) -> Gang:
    return Gang(
        id=name,
        members=members,
        owner=owner,
        op=op,
        partial_keys=tuple(f"{name}-partial-{c}" for c in members),
        barrier_key=f"{name}-barrier",
        collect_keys=tuple(f"{name}-collect-{c}" for c in members),
        cards=cards,
        **more,
    )


def finish(result: Any, *_: Any) -> Any:
    return result


def host(result: Any) -> Any:
    """Bring arrays of the card to NumPy, wherever they are nested."""
    from daskasc.collectives._manifest import flatten, unflatten

    skeleton, leaves = flatten(result)
    return unflatten(skeleton, [x.asnumpy() if hasattr(x, "asnumpy") else x for x in leaves])


class Graph:
    """Collects gangs into one graph with the annotations that the plugins read."""

    def __init__(self, finish: Callable[..., Any] = finish) -> None:
        self.finish = finish
        self.tasks: dict[str, Task] = {}
        self.cards: dict[str, int] = {}
        self.gangs: dict[str, str] = {}
        self.results: list[str] = []

    def add(self, gang: Gang, make: Callable[..., Any], *args: Any) -> str:
        """One collective; ``make(*args, card)`` gives the partial of a card."""
        tokens = []
        for card, key in zip(gang.members, gang.partial_keys, strict=True):
            self._put(Task(key, make, *args, card), card, gang)
            token = f"{gang.id}-deposit-{card}"
            tokens.append(token)
            self._put(Task(token, deposit, TaskRef(key), gang, card), card, gang)
        refs = [TaskRef(token) for token in tokens]
        self._put(Task(gang.barrier_key, barrier, gang, *refs), gang.owner, gang)
        for card, key, partial in zip(
            gang.members, gang.collect_keys, gang.partial_keys, strict=True
        ):
            task = Task(key, collect, TaskRef(gang.barrier_key), TaskRef(partial), gang, card)
            self._put(task, card, gang)
        mine = gang.collect_keys[gang.members.index(gang.owner)]
        others = [TaskRef(k) for k in gang.collect_keys if k != mine]
        result = f"{gang.id}-result"
        self._put(Task(result, self.finish, TaskRef(mine), *others), gang.owner, gang)
        self.results.append(result)
        return result

    def _put(self, task: Task, card: int, gang: Gang) -> None:
        self.tasks[task.key] = task
        self.cards[task.key] = card
        self.gangs[task.key] = gang.id

    def submit(self, client: Client) -> list[Any]:
        layer = MaterializedLayer(
            self.tasks,
            annotations={"card": self.cards.get, "gang": self.gangs.get},
        )
        graph = HighLevelGraph({"gangs": layer}, {"gangs": set()})
        return client.get(graph, self.results, sync=False)


def numbers(name: str, card: int) -> np.ndarray:
    """A partial whose value depends on the gang and the card."""
    return np.full(5, 10.0 * card + len(name)) + int(name[1:])


def note(path: str, line: str) -> None:
    with Path(path).open("a") as file:
        file.write(line + "\n")


def noted(path: str, name: str, delay: float, card: int) -> np.ndarray:
    note(path, f"{name}-{card}")
    time.sleep(delay)
    return numbers(name, card)


def pid(dask_worker: Any) -> int:
    return os.getpid()


def by_card(client: Client, function: Callable[..., Any], *args: Any) -> dict[int, Any]:
    """Run a function on all workers; results by the card that each worker is the home of."""
    results = client.run(function, *args)
    names = client.run(lambda dask_worker: int(dask_worker.name))
    return {names[address]: result for address, result in results.items()}


def wait_for(condition: Callable[[], Any], limit: float = 30.0) -> Any:
    """Poll until `condition` gives something true, and return that."""
    deadline = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {limit} s"
        time.sleep(0.05)
    return found


def holdings(dask_worker: Any) -> dict[str, int]:
    from daskasc.collectives._worker import part_of

    return part_of(dask_worker).waiting()

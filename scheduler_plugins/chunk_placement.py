"""Pins tasks to the workers that serve their logical cards.

Tasks that carry the annotation ``{"card": c}`` run on the worker that serves card *c* and nowhere
else; :mod:`scheduler_plugins._cards` decides which worker that is. This adapter applies its
decisions to the scheduler:

- ``update_graph`` sets the restrictions of new tasks before their first transition, so none can be
  sent elsewhere first;
- ``add_worker`` and ``remove_worker`` set them again for all tasks, because restrictions hold
  addresses and an address dies with its process. ``remove_worker`` hooks run *after* the
  scheduler's own transitions: by then tasks of the lost worker sit in ``no-worker``, from where
  they are fetched as soon as their card has a host;
- a timer lets the deadline of a missing card pass: its tasks go to the workers left or, where
  nobody can take over, fail with :class:`~daskasc.errors.PlacementError`. No task waits for ever.

Plans ask this plugin where the chunks of persisted arrays lie (:func:`daskasc.topology.residence`)
and which server each card is in (:func:`daskasc.topology.servers_of`). A worker's server is what it
says itself (``daskasc.topology.node``), or else the host of its address.
Chunks are let in a few at a time, see :mod:`scheduler_plugins._window`; after the death of a worker
its tasks one at a time, see :mod:`scheduler_plugins._suspects`.

A card without a host is pinned to an address that no worker can have, never left unpinned.
Preload by name: ``dask scheduler --preload scheduler_plugins.chunk_placement --cards 8``.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import click
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol.pickle import dumps

from daskasc import config, topology
from daskasc.errors import PlacementError
from scheduler_plugins._cards import CardMap, Changes
from scheduler_plugins._suspects import Suspects
from scheduler_plugins._throttle import Throttle
from scheduler_plugins._window import Window

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState

NAME = "daskasc-placement"


class ChunkPlacement(SchedulerPlugin):
    """Scheduler plugin that pins tasks to cards.

    Parameters
    ----------
    cards : int, optional
        Number of logical cards; learnt from the workers' names ("0", "1", ...) when absent.
    """

    name = NAME

    def __init__(self, cards: int | None = None) -> None:
        self.map = CardMap(cards, config.rejoin_timeout())
        self._scheduler: Scheduler | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._throttle = Throttle(self._release, self._idle)
        self._suspects = Suspects()

    async def start(self, scheduler: Scheduler) -> None:
        """Take in the workers that are there already."""
        self._scheduler = scheduler
        if self.map.fixed:
            topology.add_residence(self.map.cards, self._residence)
            topology.add_survey(self.map.cards, self.map.servers)
        for address, worker in scheduler.workers.items():
            self.map.joined(worker.name, address, server_name(worker))

    async def before_close(self) -> None:
        """Cancel the timers."""
        self._cancel_timer()
        self._throttle.clear()
        self._suspects.clear()
        topology.remove_residence(self._residence)
        topology.remove_survey(self.map.servers)

    async def close(self) -> None:
        """Cancel the timers."""
        await self.before_close()

    def restart(self, scheduler: Scheduler) -> None:
        """Forget the graphs; the scheduler has dropped their tasks."""
        self._throttle.clear()
        self._suspects.clear()

    def update_graph(
        self, scheduler: Scheduler, *, annotations: Mapping[str, Mapping[Any, Any]], **_: Any
    ) -> None:
        """Pin the new tasks of a graph; tasks of impossible cards fail at once."""
        pinned = annotations.get("card", {})
        if not pinned:
            return
        ranks = annotations.get("rank", {})
        _apply_ranks(scheduler, ranks)
        plan: Mapping[str, int] = next(iter(annotations.get("plan", {}).values()), {})
        if ranks and plan:
            self._hold_back(scheduler, pinned, ranks, annotations.get("gang", {}), plan)
        impossible: dict[Any, str] = {}
        wanted: set[int] = set()
        for key, card in pinned.items():
            task = scheduler.tasks.get(key)
            if task is None:
                continue
            self._pin(task, card)
            if self.map.fixed and plan.get("cards", self.map.cards) != self.map.cards:
                impossible[key] = (
                    f"task {key!r} is planned for {plan['cards']} cards, but this cluster has "
                    f"{self.map.cards}; where several clusters are open, choose the plan by "
                    "dask.config.set(array_optimize=cluster.planner)"
                )
            elif (
                not isinstance(card, Integral)
                or int(card) < 0
                or (self.map.fixed and int(card) >= self.map.cards)
            ):
                impossible[key] = (
                    f"task {key!r} is planned for card {card!r}, but this cluster has cards "
                    f"0 to {self.map.cards - 1}; plan for cards={self.map.cards}, or start "
                    "a cluster with more cards"
                )
            else:
                wanted.add(int(card))
        self.map.wanted(wanted, time.monotonic())
        self._set_timer()
        if impossible:
            # This hook runs before the graph's first transitions, which would undo the failure.
            asyncio.get_running_loop().call_soon(self._fail, impossible)

    def _hold_back(
        self,
        scheduler: Scheduler,
        cards: Mapping[Any, int],
        ranks: Mapping[Any, float],
        gangs: Mapping[Any, str],
        plan: Mapping[str, int],
    ) -> None:
        tasks = {
            key: scheduler.tasks[key]
            for key in cards
            if key in ranks and key not in gangs and key in scheduler.tasks
        }
        window = Window(
            plan["in_flight"],
            {key: cards[key] for key in tasks},
            ranks,
            {key: [other.key for other in task.dependencies] for key, task in tasks.items()},
        )
        self._throttle.add(
            window,
            [key for key, task in tasks.items() if task.state == "released"],
            [key for key, task in tasks.items() if task.state in ("memory", "erred")],
        )

    def transition(
        self, key: Any, start: str, finish: str, *args: Any, stimulus_id: str, **kwargs: Any
    ) -> None:
        """Let the next chunks in when those before them are done."""
        if finish in ("memory", "erred", "released", "forgotten"):
            self._throttle.finished(key)
        if finish in ("memory", "erred", "forgotten"):
            following = self._suspects.finished(key)
            if following is not None:
                # a hook of the scheduler runs in the midst of a transition
                asyncio.get_running_loop().call_soon(self._release, [following])

    def _release(self, keys: list[Any]) -> None:
        scheduler = self._scheduler
        assert scheduler is not None
        waiting = {}
        for key in keys:
            task = scheduler.tasks.get(key)
            card = _card_of(task) if task is not None else None
            if task is None or card is None:
                continue
            self._pin(task, card)
            if task in scheduler.unrunnable:
                waiting[key] = "processing"
        scheduler.transitions(waiting, stimulus_id=f"{NAME}-next-{time.time()}")

    def _idle(self, card: int) -> bool:
        address = self.map.host(card)
        worker = self._scheduler.workers.get(address) if self._scheduler and address else None
        return worker is not None and worker.long_running.issuperset(worker.processing)

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Give an arriving worker its card. The scheduler then fetches waiting tasks itself."""
        state = scheduler.workers[worker]
        self._apply(self.map.joined(state.name, worker, server_name(state)), "joined")

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Start the deadline of the cards that a lost worker served."""
        changes = self.map.lost(worker, time.monotonic())
        self._suspect(scheduler)
        self._apply(changes, "lost")

    def _suspect(self, scheduler: Scheduler) -> None:
        """Let the tasks that were with dead workers run one at a time."""
        suspects: list[TaskState] = []
        for task in scheduler.tasks.values():
            if not task.suspicious or _card_of(task) is None:
                continue
            if "gang" not in (task.annotations or {}):
                if task.state not in ("memory", "erred", "forgotten"):
                    suspects.append(task)
            elif "-barrier-" in str(task.key):  # only waits, for as long as a collective takes
                task.suspicious = 0
        needed = _unfinished_below(suspects)
        queues: defaultdict[int, list[Any]] = defaultdict(list)
        for task in sorted(suspects, key=lambda task: task.priority or ()):
            card = _card_of(task)
            if card is not None and task not in needed:
                queues[card].append(task.key)
        free = self._suspects.replace(queues)
        if free:
            asyncio.get_running_loop().call_soon(self._release, free)

    def host(self, card: int) -> str | None:
        """Address of the worker that serves `card`; None while it has none."""
        return self.map.host(card)

    def _residence(self, key: Any) -> int | None:
        """Card of a task known to this scheduler; plans ask from another thread."""
        scheduler = self._scheduler
        task = scheduler.tasks.get(key) if scheduler is not None else None
        return _card_of(task) if task is not None else None

    def _holds(self, key: Any) -> bool:
        return self._throttle.holds(key) or self._suspects.holds(key)

    def _pin(self, task: TaskState, card: Any) -> None:
        address = self.map.host(int(card)) if isinstance(card, Integral) else None
        if self._holds(task.key):
            address = f"card-{card}-is-busy"
        task.worker_restrictions = {address or f"card-{card}-is-missing"}
        task.loose_restrictions = False

    def _tasks_of(self, cards: Iterable[int]) -> list[tuple[TaskState, int]]:
        assert self._scheduler is not None
        chosen = set(cards)
        pairs = ((task, _card_of(task)) for task in self._scheduler.tasks.values())
        return [(task, card) for task, card in pairs if card is not None and card in chosen]

    def _apply(self, changes: Changes, cause: str) -> None:
        scheduler = self._scheduler
        if scheduler is None:
            return
        stimulus = f"{NAME}-{cause}-{time.time()}"
        if changes.moved:
            for task, card in self._tasks_of(changes.moved):
                self._pin(task, card)
            waiting = {
                task.key: "processing"
                for task in list(scheduler.unrunnable)
                if _card_of(task) in changes.moved and not self._holds(task.key)
            }
            scheduler.transitions(waiting, stimulus_id=stimulus)
        if changes.abandoned:
            cards = self.map.cards
            reason = (
                f"no worker serves it and none came back within {config.rejoin_timeout():g} s "
                "(daskasc.placement.rejoin-timeout); start the worker again"
                if self.map.fixed
                else f"workers of {cards} cards have joined; plan for cards={cards}, or start more"
            )
            unrunnable = set(scheduler.unrunnable)
            self._fail(
                {
                    task.key: f"task {task.key!r} is planned for card {card}, but {reason}"
                    for task, card in self._tasks_of(changes.abandoned)
                    if task in unrunnable or task.state == "waiting"
                }
            )
        self._set_timer()

    def _fail(self, messages: Mapping[Any, str]) -> None:
        scheduler = self._scheduler
        assert scheduler is not None
        for key, message in messages.items():
            task = scheduler.tasks.get(key)
            if task is None or task.state in ("memory", "erred", "forgotten"):
                continue
            stimulus = f"{NAME}-failed-{time.time()}"
            if task.state == "no-worker":
                error = dumps(PlacementError(message))
                recommendations = scheduler.transition(
                    key, "erred", exception=error, cause=key, stimulus_id=stimulus
                )
                scheduler.transitions(recommendations, stimulus_id=stimulus)
            else:
                # Only running tasks take an exception along; for others it is set beforehand.
                task.exception = dumps(PlacementError(message))
                task.exception_text = message
                task.exception_blame = task
                scheduler.transitions({key: "erred"}, stimulus_id=stimulus)

    def _set_timer(self) -> None:
        self._cancel_timer()
        deadline = self.map.next_deadline()
        if deadline is not None:
            delay = max(0.0, deadline - time.monotonic()) + 0.01
            self._timer = asyncio.get_running_loop().call_later(delay, self._expire)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._apply(self.map.expire(time.monotonic()), "expired")


def server_name(worker: WorkerState) -> str:
    """Server that a worker runs on."""
    return str(worker.extra.get(topology.NODE) or worker.host)


def _card_of(task: TaskState) -> int | None:
    card = (task.annotations or {}).get("card")
    return int(card) if isinstance(card, Integral) else None


def _unfinished_below(tasks: Iterable[TaskState]) -> set[TaskState]:
    """Tasks that others need, directly or not, and that have no result now."""
    found: set[TaskState] = set()
    left = list(tasks)
    while left:
        for task in left.pop().dependencies:
            if task not in found and task.state != "memory":
                found.add(task)
                left.append(task)
    return found


def _apply_ranks(scheduler: Scheduler, ranks: Mapping[Any, float]) -> None:
    """Order a graph's tasks by rank first, by dask's own order second.

    The user's priority and the graph's generation, which come before both, stay as they are.
    """
    tasks = [scheduler.tasks[key] for key in ranks if key in scheduler.tasks]
    scale = 1 + max((task.priority[2] for task in tasks if task.priority), default=0)
    for task in tasks:
        if task.priority and task.state == "released":
            user, generation, order = task.priority
            task.priority = (user, generation, ranks[task.key] * scale * len(tasks) + order)


def placement_of(scheduler: Scheduler) -> ChunkPlacement:
    """The placement plugin of a scheduler.

    Raises
    ------
    PlacementError
        The scheduler was started without it.
    """
    plugin = scheduler.plugins.get(NAME)
    if not isinstance(plugin, ChunkPlacement):
        raise PlacementError(
            "the scheduler runs without scheduler_plugins.chunk_placement; start it with "
            "--preload scheduler_plugins.chunk_placement"
        )
    return plugin


@click.command()
@click.option("--cards", type=click.IntRange(min=1), default=None, help="Number of logical cards.")
def dask_setup(scheduler: Scheduler, cards: int | None) -> None:
    """Install the placement plugin in a scheduler, which starts it after its preloads."""
    scheduler.add_plugin(ChunkPlacement(cards))

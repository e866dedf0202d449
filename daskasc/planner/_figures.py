"""Figures of one planned graph: tasks by kind, bytes moved, memory, and the largest task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dask._task_spec import DataNode
from dask.typing import Key

from daskasc.planner._bundles import chunks_in, is_bundle
from daskasc.planner._owners import users_of
from daskasc.planner._projection import Peak, Projection
from daskasc.planner._recognise import name_of_array
from daskasc.planner._traffic import Collective, in_collectives, moved_outside
from daskasc.planner._work import Work

if TYPE_CHECKING:
    from daskasc.planner._optimize import Planned


@dataclass(frozen=True)
class Operation:
    """A task by its need of memory.

    Attributes
    ----------
    key : Key
        Key of the task.
    layer : str
        Name of its array or reduction.
    need : int
        Bytes of its arguments, its result and what it is known to take in between.
    chunk : int
        Bytes of its largest argument or its result.
    kind : str
        ``gather`` (collects a whole result), ``finish`` (takes what several cards contribute to a
        chunk of a reduction), ``combine`` (another step of a reduction) or ``chunk``.
    """

    key: Key
    layer: str
    need: int
    chunk: int
    kind: str


@dataclass(frozen=True)
class Figures:
    """Figures of one planned graph, as the attributes of :class:`~daskasc.planner.Plan`."""

    kinds: Mapping[str, int]
    chunks: tuple[int, ...]
    collectives: tuple[Collective, ...]
    read: int
    uploaded: int
    between: int
    between_servers: int
    peaks: tuple[Peak, ...]
    largest: Operation | None
    unknown: Mapping[str, int]


def largest_operation(planned: Planned) -> Operation | None:
    """The task that needs most card memory at a time, guesses left out."""
    best: Operation | None = None
    estimate = planned.estimate
    for key, work in estimate.work.items():
        need = estimate.need(key)
        if need and (best is None or need > best.need):
            arguments = [estimate.size(d).on_card for d in planned.graph[key].dependencies]
            chunk = max([work.out.on_card, work.chunk, *arguments])
            best = Operation(key, name_of_array(key), need, chunk, _sort(planned, key))
    return best


def _sort(planned: Planned, key: Key) -> str:
    if key not in planned.owners:
        return "gather"
    if _is_chunk(planned, key):
        return "chunk"
    several = key in planned.rewrite.gangs or any(
        dependency in planned.rewrite.gangs for dependency in planned.graph[key].dependencies
    )
    return "finish" if several else "combine"


def _is_chunk(planned: Planned, key: Key) -> bool:
    rewrite = planned.rewrite
    return key not in rewrite.tasks or key in rewrite.chunks or is_bundle(planned.graph[key])


def figures(planned: Planned) -> Figures:
    """Look at every task of a planned graph."""
    estimate = planned.estimate
    graph, owners, gangs = planned.graph, planned.owners, planned.rewrite.gangs
    users = users_of(graph)
    cards = planned.planner.cards
    projection = Projection(
        graph,
        users,
        owners,
        planned.ranks,
        gangs.keys(),
        planned.outputs,
        (estimate.work, estimate.inputs),
        cards,
        planned.in_flight,
        planned.planner.padding,
    )
    kinds: Counter[str] = Counter()
    chunks = [0] * cards
    unknown: Counter[str] = Counter()
    for key, work in estimate.work.items():
        kind = _kind(planned, key, work)
        kinds[kind] += 1
        if kind in ("read", "chunk"):
            chunks[owners[key]] += 1
        elif kind == "bundle":
            chunks[owners[key]] += chunks_in(planned.graph[key])
        if work.out.nbytes is None:
            unknown[name_of_array(key)] += 1
    collectives = in_collectives(planned)
    moved = moved_outside(planned)
    return Figures(
        dict(kinds),
        tuple(chunks),
        collectives,
        sum(work.read for work in estimate.work.values()),
        sum(work.uploaded for work in estimate.work.values()),
        moved.cards + sum(one.nbytes for one in collectives),
        moved.servers + sum(one.between_servers for one in collectives),
        tuple(projection.peaks()),
        largest_operation(planned),
        dict(unknown),
    )


def _kind(planned: Planned, key: Key, work: Work) -> str:
    if key in planned.rewrite.gangs:
        return "collective"
    if is_bundle(planned.graph[key]):
        return "bundle"
    if key in planned.rewrite.tasks and key not in planned.rewrite.chunks:
        return "combine"
    if isinstance(planned.graph[key], DataNode):
        return "data"
    if key not in planned.owners:
        return "gather"
    return "read" if work.read else "chunk"

"""In which order a card should take its chunks: one after the other, with all that hangs on each.

Dask orders a graph to finish one output early. With several reductions over one input that means
walking a whole reduction over all chunks before the next begins, while every chunk waits in
memory for the others. On a card whose memory is smaller than its share of the data, that is
spilling and uploading again. Here each task gets a number::

    rank = phase + position

*position* in [0, 1) is the place of the task's chunk in its grid; *phase* counts the reductions
above the task. A card that works in the order of ranks reads a chunk, runs everything that needs
it in this phase, and drops it. Grids of different lengths that are used together advance side
by side, since positions are shares.

Ranks alone do not bound memory: tasks pinned to a worker are all sent to it at once, and while the
scheduler hears of a finished read, the worker goes on with the next reads. So the tasks that begin
a rank also wait for those that end the rank a few places before, on the same card. Ranks grow
along every edge of the graph and strictly along these new ones, so no circle can arise.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Set
from typing import Any

from dask._task_spec import GraphNode, Task, TaskRef
from dask.typing import Key

from daskasc.planner._owners import Grid, flat_position, grids, topological
from daskasc.planner._recognise import grid_position


def ranks(
    graph: Mapping[Key, GraphNode], results: Set[Key], gridless: Set[Key]
) -> dict[Key, float]:
    """Rank of every task.

    Parameters
    ----------
    graph : mapping
        Materialised graph of task-spec nodes.
    results : set
        Keys of tasks that finish a reduction; what uses them belongs to the next phase.
    gridless : set
        Keys that look like chunks of an array but are steps of a reduction.

    Returns
    -------
    dict
        Key to rank; non-decreasing from a task to its users.
    """
    grid = grids(graph)
    sizes = {name: math.prod(len(span) for span in extent) for name, extent in grid.items()}
    found: dict[Key, float] = {}
    for key in topological(graph):
        phase = 0
        position = 0.0
        own = None if key in gridless else _share(key, grid)
        spread = own is not None
        for dependency in graph[key].dependencies:
            if dependency not in found:
                continue
            before = found[dependency]
            if dependency in results:
                phase = max(phase, math.floor(before) + 1)
                continue
            phase = max(phase, math.floor(before))
            position = max(position, before % 1.0)
            if spread and sizes.get(_name(dependency), 0) >= sizes[_name(key)]:
                spread = False
        if spread and own is not None:
            position = max(position, own)
        rank = phase + position
        found[key] = max([rank, *(found[d] for d in graph[key].dependencies if d in found)])
    return found


def _name(key: Key) -> Any:
    return key[0] if isinstance(key, tuple) else None


def _share(key: Key, grid: Mapping[str, Grid]) -> float | None:
    if grid_position(key) is None:
        return None
    place = flat_position(key, grid)
    if place is None:
        return None
    index, size = place
    return index / size


def after(value: Any, *_: Any) -> Any:
    """Task: `value`, computed only after the other inputs are there."""
    return value


def bound_in_flight(
    graph: Mapping[Key, GraphNode],
    rank: Mapping[Key, float],
    owners: Mapping[Key, int],
    gangs: Set[Key],
    ahead: int,
) -> dict[Key, GraphNode]:
    """Let each card have at most `ahead` ranks in flight.

    Parameters
    ----------
    graph : mapping
        Materialised graph of task-spec nodes.
    rank : mapping
        Rank of every task.
    owners : mapping
        Card of the pinned tasks; others neither wait nor are waited for.
    gangs : set
        Keys of the tasks of collectives, which wait for other cards and so are left out.
    ahead : int
        Ranks in flight, at least 1.

    Returns
    -------
    dict
        The graph with more inputs to the tasks that begin a rank.
    """
    begins: dict[tuple[int, float], list[Key]] = {}
    ends: dict[tuple[int, float], set[Key]] = {}
    for key, card in owners.items():
        if key not in graph or key in gangs:
            continue
        place = (card, rank[key])
        ends.setdefault(place, set()).add(key)
        inputs = [d for d in graph[key].dependencies if d in graph and d in owners]
        if isinstance(graph[key], Task) and all(rank[d] < rank[key] for d in inputs):
            begins.setdefault(place, []).append(key)
    for key, node in graph.items():
        for dependency in node.dependencies:
            if dependency in owners and rank[dependency] == rank[key]:
                ends.get((owners[dependency], rank[key]), set()).discard(dependency)
    result = dict(graph)
    by_card: dict[int, list[float]] = {}
    for card, number in sorted(ends):
        by_card.setdefault(card, []).append(number)
    for (card, number), keys in begins.items():
        numbers = by_card[card]
        earlier = bisect.bisect_left(numbers, number) - ahead
        if earlier < 0:
            continue
        waits = [TaskRef(key) for key in sorted(ends[card, numbers[earlier]], key=str)]
        for key in keys:
            result[key] = Task(key, after, graph[key], *waits)
    return result

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
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any

from dask._task_spec import GraphNode
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

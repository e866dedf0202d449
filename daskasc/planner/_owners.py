"""Give every task of a graph the card that runs it.

Tasks without inputs (reads, creations) are spread over the cards by the block map of their grid,
server by server.
Every other task runs where its main input lies: the input whose array has the most chunks, so that
in ``anomaly = x - normals`` the large ``x`` stays and the small ``normals`` travels. Where no input
has as many chunks as the task's own array, and several of these use the same input, the array is
spread like a new one: the reading of ``x`` may be fused into the subtraction, whose only input is
then ``normals``. (Each chunk of a stack has an input of its own, and stays with it.) Tasks whose
keys are no array keys (the final gathering, delayed functions) are left to the scheduler, unless
they make data for one card only.

Chunks that a user placed (:func:`daskasc.place`) and chunks of persisted arrays, which lie on cards
already, stay there, and what follows them does too.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from dask._task_spec import Alias, DataNode, GraphNode, Task
from dask.typing import Key

from daskasc.planner._assemblies import Assemblies, Assembly
from daskasc.planner._place import PREFIX, placements
from daskasc.planner._recognise import grid_position
from daskasc.topology import block_owner, residence

Grid = tuple[range, ...]


def grids(keys: Iterable[Key]) -> dict[str, Grid]:
    """For each array name the range of grid positions that occur, one range a dimension.

    Steps within an array may have the same name and longer positions; they do not count.
    """
    positions: dict[str, list[tuple[int, ...]]] = {}
    for key in keys:
        position = grid_position(key)
        if position is None:
            continue
        known = positions.setdefault(key[0], [])
        if not known or len(position) == len(known[0]):
            known.append(position)
        elif len(position) < len(known[0]):
            positions[key[0]] = [position]
    return {
        name: tuple(range(min(along), max(along) + 1) for along in zip(*known, strict=True))
        for name, known in positions.items()
    }


def chunk_counts(grid: Mapping[str, Grid]) -> dict[str, int]:
    """Number of chunks of each array."""
    return {name: math.prod(map(len, extent)) for name, extent in grid.items()}


def flat_position(key: Key, grid: Mapping[str, Grid]) -> tuple[int, int] | None:
    """Number of a chunk in C order and number of chunks; None where the grid does not fit."""
    position = grid_position(key)
    extent = grid.get(key[0]) if position is not None else None
    if position is None or extent is None or len(extent) != len(position):
        return None
    flat, size = 0, 1
    for index, span in zip(position, extent, strict=True):
        length = len(span)
        flat = flat * length + index - span.start
        size *= length
    return flat, size


def users_of(graph: Mapping[Key, GraphNode]) -> dict[Key, set[Key]]:
    """For each key the keys of the tasks that use it."""
    users: dict[Key, set[Key]] = {key: set() for key in graph}
    for key, node in graph.items():
        for dependency in node.dependencies:
            if dependency in users:
                users[dependency].add(key)
    return users


def topological(graph: Mapping[Key, GraphNode]) -> list[Key]:
    """Keys of a graph, inputs before users.

    Raises
    ------
    ValueError
        The graph has a cycle.
    """
    order: list[Key] = []
    missing: dict[Key, int] = {}
    users: defaultdict[Key, list[Key]] = defaultdict(list)
    for key, node in graph.items():
        inputs = [dependency for dependency in node.dependencies if dependency in graph]
        for dependency in inputs:
            users[dependency].append(key)
        if inputs:
            missing[key] = len(inputs)
        else:
            order.append(key)
    for key in order:  # which grows meanwhile
        for user in users.get(key, ()):
            missing[user] -= 1
            if not missing[user]:
                order.append(user)
    if len(order) < len(graph):
        within = sorted((key for key, count in missing.items() if count), key=str)
        raise ValueError(f"the graph has a cycle, in or before {within[:3]}")
    return order


def assign_owners(
    graph: Mapping[Key, GraphNode],
    users: Mapping[Key, Set[Key]],
    grid: Mapping[str, Grid],
    cards: int,
    located: Callable[[Key, Key], Key] | None = None,
    assemblies: Assemblies | None = None,
    last: Mapping[Key, Assembly] | None = None,
    order: Sequence[int] | None = None,
) -> dict[Key, int]:
    """Owner of every task that has one.

    Parameters
    ----------
    graph : mapping
        Materialised graph of task-spec nodes.
    users : mapping
        For each key the keys of the tasks that use it.
    grid : mapping
        Grid positions of the graph's arrays, and of those that it uses.
    cards : int
        Number of cards.
    located : callable, optional
        Grid position of a step of a fused task, if the graph holds placed arrays.
    assemblies : Assemblies, optional
        Chunks that are put together out of parts of others.
    last : mapping, optional
        What some of them consist of without steps between.
    order : sequence of int, optional
        Order in which cards get blocks, see :func:`daskasc.topology.server_order`.

    Returns
    -------
    dict
        Key to card. Literal data, and tasks left to the scheduler, are absent.

    Raises
    ------
    PlacementError
        A chunk was placed on a card beyond `cards`.
    """
    sizes = chunk_counts(grid)
    uses = _uses(graph)
    homes = {key: card for key in stored(graph) if (card := residence(key, cards)) is not None}
    outputs, cuts = ({}, {}) if assemblies is None else (assemblies.outputs, assemblies.cuts)
    owners: dict[Key, int] = {}
    placed: set[Key] = set()
    cards_in_turn = range(cards) if order is None else order
    keys = topological(graph)
    for key in keys:
        node = graph[key]
        if isinstance(node, DataNode):
            continue
        if isinstance(node, Alias) and key not in outputs:
            if node.target in homes:
                owners[key] = homes[key] = homes[node.target]
            continue
        position = grid_position(key)
        if position is None:
            if _is_halo(key, node) and (source := next(iter(node.dependencies))) in homes:
                owners[key] = homes[key] = homes[source]
            continue
        owner = _chosen(key, node, cards, located, order) if located is not None else None
        if owner is not None:
            placed.add(key)
        elif key in outputs:
            owner = (last or {}).get(key, outputs[key]).home(homes.get)
            place = flat_position(key, grid) if owner is None else None
            owner = owner if place is None else cards_in_turn[block_owner(*place, cards)]
        elif cuts.get(key) in homes:
            owner = homes[cuts[key]]
        else:
            main = main_input(node, homes, sizes)
            spread = main is None or (sizes[main[0]] < sizes[key[0]] and uses[main, key[0]] > 1)
            if main is None or spread:
                place = flat_position(key, grid)
                owner = None if place is None else cards_in_turn[block_owner(*place, cards)]
            else:
                owner = homes[main]
        if owner is not None:
            owners[key] = homes[key] = owner
    _fetch_where_used(graph, users, reversed(keys), owners, placed)
    return owners


def stored(graph: Mapping[Key, GraphNode]) -> set[Key]:
    """Keys that a graph uses and does not have: chunks that lie on the cards already."""
    return {d for node in graph.values() for d in node.dependencies if d not in graph}


def _chosen(
    key: Key,
    node: GraphNode,
    cards: int,
    located: Callable[[Key, Key], Key],
    order: Sequence[int] | None,
) -> int | None:
    """Card that a user chose for the largest placed array of a task."""
    best: tuple[int, int] | None = None
    for placement, index in placements(key, node, located):
        owner = placement.owner(index, cards, order)
        size = math.prod(placement.numblocks)
        if owner is not None and (best is None or size > best[0]):
            best = size, owner
    return None if best is None else best[1]


def _fetch_where_used(
    graph: Mapping[Key, GraphNode],
    users: Mapping[Key, Set[Key]],
    keys: Iterable[Key],
    owners: dict[Key, int],
    placed: set[Key],
) -> None:
    """Let data come into being where they are used, if all users are on one card.

    That is: functions of ``dask.delayed`` that make a chunk, and what reads a placed chunk.
    """
    for key in keys:
        node = graph[key]
        if not isinstance(node, (Task, Alias)) or not users[key]:
            continue
        takers = {owners.get(user) for user in users[key]}
        if len(takers) != 1 or (taker := takers.pop()) is None:
            continue
        if key not in owners:
            owners[key] = taker
        elif users[key] <= placed and _begins(graph, users, node):
            owners[key] = taker
            placed.add(key)


def _begins(graph: Mapping[Key, GraphNode], users: Mapping[Key, Set[Key]], node: GraphNode) -> bool:
    """Whether a task reads or makes a chunk, or goes on with one that nobody else uses."""
    if len(node.dependencies) > 1:
        return False
    return all(d in graph and len(users[d]) == 1 for d in node.dependencies)


def _uses(graph: Mapping[Key, GraphNode]) -> Counter[tuple[Key, Any]]:
    """How many chunks of an array use a value."""
    return Counter(
        (dependency, key[0])
        for key, node in graph.items()
        if isinstance(key, tuple) and key
        for dependency in node.dependencies
    )


def _is_halo(key: Key, node: GraphNode) -> bool:
    """Whether a task cuts out of a neighbour what ``map_overlap`` needs: ``(name, 6.1, 0)``."""
    return (
        isinstance(key, tuple)
        and len(node.dependencies) == 1
        and all(isinstance(index, (int, float)) for index in key[1:])
    )


def main_input(
    node: GraphNode, owners: Mapping[Key, int], sizes: Mapping[str, int]
) -> tuple[Any, ...] | None:
    """The input of the array with the most chunks; the first in grid order of several."""
    inputs = [
        dependency
        for dependency in node.dependencies
        if dependency in owners
        and grid_position(dependency) is not None
        and not str(dependency[0]).startswith(f"{PREFIX}-replicate-")
    ]
    return min(inputs, key=lambda key: (-sizes[key[0]], key[0], key[1:]), default=None)

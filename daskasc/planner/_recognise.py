"""Find reduction trees in a materialised graph.

Dask reduces along grid neighbours: chunk tasks, levels of combining tasks, one aggregating task an
output chunk. A tree is recognised from its aggregating task downwards by the functions of the
tasks, never by key names::

    aggregate            a task whose function is in the table of reductions
     +- combine          tasks whose function combines partials of the same row
     |   +- leaf         anything else: the chunk tasks, usually fused with reading and arithmetic
     |   +- leaf
     +- combine ...

A tree whose inner tasks have other users, or are wanted outputs, is left as it is.

Two rows are no trees: one task joins all partials and works on the result (``joined_by`` in the
table). They are found as trees of one level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from dask._task_spec import Alias, GraphNode, List, Task, TaskRef, _identity_cast
from dask.typing import Key

from daskasc.planner._deferred import made
from daskasc.planner._reductions import Step, is_combine, lookup, lookup_join, own_leaf


@dataclass(frozen=True)
class Tree:
    """One reduction of one output chunk.

    Attributes
    ----------
    key : Key
        Key of the aggregating task, which keeps its name.
    step : Step
        The aggregate function, taken apart.
    depth : int
        Levels of nested lists that the functions expect.
    leaves : tuple of Key
        The partial results, ordered by grid position.
    inner : tuple of Key
        Combining tasks that the rewritten tree replaces.
    replaced : dict
        Leaves with our chunk function in the place of dask's, for rows that have one.
    """

    key: Key
    step: Step
    depth: int
    leaves: tuple[Key, ...]
    inner: tuple[Key, ...]
    replaced: Mapping[Key, GraphNode] = field(default_factory=dict)


def name_of_array(key: Key) -> str:
    """Name of the array, or of the reduction's step, that a task belongs to."""
    return str(key[0] if isinstance(key, tuple) else key)


def reference(argument: Any) -> Key | None:
    """Key that an argument of a task stands for; None for anything but a plain reference."""
    if isinstance(argument, Alias):
        return argument.target
    return argument.key if isinstance(argument, TaskRef) else None


def is_list(node: Any) -> bool:
    """Whether a node makes a list of its arguments."""
    return isinstance(node, List) or (
        isinstance(node, Task) and node.func is _identity_cast and node.kwargs.get("typ") is list
    )


def _references(node: Any) -> Iterator[Key | None]:
    """Keys in a nested list literal; None for anything that is not a plain reference."""
    for item in node.args:
        if is_list(item):
            yield from _references(item)
        else:
            yield reference(item)


def _depth(node: Any) -> int:
    depth = 0
    while is_list(node) and node.args:
        node = node.args[0]
        depth += 1
    return depth


def _list_argument(task: GraphNode | None) -> Any:
    """The nested list that is a task's only argument, or None."""
    if not isinstance(task, Task) or task.kwargs or len(task.args) != 1:
        return None
    return task.args[0] if is_list(task.args[0]) else None


def grid_position(key: Key) -> tuple[int, ...] | None:
    """Grid position in an array key ``(name, i, j, ...)``; None for other keys."""
    if not isinstance(key, tuple) or not key or not isinstance(key[0], str):
        return None
    position = key[1:]
    for index in position:
        if not isinstance(index, int):
            return None
    return position


def _sorted_leaves(leaves: list[Key]) -> tuple[Key, ...]:
    positions = [grid_position(leaf) for leaf in leaves]
    if any(position is None for position in positions):
        return tuple(leaves)
    order = sorted(range(len(leaves)), key=lambda index: positions[index] or ())
    return tuple(leaves[index] for index in order)


def find_trees(
    graph: Mapping[Key, GraphNode], users: Mapping[Key, Set[Key]], outputs: Set[Key]
) -> list[Tree]:
    """All reduction trees of a graph.

    Parameters
    ----------
    graph : mapping
        Materialised graph of task-spec nodes.
    users : mapping
        For each key the keys of the tasks that use it.
    outputs : set
        Keys that the computation has to return.

    Returns
    -------
    list of Tree
        In the order of the graph. Leaves are keys of `graph`.
    """
    trees = []
    for key, task in graph.items():
        argument = _list_argument(task)
        if argument is None:
            tree = _find_join(key, task, graph)
            if tree is not None:
                trees.append(tree)
            continue
        step = lookup(task.func)
        if step is None:
            continue
        inner: list[Key] = []
        leaves: list[Key] = []
        if not _walk(argument, key, step, graph, users, outputs, inner, leaves):
            continue
        replaced = _replaced(leaves, step, graph)
        if replaced is not None:
            ordered = _sorted_leaves(leaves)
            trees.append(Tree(key, step, _depth(argument), ordered, tuple(inner), replaced))
    return _without_nested(trees)


def _find_join(key: Key, task: GraphNode, graph: Mapping[Key, GraphNode]) -> Tree | None:
    """The tree of a task ``f(join([...]))``; its leaves are in the order of the list."""
    if not isinstance(task, Task) or task.kwargs or len(task.args) != 1:
        return None
    joining = task.args[0]
    argument = _list_argument(joining)
    step = None if argument is None else lookup_join(task.func, joining.func)
    if step is None:
        return None
    leaves = [reference for reference in _references(argument) if reference in graph]
    if _depth(argument) != 1 or len(leaves) != len(argument.args):
        return None
    return Tree(key, step, 1, tuple(leaves), ())


def _replaced(
    leaves: list[Key], step: Step, graph: Mapping[Key, GraphNode]
) -> dict[Key, GraphNode] | None:
    """Leaves with our chunk function; None where one was not made by dask's."""
    if step.row.leaf is None:
        return {}
    replaced: dict[Key, GraphNode] = {}
    for leaf, task in made({leaf: graph[leaf] for leaf in leaves}).items():
        function = own_leaf(task.func, step.row) if isinstance(task, Task) else None
        if function is None:
            return None
        replaced[leaf] = Task(leaf, function, *task.args, **task.kwargs)
    return replaced


def _walk(
    argument: Any,
    parent: Key,
    step: Step,
    graph: Mapping[Key, GraphNode],
    users: Mapping[Key, Set[Key]],
    outputs: Set[Key],
    inner: list[Key],
    leaves: list[Key],
) -> bool:
    for reference in _references(argument):
        if reference is None or reference not in graph:
            return False
        task = graph[reference]
        below = _list_argument(task)
        if below is not None and is_combine(task.func, step.row):
            if users[reference] != {parent} or reference in outputs:
                return False
            inner.append(reference)
            if not _walk(below, reference, step, graph, users, outputs, inner, leaves):
                return False
        else:
            leaves.append(reference)
    return True


def _without_nested(trees: list[Tree]) -> list[Tree]:
    """Drop trees that are part of another one.

    Where the combining function is the aggregating one (``sum``), an inner level looks like the
    top of a tree of its own.
    """
    inner = {key for tree in trees for key in tree.inner}
    return [tree for tree in trees if tree.key not in inner]

"""Chunks of a reduction that one task takes one after the other: bundles.

A task a chunk is what dask's scheduler spends its time on, and what keeps several chunks in memory.
Where a card combines partial results, the tasks that make them become steps of the combining
task::

    l0  l1  l2  l3         one task each, and one to combine
      +---+---+---+

    bundle: l0 l1 (l0+l1) l2 l3 (l2+l3) ((l0+l1)+(l2+l3))      one task, one chunk at a time

The order of the steps is that of the fixed tree, so the bits are the same, and of n chunks at most
log2(n) + 1 partial results wait at a time.

What goes into a bundle is used by nothing else and lies on the bundle's card. A chunk that a task
outside needs as well stays a task of its own, and so does what depends on it: a bundle would keep
all its inputs in memory together. Results of earlier reductions, which all chunks use, are fine.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, TypeGuard

from dask._task_spec import Alias, DataNode, GraphNode, Task, TaskRef
from dask.typing import Key

from daskasc.planner._combine import combine_node
from daskasc.planner._stream import Steps, run_bundle
from daskasc.topology import middle


def is_bundle(node: GraphNode) -> TypeGuard[Task]:
    """Whether a task is a bundle."""
    return isinstance(node, Task) and node.func is run_bundle


def chunks_in(node: Task) -> int:
    """Number of chunks that a bundle takes: one more than it combines, two at a time."""
    return 1 + sum(map(is_combining, node.args[0].values()))


def is_combining(node: GraphNode) -> bool:
    """Whether a task combines partial results of one card."""
    return isinstance(node, Task) and node.func is combine_node


class Bundler:
    """Puts chunk tasks into the tasks that combine what they make.

    Parameters
    ----------
    graph : dict
        Planned tasks, after linear fusion.
    users : mapping
        For each key the keys of the tasks that use it.
    owners : mapping
        Card of each pinned task.
    fixed : set
        Keys that have to stay tasks: wanted results, tasks of collectives.
    shared : set
        Tasks whose results many chunks use: finished reductions.
    most : int
        Chunks that one bundle takes at most.
    ahead : int
        Chunks that it reads before they are needed.
    """

    def __init__(
        self,
        graph: Mapping[Key, GraphNode],
        users: Mapping[Key, Set[Key]],
        owners: Mapping[Key, int],
        fixed: Set[Key],
        shared: Set[Key],
        most: int,
        ahead: int = 0,
    ) -> None:
        self._graph, self._users, self._owners = graph, users, owners
        self._fixed, self._shared = fixed, shared
        self._most, self._ahead = most, ahead
        self._bundles: dict[Key, tuple[Steps, int]] = {}

    def bundled(self) -> dict[Key, GraphNode]:
        """The graph with bundles."""
        nodes = [key for key, node in self._graph.items() if is_combining(node)]
        # inputs before users: a tree node has fewer leaves than those above it
        for key in sorted(nodes, key=_leaves):
            found = self._bundle(key)
            if found is not None:
                self._bundles[key] = found
        graph = dict(self._graph)
        for key, (steps, _) in self._bundles.items():
            if self._inner(key):
                continue
            for name in steps:
                graph.pop(name, None)  # halves of a node are no tasks
            graph[key] = _task(key, steps, self._ahead)
        return graph

    def _inner(self, key: Key) -> bool:
        """Whether a bundle is part of a larger one."""
        return any(user in self._bundles for user in self._users[key])

    def _bundle(self, key: Key) -> tuple[Steps, int] | None:
        """Steps of a combining task and all below it, and the number of chunks among them."""
        node = self._graph[key]
        assert isinstance(node, Task)
        combine, depth, shape, *inputs = node.args
        parts: list[Steps] = []
        chunks = 0
        for reference in inputs:
            if not isinstance(reference, TaskRef):
                return None
            found = self._part(reference.key, key)
            if found is None or chunks + found[1] > self._most:
                return None
            parts.append(found[0])
            chunks += found[1]
        steps: Steps = {}
        *name, low, high = key

        def fold(low: int, high: int, shape: Any) -> Key:
            if isinstance(shape, int):
                steps.update(parts[shape])
                return inputs[shape].key
            split = middle(low, high)
            left, right = fold(low, split, shape[0]), fold(split, high, shape[1])
            made = (*name, low, high)
            steps[made] = Task(
                made, combine_node, combine, depth, (0, 1), TaskRef(left), TaskRef(right)
            )
            return made

        fold(low, high, shape)
        return steps, chunks

    def _part(self, key: Key, user: Key) -> tuple[Steps, int] | None:
        if not self._belongs(key, user):
            return None
        if key in self._bundles:
            return self._bundles[key]
        if is_combining(self._graph[key]):
            return None
        steps: Steps = {}
        return (steps, 1) if self._collect(key, steps) else None

    def _belongs(self, key: Key, user: Key) -> bool:
        """Whether a task is there for `user` alone, on the same card."""
        return (
            key in self._graph
            and key not in self._fixed
            and self._users[key] == {user}
            and key in self._owners
            and self._owners[key] == self._owners[user]
        )

    def _collect(self, key: Key, steps: Steps) -> bool:
        """Add a task and what it alone needs to `steps`; False if that cannot be."""
        node = self._graph[key]
        if not isinstance(node, (Task, Alias)):
            return False
        for dependency in sorted(node.dependencies, key=str):
            if self._belongs(dependency, key):
                if not self._collect(dependency, steps):
                    return False
            elif not self._may_wait(dependency):
                return False
        steps[key] = node
        return True

    def _may_wait(self, key: Key) -> bool:
        """Whether a value may be an input of a bundle, all of whose inputs wait for its start."""
        return (
            key not in self._graph or key in self._shared or isinstance(self._graph[key], DataNode)
        )


def _leaves(key: Any) -> int:
    low, high = key[-2:]
    return int(high) - int(low)


def _task(key: Key, steps: Steps, ahead: int) -> Task:
    outside = {name for node in steps.values() for name in node.dependencies} - steps.keys()
    inputs = tuple(sorted(outside, key=str))
    produces = any(node.data_producer for node in steps.values())
    return Task(
        key, run_bundle, steps, inputs, ahead, *map(TaskRef, inputs), _data_producer=produces
    )

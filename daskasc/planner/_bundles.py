"""Chunks of a reduction that one task takes one after the other: bundles.

A task a chunk is what dask's scheduler spends its time on, and what keeps several chunks in memory.
Where a card combines partial results, the tasks that make them become steps of the combining
task::

    l0  l1  l2  l3         one task each, and one to combine
      +---+---+---+

    bundle: l0 l1 (l0+l1) l2 l3 (l2+l3) ((l0+l1)+(l2+l3))      one task, one chunk at a time

The order of the steps is that of the fixed tree, so the bits are the same, and of n chunks at most
log2(n) + 1 partial results wait at a time.

What goes into a bundle is used by nothing else and lies on the bundle's card. Several reductions of
the same chunks share one bundle, which takes each chunk once and has several outcomes::

    joint: chunk 0, l0, m0, chunk 1, l1, (l0+l1), m1, (m0+m1), ...

A chunk that a task outside needs as well stays a task of its own, and so does what depends on it: a
bundle would keep all its inputs in memory together. Results of earlier reductions, which all chunks
use, are fine.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeGuard

from dask._task_spec import Alias, DataNode, GraphNode, Task, TaskRef
from dask.typing import Key

from daskasc.planner._combine import combine_node
from daskasc.planner._deferred import compact
from daskasc.planner._stream import Steps, outcome, run_bundle, several
from daskasc.topology import middle


def is_bundle(node: GraphNode) -> TypeGuard[Task]:
    """Whether a task is a bundle."""
    return isinstance(node, Task) and node.func is run_bundle


def chunks_in(node: Task) -> int:
    """Number of chunks that a bundle takes: one more than it combines, two at a time."""
    steps = node.args[0]
    last = next(reversed(steps.values()))
    outcomes = len(last.args) if last.func is several else 1
    return 1 + sum(map(is_combining, steps.values())) // outcomes


def is_combining(node: GraphNode) -> bool:
    """Whether a task combines partial results of one card."""
    return isinstance(node, Task) and node.func is combine_node


@dataclass(frozen=True)
class _Part:
    """Steps of a bundle or a part of one.

    Attributes
    ----------
    steps : dict
        Tasks, inputs before users.
    chunks : int
        Number of chunks that they take.
    shared : dict
        Keys, in order, of the chunks that others use as well; they are not among the steps.
    """

    steps: Steps
    chunks: int
    shared: dict[Key, None]


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
        self._sources: dict[Key, Steps | None] = {}
        # joint bundles, each with one of the tasks that take an outcome from it
        self.joint: dict[Key, Key] = {}

    def bundled(self) -> dict[Key, GraphNode]:
        """The graph with bundles."""
        # inputs before users: a tree node has fewer leaves than those above it
        nodes = sorted(
            (key for key, node in self._graph.items() if is_combining(node)), key=_leaves
        )
        alone = self._grown(nodes, joint=False)
        rest = [key for key in nodes if key not in alone]
        graph = dict(self._graph)
        for key in self._tops(alone):
            self._put(graph, key, alone[key].steps)
        for group in self._groups(self._grown(rest, joint=True)):
            self._put_jointly(graph, group)
        return graph

    def _grown(self, nodes: list[Key], joint: bool) -> dict[Key, _Part]:
        """All nodes that can be bundles; if `joint`, those whose chunks others use as well."""
        found: dict[Key, _Part] = {}
        for key in nodes:
            part = self._bundle(key, found, joint)
            if part is not None:
                found[key] = part
        return found

    def _tops(self, found: Mapping[Key, _Part]) -> list[Key]:
        """Bundles that are not parts of larger ones."""
        return [key for key in found if not any(user in found for user in self._users[key])]

    def _groups(self, found: Mapping[Key, _Part]) -> list[dict[Key, _Part]]:
        """Bundles which together are all that uses their chunks, and use them in one order."""
        by_chunks: defaultdict[Any, dict[Key, _Part]] = defaultdict(dict)
        for key in self._tops(found):
            by_chunks[self._owners[key], tuple(found[key].shared)][key] = found[key]
        groups = []
        for (_, chunks), group in by_chunks.items():
            names = [part.steps.keys() for part in group.values()]
            # once in each: a chunk with two uses in one would wait for the second
            if all(
                len(self._users[chunk]) == len(names)
                and all(len(self._users[chunk] & inside) == 1 for inside in names)
                for chunk in chunks
            ):
                groups.append(group)
        after = self._after(key for group in groups for key in group)
        return [group for group in groups if not self._needs(group, after)]

    def _after(self, keys: Iterable[Key]) -> set[Key]:
        """All tasks that need one of the tasks `keys`."""
        found: set[Key] = set()
        left = list(keys)
        while left:
            users = self._users[left.pop()] - found
            found |= users
            left += users
        return found

    def _needs(self, group: Mapping[Key, _Part], tasks: Set[Key]) -> bool:
        """Whether a bundle of `group` would need one of `tasks`, as an anomaly needs the mean."""
        steps: Steps = {}
        for part in group.values():
            steps.update(part.steps)
            for chunk in part.shared:
                steps.update(self._sources[chunk] or {})
        return any(not node.dependencies.isdisjoint(tasks) for node in steps.values())

    def _put(self, graph: dict[Key, GraphNode], key: Key, steps: Steps) -> None:
        for name in steps:
            graph.pop(name, None)  # halves of a node are no tasks
        graph[key] = _task(key, steps, self._ahead)

    def _put_jointly(self, graph: dict[Key, GraphNode], group: dict[Key, _Part]) -> None:
        # the order of the steps tells what memory they take: a plan says what a run will do
        keys = tuple(sorted(group, key=str))
        name = ("bundle", *keys)
        steps = self._in_step([group[key] for key in keys])
        steps[name] = Task(name, several, *map(TaskRef, keys))
        self._put(graph, name, steps)
        self.joint[name] = keys[0]
        for number, key in enumerate(keys):
            graph[key] = Task(key, outcome, TaskRef(name), number)

    def _in_step(self, parts: list[_Part]) -> Steps:
        """Steps of bundles of the same chunks: all that a chunk is for before the next is read."""
        ahead = [deque(part.steps.items()) for part in parts]
        waited_for = {name for part in parts for name in (*part.steps, *part.shared)}
        steps: Steps = {}
        for chunk in parts[0].shared:
            steps.update(self._sources[chunk] or {})
            for queue in ahead:
                while queue and not queue[0][1].dependencies & waited_for - steps.keys():
                    name, node = queue.popleft()
                    steps[name] = node
        assert not any(ahead)
        return steps

    def _bundle(self, key: Key, found: Mapping[Key, _Part], joint: bool) -> _Part | None:
        """Steps of a combining task and all below it, and the number of chunks among them."""
        node = self._graph[key]
        assert isinstance(node, Task)
        combine, depth, shape, *inputs = node.args
        parts: list[_Part] = []
        for reference in inputs:
            if not isinstance(reference, TaskRef):
                return None
            part = self._part(reference.key, key, found, joint)
            if part is None or sum(one.chunks for one in parts) + part.chunks > self._most:
                return None
            parts.append(part)
        steps: Steps = {}
        *name, low, high = key

        def fold(low: int, high: int, shape: Any) -> Key:
            if isinstance(shape, int):
                steps.update(parts[shape].steps)
                return inputs[shape].key
            split = middle(low, high)
            left, right = fold(low, split, shape[0]), fold(split, high, shape[1])
            made = (*name, low, high)
            steps[made] = Task(
                made, combine_node, combine, depth, (0, 1), TaskRef(left), TaskRef(right)
            )
            return made

        fold(low, high, shape)
        shared = dict.fromkeys(chunk for part in parts for chunk in part.shared)
        return _Part(steps, sum(part.chunks for part in parts), shared)

    def _part(self, key: Key, user: Key, found: Mapping[Key, _Part], joint: bool) -> _Part | None:
        if not self._belongs(key, user):
            return None
        if key in found:
            return found[key]
        if is_combining(self._graph[key]):
            return None
        part = _Part({}, 1, {})
        if not self._collect(key, part, joint):
            return None
        return part if bool(part.shared) == joint else None

    def _belongs(self, key: Key, user: Key) -> bool:
        """Whether a task is there for `user` alone, on the same card."""
        return (
            key in self._graph
            and key not in self._fixed
            and self._users[key] == {user}
            and key in self._owners
            and self._owners[key] == self._owners[user]
        )

    def _collect(self, key: Key, part: _Part, joint: bool) -> bool:
        """Add a task and what it alone needs to `part`; False if that cannot be."""
        node = self._graph[key]
        if not isinstance(node, (Task, Alias)):
            return False
        for dependency in sorted(node.dependencies, key=str):
            if self._belongs(dependency, key):
                if not self._collect(dependency, part, joint):
                    return False
            elif joint and self._is_chunk(dependency, key):
                part.shared[dependency] = None
            elif not self._may_wait(dependency):
                return False
        part.steps[key] = node
        return True

    def _is_chunk(self, key: Key, user: Key) -> bool:
        """Whether a task on the same card can be a step for several users."""
        if key not in self._graph or key in self._fixed or key in self._shared:
            return False
        if key not in self._owners or self._owners[key] != self._owners[user]:
            return False
        if key not in self._sources:
            part = _Part({}, 1, {})
            self._sources[key] = part.steps if self._collect(key, part, joint=False) else None
        return self._sources[key] is not None

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
        key,
        run_bundle,
        compact(steps),
        inputs,
        ahead,
        *map(TaskRef, inputs),
        _data_producer=produces,
    )

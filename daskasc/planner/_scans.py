"""Cumulative sums and products: an exclusive scan of card totals in the place of dask's chain.

Dask scans each chunk by itself and then walks all chunks, one after the other, whichever cards they
are on::

    own scans     m0        m1          m2          m3
    extra          e0 ----> e1 -------> e2 -------> e3       e(i+1) = e(i) + last of m(i)
    result        m0     e1 + m1     e2 + m2     e3 + m3

Here each card combines the totals of its chunks, one collective gathers these, the owner combines
them, each card gets what comes before its chunks, and adds the offsets where the chunks are (see
:mod:`._prefix`). Chunks do not move; what lies on one card needs no collective.

A scan is recognised by the structure of that chain and by its operation, which must be associative.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import dask.array.reductions as dask_reductions
import numpy as np
from dask._task_spec import GraphNode, Task, TaskRef
from dask.tokenize import tokenize
from dask.typing import Key
from dask.utils import apply

from daskasc.planner._combine import Shape, gather_nodes
from daskasc.planner._emit import Rewrite, nodes_below, numbered
from daskasc.planner._prefix import (
    Function,
    add_offset,
    block_total,
    fold_totals,
    gathered_prefixes,
    prefix,
)
from daskasc.planner._recognise import grid_position, reference
from daskasc.topology import cover, middle

# operation of the chain -> name in task keys
SCANS: dict[Any, str] = {
    dask_reductions._cumsum_merge: "cumsum",
    dask_reductions._cumprod_merge: "cumprod",
    operator.add: "nancumsum",
    operator.mul: "nancumprod",
}


@dataclass(frozen=True)
class Scan:
    """One chain of chunks along the scanned axis.

    Attributes
    ----------
    binop : callable
        Its operation.
    axis : int
        The scanned axis.
    leaves : tuple of Key
        The chunks' own scans, in order.
    results : dict
        Place along the chain to key of the result; the first is dask's alias of its leaf. Those
        that nobody wants are missing.
    inner : tuple of Key
        Tasks of dask's chain that the rewriting replaces.
    """

    binop: Function
    axis: int
    leaves: tuple[Key, ...]
    results: Mapping[int, Key]
    inner: tuple[Key, ...]


def find_scans(
    graph: Mapping[Key, GraphNode], users: Mapping[Key, Set[Key]], outputs: Set[Key]
) -> list[Scan]:
    """All chains of a graph; see :func:`daskasc.planner._recognise.find_trees`."""
    scans = []
    for key, task in graph.items():
        if isinstance(task, Task) and task.func is apply and task.args[0] is np.full_like:
            scan = _follow(key, graph, users, outputs)
            if scan is not None:
                scans.append(scan)
    return scans


def _last_of(argument: Any) -> tuple[Key, int] | None:
    """Chunk and axis of ``chunk[..., -1:, ...]``."""
    if not isinstance(argument, Task) or argument.func is not operator.getitem:
        return None
    chunk, index = reference(argument.args[0]), argument.args[1]
    last = slice(-1, None, None)
    if chunk is None or not isinstance(index, tuple) or index.count(last) != 1:
        return None
    if any(part not in (last, slice(None, None, None)) for part in index):
        return None
    return chunk, index.index(last)


def _follow(
    extra: Key, graph: Mapping[Key, GraphNode], users: Mapping[Key, Set[Key]], outputs: Set[Key]
) -> Scan | None:
    """The chain that begins with the offset `extra` of its first chunk, or None."""
    leaves: list[Key] = []
    results: dict[int, Key] = {}
    inner: list[Key] = []
    operations: set[Any] = set()
    axes: set[int] = set()
    step: Key | None = extra
    while step is not None:
        if step in outputs:
            return None
        inner.append(step)
        leaf, following = None, None
        for user in users[step]:
            task = graph[user]
            if not isinstance(task, Task) or task.kwargs or len(task.args) != 2:
                return None
            if task.func not in SCANS or reference(task.args[0]) != step:
                return None
            operations.add(task.func)
            chunk, last = reference(task.args[1]), _last_of(task.args[1])
            if last is not None:
                if following is not None:
                    return None
                chunk, axis = last
                axes.add(axis)
                following = user
            elif len(leaves) in results:
                return None
            else:
                results[len(leaves)] = user
            if chunk is None or chunk not in graph or leaf not in (None, chunk):
                return None
            leaf = chunk
        if leaf is None:
            return None
        leaves.append(leaf)
        step = following
    if len(operations) != 1 or len(axes) != 1:
        return None
    return Scan(operations.pop(), axes.pop(), tuple(leaves), results, tuple(inner))


def write_scans(
    scans: list[Scan],
    owners: Mapping[Key, int],
    cards: int,
    fan_in: int,
    rewrite: Rewrite,
) -> None:
    """Write scans anew; see :class:`daskasc.planner._emit.TreeWriter` for the parameters."""
    for rank, scan in enumerate(sorted(scans, key=lambda scan: str(scan.leaves[0]))):
        ScanWriter(scan, owners, cards, fan_in, rewrite).write(rank)


class ScanWriter:
    """Writes one chain; parameters as of :func:`write_scans`."""

    def __init__(
        self, scan: Scan, owners: Mapping[Key, int], cards: int, fan_in: int, rewrite: Rewrite
    ) -> None:
        self.scan = scan
        self.binop = scan.binop
        self.cards = cards
        self.fan_in = fan_in
        self.rewrite = rewrite
        # what comes after the last wanted result is of no use
        self.leaves = scan.leaves[: max(scan.results) + 1]
        self.leaf_owners = [owners[leaf] for leaf in self.leaves]
        self.name = SCANS[scan.binop]
        self.token = tokenize(self.leaves, self.leaf_owners, cards, self.name, scan.axis)
        self.position = grid_position(self.leaves[0]) or ()

    def _key(self, stage: str, *index: int) -> Key:
        return (f"{self.name}-{stage}-{self.token}", *self.position, *index)

    def write(self, rank: int) -> None:
        """Add the tasks of the chain.

        Parameters
        ----------
        rank : int
            Number of this chain among others; it decides which card combines the totals.
        """
        spans = list(cover(self.leaf_owners))
        if len(spans) == 1:
            self._results(0, len(self.leaves), None)
            return
        carries = self._carries(spans, rank)
        for index, span in enumerate(spans):
            self._results(span.start, span.stop, carries[index] if index else None)

    def _carries(self, spans: list[range], rank: int) -> dict[int, TaskRef]:
        """What comes before each span but the first."""
        card_of = [self.leaf_owners[span.start] for span in spans]
        owner = sorted(set(card_of[1:]))[rank % len(set(card_of[1:]))]
        totals: dict[int, list[TaskRef]] = {card: [] for card in sorted({*card_of[:-1], owner})}
        members = list(totals)
        places = []
        for span, card in zip(spans[:-1], card_of[:-1], strict=True):
            places.append((members.index(card), len(totals[card])))
            totals[card].append(TaskRef(self._total(span.start, span.stop)))
        result, others = self.rewrite.exchange(
            self._key,
            f"{self.name}-{self.token}",
            "gather",
            owner,
            self.cards,
            {card: (gather_nodes, *inputs) for card, inputs in totals.items()},
        )
        stops = {(span.start, span.stop): index for index, span in enumerate(spans)}
        paths = [_path(0, len(self.leaves), (span.start, span.stop), stops) for span in spans[1:]]
        key = self._key("prefixes")
        task = Task(key, gathered_prefixes, self.binop, paths, places, result, *others)
        self.rewrite.results.add(self.rewrite.add(key, owner, task))
        carries = {}
        for index in range(1, len(spans)):
            carry = self._key("carry", index)
            task = Task(carry, operator.getitem, TaskRef(key), index - 1)
            carries[index] = TaskRef(self.rewrite.add(carry, owner, task))
        return carries

    def _total(self, low: int, high: int) -> Key:
        """Key of the total of a tree node on one card; adds the tasks that compute it."""
        key = self._key("total", low, high)
        if key in self.rewrite.tasks:
            return key
        if high - low == 1:
            task = Task(key, block_total, self.scan.axis, TaskRef(self.leaves[low]))
        else:
            spans = nodes_below(low, high, self.fan_in)
            shape = numbered(low, high, {span: index for index, span in enumerate(spans)})
            inputs = [TaskRef(self._total(*span)) for span in spans]
            task = Task(key, fold_totals, self.binop, shape, *inputs)
        return self.rewrite.add(key, self.leaf_owners[low], task)

    def _results(self, low: int, high: int, before: TaskRef | None) -> None:
        """Add what computes the results of a tree node on one card from its offset."""
        if high - low == 1:
            self._result(low, [], before, [])
            return
        spans = nodes_below(low, high, self.fan_in)
        stops = {span: index for index, span in enumerate(spans)}
        for index, span in enumerate(spans):
            path = _path(low, high, span, stops)
            # only where something hangs on it
            if not any(place in self.scan.results for place in range(*span)):
                continue
            totals = [TaskRef(self._total(*left)) for left in spans[:index]]
            if span[1] - span[0] == 1:
                self._result(span[0], path, before, totals)
            elif path:
                key = self._key("prefix", *span)
                task = Task(key, prefix, self.binop, path, before, *totals)
                self.rewrite.add(key, self.leaf_owners[low], task)
                self._results(*span, TaskRef(key))
            else:
                self._results(*span, before)

    def _result(
        self, place: int, path: list[Shape], before: TaskRef | None, totals: list[TaskRef]
    ) -> None:
        key = self.scan.results.get(place)
        if key is None:  # not wanted, or the first: dask's alias of its leaf
            return
        block = TaskRef(self.leaves[place])
        task = Task(key, add_offset, self.binop, block, path, before, *totals)
        self.rewrite.add(key, self.leaf_owners[place], task)


def _path(
    low: int, high: int, target: tuple[int, int], stops: Mapping[tuple[int, int], int]
) -> list[Shape]:
    """Shapes of the nodes left of `target` on the way to it from ``range(low, high)``."""
    path = []
    while (low, high) != target:
        split = middle(low, high)
        if target[0] >= split:
            path.append(numbered(low, split, stops))
            low = split
        else:
            high = split
    return path

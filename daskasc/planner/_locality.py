"""Owners that only show once reductions are recognised: of partial products, and after results.

A task is placed before anyone knows what it is part of (:mod:`._owners`). Two kinds of tasks then
move more than they need to:

- A product of a contraction, such as ``x.T @ x``, belongs to a grid of its own, larger than those
  of its operands, over which it was spread. Where its operands lie on one card, it runs there: the
  small partial products cross cards, in the reduction's collective, instead of the operands.
- What works on the result of a reduction was placed where the reduction's first input lies. The
  result itself lies with the card that finishes it, one of all members in turn. So what follows
  runs there, and parts that are cut out of a result are cut where it is, as the Q factors of a tall
  matrix are.
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import dask.array.einsumfuncs as dask_einsum
import dask.array.routines as dask_routines
from dask._task_spec import Alias, GraphNode, Task, _execute_subgraph
from dask.typing import Key

from daskasc.planner._owners import main_input
from daskasc.planner._recognise import Tree, grid_position
from daskasc.planner._reductions import take_apart

_PRODUCTS = (dask_routines._matmul, dask_routines._tensordot, dask_einsum.chunk_einsum)


def move_products(
    graph: Mapping[Key, GraphNode],
    trees: Sequence[Tree],
    owners: dict[Key, int],
    counts: Mapping[str, int],
    cards: int,
) -> None:
    """Change the owners of partial products to the card that holds most of their operands.

    Operands of arrays with fewer chunks than cards (`counts` has their number) do not count: all
    products would meet on the few cards that hold them.
    """
    products = [tree for tree in trees if _is_product(graph[tree.leaves[0]])]
    for leaf in (leaf for tree in products for leaf in tree.leaves):
        holders = Counter(
            owners[operand]
            for operand in graph[leaf].dependencies
            if operand in owners and _spread(operand, counts, cards)
        )
        if holders:
            ((card, count),) = holders.most_common(1)
            if 2 * count > holders.total():
                owners[leaf] = card


def follow_results(
    graph: Mapping[Key, GraphNode],
    users: Mapping[Key, Set[Key]],
    owners: Mapping[Key, int],
    results: Mapping[Key, int],
    fixed: Set[Key],
    counts: Mapping[str, int],
) -> dict[Key, int]:
    """Owners of tasks whose main input is a result, or follows from one.

    Parameters
    ----------
    graph : mapping
        Graph before reductions are written anew.
    users : mapping
        For each key the keys of the tasks that use it.
    owners : mapping
        Card of each task as assigned.
    results : mapping
        Card of each task that finishes a reduction.
    fixed : set
        Tasks that stay where they are.
    counts : mapping
        Number of chunks of each array.

    Returns
    -------
    dict
        Key to card.
    """
    found: dict[Key, int] = {}
    queue = deque(results)
    while queue:
        key = queue.popleft()
        card = found[key] if key in found else results[key]
        for user in users.get(key, ()):
            if user in found or user in results or user in fixed or user not in owners:
                continue
            if _follows(graph[user], user, key, owners, counts):
                found[user] = card
                queue.append(user)
    return found


def _follows(
    node: GraphNode, user: Key, key: Key, owners: Mapping[Key, int], counts: Mapping[str, int]
) -> bool:
    if isinstance(node, Alias):
        return True
    if not isinstance(node, Task) or grid_position(user) is None:
        return False
    if node.func is operator.getitem and node.dependencies == {key}:
        return True
    main: Any = main_input(node, owners, counts)
    return main == key and counts[main[0]] >= counts[user[0]]


def _is_product(task: GraphNode) -> bool:
    if not isinstance(task, Task):
        return False
    steps: Iterable[Any] = (task,)
    if task.func is _execute_subgraph:
        steps = task.args[0].values()
    return any(
        take_apart(step.func).function in _PRODUCTS for step in steps if isinstance(step, Task)
    )


def _spread(key: Key, counts: Mapping[str, int], cards: int) -> bool:
    return grid_position(key) is not None and counts.get(key[0], 0) >= cards

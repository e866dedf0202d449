"""What runs on the workers for cumulative sums and products: offsets along a fixed binary tree.

A chunk's *total* is the last element of its own scan, None where it has no elements. The offset of
a chunk combines the totals of all chunks before it::

    chunk          0     1     2     3     4
    tree          ((t0    t1)   t2)  (t3    t4)
    offset         -     t0   t0+t1   .    (t0+t1)+t2 + t3        . : (t0+t1)+t2

The tree nodes left of a chunk are combined from left to right. The tree is that of
:mod:`daskasc.planner._combine`: whichever card computes a node, the bits are the same. A *path* is
the list of those nodes' shapes, outermost first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskasc.planner._combine import Shape

Function = Callable[[Any, Any], Any]


def block_total(axis: int, block: Any) -> Any:
    """Task: total of one chunk out of its own scan; None if it has no elements along `axis`."""
    if not block.shape[axis]:
        return None
    # a copy: a view would keep the whole chunk in memory
    return block[(slice(None),) * axis + (slice(-1, None),)].copy()


def fold_totals(binop: Function, shape: Shape, *totals: Any) -> Any:
    """Task: total of a tree node out of those of nodes below it."""
    if isinstance(shape, int):
        return totals[shape]
    left, right = (fold_totals(binop, part, *totals) for part in shape)
    return _joined(binop, left, right)


def prefix(binop: Function, path: Sequence[Shape], before: Any, *totals: Any) -> Any:
    """Task: offset of a tree node: `before`, then the nodes on the `path` to it."""
    for shape in path:
        before = _joined(binop, before, fold_totals(binop, shape, *totals))
    return before


def add_offset(
    binop: Function, block: Any, path: Sequence[Shape], before: Any, *totals: Any
) -> Any:
    """Task: a chunk of the result out of the chunk's own scan and its :func:`prefix`."""
    offset = prefix(binop, path, before, *totals)
    return block if offset is None else binop(offset, block)


def gathered_prefixes(
    binop: Function,
    paths: Sequence[Sequence[Shape]],
    places: Sequence[tuple[int, int]],
    contributions: list[list[Any]],
    *others: None,
) -> list[Any]:
    """Task: offsets of several tree nodes out of totals gathered from several cards.

    Parameters
    ----------
    binop : callable
        The operation of the scan.
    paths : sequence of list of Shape
        For each wanted node the path to it, over the gathered nodes in leaf order.
    places : sequence of (int, int)
        For each gathered node which member contributed it, and as its how manieth.
    contributions : list of list
        The members' totals, as the collective delivered them.
    *others : None
        What the other members' collecting tasks returned; they only keep partials alive.
    """
    totals = [contributions[member][position] for member, position in places]
    return [prefix(binop, path, None, *totals) for path in paths]


def _joined(binop: Function, left: Any, right: Any) -> Any:
    if left is None:
        return right
    return left if right is None else binop(left, right)

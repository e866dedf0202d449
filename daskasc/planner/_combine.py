"""What runs on the workers: combining partials along a fixed binary tree.

Floating-point addition is not associative, so the order decides the bits. Here the order is that
of one binary tree over the leaves of a reduction, whichever card holds them: a card computes the
tree nodes that lie wholly on it, a server those that lie wholly in it, the owner of the result
computes the rest. The result is the same
for any number of cards and any timing.

A *shape* is such a tree with its leaves numbered: ``((0, 1), 2)`` combines values 0 and 1, then
the outcome with value 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Shape: an int, or a pair of shapes
Shape = Any
Function = Callable[..., Any]


def nest(values: list[Any], depth: int) -> Any:
    """Wrap a list of partials as dask's functions expect them: one list level a reduced axis."""
    nested: Any = values
    for _ in range(depth - 1):
        nested = [nested]
    return nested


def fold(combine: Function, depth: int, shape: Shape, values: Sequence[Any]) -> Any:
    """Combine `values` along the binary tree `shape` into one partial."""
    if isinstance(shape, int):
        return values[shape]
    left, right = (fold(combine, depth, part, values) for part in shape)
    return combine(nest([left, right], depth))


def combine_node(combine: Function, depth: int, shape: Shape, *values: Any) -> Any:
    """Task: one tree node out of nodes below it, all on one card."""
    return fold(combine, depth, shape, values)


def gather_nodes(*values: Any) -> list[Any]:
    """Task: the tree nodes that one card contributes to a reduction, in leaf order."""
    return list(values)


def gather_one(combine: Function, depth: int, *values: Any) -> list[Any]:
    """Task: a card's contribution where any order gives the same bits: one partial."""
    result = values[0]
    for value in values[1:]:
        result = combine(nest([result, value], depth))
    return [result]


def gather_merged(merge: Function, depth: int, *values: Any) -> list[Any]:
    """Task: the same by a function that takes any number of partials.

    It is called for one partial too: partials may differ in dtype until they are merged.
    """
    return [merge(nest(list(values), depth))]


@dataclass(frozen=True)
class ServerMerge:
    """What the cards of one server contribute together: the tree nodes that lie wholly in it.

    These are nodes of the same tree, combined by the same function, so the result has the same bits
    whether a server combines them or the owner of the result does.

    Attributes
    ----------
    combine : callable
        Dask's function that combines partials.
    depth : int
        Number of reduced axes.
    pieces : mapping of int to sequence of (Shape, sequence of (int, int))
        For each server its nodes in leaf order: a tree over nodes of single cards, and for each of
        these which member of the server contributed it, and as its how manieth.
    grows : bool
        Whether a combined partial may be larger than one of those that it is made of.
    """

    combine: Function
    depth: int
    pieces: Mapping[int, Sequence[tuple[Shape, Sequence[tuple[int, int]]]]]
    grows: bool = False

    def size(self, server: int, sizes: Sequence[int]) -> int:
        """Bytes of what a server contributes, from those of its members' contributions."""
        pieces = self.pieces[server]
        whole = sum(sizes)
        if self.grows:
            return whole
        nodes = [0] * len(sizes)
        for _, places in pieces:
            for member, _ in places:
                nodes[member] += 1
        largest = max(-(-size // max(1, count)) for size, count in zip(sizes, nodes, strict=True))
        return min(whole, largest * len(pieces))

    def __call__(self, server: int, contributions: Sequence[Sequence[Any]]) -> list[Any]:
        """Nodes of a server out of the nodes of its members."""
        return [
            fold(self.combine, self.depth, shape, [contributions[m][i] for m, i in places])
            for shape, places in self.pieces[server]
        ]


def finish_local(aggregate: Function, depth: int, value: Any) -> Any:
    """Task: the final value of a reduction whose leaves all lie on one card."""
    return aggregate(nest([value], depth))


def finish_gathered(
    combine: Function,
    aggregate: Function,
    depth: int,
    shape: Shape,
    places: Sequence[tuple[int, int]],
    contributions: list[list[Any]],
    *others: None,
) -> Any:
    """Task: the final value out of the nodes gathered from several cards.

    Parameters
    ----------
    combine, aggregate : callable
        Dask's functions of the reduction.
    depth : int
        Number of reduced axes.
    shape : Shape
        Tree over the nodes in leaf order.
    places : sequence of (int, int)
        For each node in leaf order: which member contributed it, and as its how manieth.
    contributions : list of list
        The members' nodes, as the collective delivered them.
    *others : None
        What the other members' collecting tasks returned; they only keep partials alive.
    """
    nodes = [contributions[member][position] for member, position in places]
    return aggregate(nest([fold(combine, depth, shape, nodes)], depth))


def finish_reduced(aggregate: Function, depth: int, contribution: list[Any], *others: None) -> Any:
    """Task: the final value out of the one partial that the collective reduced over the cards."""
    (value,) = contribution
    return aggregate(nest([value], depth))

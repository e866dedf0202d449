"""Write a recognised reduction anew in two levels: on the card first, then over the cards.

::

    leaves on card 0        leaves on card 1
      l0   l1   l2            l3   l4            chunk tasks, where they are
       +-+-+     |             +-+-+             combine_node: nodes of the fixed tree
      partial 0                partial 1         what a card contributes
      deposit 0                deposit 1         token: id, dtypes, shapes
            +------ barrier ------+              returns when the collective is over
      collect 0                collect 1         the owner gets the result, others None
            +-- finish (old key)                 aggregate

With several servers, the collective goes in two levels: what the cards of a server contribute is
combined in it, along the same tree (:class:`~daskasc.planner._combine.ServerMerge`).

A reduction whose leaves all lie on one card has no collective. ``collect`` depends on its card's
partial, so that dask keeps the partial until the collective is over, and recomputes by lineage
what a lost card held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dask._task_spec import GraphNode, Task, TaskRef
from dask.tokenize import tokenize
from dask.typing import Key

from daskasc.collectives import Gang, barrier, collect, deposit
from daskasc.planner._combine import (
    ServerMerge,
    Shape,
    combine_node,
    finish_gathered,
    finish_local,
    finish_reduced,
    gather_merged,
    gather_nodes,
    gather_one,
)
from daskasc.planner._recognise import Tree, grid_position
from daskasc.topology import cover, middle


@dataclass
class Rewrite:
    """Tasks to put in the place of recognised trees.

    Attributes
    ----------
    tasks : dict
        New tasks; the aggregating keys keep their names.
    owners : dict
        Card of each new task.
    gangs : dict
        Identifier of the collective that a task belongs to, for the tasks of collectives.
    results : set
        Tasks that have what was gathered over cards; what uses them comes in a later phase.
    chunks : set
        Tasks that make chunks of an array, unlike steps of a reduction.
    servers : tuple of int
        Server of each card, where collectives go in two levels; empty where they do not.
    """

    tasks: dict[Key, GraphNode] = field(default_factory=dict)
    owners: dict[Key, int] = field(default_factory=dict)
    gangs: dict[Key, str] = field(default_factory=dict)
    results: set[Key] = field(default_factory=set)
    chunks: set[Key] = field(default_factory=set)
    servers: tuple[int, ...] = ()

    def add(self, key: Key, owner: int, task: GraphNode, gang: str | None = None) -> Key:
        """Add a task and return its key."""
        self.tasks[key] = task
        self.owners[key] = owner
        if gang is not None:
            self.gangs[key] = gang
        return key

    def exchange(
        self,
        keys: Callable[..., Key],
        name: str,
        op: str,
        owner: int,
        cards: int,
        partials: Mapping[int, tuple[Any, ...]],
        merge: ServerMerge | None = None,
    ) -> tuple[TaskRef, list[TaskRef]]:
        """Add the tasks of one collective.

        Parameters
        ----------
        keys : callable
            Key of a stage: ``keys(stage, *index)``.
        name : str
            Identifier of the collective.
        op : str
            Its operation.
        owner : int
            Card that gets the result.
        cards : int
            Number of cards of the plan.
        partials : mapping of int to tuple
            For each member, ascending, the function that makes its partial, and the arguments.
        merge : ServerMerge, optional
            Of ``"gather"``: how servers combine what their members gather.

        Returns
        -------
        result : TaskRef
            What the owner gets.
        others : list of TaskRef
            None from the other members; who uses the result uses these too, which keeps the
            partials alive until the collective is over.
        """
        members = tuple(partials)
        gang = Gang(
            id=name,
            members=members,
            owner=owner,
            op=op,
            partial_keys=tuple(keys("partial", card) for card in members),
            barrier_key=keys("barrier"),
            collect_keys=tuple(keys("collect", card) for card in members),
            cards=cards,
            servers=self.servers_of(members) if merge is not None or op != "gather" else (),
            merge=merge,
        )
        for card, partial in zip(members, gang.partial_keys, strict=True):
            self.add(partial, card, Task(partial, *partials[card]), name)
        self.add_gang(gang, keys)
        collected = dict(zip(members, map(TaskRef, gang.collect_keys), strict=True))
        result = collected.pop(owner)
        return result, list(collected.values())

    def servers_of(self, members: Sequence[int]) -> tuple[int, ...]:
        """Server of each member; empty where combining within servers would gain nothing."""
        found = tuple(self.servers[card] for card in members) if self.servers else ()
        return found if 1 < len(set(found)) < len(found) else ()

    def add_gang(self, gang: Gang, keys: Callable[..., Key]) -> None:
        """Add the tasks of a collective between its partials and its results.

        Parameters
        ----------
        gang : Gang
            The collective.
        keys : callable
            Key of a stage: ``keys(stage, *index)``.
        """
        stamp = TaskRef(gang.barrier_key)
        tokens = []
        badge = gang.badge
        for card, partial in zip(gang.members, gang.partial_keys, strict=True):
            token = keys("deposit", card)
            task = Task(token, deposit, TaskRef(partial), badge, card)
            tokens.append(TaskRef(self.add(token, card, task, gang.id)))
        task = Task(gang.barrier_key, barrier, gang, *tokens)
        self.add(gang.barrier_key, gang.owner, task, gang.id)
        for card, partial, key in zip(
            gang.members, gang.partial_keys, gang.collect_keys, strict=True
        ):
            takes = card == gang.owner and gang.op != "exchange"
            known = gang if takes else badge
            task = Task(key, collect, stamp, TaskRef(partial), known, card)
            self.add(key, card, task, gang.id)


def numbered(low: int, high: int, stops: Mapping[tuple[int, int], int]) -> Shape:
    """The fixed tree over ``range(low, high)``, cut off at the numbered ranges `stops`."""
    if (low, high) in stops:
        return stops[low, high]
    split = middle(low, high)
    return (numbered(low, split, stops), numbered(split, high, stops))


def nodes_below(low: int, high: int, fan_in: int) -> list[tuple[int, int]]:
    """Nodes some levels below ``range(low, high)``, at most `fan_in`, in leaf order.

    As many levels as leave steps of `fan_in` below: a step that is not full has its place at the
    top, where nodes are few, and not above the leaves.
    """
    width = fan_in.bit_length() - 1
    depth = (high - low - 1).bit_length()
    spans = [(low, high)]
    for _ in range((depth - 1) % width + 1):
        halves: list[tuple[int, int]] = []
        for a, b in spans:
            if b - a == 1:
                halves.append((a, b))
            else:
                split = middle(a, b)
                halves += [(a, split), (split, b)]
        spans = halves
    return spans


class TreeWriter:
    """Writes one tree; the state that the recursion needs.

    Parameters
    ----------
    tree : Tree
        The reduction.
    owners : mapping
        Card of each leaf.
    cards : int
        Number of cards.
    fan_in : int
        Inputs of one combining task; a power of two.
    reproducible : bool
        Whether floating-point results may not depend on the number of cards.
    rewrite : Rewrite
        Where the tasks go.
    """

    def __init__(
        self,
        tree: Tree,
        owners: Mapping[Key, int],
        cards: int,
        fan_in: int,
        reproducible: bool,
        rewrite: Rewrite,
    ) -> None:
        self.tree = tree
        self.cards = cards
        self.fan_in = fan_in
        self.rewrite = rewrite
        self.leaf_owners = [owners[leaf] for leaf in tree.leaves]
        self.depth = max(tree.depth, 1)
        self.combine = tree.step.combine_function()
        step = tree.step
        self.collective = step.collective if reproducible else step.row.collective
        self.token = tokenize(tree.key, tree.leaves, self.leaf_owners, cards, self.collective)
        self.position = grid_position(tree.key) or ()

    def _key(self, stage: str, *index: int) -> Key:
        return (f"{self.tree.step.row.name}-{stage}-{self.token}", *self.position, *index)

    def write(self, output_rank: int, outputs: int) -> None:
        """Add the tasks of the tree.

        Parameters
        ----------
        output_rank, outputs : int
            Position of this output chunk among those of its reduction, and their number; they
            decide which member owns the result.
        """
        spans = list(cover(self.leaf_owners))
        nodes = [self._node(span.start, span.stop) for span in spans]
        members = sorted({self.leaf_owners[span.start] for span in spans})
        if len(members) == 1:
            self._finish_on_one_card(members[0], nodes)
        else:
            owner = members[output_rank * len(members) // outputs]
            self._finish_over_cards(owner, members, spans, nodes)

    def _node(self, low: int, high: int) -> Key:
        """Key of a tree node whose leaves have one owner; adds the tasks that compute it."""
        if high - low == 1:
            return self.tree.leaves[low]
        spans = nodes_below(low, high, self.fan_in)
        inputs = [TaskRef(self._node(a, b)) for a, b in spans]
        shape = numbered(low, high, {span: index for index, span in enumerate(spans)})
        key = self._key("node", low, high)
        task = Task(key, combine_node, self.combine, self.depth, shape, *inputs)
        return self.rewrite.add(key, self.leaf_owners[low], task)

    def _finish_on_one_card(self, card: int, nodes: Sequence[Key]) -> None:
        (node,) = nodes
        aggregate = self.tree.step.aggregate_function()
        task = Task(self.tree.key, finish_local, aggregate, self.depth, TaskRef(node))
        self.rewrite.add(self.tree.key, card, task)

    def _finish_over_cards(
        self, owner: int, members: list[int], spans: list[range], nodes: list[Key]
    ) -> None:
        rewrite = self.rewrite
        own: dict[int, list[int]] = {card: [] for card in members}
        for index, span in enumerate(spans):
            own[self.leaf_owners[span.start]].append(index)
        servers = self.rewrite.servers_of(members) if self.collective == "gather" else ()
        merge, parts = self._merge(servers, members, spans, own) if servers else (None, [])
        partials: dict[int, tuple[Any, ...]] = {}
        for card in members:
            inputs = [TaskRef(nodes[index]) for index in own[card]]
            if self.collective == "gather":
                partials[card] = (gather_nodes, *inputs)
            else:
                # exact, so any order gives the same bits: one partial a card
                gather = gather_one if self.tree.step.row.merge is None else gather_merged
                partials[card] = (gather, self.combine, self.depth, *inputs)
        name = f"{self.tree.step.row.name}-{self.token}"
        result, others = rewrite.exchange(
            self._key, name, self.collective, owner, self.cards, partials, merge
        )
        aggregate = self.tree.step.aggregate_function()
        key = self.tree.key
        if self.collective == "gather":
            where = [members.index(self.leaf_owners[span.start]) for span in spans]
            if merge is not None:  # what servers contribute, in the place of cards
                numbers = sorted(set(servers))
                spans, where = (
                    parts,
                    [
                        numbers.index(self.rewrite.servers[self.leaf_owners[part.start]])
                        for part in parts
                    ],
                )
            places = [(member, where[:index].count(member)) for index, member in enumerate(where)]
            stops = {(span.start, span.stop): index for index, span in enumerate(spans)}
            shape = numbered(0, len(self.tree.leaves), stops)
            finish = Task(
                key,
                finish_gathered,
                self.combine,
                aggregate,
                self.depth,
                shape,
                places,
                result,
                *others,
            )
        else:
            finish = Task(key, finish_reduced, aggregate, self.depth, result, *others)
        rewrite.add(key, owner, finish)

    def _merge(
        self,
        servers: tuple[int, ...],
        members: list[int],
        spans: list[range],
        own: Mapping[int, list[int]],
    ) -> tuple[ServerMerge, list[range]]:
        """How servers combine the nodes `spans` of their members, and the nodes that they give.

        Parameters
        ----------
        servers, members : sequence of int
            The members, and the server of each.
        spans : list of range
            Leaves of the nodes that members contribute.
        own : mapping
            For each member the numbers of its nodes.
        """
        of_card = dict(zip(members, servers, strict=True))
        parts = list(cover([of_card[owner] for owner in self.leaf_owners]))
        pieces: dict[int, list[tuple[Shape, list[tuple[int, int]]]]] = {s: [] for s in servers}
        first = 0
        for part in parts:
            server = of_card[self.leaf_owners[part.start]]
            mates = [card for card in members if of_card[card] == server]
            stops: dict[tuple[int, int], int] = {}
            places: list[tuple[int, int]] = []
            # both covers are nodes of one tree, so a server's node consists of whole nodes of cards
            while first < len(spans) and spans[first].start < part.stop:
                span = spans[first]
                card = self.leaf_owners[span.start]
                stops[span.start, span.stop] = len(places)
                places.append((mates.index(card), own[card].index(first)))
                first += 1
            pieces[server].append((numbered(part.start, part.stop, stops), places))
        return ServerMerge(self.combine, self.depth, pieces, self.tree.step.row.grows), parts

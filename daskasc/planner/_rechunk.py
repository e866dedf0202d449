"""Rechunking between cards: one exchange in the place of a transfer for every part.

Dask cuts, sends and joins part by part, through the host memory of two workers. Where many parts
change cards, each card cuts what every other one needs into one buffer, one all-to-all moves the
buffers, and the output chunks are put together on their cards::

    chunks on card 0          chunks on card 1
      pack 0                    pack 1           a buffer of what each card needs
      deposit 0                 deposit 1        token: id and sizes
            +------ barrier ------+              returns when the exchange is over
      collect 0                 collect 1        None: only keeps the buffers alive
            +------ settle -------+
      receive 0                 receive 1        the pieces for this card, views of one buffer
      join  join                join  join       output chunks, under dask's keys

Output chunks all of whose parts lie on their own card stay as dask made them. So does all else
where the exchange would not pay (`WORTH`), or not fit: a card's chunks and the buffer cut from them
have to be on it together, and so have that buffer and what is received.

Memory of a card, where P is what it sends and receives, own parts included: input + P while
packing, 2 P in the exchange, P + output while joining.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from dask._task_spec import Task, TaskRef
from dask.tokenize import tokenize
from dask.typing import Key

from daskasc.collectives import Cut, Gang, Part, join, pack
from daskasc.collectives import receive as receive_task
from daskasc.collectives import settle as settle_task
from daskasc.planner._assemblies import Assemblies, Assembly
from daskasc.planner._emit import Rewrite
from daskasc.planner._sizes import Size, Sizes
from daskasc.planner._steps import Direct
from daskasc.topology import residence

if TYPE_CHECKING:
    from daskasc.planner._optimize import Planner

# An exchange takes about as long as this many transfers of a part for each card that is in it.
# Seconds with and without one, stand-in cards: 2 cards, 4 parts a card 0.26 and 0.25, 8 parts 0.13
# and 0.19, 128 parts 0.4 and 3.2; 4 cards, 3 parts 0.13 and 0.09, 6 parts 0.13 and 0.14, 96 parts
# 0.27 and 1.67.
WORTH = 4
# Of all bytes, what has to change cards: the others are copied for nothing.
SHARE = 0.25
# Parts that a card may have to do with where steps between are left out.
PIECES = 2000
_NOTHING = Size(0)


def write_exchanges(
    assemblies: Assemblies,
    last: Direct,
    unused: Set[Key | None],
    owners: Mapping[Key, int],
    sizes: Sizes,
    planner: Planner,
    rewrite: Rewrite,
) -> set[Key]:
    """Write rechunking between cards anew, where that pays.

    Parameters
    ----------
    assemblies : Assemblies
        What the graph puts together out of parts.
    last : Direct
        What the last of several steps consist of; preferred to the single steps.
    unused : set
        Outputs that nothing needs any more.
    owners : mapping
        Card of each task.
    sizes : Sizes
        Sizes of the arrays' chunks.
    planner : Planner
        The planner with all configured values filled in.
    rewrite : Rewrite
        Where the tasks go.

    Returns
    -------
    set of Key
        The chunks that are cut.
    """
    kept: set[Key] = set()
    left = {
        name: outputs
        for name, outputs in assemblies.arrays().items()
        if not all(output.key in unused for output in outputs)
    }

    def try_one(outputs: list[Assembly], all_of_them: bool) -> bool:
        cards = _homes(outputs, owners, planner.cards)
        chosen = outputs if all_of_them else [o for o in outputs if _crosses(o, cards, owners)]
        if not _pays(chosen, cards, owners):
            return False
        writer = ExchangeWriter(chosen, cards, owners, planner.cards)
        if not writer.fits(sizes, planner):
            return False
        writer.write(rewrite)
        kept.update(writer.chunks())
        return True

    for name, steps in last.steps.items():
        if name not in left:
            for step in steps:
                left.pop(step, None)
            continue
        # nothing may be left that needs the steps between
        if try_one([last.outputs[output.key] for output in left[name]], True):
            for done in (name, *steps):
                left.pop(done, None)
    for outputs in left.values():
        try_one(outputs, False)
    return kept


def _homes(outputs: list[Assembly], owners: Mapping[Key, int], cards: int) -> dict[Key, int]:
    homes: dict[Key, int | None] = {}
    for piece in (piece for output in outputs for piece in output.pieces):
        if piece.chunk not in homes:
            homes[piece.chunk] = home_of(piece.chunk, owners, cards)
    return {key: card for key, card in homes.items() if card is not None}


def _crosses(output: Assembly, cards: Mapping[Key, int], owners: Mapping[Key, int]) -> bool:
    return any(cards.get(piece.chunk) != owners.get(output.key) for piece in output.pieces)


def home_of(chunk: Key, owners: Mapping[Key, int], cards: int) -> int | None:
    """Card of a chunk of the graph, or of one that lies on a card already."""
    return owners[chunk] if chunk in owners else residence(chunk, cards)


def _pays(outputs: list[Assembly], cards: Mapping[Key, int], owners: Mapping[Key, int]) -> bool:
    """Whether enough parts change cards, and all is known to be on cards."""
    involved: set[int] = set()
    parts = moving = nbytes = 0
    for output in outputs:
        owner = owners.get(output.key)
        for piece in output.pieces:
            card = cards.get(piece.chunk)
            if owner is None or card is None or not piece.card:
                return False
            involved |= {owner, card}
            nbytes += piece.nbytes
            if card != owner:
                parts += 1
                moving += piece.nbytes
    return parts > WORTH * len(involved) and moving >= SHARE * nbytes


class ExchangeWriter:
    """Writes one exchange.

    Parameters
    ----------
    outputs : list of Assembly
        Chunks of one array to put together.
    homes : mapping
        Card of each chunk that they are cut from.
    owners : mapping
        Card of each output.
    cards : int
        Number of cards of the plan.
    """

    def __init__(
        self,
        outputs: list[Assembly],
        homes: Mapping[Key, int],
        owners: Mapping[Key, int],
        cards: int,
    ) -> None:
        self.outputs = sorted(outputs, key=lambda output: output.key)
        self.owners, self.cards = owners, cards
        used = {piece.chunk for output in outputs for piece in output.pieces}
        self.members = tuple(
            sorted({homes[chunk] for chunk in used} | {owners[o.key] for o in outputs})
        )
        # chunks of each sending card, in order
        self.cut: dict[int, dict[Key, int]] = {card: {} for card in self.members}
        rows: defaultdict[tuple[int, int], list[Part]] = defaultdict(list)
        nbytes: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.places: dict[Key, list[tuple[int, int]]] = {}
        number = {card: index for index, card in enumerate(self.members)}
        for output in self.outputs:
            target = owners[output.key]
            places = []
            for piece in output.pieces:
                source = homes[piece.chunk]
                chunks = self.cut[source]
                row = rows[source, target]
                places.append((number[source], len(row)))
                row.append(piece.part(chunks.setdefault(piece.chunk, len(chunks))))
                nbytes[source, target] += piece.nbytes
            self.places[output.key] = places
        self.rows = {pair: tuple(row) for pair, row in rows.items()}
        self.nbytes: Mapping[tuple[int, int], int] = nbytes
        self.token = tokenize(
            [output.key for output in self.outputs], sorted(homes.items(), key=str), cards
        )

    def chunks(self) -> set[Key]:
        """Chunks that are cut."""
        return {chunk for chunks in self.cut.values() for chunk in chunks}

    def _cut_of(self, pairs: list[tuple[int, int]]) -> Cut:
        return Cut(
            tuple(self.rows.get(pair, ()) for pair in pairs),
            sum(self.nbytes.get(pair, 0) for pair in pairs),
            sum(self.nbytes.get(pair, 0) for pair in pairs if pair[0] == pair[1]),
            tuple(self.nbytes.get(pair, 0) for pair in pairs),
        )

    def sent(self, card: int) -> Cut:
        """What a card sends, by receiving member."""
        return self._cut_of([(card, other) for other in self.members])

    def received(self, card: int) -> Cut:
        """What a card gets, by sending member."""
        return self._cut_of([(other, card) for other in self.members])

    def fits(self, sizes: Sizes, planner: Planner) -> bool:
        """Whether what has to be on a card together fits its memory for stored chunks."""
        limit = planner.stored_limit or planner.capacity
        if limit is None:
            return True
        for card in self.members:
            size = sum((sizes.chunk(chunk) or _NOTHING).on_card for chunk in self.cut[card])
            sent, received = self.sent(card).nbytes, self.received(card).nbytes
            if max(size + sent, sent + received, 2 * received) > limit:
                return False
        return True

    def _key(self, stage: str, *index: int) -> Key:
        return (f"rechunk-{stage}-{self.token}", *index)

    def write(self, rewrite: Rewrite) -> None:
        """Add the tasks."""
        takers = {self.owners[output.key] for output in self.outputs}
        gang = Gang(
            id=f"rechunk-{self.token}",
            members=self.members,
            owner=self.members[0],
            op="exchange",
            partial_keys=tuple(self._key("pack", card) for card in self.members),
            barrier_key=self._key("barrier"),
            collect_keys=tuple(self._key("collect", card) for card in self.members),
            cards=self.cards,
            receive_keys=tuple(
                self._key("receive", card) if card in takers else None for card in self.members
            ),
            settle_key=self._key("settle"),
        )
        for card, partial in zip(gang.members, gang.partial_keys, strict=True):
            chunks = map(TaskRef, self.cut[card])
            # it waits for no other card, so it takes its turn like a chunk
            rewrite.add(partial, card, Task(partial, pack, self.sent(card), *chunks))
        rewrite.add_gang(gang, self._key)
        stamp = TaskRef(gang.barrier_key)
        settled = self._key("settle")
        task = Task(settled, settle_task, *map(TaskRef, gang.collect_keys))
        rewrite.add(settled, gang.owner, task, gang.id)
        for card, key in zip(gang.members, gang.receive_keys, strict=True):
            if key is not None:
                cut = self.received(card)
                task = Task(key, receive_task, stamp, TaskRef(settled), gang, card, cut)
                rewrite.results.add(rewrite.add(key, card, task, gang.id))
        for output in self.outputs:
            card = self.owners[output.key]
            received = TaskRef(self._key("receive", card))
            task = Task(output.key, join, received, self.places[output.key], output.grid)
            rewrite.chunks.add(rewrite.add(output.key, card, task))

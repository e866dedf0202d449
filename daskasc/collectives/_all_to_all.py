"""All-to-all on one worker: every member brings in an item for each member.

The bytes of all items lie in one buffer, ordered by the rank that they go to::

    payload on rank 0    | items for rank 0 | items for rank 1 | items for rank 2 |
    received on rank 0   | from rank 0      | from rank 1      | from rank 2      |

Items for the member itself take the same way. So a partial is of no more use once the exchange is
over, and a result needs nothing but the received buffer, of which its arrays are views. Partials
that :func:`~daskasc.collectives.pack` made lie in memory as they are sent: not copied again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from daskasc.collectives import _manifest as manifest_of
from daskasc.collectives._leaves import bytes_of, rebuild, torch_of
from daskasc.errors import CollectiveError

if TYPE_CHECKING:
    import torch

    from daskasc.collectives._group import Group
    from daskasc.collectives._order import Order


class AllToAll:
    """One exchange; see the module's text.

    Parameters
    ----------
    group : Group
        The process group of the order's epoch.
    order : Order
        Equal on all members.
    partials : mapping of int to Any
        The partials that this worker brings in, by their index among the members.

    Raises
    ------
    CollectiveError
        A partial has not one item for each member.
    """

    reduced = False

    def __init__(self, group: Group, order: Order, partials: Mapping[int, Any]) -> None:
        self.group, self.order = group, order
        self.items = [manifest_of.items_of(manifest) for manifest in order.manifests]
        members = len(order.members)
        for card, items in zip(order.members, self.items, strict=True):
            if len(items) != members:
                raise CollectiveError(
                    f"card {card} brings {len(items)} items into an exchange of {members} members; "
                    "it takes one for each"
                )
        me, ranks = group.rank, range(group.size)
        outgoing = [self._layout(me, rank) for rank in ranks]
        self.incoming = [self._layout(rank, me) for rank in ranks]
        self.sends = [total for _, _, total in outgoing]
        self.receives = [total for _, _, total in self.incoming]
        leaves: list[Any] = []
        offsets: list[int] = []
        start = 0
        for pairs, places, total in outgoing:
            for (source, target), row in zip(pairs, places, strict=True):
                _, found = manifest_of.flatten(partials[source][target])
                for leaf, (offset, length) in zip(found, row, strict=True):
                    if length:
                        leaves.append(leaf)
                        offsets.append(start + offset)
            start += total
        self.payload = self._payload(leaves, offsets)
        self.buffer: torch.Tensor | None = None

    def _layout(
        self, source: int, target: int
    ) -> tuple[list[tuple[int, int]], list[list[tuple[int, int]]], int]:
        """What goes from one rank to another: pairs of members, places of leaves, bytes."""
        pairs = [
            (i, j)
            for i, brings in enumerate(self.order.sources)
            if brings == source
            for j, takes in enumerate(self.order.targets)
            if takes == target
        ]
        places, total = manifest_of.layout(self.items[i][j] for i, j in pairs)
        return pairs, places, total

    def _payload(self, leaves: Sequence[Any], offsets: Sequence[int]) -> torch.Tensor:
        total = sum(self.sends)
        parts = [bytes_of(leaf) for leaf in leaves]
        if parts and (whole := _as_they_lie(parts, offsets, total)) is not None:
            return whole
        payload = self.group.buffer(total)
        for part, offset in zip(parts, offsets, strict=True):
            payload[offset : offset + part.numel()].copy_(part)
        return payload

    def exchange(self) -> None:
        """Move the bytes; every member of the group calls it."""
        self.buffer = self.group.all_to_all(self.payload, self.sends, self.receives)

    @property
    def received(self) -> int:
        """Bytes that came from other members."""
        return sum(self.receives) - self.receives[self.group.rank]

    def results(self) -> dict[int | None, Any]:
        """Results of the members that this worker receives for, by card."""
        order = self.order
        mine = [j for j, target in enumerate(order.targets) if target == self.group.rank]
        values: dict[int, list[Any]] = {j: [None] * len(order.members) for j in mine}
        start = 0
        for pairs, places, total in self.incoming:
            for (i, j), row in zip(pairs, places, strict=True):
                values[j][i] = rebuild(self.items[i][j], self.buffer, start, row, self.group)
            start += total
        return {order.members[j]: value for j, value in values.items()}


def _as_they_lie(
    parts: Sequence[torch.Tensor], offsets: Sequence[int], total: int
) -> torch.Tensor | None:
    """The memory around `parts`, if each lies at its offset in one buffer; else None."""
    first = parts[0]
    storage = first.untyped_storage()
    begin = first.storage_offset() - offsets[0]
    if begin < 0 or begin + total > storage.nbytes():
        return None
    for part, offset in zip(parts, offsets, strict=True):
        if part.untyped_storage().data_ptr() != storage.data_ptr():
            return None
        if part.storage_offset() - offset != begin:
            return None
    whole = torch_of().empty(0, dtype=first.dtype, device=first.device)
    return whole.set_(storage, begin, (total,))

"""Methods in which all members of a group take the same part; see :mod:`._exchange`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from daskasc.collectives import _manifest as manifest_of
from daskasc.collectives._leaves import bytes_of, on_card, rebuild, torch_of
from daskasc.collectives._support import BOOLEAN_OPS
from daskasc.errors import CollectiveError

if TYPE_CHECKING:
    import torch

    from daskasc.collectives._group import Group
    from daskasc.collectives._order import Order


class Funnel:
    """Bytes of the partials of some ranks to one of them.

    Parameters
    ----------
    group : Group
        The process group of the order's epoch.
    order : Order
        Equal on all members.
    partials : mapping of int to Any
        The partials that this worker brings in, by their index among the members.
    ranks : sequence of int
        The ranks, this one included.
    target : int
        The rank that gets the bytes.

    Raises
    ------
    CollectiveError
        The target lacks a partial of its own.
    """

    def __init__(
        self,
        group: Group,
        order: Order,
        partials: Mapping[int, Any],
        ranks: Sequence[int],
        target: int,
    ) -> None:
        self.group, self.order, self.partials = group, order, partials
        self.ranks, self.target = ranks, target
        self.indices = [
            [i for i, source in enumerate(order.sources) if source == rank] for rank in ranks
        ]
        layouts = [manifest_of.layout(order.manifests[i] for i in row) for row in self.indices]
        self.places = [places for places, _ in layouts]
        self.counts = [
            0 if rank == target else total for rank, (_, total) in zip(ranks, layouts, strict=True)
        ]
        me = ranks.index(group.rank)
        self.payload = group.buffer(self.counts[me])
        self.buffer: torch.Tensor | None = None
        if group.rank != target:
            for row, index in zip(self.places[me], self.indices[me], strict=True):
                _, leaves = manifest_of.flatten(partials[index])
                for (offset, length), leaf in zip(row, leaves, strict=True):
                    if length:
                        self.payload[offset : offset + length].copy_(bytes_of(leaf))
        else:
            missing = [i for i in self.indices[me] if i not in partials]
            if missing:
                raise CollectiveError(f"partials {missing} are not held here")

    def move(self) -> None:
        """Move the bytes; all of the ranks call it."""
        if sum(self.counts):
            self.buffer = self.group.send_to(self.target, self.payload, self.counts, self.ranks)

    @property
    def received(self) -> int:
        """Bytes that came from other ranks."""
        return sum(self.counts) if self.group.rank == self.target else 0

    def values(self) -> dict[int, Any]:
        """On the target the partials of all ranks, by their index among the members."""
        group, order = self.group, self.order
        values: dict[int, Any] = {}
        start = 0
        for rank, row, count, places in zip(
            self.ranks, self.indices, self.counts, self.places, strict=True
        ):
            if rank == self.target:
                values.update({i: self.partials[i] for i in row})
                continue
            for index, place in zip(row, places, strict=True):
                values[index] = rebuild(order.manifests[index], self.buffer, start, place, group)
            start += count
        return values


class Gather:
    """Bytes of all partials to the owner."""

    reduced = False

    def __init__(self, group: Group, order: Order, partials: Mapping[int, Any]) -> None:
        self._funnel = Funnel(group, order, partials, range(group.size), order.owner)

    def exchange(self) -> None:
        """Move the bytes."""
        self._funnel.move()

    @property
    def received(self) -> int:
        """Bytes that came from other members."""
        return self._funnel.received

    def results(self) -> dict[int | None, Any]:
        """On the owner the partials, in the order of the members."""
        funnel = self._funnel
        if funnel.group.rank != funnel.target:
            return {}
        values = funnel.values()
        return {None: [values[i] for i in range(len(funnel.order.members))]}


class Reduction:
    """Tensors of this worker's partials, for the library to reduce in place."""

    def __init__(self, group: Group, order: Order, partials: Mapping[int, Any]) -> None:
        self.group, self.order = group, order
        mine = [manifest_of.flatten(partials[i])[1] for i in sorted(partials)]
        self.tensors = [reduced(order.op, [p[k].tensor for p in mine]) for k in range(len(mine[0]))]

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors)

    def reduce(self, ranks: Sequence[int] | None = None) -> None:
        """Reduce over some ranks, by default over all; these all call it."""
        for tensor in self.tensors:
            if tensor.numel():
                boolean = str(tensor.dtype) == "torch.bool"
                op = BOOLEAN_OPS[self.order.op] if boolean else self.order.op
                view = tensor.view(torch_of().int8) if boolean else tensor
                self.group.all_reduce(view, op, ranks)

    def value(self) -> Any:
        """The partial that the tensors are the leaves of."""
        manifest = self.order.manifests[0]
        return manifest_of.rebuild(manifest, lambda i, _: on_card(self.tensors[i]))


class AllReduce:
    """The library reduces the leaves, one after the other."""

    reduced = True

    def __init__(self, group: Group, order: Order, partials: Mapping[int, Any]) -> None:
        self._reduction = Reduction(group, order, partials)

    def exchange(self) -> None:
        """Reduce."""
        self._reduction.reduce()

    @property
    def received(self) -> int:
        """Bytes of the result, which every member gets."""
        return self._reduction.nbytes

    def results(self) -> dict[int | None, Any]:
        """The result, on the owner."""
        reduction = self._reduction
        if reduction.group.rank != reduction.order.owner:
            return {}
        return {None: reduction.value()}


def reduced(op: str, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Reduce the partials of one worker, exactly; always into memory of its own."""
    torch = torch_of()
    total = tensors[0].contiguous().clone()
    boolean = total.dtype == torch.bool
    combine = {
        "sum": torch.logical_or if boolean else torch.add,
        "prod": torch.logical_and if boolean else torch.mul,
        "min": torch.logical_and if boolean else torch.minimum,
        "max": torch.logical_or if boolean else torch.maximum,
    }[op]
    for tensor in tensors[1:]:
        total = combine(total, tensor)
    return total

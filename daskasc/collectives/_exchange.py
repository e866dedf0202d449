"""One collective on one worker: agree, move data, rebuild.

Every member of the group runs :func:`run` for the same order, one after the other::

    buffers (may fail) -> compare (epoch, seq, digest, ready) -> move data -> synchronise -> result

Nothing is exchanged unless all members compare equal and are ready; so a worker that is out of
step, or lacks memory for the buffers, leaves the group usable. Only an error after that point
breaks the group.

Three methods, chosen alike on all members from the order alone, and part of the digest:

- ``all_reduce``: the library reduces; for exact dtypes (see :mod:`._support`), where every member
  of the group brings in a partial;
- ``gather``: bytes of all partials go to the owner, where the collect task combines them in the
  order of the cards, so that results depend neither on timing nor on the shape of a ring;
- ``all_to_all``: each member brings in something for every member, see :mod:`._all_to_all`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskasc import config
from daskasc.collectives import _manifest as manifest_of
from daskasc.collectives._all_to_all import AllToAll
from daskasc.collectives._leaves import bytes_of, on_card, rebuild, torch_of
from daskasc.collectives._support import BOOLEAN_OPS, EXACT, supports_all_reduce
from daskasc.errors import CollectiveError, CollectiveMismatchError

if TYPE_CHECKING:
    import torch

    from daskasc.collectives._group import Group


@dataclass(frozen=True)
class Order:
    """What the scheduler tells every worker about a stamped gang."""

    epoch: int
    seq: int
    hold: int
    gang: str
    op: str
    members: tuple[int, ...]
    partial_keys: tuple[Any, ...]
    sources: tuple[int, ...]  # rank that brings in each member's partial
    owner: int  # rank
    manifests: tuple[dict[str, Any], ...]
    targets: tuple[int, ...] = ()  # rank that gets each member's result of "exchange"; -1: none


@dataclass(frozen=True)
class Result:
    """What a worker has after a collective.

    Attributes
    ----------
    reduced : bool
        Whether the library has reduced the partials.
    values : dict
        On the owner its result, under None; of ``"exchange"`` the results of the members that this
        worker receives for, by card.
    received : int
        Bytes.
    """

    reduced: bool
    values: Mapping[int | None, Any]
    received: int


class RefusedError(CollectiveError):
    """Some member could not take part; nothing was exchanged and the group is intact."""


def choose_method(order: Order, size: int, library: str, reproducible: bool) -> str:
    """``"all_reduce"``, ``"gather"`` or ``"all_to_all"``; see the module's text."""
    if order.op == "exchange":
        return "all_to_all"
    if order.op == "gather" or set(order.sources) != set(range(size)):
        return "gather"
    for kind, dtype, *_ in order.manifests[0]["leaves"]:
        if kind != "device" or not supports_all_reduce(library, order.op, dtype):
            return "gather"
        if reproducible and dtype not in EXACT:
            return "gather"
    return "all_reduce"


def run(group: Group, order: Order, partials: Mapping[int, Any]) -> Result:
    """Take part in a collective.

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
    CollectiveMismatchError
        Members are about to enter different collectives; nothing was exchanged.
    RefusedError
        A member could not prepare; nothing was exchanged.
    """
    library = group.backend.collective_backend
    method = choose_method(order, group.size, library, config.reproducible())
    trouble: str | None = None
    work: _AllReduce | _Gather | AllToAll | None = None
    try:
        work = _METHODS[method](group, order, partials)
    except Exception as error:
        trouble = f"worker of rank {group.rank} could not prepare: {type(error).__name__}: {error}"
    _agree(group, order, method, trouble)
    assert work is not None
    work.exchange()
    # The library only queues work on the card; nothing may be published before it is done.
    group.backend.synchronize()
    try:
        return Result(work.reduced, work.results(), work.received)
    except Exception as error:  # all members have left the exchange: the group is intact
        raise RefusedError(f"rebuilding the result: {type(error).__name__}: {error}") from error


def _agree(group: Group, order: Order, method: str, trouble: str | None) -> None:
    outlines = [manifest_of.outline(m) for m in order.manifests]
    digest = manifest_of.digest(
        order.gang,
        order.op,
        method,
        order.members,
        order.sources,
        order.owner,
        order.targets,
        outlines,
    )
    mine = (order.epoch, order.seq, *digest)
    rows = group.compare((*mine, 0 if trouble else 1))
    different = [rank for rank, row in enumerate(rows) if row[:-1] != mine]
    if different:
        raise CollectiveMismatchError(
            f"rank {group.rank} was about to enter collective {order.gang} as (epoch, seq) = "
            f"({order.epoch}, {order.seq}) by {method}, ranks {different} something else; nothing "
            "was exchanged. Equal versions and configuration on all workers?"
        )
    unready = [rank for rank, row in enumerate(rows) if not row[-1]]
    if unready:
        raise RefusedError(trouble or f"workers of ranks {unready} could not prepare")


class _Gather:
    """Bytes of all partials to the owner."""

    reduced = False

    def __init__(self, group: Group, order: Order, partials: Mapping[int, Any]) -> None:
        self.group, self.order, self.partials = group, order, partials
        self.indices = [
            [i for i, source in enumerate(order.sources) if source == rank]
            for rank in range(group.size)
        ]
        layouts = [manifest_of.layout(order.manifests[i] for i in row) for row in self.indices]
        self.places = [places for places, _ in layouts]
        self.counts = [0 if r == order.owner else total for r, (_, total) in enumerate(layouts)]
        self.payload = group.buffer(self.counts[group.rank])
        self.buffer: torch.Tensor | None = None
        if group.rank != order.owner:
            for row, index in zip(self.places[group.rank], self.indices[group.rank], strict=True):
                _, leaves = manifest_of.flatten(partials[index])
                for (offset, length), leaf in zip(row, leaves, strict=True):
                    if length:
                        self.payload[offset : offset + length].copy_(bytes_of(leaf))
        else:
            missing = [i for i in self.indices[group.rank] if i not in partials]
            if missing:
                raise CollectiveError(f"partials {missing} are not held here")

    def exchange(self) -> None:
        if sum(self.counts):
            self.buffer = self.group.send_to(self.order.owner, self.payload, self.counts)

    @property
    def received(self) -> int:
        return sum(self.counts) if self.group.rank == self.order.owner else 0

    def results(self) -> dict[int | None, Any]:
        group, order = self.group, self.order
        if group.rank != order.owner:
            return {}
        values: dict[int, Any] = {i: self.partials[i] for i in self.indices[group.rank]}
        start = 0
        for rank, row in enumerate(self.indices):
            if rank == order.owner:
                continue
            for index, places in zip(row, self.places[rank], strict=True):
                values[index] = rebuild(order.manifests[index], self.buffer, start, places, group)
            start += self.counts[rank]
        return {None: [values[i] for i in range(len(order.members))]}


class _AllReduce:
    """The library reduces the leaves, one after the other."""

    reduced = True

    def __init__(self, group: Group, order: Order, partials: Mapping[int, Any]) -> None:
        self.group, self.order, self.received = group, order, 0
        mine = [manifest_of.flatten(partials[i])[1] for i in sorted(partials)]
        self.tensors = [
            _reduced(order.op, [p[k].tensor for p in mine]) for k in range(len(mine[0]))
        ]

    def exchange(self) -> None:
        for tensor in self.tensors:
            if tensor.numel():
                boolean = str(tensor.dtype) == "torch.bool"
                op = BOOLEAN_OPS[self.order.op] if boolean else self.order.op
                self.group.all_reduce(tensor.view(torch_of().int8) if boolean else tensor, op)
                self.received += tensor.numel() * tensor.element_size()

    def results(self) -> dict[int | None, Any]:
        if self.group.rank != self.order.owner:
            return {}
        manifest = self.order.manifests[0]
        return {None: manifest_of.rebuild(manifest, lambda i, _: on_card(self.tensors[i]))}


def _reduced(op: str, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
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


_METHODS: dict[str, type[_AllReduce] | type[_Gather] | type[AllToAll]] = {
    "all_reduce": _AllReduce,
    "gather": _Gather,
    "all_to_all": AllToAll,
}

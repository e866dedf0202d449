r"""Collectives over several servers: card -> server -> servers.

What crosses servers is slower than what stays in one, so a server sends one contribution instead of
one for each of its cards::

    server 0   0   1   2   3          near: the partials of a server to its leader
                \__|__/_/
                   2  <----------+    the owner leads its server
    server 1   4   5   6   7     |
                \__|__/_/        |    far: what the leaders made of them to the owner
                   6  -----------+

The leaders are a rail, see :class:`daskasc.topology.Levels`; other members are done after the first
level. Two methods:

- ``servers_gather``: a leader merges the partials by the function that the plan gave, or, where the
  order does not matter, by the operation. What comes of it may have any size, and merging may fail;
  so the leaders agree once more, on the host, before they send: each says whether it has something
  to send, and how much. If one has not, all of them refuse, and the group is intact. The function
  is the same that the owner would call for itself, so the bits are those of one level;
- ``servers_reduce``: the library reduces within each server, the owner adds up what the leaders
  send. Only the owner takes the result, so nothing is sent back.
"""

from __future__ import annotations

import functools
import pickle as plain_pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from distributed.protocol import pickle

from daskasc.collectives import _manifest as manifest_of
from daskasc.collectives._combining import combine_all
from daskasc.collectives._gang import Merge, by_server
from daskasc.collectives._leaves import bytes_of, on_card, rebuild, torch_of
from daskasc.collectives._methods import Funnel, Reduction, reduced
from daskasc.collectives._order import RefusedError

if TYPE_CHECKING:
    import torch

    from daskasc.collectives._group import Group
    from daskasc.collectives._order import Order
    from daskasc.topology import Levels


def in_two_levels(order: Order, levels: Levels) -> bool:
    """Whether a collective over several servers has something to gain from two levels.

    Not where the plan has one server or one member a server, nor where the members of a planned
    server have come to lie in several ones.
    """
    if not order.servers or not levels.several:
        return False
    planned = by_server(order.servers)
    if not 1 < len(planned) < len(order.members):
        return False
    where = [{levels.servers[order.sources[i]] for i in row} for row in planned.values()]
    return all(len(found) == 1 for found in where) and len(set.union(*where)) > 1


def _same_order(op: str, server: int, partials: list[Any]) -> Any:
    return combine_all(op, partials)


class _Parcel:
    """What a leader sends: descriptions of its servers' contributions, and their bytes.

    Of an array whose elements are all the same, as the counts of a mean mostly are, one is sent.
    """

    def __init__(self, group: Group, contributions: Mapping[int, Any]) -> None:
        slim = {server: _slim(value) for server, value in contributions.items()}
        contributions = {server: value for server, (value, _) in slim.items()}
        manifests = {server: manifest_of.describe(c) for server, c in contributions.items()}
        shapes = {server: shapes for server, (_, shapes) in slim.items()}
        self.head = plain_pickle.dumps((manifests, shapes), protocol=4)
        places, total = manifest_of.layout(manifests.values())
        start = manifest_of.aligned(len(self.head))
        self.size = start + total
        self.payload = group.buffer(self.size)
        self.payload[: len(self.head)].copy_(_as_tensor(self.head))
        for value, row in zip(contributions.values(), places, strict=True):
            for leaf, (offset, length) in zip(manifest_of.flatten(value)[1], row, strict=True):
                if length:
                    self.payload[start + offset : start + offset + length].copy_(bytes_of(leaf))


def _slim(value: Any) -> tuple[Any, dict[int, tuple[int, ...]]]:
    """The value with one element in the place of arrays of equal ones; the shapes of these."""
    skeleton, leaves = manifest_of.flatten(value)
    shapes: dict[int, tuple[int, ...]] = {}
    for number, leaf in enumerate(leaves):
        if manifest_of.is_device_array(leaf) and leaf.dtype.kind not in "mM" and leaf.size > 1:
            raw = bytes_of(leaf).reshape(leaf.size, -1)
            if bool((raw == raw[:1]).all()):
                shapes[number] = tuple(leaf.shape)
                leaves[number] = on_card(leaf.tensor.reshape(-1)[:1])
    return manifest_of.unflatten(skeleton, leaves), shapes


def _full(value: Any, shapes: Mapping[int, tuple[int, ...]]) -> Any:
    """The inverse of :func:`_slim`."""
    if not shapes:
        return value
    skeleton, leaves = manifest_of.flatten(value)
    for number, shape in shapes.items():
        leaves[number] = on_card(leaves[number].tensor.expand(shape).contiguous())
    return manifest_of.unflatten(skeleton, leaves)


def _as_tensor(raw: bytes) -> torch.Tensor:
    library = torch_of()
    tensor: torch.Tensor = library.frombuffer(bytearray(raw), dtype=library.uint8)
    return tensor


class TwoLevelGather:
    """Partials to the leaders, what these merge to the owner.

    Parameters
    ----------
    group : Group
        The process group of the order's epoch.
    order : Order
        Equal on all members.
    partials : mapping of int to Any
        The partials that this worker brings in, by their index among the members.
    """

    def __init__(self, group: Group, order: Order, partials: Mapping[int, Any]) -> None:
        self.group, self.order = group, order
        self.merge: Merge = functools.partial(_same_order, order.op)
        if order.merge is not None:
            self.merge = pickle.loads(order.merge)
        # a merged gather is what its collect task wants; of an operation the servers are left
        self.reduced = order.merge is not None
        levels = group.levels
        self.rail = levels.rail(order.owner)
        self.leader = levels.leader(group.rank, order.owner)
        self.near = Funnel(group, order, partials, levels.mates(group.rank), self.leader)
        self.contributions: dict[int, Any] = {}
        self.far = 0

    def exchange(self) -> None:
        """Move the bytes.

        Raises
        ------
        RefusedError
            A leader could not merge; nothing was sent between servers.
        """
        self.near.move()
        if self.group.rank != self.leader:
            return
        parcel: _Parcel | None = None
        trouble = ""
        try:
            self.contributions = self._merged()
            if self.group.rank != self.order.owner:
                parcel = _Parcel(self.group, self.contributions)
            self.group.backend.synchronize()
        except Exception as error:
            trouble = f"the leader of rank {self.group.rank} could not merge the partials of its "
            trouble += f"server: {type(error).__name__}: {error}"
        self._send(parcel, trouble)

    def _merged(self) -> dict[int, Any]:
        values = self.near.values()
        return {
            server: self.merge(server, [values[i] for i in indices])
            for server, indices in by_server(self.order.servers).items()
            if indices[0] in values
        }

    def _send(self, parcel: _Parcel | None, trouble: str) -> None:
        group, order = self.group, self.order
        sizes = (0, 0) if parcel is None else (len(parcel.head), parcel.size)
        mine = (order.epoch, order.seq, 0 if trouble else 1, *sizes)
        rows = group.compare(mine, self.rail)
        failed = [rank for rank, row in zip(self.rail, rows, strict=True) if not row[2]]
        if failed:
            raise RefusedError(
                f"collective {order.gang}: "
                + (trouble or f"leaders of ranks {failed} could not merge")
            )
        if any(row[:2] != mine[:2] for row in rows):
            raise RuntimeError(f"leaders {self.rail} are in different collectives: {rows}")
        counts = [row[4] for row in rows]
        payload = group.buffer(0) if parcel is None else parcel.payload
        buffer = group.send_to(order.owner, payload, counts, self.rail)
        if group.rank == order.owner:
            self.far = sum(counts)
            self._unpack(buffer, [row[3] for row in rows], counts)

    def _unpack(self, buffer: torch.Tensor, heads: list[int], counts: list[int]) -> None:
        start = 0
        for head, count in zip(heads, counts, strict=True):
            if count:
                raw = buffer[start : start + head].cpu().numpy().tobytes()
                manifests, shapes = plain_pickle.loads(raw)
                places, _ = manifest_of.layout(manifests.values())
                body = start + manifest_of.aligned(head)
                for (server, manifest), row in zip(manifests.items(), places, strict=True):
                    value = rebuild(manifest, buffer, body, row, self.group)
                    self.contributions[server] = _full(value, shapes[server])
            start += count

    @property
    def received(self) -> int:
        """Bytes that came from other members."""
        return self.near.received + self.far

    def results(self) -> dict[int | None, Any]:
        """On the owner the contributions of all servers, ascending."""
        if self.group.rank != self.order.owner:
            return {}
        return {None: [self.contributions[server] for server in by_server(self.order.servers)]}


class TwoLevelReduce:
    """The library reduces within each server, the owner what the leaders send."""

    reduced = True

    def __init__(self, group: Group, order: Order, partials: Mapping[int, Any]) -> None:
        self.group, self.order = group, order
        self.mates = group.levels.mates(group.rank)
        self.rail = group.levels.rail(order.owner)
        self.reduction = Reduction(group, order, partials)
        lengths = [tensor.numel() * tensor.element_size() for tensor in self.reduction.tensors]
        self.places: list[tuple[int, int]] = []
        self.size = 0
        for length in lengths:
            self.places.append((self.size, length))
            self.size += manifest_of.aligned(length)
        leads = group.rank in self.rail and group.rank != order.owner
        self.payload = group.buffer(self.size if leads else 0)

    def exchange(self) -> None:
        """Move the bytes."""
        group, owner = self.group, self.order.owner
        self.reduction.reduce(self.mates)
        if group.rank not in self.rail or not self.size:
            return
        if group.rank != owner:
            for tensor, (offset, length) in zip(self.reduction.tensors, self.places, strict=True):
                if length:
                    piece = tensor.reshape(-1).view(torch_of().uint8)
                    self.payload[offset : offset + length].copy_(piece)
        counts = [0 if rank == owner else self.size for rank in self.rail]
        buffer = group.send_to(owner, self.payload, counts, self.rail)
        if group.rank != owner:
            return
        starts = range(0, sum(counts), self.size)
        for number, (offset, length) in enumerate(self.places):
            if length:
                tensor = self.reduction.tensors[number]
                others = [
                    buffer[start + offset : start + offset + length]
                    .view(tensor.dtype)
                    .reshape(tensor.shape)
                    for start in starts
                ]
                self.reduction.tensors[number] = reduced(self.order.op, [tensor, *others])

    @property
    def received(self) -> int:
        """Bytes that came from other members."""
        far = self.size * (len(self.rail) - 1) if self.group.rank == self.order.owner else 0
        return self.reduction.nbytes + far

    def results(self) -> dict[int | None, Any]:
        """The result, on the owner."""
        if self.group.rank != self.order.owner:
            return {}
        return {None: self.reduction.value()}

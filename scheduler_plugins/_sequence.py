"""Order and bookkeeping of collectives: the decisions behind ``collective_sequencer``.

A *gang* is one collective operation over the partial results of several cards. Gangs run inside a
group of processes, and all processes of a group must enter the same gangs in the same order. The
scheduler gives that order: a *stamp* ``(epoch, seq)``. An epoch is the life of one process group;
``seq`` counts the gangs stamped in it::

    open(members) -> epoch e         usable: gangs are stamped (e, 0), (e, 1), ...
      close(e)                       no further stamps; what is in flight may finish
      fail(e)                        dead: every member that was told to run is *entered*, and an
                                     entered process must be restarted before it joins a group
                                     (after a failed collective it may give wrong values silently)
      lost(address)                  fail(e) if anything is in flight, close(e) otherwise

Invariants: stamps of an epoch are dense and issued once; at most the newest epoch is usable; an
address leaves ``entered`` only when its process is gone.
This module knows neither Dask nor torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

OPERATIONS = ("gather", "exchange", "sum", "prod", "min", "max")


class Moved(Exception):
    """A partial, or the group, is no longer where it was; look again."""


@dataclass(frozen=True)
class GangPlan:
    """What the scheduler knows of a gang; see :class:`daskasc.collectives.Gang`."""

    id: str
    op: str
    members: tuple[int, ...]
    owner: int
    partial_keys: tuple[Hashable, ...]
    barrier_key: Hashable
    collect_keys: tuple[Hashable, ...]
    receive_keys: tuple[Hashable | None, ...] = ()
    settle_key: Hashable | None = None
    servers: tuple[int, ...] = ()
    merge: bytes | None = None

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> GangPlan:
        """Read the form in which workers send a gang."""
        return cls(
            id=message["id"],
            op=message["op"],
            members=tuple(message["members"]),
            owner=message["owner"],
            partial_keys=tuple(message["partial_keys"]),
            barrier_key=message["barrier_key"],
            collect_keys=tuple(message["collect_keys"]),
            receive_keys=tuple(message.get("receive_keys", ())),
            settle_key=message.get("settle_key"),
            servers=tuple(message.get("servers", ())),
            merge=message.get("merge"),
        )

    @property
    def keepers(self) -> tuple[Hashable, ...]:
        """Keys of the tasks that keep partials until the collective is over."""
        return (
            self.collect_keys if self.settle_key is None else (*self.collect_keys, self.settle_key)
        )

    @property
    def takers(self) -> dict[Hashable, int]:
        """Keys of the tasks that take results, and the cards that these are for."""
        if self.op == "exchange":
            pairs = zip(self.receive_keys, self.members, strict=True)
            return {key: card for key, card in pairs if key is not None}
        return {self.collect_keys[self.members.index(self.owner)]: self.owner}


def order_of(
    plan: GangPlan, epoch: Epoch, sources: Mapping[int, str], hosts: Mapping[int, str]
) -> dict[str, Any]:
    """What workers are told of a gang, its stamp and manifests left out.

    Parameters
    ----------
    plan : GangPlan
        The gang.
    epoch : Epoch
        Its group, whose ranks stand for addresses.
    sources, hosts : mapping of int to str
        Worker that brings in each card's partial; that takes each card's result.
    """
    ranks = {address: rank for rank, address in enumerate(epoch.members)}
    takers = set(plan.takers.values()) if plan.op == "exchange" else set()
    return {
        "epoch": epoch.number,
        "gang": plan.id,
        "op": plan.op,
        "members": plan.members,
        "partial_keys": plan.partial_keys,
        "sources": [ranks[sources[card]] for card in plan.members],
        "owner": ranks[hosts[plan.owner]],
        "targets": [ranks[hosts[card]] if card in takers else -1 for card in plan.members],
        "servers": plan.servers,
        "merge": plan.merge,
    }


def disagreement(
    op: str, members: Iterable[int], manifests: Iterable[Mapping[str, Any]]
) -> str | None:
    """Why the partials of a gang cannot be reduced leaf by leaf; None when they can.

    Parameters
    ----------
    op : str
        Partials of ``"gather"`` and ``"exchange"`` may differ; of all others they must be alike.
    members : iterable of int
        Cards, in the order of `manifests`.
    manifests : iterable of mapping
        Structure (``"text"``) and leaves (``"leaves"``: kind, dtype, shape, value) of each partial.
    """
    if op not in OPERATIONS:
        return f"operation is {op!r}; allowed: {', '.join(OPERATIONS)}"
    if op in ("gather", "exchange"):
        return None
    described = [(card, m["text"], _outline(m)) for card, m in zip(members, manifests, strict=True)]
    first_card, first_text, first_leaves = described[0]
    for card, text, leaves in described[1:]:
        if text != first_text:
            return (
                f"card {first_card} has structure {first_text}, card {card} has {text}; "
                f"{op} needs the same on all cards"
            )
        for index, (mine, theirs) in enumerate(zip(first_leaves, leaves, strict=True)):
            if mine != theirs:
                return (
                    f"leaf {index} is {_describe(mine)} on card {first_card} and "
                    f"{_describe(theirs)} on card {card}; {op} needs the same on all cards"
                )
    return None


def _outline(manifest: Mapping[str, Any]) -> list[tuple[str, tuple[int, ...]]]:
    return [(dtype, tuple(shape)) for _, dtype, shape, _ in manifest["leaves"]]


def _describe(leaf: tuple[str, tuple[int, ...]]) -> str:
    dtype, shape = leaf
    return f"{dtype or 'a Python object'}{list(shape)}"


def contributor(
    host: str | None, holders: Iterable[str], group: Iterable[str]
) -> tuple[str | None, bool]:
    """Worker that brings in a partial, and whether it has to fetch the partial first.

    The card's host brings in what it holds. After a move the partial may sit with another worker
    of the group, which then brings it in from there, without another copy.
    """
    holding = set(holders)
    if host in holding:
        return host, False
    for address in group:
        if address in holding:
            return address, False
    return host, True


@dataclass
class Epoch:
    """Life of one process group; `members` are addresses in the order of their ranks."""

    number: int
    members: tuple[str, ...]
    usable: bool = True
    dead: bool = False
    next_seq: int = 0
    in_flight: dict[int, str] = field(default_factory=dict)


class EpochBook:
    """Issues epochs and stamps, and remembers which processes must not be used again."""

    def __init__(self) -> None:
        self.current: Epoch | None = None
        self.entered: list[str] = []
        self._numbers = 0

    def next_number(self) -> int:
        """Number for a group about to form; each attempt gets its own."""
        self._numbers += 1
        return self._numbers

    def open(self, number: int, members: Iterable[str]) -> Epoch:
        """Start an epoch with a group that has passed its self-test."""
        if self.current is not None:
            self.close(self.current)
        self.current = Epoch(number, tuple(members))
        return self.current

    def usable(self, epoch: Epoch | None, needed: Iterable[str] = ()) -> bool:
        """Whether gangs over the workers `needed` can be stamped in `epoch`."""
        return (
            epoch is not None
            and epoch is self.current
            and epoch.usable
            and set(needed) <= set(epoch.members)
        )

    def stamp(self, epoch: Epoch, gang: str) -> int:
        """Give a gang its place in the order of a usable epoch."""
        if not self.usable(epoch):
            raise ValueError(f"epoch {epoch.number} takes no more collectives")
        seq = epoch.next_seq
        epoch.next_seq += 1
        epoch.in_flight[seq] = gang
        return seq

    def finish(self, epoch: Epoch, seq: int) -> None:
        """A stamped gang has ended, whichever way."""
        epoch.in_flight.pop(seq, None)

    def close(self, epoch: Epoch) -> None:
        """Take no more stamps; gangs in flight may finish."""
        epoch.usable = False

    def fail(self, epoch: Epoch) -> None:
        """A collective failed: all members have entered, and must be restarted."""
        if epoch.dead:
            return
        epoch.usable = False
        epoch.dead = True
        self.enter(epoch.members)

    def enter(self, addresses: Iterable[str]) -> None:
        """Mark processes that must be restarted before they join a group again."""
        self.entered.extend(a for a in addresses if a not in self.entered)

    def lost(self, address: str) -> bool:
        """Forget a process that is gone; True if that killed collectives in flight."""
        killed = False
        epoch = self.current
        if epoch is not None and address in epoch.members:
            if epoch.in_flight and not epoch.dead:
                self.fail(epoch)
                killed = True
            self.close(epoch)
        if address in self.entered:
            self.entered.remove(address)
        return killed

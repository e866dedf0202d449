"""What the tasks of one collective hand to each other: plain, small, picklable values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from distributed.protocol import pickle

Merge = Callable[[int, list[Any]], Any]

OPERATIONS = ("gather", "exchange", "sum", "prod", "min", "max")


@dataclass(frozen=True)
class Gang:
    """One collective operation over the partial results of several logical cards.

    Parameters
    ----------
    id : str
        Name, unique among the collectives of a graph.
    members : tuple of int
        Logical cards that bring in a partial, ascending.
    owner : int
        The member whose worker gets the result.
    op : str
        ``"gather"`` (the result is the list of partials), ``"sum"``, ``"prod"``, ``"min"``,
        ``"max"`` (leaf by leaf), or ``"exchange"`` (a partial is a list with an item for each
        member; each member's result is the list of the items for it, in the order of the members).
    partial_keys : tuple of Hashable
        Keys of the partials, one a member.
    barrier_key : Hashable
        Key of the barrier task.
    collect_keys : tuple of Hashable
        Keys of the collect tasks, one a member.
    cards : int
        Number of logical cards that the plan was made for.
    receive_keys : tuple of Hashable
        Of ``"exchange"``: keys of the tasks that take the results, one a member; None for members
        that take nothing.
    settle_key : Hashable, optional
        Of ``"exchange"``: key of the task that joins the collect tasks.
    servers : tuple of int
        Server of each member, where the collective may go in two levels: within each server first.
    merge : callable, optional
        Of ``"gather"`` with `servers`: ``merge(server, partials)`` makes one contribution out of
        those of a server's members. The result is the list of the servers' contributions then,
        in ascending order of the servers, whoever has merged them.
    """

    id: str
    members: tuple[int, ...]
    owner: int
    op: str
    partial_keys: tuple[Hashable, ...]
    barrier_key: Hashable
    collect_keys: tuple[Hashable, ...]
    cards: int
    receive_keys: tuple[Hashable | None, ...] = ()
    settle_key: Hashable | None = None
    servers: tuple[int, ...] = ()
    merge: Merge | None = None

    def __post_init__(self) -> None:
        if self.op not in OPERATIONS:
            raise ValueError(f"op is {self.op!r}; allowed: {', '.join(OPERATIONS)}")
        if not self.members or list(self.members) != sorted(set(self.members)):
            raise ValueError(f"members are {self.members}; allowed: ascending cards, none twice")
        if self.owner not in self.members:
            raise ValueError(f"owner is card {self.owner}, which is no member of {self.members}")
        if not len(self.partial_keys) == len(self.collect_keys) == len(self.members):
            raise ValueError(
                f"{len(self.members)} members have {len(self.partial_keys)} partial keys and "
                f"{len(self.collect_keys)} collect keys; give one of each a member"
            )
        if len(self.receive_keys) != (len(self.members) if self.op == "exchange" else 0):
            raise ValueError(
                f"{self.op} over {len(self.members)} members has {len(self.receive_keys)} receive "
                "keys; give one a member for an exchange, none for all else"
            )

        if len(self.servers) not in (0, len(self.members)):
            raise ValueError(
                f"{len(self.members)} members have {len(self.servers)} servers; give one a member, "
                "or none"
            )
        if self.merge is not None and (self.op != "gather" or not self.servers):
            raise ValueError(f"merge goes with op 'gather' and servers, not with {self.op!r}")

    @property
    def badge(self) -> Badge:
        """The gang for members that take no result."""
        return Badge(self.id, self.owner, self.op)

    @property
    def keepers(self) -> tuple[Hashable, ...]:
        """Keys of the tasks that keep partials until the collective is over."""
        settle = () if self.settle_key is None else (self.settle_key,)
        return (*self.collect_keys, *settle)

    def message(self) -> dict[str, Any]:
        """Form in which the gang goes to the scheduler."""
        return {
            "id": self.id,
            "op": self.op,
            "members": self.members,
            "owner": self.owner,
            "partial_keys": self.partial_keys,
            "barrier_key": self.barrier_key,
            "collect_keys": self.collect_keys,
            "receive_keys": self.receive_keys,
            "settle_key": self.settle_key,
            "servers": self.servers,
            # opaque to the scheduler, which may lack the function's module
            "merge": None if self.merge is None else pickle.dumps(self.merge),
        }


def by_server(servers: Sequence[int]) -> dict[int, list[int]]:
    """Indices of the members of each server, servers ascending."""
    found: dict[int, list[int]] = {server: [] for server in sorted(set(servers))}
    for index, server in enumerate(servers):
        found[server].append(index)
    return found


def merged(merge: Merge, servers: Sequence[int], partials: Sequence[Any]) -> list[Any]:
    """Contributions of all servers, from the partials of all members."""
    return [
        merge(server, [partials[index] for index in indices])
        for server, indices in by_server(servers).items()
    ]


@dataclass(frozen=True)
class Badge:
    """What a member has to know of its collective that takes no result.

    A gang names tasks of all members; so a graph in which each task had it would grow with the
    square of their number.
    """

    id: str
    owner: int
    op: str


@dataclass(frozen=True)
class Token:
    """Says that a card's partial is there, and what it looks like; holds no array."""

    gang: str
    card: int
    manifest: dict[str, Any]


@dataclass(frozen=True)
class Stamp:
    """Place of a finished collective in the order of all collectives."""

    epoch: int
    seq: int

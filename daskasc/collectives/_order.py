"""What workers are told of a stamped gang, and what they have after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from daskasc.errors import CollectiveError


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
    servers: tuple[int, ...] = ()  # planned server of each member, for two levels
    merge: bytes | None = None  # pickled, see :class:`~daskasc.collectives.Gang`


@dataclass(frozen=True)
class Result:
    """What a worker has after a collective.

    Attributes
    ----------
    reduced : bool
        Whether nothing is left to combine: the library has reduced the partials, or the servers
        have merged them.
    values : dict
        On the owner its result, under None; of ``"exchange"`` the results of the members that this
        worker receives for, by card.
    received : int
        Bytes.
    method : str
        How it was done.
    """

    reduced: bool
    values: Mapping[int | None, Any]
    received: int
    method: str = ""


class RefusedError(CollectiveError):
    """Some member could not take part; nothing was exchanged and the group is intact."""


class Method(Protocol):
    """A way to move the partials of one collective; what may fail has been done before."""

    @property
    def reduced(self) -> bool:
        """As of :class:`Result`."""

    @property
    def received(self) -> int:
        """Bytes that came from other members."""

    def exchange(self) -> None:
        """Move the bytes; every member of the group calls it."""

    def results(self) -> dict[int | None, Any]:
        """Results that this worker takes, see :class:`Result`."""

"""Process groups of torch.distributed: forming, checking and using them.

A group covers the workers that serve cards. Control messages go over gloo on the host, data over
the card's own library (``hccl``, ``nccl``; gloo for stand-in cards). The store by which the members
find each other runs in the first member's process, never in the scheduler, which has no torch.

A group serves only after its self-test: a reduction and an exchange whose results are known. After
an error in a collective, a process must not form another group (results may then be wrong without
an error): the caller restarts it.

Where members are in several servers, there are groups of the members of each server, and of the
leaders of all servers, beside the whole one (see :class:`daskasc.topology.Levels`). All functions
run in the worker's collective thread, except :func:`host_store`; all waits end at the group's time
limit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psutil

from daskasc.errors import CollectiveError
from daskasc.topology import Levels

if TYPE_CHECKING:
    import torch

_REDUCTIONS = {"sum": "SUM", "prod": "PRODUCT", "min": "MIN", "max": "MAX"}


@dataclass(frozen=True)
class Rendezvous:
    """Where and as whom to join a group."""

    epoch: int
    rank: int
    size: int
    host: str
    port: int
    timeout: float
    loopback: bool
    servers: tuple[int, ...] = ()  # of each rank; empty for one server


def host_store(host: str, timeout: float) -> Any:
    """Start the store of a group in this process; its port is ``store.port``."""
    from torch.distributed import TCPStore

    return TCPStore(
        host, 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=timeout)
    )


class Group:
    """A member's view of a process group.

    Parameters
    ----------
    rendezvous : Rendezvous
        Where to meet; a group of one needs no communication at all.
    backend : daskasc.device.Backend
        This process's card.
    """

    def __init__(self, rendezvous: Rendezvous, backend: Any) -> None:
        self.epoch = rendezvous.epoch
        self.rank = rendezvous.rank
        self.size = rendezvous.size
        self.backend = backend
        self.levels = Levels(rendezvous.servers or (0,) * rendezvous.size)
        self._parts: dict[tuple[int, ...], Any] = {}
        dissolve()
        if self.size == 1:
            return
        import torch.distributed as dist

        limit = timedelta(seconds=rendezvous.timeout)
        store = dist.TCPStore(
            rendezvous.host,
            rendezvous.port,
            is_master=False,
            wait_for_workers=False,
            timeout=limit,
        )
        library = backend.collective_backend
        dist.init_process_group(
            "cpu:gloo" if library == "gloo" else f"cpu:gloo,{backend.kind}:{library}",
            store=dist.PrefixStore(f"epoch-{self.epoch}", store),
            rank=self.rank,
            world_size=self.size,
            timeout=limit,
        )
        if self.levels.several:
            # All make all of them, in one order, as torch wants it: a group has its name from the
            # number of groups made before, whoever is in these.
            for ranks in self.levels.groups():
                part = dist.new_group(list(ranks), timeout=limit)
                if self.rank in ranks:
                    self._parts[ranks] = part

    def _part(self, ranks: Sequence[int] | None) -> Any:
        """Group of some ranks; None, as torch has it, for that of all."""
        if ranks is None or len(ranks) == self.size:
            return None
        return self._parts[tuple(ranks)]

    def compare(
        self, vector: tuple[int, ...], ranks: Sequence[int] | None = None
    ) -> list[tuple[int, ...]]:
        """Vectors of all members, or of some, by rank; over the host, all of one length."""
        size = self.size if ranks is None else len(ranks)
        if size == 1:
            return [vector]
        import torch
        import torch.distributed as dist

        mine = torch.tensor(vector, dtype=torch.int64)
        rows = [torch.empty_like(mine) for _ in range(size)]
        dist.all_gather(rows, mine, group=self._part(ranks))
        return [tuple(row.tolist()) for row in rows]

    def all_reduce(self, tensor: torch.Tensor, op: str, ranks: Sequence[int] | None = None) -> None:
        """Reduce a tensor over all members, or over some, in place."""
        if (self.size if ranks is None else len(ranks)) == 1:
            return
        import torch.distributed as dist

        operation = getattr(dist.ReduceOp, _REDUCTIONS[op])
        dist.all_reduce(tensor, operation, group=self._part(ranks))

    def send_to(
        self,
        owner: int,
        payload: torch.Tensor,
        counts: list[int],
        ranks: Sequence[int] | None = None,
    ) -> torch.Tensor:
        """Bring the bytes of all members, or of some, to one of them.

        Parameters
        ----------
        owner : int
            Rank that receives.
        payload : torch.Tensor
            This member's bytes: uint8, on the card.
        counts : list of int
            Bytes of each rank; 0 for the owner, which has its own already.
        ranks : sequence of int, optional
            The members that take part; by default all.

        Returns
        -------
        torch.Tensor
            On the owner the bytes of all ranks, one after the other; elsewhere empty.
        """
        part = range(self.size) if ranks is None else ranks
        nothing = [0] * len(part)
        sends = list(nothing)
        sends[part.index(owner)] = counts[part.index(self.rank)]
        receives = counts if self.rank == owner else nothing
        return self.all_to_all(payload, sends, receives, ranks)

    def all_to_all(
        self,
        payload: torch.Tensor,
        sends: list[int],
        receives: list[int],
        ranks: Sequence[int] | None = None,
    ) -> torch.Tensor:
        """Send bytes to all members and receive some from all.

        Parameters
        ----------
        payload : torch.Tensor
            What this member sends, ordered by rank: uint8, on the card.
        sends, receives : list of int
            Bytes for each rank, and from each.
        ranks : sequence of int, optional
            The members that take part; by default all.

        Returns
        -------
        torch.Tensor
            The received bytes, ordered by rank.
        """
        if len(sends) == 1:
            return payload
        import torch.distributed as dist

        received = self.buffer(sum(receives))
        dist.all_to_all_single(received, payload, receives, sends, group=self._part(ranks))
        return received

    def buffer(self, size: int) -> torch.Tensor:
        """Bytes on the card; never a null pointer, which some libraries reject."""
        import torch

        whole = torch.empty(max(size, 1), dtype=torch.uint8, device=self.backend.torch_device)
        return whole[:size]

    def self_test(self) -> None:
        """Run collectives whose results are known.

        Raises
        ------
        CollectiveError
            A result is wrong; this process and its group must not be used.
        """
        if self.size == 1:
            return
        import torch

        expected = [(self.epoch, rank) for rank in range(self.size)]
        found: Any = self.compare((self.epoch, self.rank))
        self._check("gathering on the host", found, expected)
        place = self.backend.torch_device
        numbers = torch.arange(1, 1025, dtype=torch.int32, device=place) * (self.rank + 1)
        self.all_reduce(numbers, "sum")
        factor = self.size * (self.size + 1) // 2
        self._check("summing", numbers.tolist(), [n * factor for n in range(1, 1025)])
        for owner in range(self.size):
            counts = [0 if rank == owner else 64 * (rank + 1) for rank in range(self.size)]
            payload = self.buffer(counts[self.rank])
            payload.fill_(self.rank + 1)
            received = self.send_to(owner, payload, counts)
            wanted = [rank + 1 for rank, n in enumerate(counts) for _ in range(n)]
            self._check("gathering", received.tolist(), wanted if owner == self.rank else [])
        ranks = range(self.size)
        payload = self.buffer(64 * self.size)
        for other in ranks:
            payload[64 * other : 64 * (other + 1)].fill_((7 * self.rank + other) % 251)
        received = self.all_to_all(payload, [64] * self.size, [64] * self.size)
        wanted = [(7 * other + self.rank) % 251 for other in ranks for _ in range(64)]
        self._check("exchanging", received.tolist(), wanted)
        for part in self._parts:  # in the same order on all members of each
            self._test_part(part)

    def _test_part(self, ranks: tuple[int, ...]) -> None:
        import torch

        expected = [(self.epoch, rank) for rank in ranks]
        found: Any = self.compare((self.epoch, self.rank), ranks)
        self._check(f"gathering over ranks {ranks} on the host", found, expected)
        numbers = torch.arange(1, 65, dtype=torch.int32, device=self.backend.torch_device)
        numbers *= self.rank + 1
        self.all_reduce(numbers, "sum", ranks)
        factor = sum(rank + 1 for rank in ranks)
        wanted = [n * factor for n in range(1, 65)]
        self._check(f"summing over ranks {ranks}", numbers.tolist(), wanted)
        counts = [0, *(64 * (rank + 1) for rank in ranks[1:])]
        payload = self.buffer(counts[ranks.index(self.rank)])
        payload.fill_(self.rank + 1)
        received = self.send_to(ranks[0], payload, counts, ranks)
        wanted = [rank + 1 for rank in ranks[1:] for _ in range(64 * (rank + 1))]
        first = self.rank == ranks[0]
        self._check(f"gathering over ranks {ranks}", received.tolist(), wanted if first else [])

    def _check(self, what: str, found: Any, expected: Any) -> None:
        if found != expected:
            raise CollectiveError(
                f"self-test of epoch {self.epoch}, rank {self.rank} of {self.size}: {what} gave "
                f"{str(found)[:80]}, expected {str(expected)[:80]}; the worker is restarted"
            )


def choose_interface(host: str, loopback: bool) -> None:
    """Let gloo use the network interface that has the address `host`.

    Left to itself it would look up the host's name, which need not resolve, or not to an address
    that others reach. What is set in the environment already stays.
    """
    name = "lo" if loopback else None
    if name is None:
        addresses = psutil.net_if_addrs()
        name = next(
            (n for n, found in addresses.items() if host in {a.address for a in found}), None
        )
    if name is not None:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)


def dissolve() -> None:
    """Leave the current process group, if there is one."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()

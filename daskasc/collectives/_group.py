"""Process groups of torch.distributed: forming, checking and using them.

A group covers the workers that serve cards. Control messages go over gloo on the host, data over
the card's own library (``hccl``, ``nccl``; gloo for stand-in cards). The store by which the members
find each other runs in the first member's process, never in the scheduler, which has no torch.

A group serves only after its self-test: a reduction and an exchange whose results are known. After
an error in a collective, a process must not form another group (results may then be wrong without
an error): the caller restarts it. All functions run in the worker's collective thread, except
:func:`host_store`; all waits end at the group's time limit.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from daskasc.errors import CollectiveError

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
        dissolve()
        if self.size == 1:
            return
        import torch.distributed as dist

        if rendezvous.loopback:
            # gloo would look up the host's name, which need not resolve
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
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

    def compare(self, vector: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Vectors of all members, by rank; over the host, all of one length."""
        if self.size == 1:
            return [vector]
        import torch
        import torch.distributed as dist

        mine = torch.tensor(vector, dtype=torch.int64)
        rows = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(rows, mine)
        return [tuple(row.tolist()) for row in rows]

    def all_reduce(self, tensor: torch.Tensor, op: str) -> None:
        """Reduce a tensor over all members, in place."""
        if self.size == 1:
            return
        import torch.distributed as dist

        dist.all_reduce(tensor, getattr(dist.ReduceOp, _REDUCTIONS[op]))

    def send_to(self, owner: int, payload: torch.Tensor, counts: list[int]) -> torch.Tensor:
        """Bring the bytes of all members to one of them.

        Parameters
        ----------
        owner : int
            Rank that receives.
        payload : torch.Tensor
            This member's bytes: uint8, on the card.
        counts : list of int
            Bytes of each rank; 0 for the owner, which has its own already.

        Returns
        -------
        torch.Tensor
            On the owner the bytes of all ranks, one after the other; elsewhere empty.
        """
        sends = [0] * self.size
        sends[owner] = counts[self.rank]
        return self.all_to_all(payload, sends, counts if self.rank == owner else [0] * self.size)

    def all_to_all(
        self, payload: torch.Tensor, sends: list[int], receives: list[int]
    ) -> torch.Tensor:
        """Send bytes to all members and receive some from all.

        Parameters
        ----------
        payload : torch.Tensor
            What this member sends, ordered by rank: uint8, on the card.
        sends, receives : list of int
            Bytes for each rank, and from each.

        Returns
        -------
        torch.Tensor
            The received bytes, ordered by rank.
        """
        if self.size == 1:
            return payload
        import torch.distributed as dist

        received = self.buffer(sum(receives))
        dist.all_to_all_single(received, payload, receives, sends)
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

    def _check(self, what: str, found: Any, expected: Any) -> None:
        if found != expected:
            raise CollectiveError(
                f"self-test of epoch {self.epoch}, rank {self.rank} of {self.size}: {what} gave "
                f"{str(found)[:80]}, expected {str(expected)[:80]}; the worker is restarted"
            )


def dissolve() -> None:
    """Leave the current process group, if there is one."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()

"""Collectives that members of a crew try in step: each is a rank with a card of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from daskasc.device import _collectives
from daskasc.device._backend import Backend
from daskasc.device._torch import torch

_REDUCTIONS = {"sum": "SUM", "prod": "PRODUCT", "min": "MIN", "max": "MAX"}


class Group:
    """Place of this process in a group of `size`; its rank is its card's number.

    The members meet at a file, so that nobody opens a port for it.
    """

    def __init__(self, backend: Backend, size: int, store: str, limit: float) -> None:
        import torch.distributed as dist

        assert backend.card is not None
        self._backend = backend
        self._dist: Any = dist
        self._rank, self._size = backend.card, size
        dist.init_process_group(
            f"{backend.kind}:{backend.collective_backend}",
            store=dist.FileStore(store, size),
            rank=self._rank,
            world_size=size,
            timeout=timedelta(seconds=max(limit, 1) + 20),
        )

    def probe(self) -> None:
        """Raise unless the group sums numbers."""
        ones = torch().ones(3, device=self._backend.torch_device)
        self._dist.all_reduce(ones)
        self._backend.synchronize()
        if ones.tolist() != [self._size] * 3:
            raise RuntimeError(f"the sum of {self._size} ones is {ones.tolist()}")

    def ask(self, case: list[str]) -> tuple[Any, Any]:
        """Try a collective; the result and the right one, on the host."""
        _, name, dtype, operation = case
        found, right = getattr(self, f"_{name}")(getattr(torch(), dtype), operation)
        return found.cpu(), right

    def _part(self, rank: int, dtype: Any) -> Any:
        """What a rank brings in, two elements for each rank; on the host."""
        return ((torch().arange(2 * self._size) + rank) % 3).to(dtype)

    def _mine(self, dtype: Any) -> Any:
        return self._part(self._rank, dtype).to(self._backend.torch_device)

    def _parts(self, dtype: Any) -> Any:
        return [self._part(rank, dtype) for rank in range(self._size)]

    def _empty(self, n: int, dtype: Any) -> Any:
        return torch().empty(n, dtype=dtype, device=self._backend.torch_device)

    def _reduced(self, dtype: Any, operation: str) -> Any:
        """Reduction over all ranks, in a dtype that holds it; of booleans as NumPy's."""
        module = torch()
        wide = module.complex128 if dtype.is_complex else module.float64
        stack = module.stack([part.to(wide) for part in self._parts(dtype)])
        if operation == "sum" or dtype.is_complex:
            return stack.sum(0).to(dtype)
        if operation == "prod":
            return stack.prod(0).to(dtype)
        return (stack.amin(0) if operation == "min" else stack.amax(0)).to(dtype)

    def _all_reduce(self, dtype: Any, operation: str) -> tuple[Any, Any]:
        tensor = self._mine(dtype)
        self._dist.all_reduce(tensor, getattr(self._dist.ReduceOp, _REDUCTIONS[operation]))
        return tensor, self._reduced(dtype, operation)

    def _reduce_scatter(self, dtype: Any, operation: str) -> tuple[Any, Any]:
        found = self._empty(2, dtype)
        reduction = getattr(self._dist.ReduceOp, _REDUCTIONS[operation])
        self._dist.reduce_scatter_tensor(found, self._mine(dtype), reduction)
        return found, self._reduced(dtype, operation)[2 * self._rank : 2 * self._rank + 2]

    def _all_gather(self, dtype: Any, _: str) -> tuple[Any, Any]:
        mine = self._mine(dtype)
        found = [self._empty(mine.numel(), dtype) for _ in range(self._size)]
        self._dist.all_gather(found, mine)
        return self._joined(found), self._joined(self._parts(dtype))

    def _all_to_all(self, dtype: Any, _: str) -> tuple[Any, Any]:
        mine = self._mine(dtype)
        found = self._empty(mine.numel(), dtype)
        self._dist.all_to_all_single(found, mine)
        place = slice(2 * self._rank, 2 * self._rank + 2)
        return found, self._joined([part[place] for part in self._parts(dtype)])

    def _broadcast(self, dtype: Any, _: str) -> tuple[Any, Any]:
        tensor = self._mine(dtype)
        self._dist.broadcast(tensor, self._size - 1)
        return tensor, self._part(self._size - 1, dtype)

    @staticmethod
    def _joined(parts: list[Any]) -> Any:
        """Parts one after the other, on the host: the card may lack the kernel that joins."""
        return torch().cat([part.cpu() for part in parts])


assert {f"_{name}" for name in (*_collectives.REDUCING, *_collectives.MOVING)} <= set(vars(Group))

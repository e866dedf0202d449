"""Results of collectives that wait on workers until their tasks take them.

A collective leaves its result with its owner, an exchange one with each member. The book knows by
the key of the barrier what waits where, and for which task; so a lost worker, a barrier taken back
or a task that came to its end can be brought together with the results that they concern.
This module knows neither Dask nor torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from scheduler_plugins._sequence import GangPlan


@dataclass
class Published:
    """Results of one finished collective.

    Attributes
    ----------
    plan : GangPlan
        The collective.
    epoch, seq : int
        Its stamp.
    waiting : dict
        Key of each task that has not taken its result yet: address of the worker that has it, and
        the card that it is for (None where there is one result only).
    """

    plan: GangPlan
    epoch: int
    seq: int
    waiting: dict[Hashable, tuple[str, int | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: GangPlan, epoch: int, seq: int, hosts: Mapping[int, str]) -> Published:
        """All results of a collective that has just finished; `hosts` has each card's worker."""
        several = plan.op == "exchange"
        waiting = {
            key: (hosts[card], card if several else None) for key, card in plan.takers.items()
        }
        return cls(plan, epoch, seq, waiting)


class ResultBook:
    """What waits, by barrier and by the task that takes it."""

    def __init__(self) -> None:
        self._records: dict[Hashable, Published] = {}
        self._takers: dict[Hashable, Hashable] = {}

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Published) -> None:
        """Note the results of a collective; one with nothing that waits is not kept."""
        if record.waiting:
            self._records[record.plan.barrier_key] = record
            self._takers.update(dict.fromkeys(record.waiting, record.plan.barrier_key))

    def get(self, barrier_key: Hashable) -> Published | None:
        """Results that wait after a barrier."""
        return self._records.get(barrier_key)

    def pop(self, barrier_key: Hashable) -> Published | None:
        """Forget the results after a barrier, and return what was noted."""
        record = self._records.pop(barrier_key, None)
        for taker in record.waiting if record is not None else ():
            self._takers.pop(taker, None)
        return record

    def taken(self, taker: Hashable) -> Hashable | None:
        """A task has taken its result; returns the barrier, None if nothing waited for it."""
        barrier_key = self._takers.pop(taker, None)
        record = self._records.get(barrier_key)
        if record is None:
            return None
        record.waiting.pop(taker, None)
        if not record.waiting:
            del self._records[barrier_key]
        return barrier_key

    def held_by(self, address: str) -> list[Hashable]:
        """Barriers after which something waits on a worker."""
        return [
            key
            for key, record in self._records.items()
            if any(holder == address for holder, _ in record.waiting.values())
        ]

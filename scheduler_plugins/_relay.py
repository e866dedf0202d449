"""A collective without a group: each worker that takes a result fetches what it needs itself.

What the collective library would move card to card goes over dask's own connections, through the
hosts' memory: slower, and the same values, since the partials are combined by the same functions in
the same order. It is what is left when a collective has failed as often as is allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scheduler_plugins._sequence import Moved

if TYPE_CHECKING:
    from scheduler_plugins._drive import Drive
    from scheduler_plugins._group_keeper import GroupKeeper

EPOCH = 0  # relayed collectives belong to no group; those count from 1
_ANSWER = 5.0  # seconds beyond the time limit, for a worker to say that it has run out


async def relay(
    keeper: GroupKeeper,
    drive: Drive,
    seq: int,
    sources: Mapping[int, str],
    hosts: Mapping[int, str],
) -> None:
    """Have every worker that takes a result of a collective fetch the partials that it needs.

    Parameters
    ----------
    keeper : GroupKeeper
        Calls workers.
    drive : Drive
        The collective; its partials are held where they are.
    seq : int
        Its number among those that were relayed.
    sources : mapping of int to str
        Worker that holds each card's partial.
    hosts : mapping of int to str
        Worker of each card that takes a result.

    Raises
    ------
    Moved
        A worker or a partial is gone, or did not answer in time.
    """
    plan = drive.plan
    wanted: dict[str, list[tuple[int | None, int | None]]] = {}
    if plan.op == "exchange":
        for card in plan.takers.values():
            wanted.setdefault(hosts[card], []).append((card, plan.members.index(card)))
    else:
        wanted[hosts[plan.owner]] = [(None, None)]
    partials = [
        (key, sources[card]) for card, key in zip(plan.members, plan.partial_keys, strict=True)
    ]
    replies = await asyncio.gather(
        *(
            keeper.call(
                address,
                "collective_relay",
                keeper.timeout + _ANSWER,
                gang=plan.id,
                epoch=EPOCH,
                seq=seq,
                hold=drive.hold,
                partials=partials,
                wanted=results,
                seconds=keeper.timeout,
            )
            for address, results in wanted.items()
        ),
        return_exceptions=True,
    )
    for address, reply in zip(wanted, replies, strict=True):
        if isinstance(reply, BaseException):
            raise Moved(f"worker {address}: {reply!r}")
        if reply["status"] != "OK":
            raise Moved(f"worker {address}: {reply['message']}")

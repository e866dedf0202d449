"""The task functions of a collective.

None of them communicates by itself: ``deposit`` describes, ``barrier`` waits for the scheduler's
sequencer, ``collect`` takes what the worker's collective thread has published.

Of an exchange every member gets a result, which ``receive`` takes. There ``collect`` only keeps its
card's partial alive until the collective is over, and ``settle`` joins these tasks: what one card
lost can be had again only if all bring in their partials again.
"""

from __future__ import annotations

from typing import Any

from distributed import Reschedule, get_worker
from distributed.utils import sync
from distributed.worker import secede

from daskasc.collectives._combining import combine_all
from daskasc.collectives._gang import Badge, Gang, Stamp, Token, merged
from daskasc.collectives._manifest import describe
from daskasc.collectives._parcels import Cut, unpack
from daskasc.collectives._worker import part_of
from daskasc.errors import CollectiveError


def deposit(partial: Any, gang: Badge | Gang, card: int) -> Token:
    """Say that the partial of `card` is there, and what it looks like.

    Raises
    ------
    CollectiveError
        The partial holds something that cannot be sent.
    """
    return Token(gang.id, card, describe(partial))


def barrier(gang: Gang, *tokens: Token) -> Stamp:
    """Wait until the collective has finished on all cards.

    The thread leaves the worker's pool while it waits.

    Raises
    ------
    CollectiveError
        The collective failed for good.
    Reschedule
        The scheduler took the task back meanwhile; internal to Dask.
    """
    by_card = {token.card: token for token in tokens}
    if sorted(by_card) != list(gang.members) or len(tokens) != len(gang.members):
        raise CollectiveError(
            f"collective {gang.id} has members {gang.members}, but tokens of cards "
            f"{sorted(t.card for t in tokens)} arrived; build one deposit a member"
        )
    worker = get_worker()
    part_of(worker)  # raises where this cluster has no part in collectives
    key = worker.get_current_task()
    if key != gang.barrier_key:
        raise CollectiveError(
            f"collective {gang.id} was planned under the key {gang.barrier_key!r} but runs as "
            f"{key!r}: its graph was renamed after planning. Let it be planned on the scheduler "
            "(array_optimize=cluster.planner), or switch daskasc.planner.enabled off"
        )
    secede()
    answer = sync(
        worker.loop,
        worker.scheduler.daskasc_barrier,
        gang=gang.message(),
        manifests=[by_card[card].manifest for card in gang.members],
    )
    if answer["status"] == "again":
        raise Reschedule
    return Stamp(answer["epoch"], answer["seq"])


def collect(stamp: Stamp, partial: Any, gang: Badge | Gang, card: int) -> Any:
    """Take the result on the owner's card; None on all others, and on all cards of an exchange.

    `partial` is unused: the dependency keeps the partial alive until the collective is over.

    Raises
    ------
    CollectiveError
        The result was lost too often.
    Reschedule
        The result was lost with another worker; the collective runs again.
    """
    if card != gang.owner or gang.op == "exchange":
        return None
    assert isinstance(gang, Gang)
    reduced, value = _taken(gang, stamp, None)
    if reduced:
        return value
    if gang.op == "gather":
        return value if gang.merge is None else merged(gang.merge, gang.servers, value)
    return combine_all(gang.op, value)


def settle(*collected: None) -> None:
    """Wait for the collect tasks of all members of an exchange."""


def receive(stamp: Stamp, settled: None, gang: Gang, card: int, cut: Cut) -> list[list[Any]]:
    """Take what an exchange brought to a card: for each member the pieces that it cut out.

    Parameters
    ----------
    stamp : Stamp
        Place of the finished exchange.
    settled : None
        What :func:`settle` gave; it keeps the members' partials within reach.
    gang : Gang
        The exchange.
    card : int
        The receiving card.
    cut : Cut
        The parts that each member has cut out for this card.

    Raises
    ------
    CollectiveError
        The result was lost too often.
    Reschedule
        The result was lost with another worker; the exchange runs again.
    """
    _, items = _taken(gang, stamp, card)
    return unpack(cut, items)


def _taken(gang: Gang, stamp: Stamp, card: int | None) -> tuple[bool, Any]:
    worker = get_worker()
    found = part_of(worker).take(gang.id, stamp, card)
    if found is None:
        answer = sync(
            worker.loop,
            worker.scheduler.daskasc_redo,
            barrier_key=gang.barrier_key,
            collect_keys=gang.keepers,
            epoch=stamp.epoch,
            seq=stamp.seq,
        )
        if answer["status"] == "again":
            raise Reschedule
        raise CollectiveError(f"collective {gang.id}: {answer['message']}")
    return found

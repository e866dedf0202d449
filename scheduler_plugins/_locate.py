"""Where the partials of a collective are, and who takes its results."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from daskasc.errors import CollectiveError
from scheduler_plugins._sequence import GangPlan, contributor
from scheduler_plugins.chunk_placement import placement_of

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler


@dataclass
class Whereabouts:
    """What is known of a collective's partials and results.

    Attributes
    ----------
    sources : dict
        For each card the worker that brings in its partial.
    hosts : dict
        For each card that gets a result its worker; of a reduction that is the owner alone.
    waiting : list of str
        What is not there yet.
    computing : bool
        Whether it is on its way: dask, or the placement's deadline, brings the wait to an end.
    """

    sources: dict[int, str] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    computing: bool = False


def whereabouts(scheduler: Scheduler, plan: GangPlan, group: tuple[str, ...]) -> Whereabouts:
    """Look for the partials and results of a collective; has partials fetched that are elsewhere.

    Parameters
    ----------
    scheduler : Scheduler
        Knows the tasks.
    plan : GangPlan
        The collective.
    group : tuple of str
        Workers that serve cards.

    Raises
    ------
    CollectiveError
        A partial will never be there.
    """
    placement, found = placement_of(scheduler), Whereabouts()
    for card, key in zip(plan.members, plan.partial_keys, strict=True):
        task = scheduler.tasks.get(key)
        if task is None or task.state in ("erred", "forgotten"):
            raise CollectiveError(
                f"collective {plan.id}: the partial {key!r} of card {card} is gone "
                f"({task.state if task else 'unknown'})"
            )
        host = placement.host(card)
        if task.state != "memory":
            found.computing = found.computing or task.state != "released"
            found.waiting.append(f"partial {key!r}")
            continue
        holders = [worker.address for worker in task.who_has or ()]
        source, fetch = contributor(host, holders, group)
        if source is None or fetch:
            found.waiting.append(f"partial {key!r} on the worker of card {card}")
            found.computing = found.computing or source is None
            if source is not None and source in scheduler.workers:
                scheduler.request_acquire_replicas(
                    source, [key], stimulus_id=f"daskasc-locate-{time.time()}"
                )
        else:
            found.sources[card] = source
    for card in {plan.owner, *plan.takers.values()}:
        host = placement.host(card)
        if host is None:
            found.computing = True
            found.waiting.append(f"the worker of card {card}")
        else:
            found.hosts[card] = host
    return found

"""A collective on its way through the sequencer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_plugins._sequence import Epoch, GangPlan


@dataclass(eq=False)
class Drive:
    """One gang on its way."""

    plan: GangPlan
    manifests: tuple[dict[str, Any], ...]
    outcome: asyncio.Future[dict[str, Any]]
    hold: int  # names what workers hold for this drive, as successive drives share the gang's id
    task: asyncio.Task[None] | None = None
    stamped: bool = False
    abandoned: bool = False
    recalled: bool = False  # whether released partials have been asked for again
    prepared: set[str] = field(default_factory=set)


def problem_in(
    calls: Mapping[asyncio.Future[Any], str],
    done: Iterable[asyncio.Future[Any]],
    epoch: Epoch,
    watch: asyncio.Future[Any],
) -> str | None:
    """What makes a collective fail as a whole; None if nothing does.

    Parameters
    ----------
    calls : mapping
        Calls of all workers, by which worker.
    done : iterable of Future
        Those of them that are over.
    epoch : Epoch
        The group.
    watch : Future
        Done once the group has failed otherwise.
    """
    for call in done:
        error = call.exception()
        if error is not None:
            return f"worker {calls[call]}: {error!r}"
        if call.result()["status"] == "broken":
            return f"worker {calls[call]}: {call.result()['message']}"
    return f"epoch {epoch.number} failed" if watch.done() else None

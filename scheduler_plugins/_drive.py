"""A collective on its way through the sequencer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from scheduler_plugins._sequence import GangPlan


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

"""Refuse a graph that cannot run: one of its tasks needs more memory than a card has.

Results that wait for their users can be spilled, so no number of them is refused. What a task works
on cannot: its arguments, its result and what lies between them have to be on the card together.
Guesses about functions that are not known do not count here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from daskasc._tabular import readable
from daskasc.errors import ProjectedMemoryError
from daskasc.planner._figures import Operation, largest_operation

if TYPE_CHECKING:
    from daskasc.planner._optimize import Planned

_logger = logging.getLogger("daskasc.planner")


def check_memory(planned: Planned) -> None:
    """Compare the largest task of a planned graph with a card's memory.

    Raises
    ------
    ProjectedMemoryError
        It needs more, and ``daskasc.planner.memory-check`` is ``error``.
    """
    planner = planned.planner
    if planner.capacity is None or planner.memory_check == "off":
        return
    largest = largest_operation(planned)
    if largest is None or largest.need <= planner.capacity:
        return
    message = refusal(largest, planner.capacity, planner.cards)
    if planner.memory_check == "error":
        raise ProjectedMemoryError(message)
    _logger.warning("%s", message)


def refusal(largest: Operation, capacity: int, cards: int) -> str:
    """Message that names the task, its need, the limit, and what fits.

    Parameters
    ----------
    largest : Operation
        The task.
    capacity : int
        Bytes of memory of a card.
    cards : int
        Number of cards of the plan.
    """
    return (
        f"task {largest.key!r} of {largest.layer} needs {readable(largest.need)} on one card, "
        f"which has {readable(capacity)}; {_remedy(largest, capacity, cards)}, or let it try with "
        "daskasc.planner.memory-check: warn"
    )


def _remedy(largest: Operation, capacity: int, cards: int) -> str:
    fitting = largest.chunk * capacity // largest.need
    if largest.kind == "gather":
        return (
            "it collects a whole result: keep the result on the cards (persist) or write it "
            f"(to_zarr), or compute at most {readable(fitting)} at a time"
        )
    if largest.kind == "combine":
        return (
            "it combines several partial results: set daskasc.planner.fan-in to 2, or cut the axes "
            f"that are kept into chunks of at most {readable(fitting)}"
        )
    if largest.kind == "finish":
        fewer = max(1, cards * capacity // largest.need)
        return (
            "it combines one partial result of each card: cut the axes that are kept into chunks "
            f"of at most {readable(fitting)}, or use at most {fewer} card{'s' * (fewer > 1)}"
        )
    return (
        f"its chunks have {readable(largest.chunk)}: rechunk to at most {readable(fitting)} a chunk"
    )

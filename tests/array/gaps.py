"""Kernels that the card's own table says are missing: how often the host computed for one.

A card with such gaps may compute on the host where tests forbid it, for this reason only. What a
test says about calls that stay on the card then says nothing about that call.
"""

from __future__ import annotations

from collections.abc import Callable

from daskasc.array._dispatch import MissingKernel

_met = 0


def met() -> int:
    """Return the number of calls so far that the host computed for want of a kernel."""
    return _met


def allowing(mode: Callable[[Exception | None], str]) -> Callable[[Exception | None], str]:
    """Mode of the host fallback that allows it, silently, for want of a kernel."""

    def allowed(why: Exception | None) -> str:
        global _met
        if not isinstance(why, MissingKernel):
            return mode(why)
        _met += 1
        return "silent"

    return allowed

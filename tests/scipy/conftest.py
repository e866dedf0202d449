"""Fixtures of the SciPy tests: those of the array tests."""

from __future__ import annotations

from tests.array.conftest import (
    arrays_on_the_card,
    no_fallback,
    quiet_fallback,
    stand_in,
    stand_ins_only,
)

__all__ = ["arrays_on_the_card", "no_fallback", "quiet_fallback", "stand_in", "stand_ins_only"]

"""Fixtures of the SciPy tests: those of the array tests."""

from __future__ import annotations

from tests.array.conftest import no_fallback, quiet_fallback, stand_in

__all__ = ["no_fallback", "quiet_fallback", "stand_in"]

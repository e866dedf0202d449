"""Fixtures of the registration tests: those of the array tests."""

from tests.array.conftest import arrays_on_the_card

__all__ = ["arrays_on_the_card"]

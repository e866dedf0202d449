"""Fixtures of the random tests: everything here is drawn on the card."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import pytest

from tests.array.conftest import (  # noqa: F401
    arrays_on_the_card,
    quiet_fallback,
    stand_in,
    stand_ins_only,
)


@pytest.fixture(autouse=True)
def only_on_the_card() -> Iterator[None]:
    """Computing on the host is an error, unless a test asks for it."""
    with dask.config.set({"daskasc.fallback": "error"}):
        yield

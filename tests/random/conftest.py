"""Fixtures of the random tests: everything here is drawn on the card."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import pytest

from tests.array.conftest import quiet_fallback, stand_in  # noqa: F401


@pytest.fixture(autouse=True)
def only_on_the_card() -> Iterator[None]:
    """Computing on the host is an error, unless a test asks for it."""
    with dask.config.set({"daskasc.fallback": "error"}):
        yield

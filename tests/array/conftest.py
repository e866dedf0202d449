"""Fixtures of the array tests: modes of the host fallback, and the card of this process."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import pytest

from daskasc import device


@pytest.fixture
def no_fallback() -> Iterator[None]:
    """Computing on the host is an error."""
    with dask.config.set({"daskasc.fallback": "error"}):
        yield


@pytest.fixture
def quiet_fallback() -> Iterator[None]:
    """Computing on the host is allowed and not said."""
    with dask.config.set({"daskasc.fallback": "silent"}):
        yield


@pytest.fixture
def stand_in() -> Iterator[device.Backend]:
    """This process owns stand-in card 0 for the length of a test."""
    backend = device.attach("cpu", 0)
    yield backend
    device.detach()

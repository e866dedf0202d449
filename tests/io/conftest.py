"""Data and schedulers for the reading and writing tests."""

from __future__ import annotations

import dask
import numpy as np
import pytest

from tests.array.conftest import arrays_on_the_card

__all__ = ["arrays_on_the_card"]


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def values():
    return np.random.default_rng(7).normal(size=(24, 6, 8)).astype("float32")

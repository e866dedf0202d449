"""Plans are made for the numbers of cards that the tests name."""

from __future__ import annotations

import dask
import pytest


@pytest.fixture(autouse=True)
def no_cluster_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster of other tests that is open plans nothing here."""
    monkeypatch.delitem(dask.config.config, "array_optimize", raising=False)

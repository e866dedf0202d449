"""A graph over the cards' memory is an error in the client, and harms nothing else."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

import daskasc
from daskasc.array import from_numpy
from daskasc.errors import ProjectedMemoryError
from tests.integration.sources import traced, whole


def beyond(client):
    """An array whose chunks alone are larger than a card."""
    capacity = client.cluster.planner.planner.capacity
    length = capacity // 8 + 1
    x = da.ones(4 * length, chunks=length)
    return x.map_blocks(from_numpy, dtype="f8", meta=from_numpy(np.empty(0)))


def test_compute_and_persist_refuse(client4, tmp_path):
    x = beyond(client4)
    assert daskasc.plan(x).fits is False
    running = client4.compute(traced(8, tmp_path / "x", seconds=0.2).mean(axis=0))
    with pytest.raises(ProjectedMemoryError, match=r"needs .* on one card, which has"):
        x.sum().compute()
    with pytest.raises(ProjectedMemoryError, match="rechunk to at most"):
        client4.compute(x.sum()).result(timeout=60)
    with pytest.raises(ProjectedMemoryError):
        client4.persist(x + 1).sum().compute()
    with pytest.raises(ProjectedMemoryError):
        dask.compute(x.sum(), traced(8, tmp_path / "y").sum())
    # what ran beside it, and what comes after it, is right
    np.testing.assert_allclose(running.result(timeout=60), whole(8).mean(axis=0))
    again = traced(8, tmp_path / "z").sum(axis=0)
    np.testing.assert_allclose(again.compute(), whole(8).sum(axis=0))


def test_another_client_is_not_harmed(cluster4, client4, tmp_path):
    x = traced(8, tmp_path / "x")
    other = Client(cluster4, set_as_default=False)
    try:
        kept = other.persist(x)
        with pytest.raises(ProjectedMemoryError):
            client4.compute(beyond(client4).sum()).result(timeout=60)
        np.testing.assert_allclose(other.compute(kept.sum()).result(timeout=60), whole(8).sum())
    finally:
        other.close()


def test_the_cluster_knows_its_cards(cluster4):
    planner = cluster4.planner.planner
    report = cluster4.report()
    assert {card.capacity_device_bytes for card in report.cards} == {planner.capacity}
    assert 0 < planner.stored_limit <= planner.capacity

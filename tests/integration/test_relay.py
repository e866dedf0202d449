"""Arrays on cards whose collectives fail: the same values, from worker to worker."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest

from daskasc import LocalNPUCluster
from daskasc.array import AscendArray
from daskasc.collectives import stats
from tests.collectives.test_relay import break_links
from tests.integration.sources import traced, whole

CHUNKS = 8
COMPUTATIONS = {
    "mean": lambda x: x.mean(axis=0),
    "exact": lambda x: (x * 8).astype("i4").max(axis=(0, 1)),
    "place": lambda x: x.argmax(axis=0),
    "scan": lambda x: x.cumsum(axis=0),
    "product": lambda x: da.tensordot(x, x, axes=((0,), (0,))),
    "rechunk": lambda x: x.rechunk((CHUNKS * 4, 1, 5)) * 2,
}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("relay")
    with (
        dask.config.set({"daskasc.collectives.retries": 0}),
        LocalNPUCluster(
            n_workers=2, dashboard_address=":0", local_directory=str(folder)
        ) as cluster,
        cluster.get_client() as client,
    ):
        client.run(break_links)
        yield client


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_values(client, tmp_path, name):
    x = traced(CHUNKS, tmp_path / "x")
    lazy = COMPUTATIONS[name](x)
    assert type(lazy._meta) is AscendArray
    before = client.run_on_scheduler(stats).get("relayed", 0)
    found = client.compute(lazy).result(timeout=120)
    plain = COMPUTATIONS[name](da.from_array(whole(CHUNKS), chunks=x.chunks))
    expected = plain.compute(scheduler="synchronous")
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    assert client.run_on_scheduler(stats).get("relayed", 0) > before

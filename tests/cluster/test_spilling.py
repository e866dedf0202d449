"""A graph whose persisted chunks are four times as large as the cards allow."""

import dask.array as da
import numpy as np

from daskasc import LocalNPUCluster

CHUNK = 250_000 * 8
LIMIT = 4 * CHUNK


def stores(dask_worker):
    store = dask_worker.data
    return {
        "peak": store.peak_stored_bytes,
        "spilled": store.spilled_to_host_bytes,
        "disk": store.spilled_to_disk_bytes,
        "limit": store.device_limit,
    }


def test_persisted_chunks_beyond_the_cards(tmp_path):
    host = np.random.default_rng(0).normal(size=(32, 250_000))
    with (
        LocalNPUCluster(
            n_workers=2,
            device="cpu",
            device_memory_limit=LIMIT,
            dashboard_address=":0",
            local_directory=str(tmp_path),
        ) as cluster,
        cluster.get_client() as client,
    ):
        x = da.from_array(host, chunks=(1, 250_000)).to_backend("ascend")
        x = client.persist(x)
        np.testing.assert_allclose(x.mean(axis=0).compute(), host.mean(axis=0))
        np.testing.assert_array_equal((x + 1)[5].compute(), host[5] + 1)
        for found in client.run(stores).values():
            assert found["limit"] == LIMIT
            assert found["peak"] <= LIMIT + CHUNK
            assert found["spilled"] > 0
        report = cluster.report()
        assert all(card.bytes_spilled_to_host > 0 for card in report.cards)
        assert sum(card.stored_device_bytes for card in report.cards) <= 2 * LIMIT

"""A graph whose persisted chunks are four times as large as the cards allow."""

import dask
import dask.array as da
import numpy as np
from distributed import wait

from daskasc import LocalNPUCluster, registration

LENGTH = 20_000
CHUNK = LENGTH * 8
LIMIT = 4 * CHUNK

registration.register()


def stores(dask_worker):
    store = dask_worker.data
    return {
        "peak": store.peak_stored_bytes,
        "spilled": store.spilled_to_host_bytes,
        "limit": store.device_limit,
    }


def draw():
    return da.random.default_rng(5).normal(size=(32, LENGTH), chunks=(1, LENGTH))


def test_persisted_chunks_beyond_the_cards(tmp_path):
    host = draw().compute(scheduler="synchronous")
    with (
        LocalNPUCluster(
            n_workers=2,
            device="cpu",
            device_memory_limit=LIMIT,
            dashboard_address=":0",
            local_directory=str(tmp_path),
        ) as cluster,
        cluster.get_client() as client,
        dask.config.set({"array.backend": "ascend"}),
    ):
        x = client.persist(draw())
        wait(x, timeout=60)
        np.testing.assert_allclose(x.mean(axis=0).compute(), host.mean(axis=0))
        np.testing.assert_array_equal((x + 1)[5].compute(), host[5] + 1)
        for found in client.run(stores).values():
            assert found["limit"] == LIMIT
            assert found["peak"] <= LIMIT
            assert found["spilled"] > 0
        report = cluster.report()
        assert all(card.bytes_spilled_to_host > 0 for card in report.cards)
        assert sum(card.stored_device_bytes for card in report.cards) <= 2 * LIMIT

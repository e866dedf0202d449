"""A graph whose persisted chunks are four times as large as the cards allow."""

import dask
import dask.array as da
import numpy as np
from distributed import wait

from daskasc import registration

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


def limit_stores(limit, dask_worker):
    store = dask_worker.data
    before, store.device_limit = store.device_limit, limit
    return before


def test_persisted_chunks_beyond_the_cards(cluster2, client2):
    with dask.config.set({"array.backend": "ascend"}):
        # the numbers depend on the seed and the chunks only, so one process draws the same
        host = draw().compute(scheduler="synchronous").asnumpy()
    (before,) = set(client2.run(limit_stores, LIMIT).values())
    cluster2.reset_counters()
    try:
        with dask.config.set({"array.backend": "ascend"}):
            x = client2.persist(draw())
            wait(x, timeout=60)
            np.testing.assert_allclose(x.mean(axis=0).compute(), host.mean(axis=0))
            np.testing.assert_array_equal((x + 1)[5].compute(), host[5] + 1)
        for found in client2.run(stores).values():
            assert found["limit"] == LIMIT
            assert found["peak"] <= LIMIT
            assert found["spilled"] > 0
        report = cluster2.report()
        assert all(card.bytes_spilled_to_host > 0 for card in report.cards)
        assert sum(card.stored_device_bytes for card in report.cards) <= 2 * LIMIT
    finally:
        client2.run(limit_stores, before)

"""Arrays between client and workers, and from card to card."""

import dask.array as da
import ml_dtypes
import numpy as np
import pytest
from distributed import wait

HOSTS = {
    **{d: np.arange(12).reshape(3, 4).astype(d) for d in ("?", "i1", "i2", "i4", "i8", "u1")},
    **{d: np.arange(12).reshape(3, 4).astype(d) for d in ("f2", "f4", "f8", "c8", "c16")},
    "bf16": np.arange(12).reshape(3, 4).astype(ml_dtypes.bfloat16),
    "0-d": np.array(3.5),
    "empty": np.zeros((0, 4)),
    "large": np.arange(300_000.0).reshape(300, 1000),
}


def upload(host):
    from daskasc.array import from_numpy

    return from_numpy(host)


def upload_transposed(host):
    from daskasc.array import from_numpy

    return from_numpy(host).T


def describe(value):
    return type(value).__name__, str(value.dtype), value.shape


def twice(value):
    assert type(value).__name__ == "AscendArray"
    return value + value


@pytest.mark.parametrize("name", HOSTS)
def test_worker_to_client_gives_numpy(client2, name):
    host = HOSTS[name]
    got = client2.submit(upload, host, pure=False).result(timeout=30)
    assert type(got) is np.ndarray
    assert (got.dtype, got.shape) == (host.dtype, host.shape)
    np.testing.assert_array_equal(got, host)
    assert got.flags.writeable


def test_not_contiguous(client2):
    host = HOSTS["f8"]
    got = client2.submit(upload_transposed, host, pure=False).result(timeout=30)
    np.testing.assert_array_equal(got, host.T)


@pytest.mark.parametrize("name", ["f4", "bf16", "0-d", "empty", "large"])
def test_card_to_card_stays_on_cards_and_is_counted(cluster2, client2, name):
    host = HOSTS[name]
    addresses = {w.name: w.address for w in cluster2.scheduler.workers.values()}
    made = client2.submit(upload, host, workers=[addresses[0]], pure=False)
    made_here = client2.submit(describe, made, workers=[addresses[0]], pure=False)
    assert made_here.result(timeout=30)[0] == "AscendArray"
    cluster2.reset_counters()
    there = client2.submit(describe, made, workers=[addresses[1]], pure=False)
    assert there.result(timeout=30) == ("AscendArray", str(host.dtype), host.shape)
    report = cluster2.report()
    assert report.bytes_between_cards == host.nbytes
    assert report.cards[1].bytes_from_peers == host.nbytes
    assert report.cards[0].bytes_from_peers == 0
    assert report.bytes_device_to_host == host.nbytes
    assert report.bytes_host_to_device == host.nbytes


def test_inside_containers(cluster2, client2):
    def nested(host):
        return {"x": [upload(host), {"y": (upload(host), 3)}], "f": lambda: 1}

    def look(value):
        return type(value["x"][1]["y"][0]).__name__

    host = HOSTS["f4"]
    addresses = {w.name: w.address for w in cluster2.scheduler.workers.values()}
    made = client2.submit(nested, host, workers=[addresses[0]], pure=False)
    cluster2.reset_counters()
    assert client2.submit(look, made, workers=[addresses[1]], pure=False).result(timeout=30) == (
        "AscendArray"
    )
    assert cluster2.report().bytes_between_cards == 2 * host.nbytes
    got = made.result(timeout=30)
    np.testing.assert_array_equal(got["x"][0], host)
    assert type(got["x"][1]["y"][0]) is np.ndarray


def test_client_to_worker_gives_an_array_on_the_card(client2):
    from daskasc.array import from_numpy

    for name in ("f8", "bf16", "0-d", "empty"):
        array = from_numpy(HOSTS[name])
        got = client2.submit(twice, array, pure=False).result(timeout=30)
        np.testing.assert_array_equal(got, HOSTS[name] + HOSTS[name])
    (future,) = client2.scatter([from_numpy(HOSTS["f8"])])
    got = client2.submit(describe, future, pure=False).result(timeout=30)
    assert got[0] == "AscendArray"


def test_an_array_embedded_in_a_graph(client2):
    from daskasc.array import AscendArray, from_numpy

    host = np.arange(40.0).reshape(5, 8)
    x = da.from_array(from_numpy(host), chunks=(5, 4))
    assert isinstance(x._meta, AscendArray)
    total = (x * 2).sum(axis=0)
    got = client2.compute(total).result(timeout=60)
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, (host * 2).sum(axis=0))


def test_backend_on_the_workers(client2):
    host = np.arange(40.0).reshape(8, 5)
    x = da.from_array(host, chunks=(4, 5)).to_backend("ascend").persist()
    wait(x, timeout=60)
    kinds = client2.run(lambda dask_worker: {type(v).__name__ for v in dask_worker.data.values()})
    assert set().union(*kinds.values()) >= {"AscendArray"}
    np.testing.assert_array_equal(x.mean(axis=0).compute(), host.mean(axis=0))
    np.testing.assert_array_equal(x.to_backend("numpy").compute(), host)


def test_report_counts_a_collective(cluster2, client2):
    host = np.arange(80.0).reshape(8, 10)
    x = da.from_array(host, chunks=(2, 10)).to_backend("ascend")
    cluster2.reset_counters()
    np.testing.assert_array_equal(x.sum(axis=0).compute(), host.sum(axis=0))
    report = cluster2.report()
    assert report.collectives == 1
    # two partial sums a card at most; those of one card go to the other
    assert 0 < report.bytes_between_cards <= 2 * host[0].nbytes
    assert report.bytes_host_to_device >= host.nbytes
    cluster2.reset_counters()
    assert cluster2.report().collectives == 0


def test_report_counts_uploads_once(cluster2, client2):
    host = HOSTS["large"]
    (future,) = client2.scatter([host])
    cluster2.reset_counters()
    made = client2.submit(upload, future, pure=False)
    client2.submit(describe, made, pure=False).result(timeout=30)
    report = cluster2.report()
    assert report.bytes_host_to_device == host.nbytes
    assert report.bytes_device_to_host == 0
    assert report.host_copies == 0
    assert report.fallbacks == {}
    assert report.collectives == 0
    assert max(report.peak_device_bytes) >= host.nbytes
    assert sum(c.stored_device_bytes for c in report.cards) >= host.nbytes
    plain = report.as_dict()
    assert plain["bytes_host_to_device"] == host.nbytes
    assert plain["cards"][0]["card"] == 0

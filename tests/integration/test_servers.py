"""Collectives in two levels: four cards that say they are in two servers."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest

from daskasc.array import from_numpy
from daskasc.collectives import methods
from tests.integration.servers import SeveralServers, planned

SHAPE, CHUNKS = (13, 6, 5), (1, 6, 5)
NAMES = "sum prod min any mean std argmax nanmax".split()
DTYPES = "? u4 i4 f4 c8".split()


def data(dtype):
    values = np.random.default_rng(3).normal(2.0, 3.0, SHAPE)
    if dtype == "c8":
        return (values + 1j * values[::-1]).astype(dtype)
    if dtype in ("f4", "f8"):
        values[4, 2, 3] = np.nan
        values[5, 1, 1], values[11, 1, 1] = 0.0, -0.0
    return (
        np.abs(np.nan_to_num(values) * 9).astype(dtype)
        if dtype in "?u1u4"
        else values.astype(dtype)
    )


def on_cards(dtype):
    x = da.from_array(data(dtype), chunks=CHUNKS)
    return x.map_blocks(from_numpy, dtype=dtype, meta=from_numpy(np.empty((0,) * 3, dtype)))


def reductions(x):
    names = [
        name for name in NAMES if x.dtype.kind != "c" or name in ("sum", "prod", "mean", "var")
    ]
    return {
        **{name: getattr(da, name)(x, axis=0) for name in names},
        **{f"{name}, all": getattr(da, name)(x) for name in ("sum", "mean", "std")},
    }


def computed(client, dtype):
    lazy = reductions(on_cards(dtype))
    found = client.gather(client.compute(list(lazy.values())))
    return {name: np.asarray(value) for name, value in zip(lazy, found, strict=True)}


@pytest.fixture(scope="module", params=[("a", "a", "b", "b"), ("a", "b", "a", "b")], ids="-".join)
def servers(request, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("servers"))
    with SeveralServers(request.param, local_directory=folder) as cluster:
        yield cluster


def used(client):
    """How many collectives went by each method, on the worker that took part in most."""
    found = client.run(methods).values()
    return {name: max(one.get(name, 0) for one in found) for one in found for name in one}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_levels_give_the_bits_of_one(servers, dtype, card_kind):
    if dtype == "u4" and card_kind != "cpu":
        pytest.skip("real cards have documented gaps for unsigned integers")
    with servers.get_client() as client:
        before = used(client)
        two = computed(client, dtype)
        between = used(client)
        with planned(servers, two_level=False):
            one = computed(client, dtype)
        after = used(client)
    assert between["servers_gather"] > before.get("servers_gather", 0)
    for name in ("servers_gather", "servers_reduce"):
        assert after.get(name, 0) == between.get(name, 0)
    for name, value in two.items():
        assert value.dtype == one[name].dtype
        assert value.tobytes() == one[name].tobytes(), name
    stock = reductions(da.from_array(data(dtype), chunks=CHUNKS))
    with dask.config.set(array_optimize=None):
        expected = dict(
            zip(stock, dask.compute(*stock.values(), scheduler="synchronous"), strict=True)
        )
    for name, value in two.items():
        np.testing.assert_allclose(value, expected[name], rtol=2e-5, err_msg=name)


def test_integer_sums_are_reduced_by_the_library_within_servers(servers):
    x = on_cards("i4")
    with servers.get_client() as client:
        before = used(client)
        found = client.compute(x.sum(axis=0, dtype="i4")).result()
        after = used(client)
    assert after["servers_reduce"] == before.get("servers_reduce", 0) + 1
    np.testing.assert_array_equal(found, data("i4").sum(axis=0, dtype="i4"))


def test_sums_that_need_not_be_reproducible(servers):
    x = on_cards("f8")
    with (
        servers.get_client() as client,
        dask.config.set({"daskasc.collectives.reproducible": False}),
    ):
        # workers keep the configuration that they were started with
        found = client.compute(x.sum(axis=0)).result()
    np.testing.assert_allclose(found, data("f8").sum(axis=0), rtol=1e-12)


def test_plans_of_the_cluster_know_its_servers(servers):
    import daskasc

    with servers.get_client():
        plan = daskasc.plan(on_cards("f8").max(axis=0))
    assert plan.servers == 2
    output = 6 * 5 * 8
    assert plan.collectives[0].between_servers == output
    assert plan.collectives[0].nbytes == 3 * output


def test_rechunking(servers):
    x = on_cards("f4").rechunk((13, 2, 1))
    with servers.get_client() as client:
        np.testing.assert_array_equal(client.compute(x).result(), data("f4"))

"""Collectives whose partials are device arrays (stand-in cards: torch CPU tensors, gloo)."""

from __future__ import annotations

import numpy as np
import pytest

from daskasc.collectives import stats
from tests.collectives.gangs import Graph, gang, host

ALL = (0, 1, 2)


def on_card(make, card):
    from daskasc.array import from_numpy
    from daskasc.collectives._manifest import flatten, unflatten

    skeleton, leaves = flatten(make(card))
    return unflatten(skeleton, [from_numpy(np.asarray(leaf)) for leaf in leaves])


def off_card(result, *_):
    """Runs as the last task, on the owner's worker."""
    return host(result)


def run_one(client, found, make):
    graph = Graph(off_card)
    graph.add(found, on_card, make)
    return client.gather(graph.submit(client))[0]


DTYPES = "? u1 i1 i2 i4 i8 f2 f4 f8 c8 c16 M8[s] m8[25us]".split()


def all_dtypes(card):
    rng = np.random.default_rng(card)
    return {
        "arrays": [(rng.normal(size=(2, 3 + card)) * 9).astype(d) for d in DTYPES],
        "scalars": [np.array(card, dtype=d) for d in DTYPES],
        "empty": np.zeros((0, 4), "f4"),
        "reversed": np.arange(6.0)[::-2],
    }


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("members", [ALL, (0, 1)])
def test_gather_of_every_dtype(client, members):
    result = run_one(client, gang(f"dt{members}", members, 1, "gather"), all_dtypes)
    for card, got in zip(members, result, strict=True):
        expected = all_dtypes(card)
        for key in ("arrays", "scalars"):
            for value, wanted in zip(got[key], expected[key], strict=True):
                assert value.dtype == wanted.dtype
                np.testing.assert_array_equal(value, wanted)
        assert got["empty"].shape == (0, 4)
        np.testing.assert_array_equal(got["reversed"], expected["reversed"])


def exact(card):
    return [
        np.array([True, False, card == 1]),
        np.array([100, 3 + card, 7], "i1"),
        np.array([2**62, card], "i8"),
        np.array(card + 1, "i4"),
        np.zeros((0, 2), "i4"),
    ]


FOLDS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("op", list(FOLDS))
def test_all_reduce_of_exact_dtypes_is_numpys(client, op):
    result = run_one(client, gang(f"ex-{op}", ALL, 2, op), exact)
    with np.errstate(over="ignore"):
        for index, got in enumerate(result):
            wanted = FOLDS[op](FOLDS[op](exact(0)[index], exact(1)[index]), exact(2)[index])
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)


def floats(card):
    return np.array([1e16, 1.0, -1e16, np.nan if card == 1 else 0.0]) * (card + 1)


@pytest.mark.parametrize("op", list(FOLDS))
def test_floats_are_folded_in_the_order_of_the_cards(client, op):
    result = run_one(client, gang(f"fl-{op}", ALL, 0, op), floats)
    np.testing.assert_array_equal(result, FOLDS[op](FOLDS[op](floats(0), floats(1)), floats(2)))


def dates(card):
    return np.array([card, -card, "NaT" if card == 1 else 5], "M8[s]")


@pytest.mark.parametrize("op", ["min", "max"])
def test_times_keep_their_dtype_and_nat(client, op):
    result = run_one(client, gang(f"ti-{op}", ALL, 0, op), dates)
    expected = FOLDS[op](FOLDS[op](dates(0), dates(1)), dates(2))
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def counters(dask_worker):
    from daskasc import device

    return device.counters.snapshot()


def megabyte(card):
    return np.full(2**17, float(card))


def test_counters(client):
    before = client.run(counters)
    gangs = client.run_on_scheduler(stats)["gangs"]
    run_one(client, gang("counted", ALL, 0, "gather"), megabyte)
    after = client.run(counters)
    received = [
        after[a].get("collective_bytes", 0) - before[a].get("collective_bytes", 0) for a in after
    ]
    assert sorted(received) == [0, 0, 2 * 2**20]
    entered = [after[a]["collectives"] - before[a].get("collectives", 0) for a in after]
    assert entered == [1, 1, 1]
    assert client.run_on_scheduler(stats)["gangs"] == gangs + 1

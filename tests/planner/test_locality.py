"""Owners corrected after reductions are recognised: what moves between cards, and what does not."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from dask.utils import ensure_dict

from tests.planner.test_planner import annotations, gangs, planned, value


def moved(graph):
    """Keys that go to another card outside collectives."""
    owners, inside = annotations(graph, "card"), annotations(graph, "gang")
    return {
        dependency
        for key, node in ensure_dict(graph).items()
        for dependency in node.dependencies
        if dependency in owners
        and dependency not in inside
        and owners[dependency] != owners.get(key, owners[dependency])
    }


def products(x):
    return {
        "matmul": x.T @ x,
        "tensordot": da.tensordot(x, x, axes=(0, 0)),
        "einsum": da.einsum("ab,ac->bc", x, x),
    }


@pytest.mark.parametrize("name", ["matmul", "tensordot", "einsum"])
def test_products_run_where_their_operands_are(name):
    host = np.random.default_rng(1).normal(size=(32, 6))
    x = da.from_array(host, chunks=(2, 3)) * 1
    total = x.sum()  # a second use: the operands are tasks of their own
    lazy = products(x)[name]
    graph, _ = planned(lazy + 0 * total, 4)
    assert not [key for key in moved(graph) if len(key) == 3 and key[0].startswith("mul")]
    assert all(gang.members == (0, 1, 2, 3) for gang in gangs(graph).values())
    np.testing.assert_allclose(value(lazy, 4), host.T @ host)


def test_products_of_two_grids_are_spread_over_all_cards():
    a = np.random.default_rng(1).normal(size=(8, 8))
    x = da.from_array(a, chunks=(2, 2))
    lazy = x @ (x + 1)
    graph, _ = planned(lazy, 4, bundle=1)
    owners = annotations(graph, "card")
    leaves = [owners[key] for key in owners if len(key) == 4]
    assert sorted(set(leaves)) == [0, 1, 2, 3]
    np.testing.assert_allclose(value(lazy, 4), a @ (a + 1))


def test_what_follows_a_result_runs_where_it_is():
    x = da.ones((16, 16), chunks=(2, 4))
    for lazy in (x.std(axis=0), da.sqrt(x.sum(axis=0)) + 1, x.mean(axis=0)[:, None] * 2):
        graph, keys = planned(lazy, 4)
        assert len(gangs(graph)) == 4
        owners = annotations(graph, "card")
        assert [owners[key] for key in sorted(keys)] == [0, 1, 2, 3]
        assert moved(graph) == set()


def test_factors_of_a_tall_matrix_are_cut_before_they_travel():
    host = np.random.default_rng(1).normal(size=(256, 3))
    q, r = da.linalg.qr(da.from_array(host, chunks=(32, 3)))
    graph, _ = planned(q, 4)
    travelling = moved(graph)
    tasks = ensure_dict(graph)
    # the slices of the second factor, and nothing else
    assert 0 < len(travelling) <= 8
    assert all("-q2" in key[0] and "aux" not in key[0] for key in travelling), travelling
    assert len(gangs(graph)) == 1
    assert tasks.keys() >= travelling
    np.testing.assert_allclose(value(q @ r, 4), host)

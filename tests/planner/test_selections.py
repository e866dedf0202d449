"""Medians and quantiles over all axes by counting: values, dtypes, what moves, what stays stock."""

from __future__ import annotations

import warnings

import cloudpickle
import dask.array as da
import numpy as np
import pytest
from dask.utils import ensure_dict

import daskasc
from daskasc.array import from_numpy
from daskasc.errors import InputError
from daskasc.planner import _selections
from daskasc.planner._counting import Wanted, count_digits, finish_selected, narrow
from tests.planner.local import run_locally
from tests.planner.test_planner import annotations, gangs, planned, value
from tests.planner.test_rechunk import _same, noted

DTYPES = "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()
METHODS = [
    *"linear lower higher nearest midpoint inverted_cdf averaged_inverted_cdf".split(),
    *"closest_observation interpolated_inverted_cdf hazen weibull".split(),
    *"median_unbiased normal_unbiased".split(),
]


@pytest.fixture(autouse=True)
def small_arrays_too(monkeypatch):
    monkeypatch.setattr(_selections, "counted_bytes", lambda found: 0)


def host(dtype="f4", n=1000, seed=5):
    rng = np.random.default_rng(seed)
    if dtype[0] == "f":
        return (rng.normal(size=n) * 10.0 ** rng.integers(-3, 3, n)).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def same(got, expected):
    got = got.asnumpy() if hasattr(got, "asnumpy") else np.asarray(got)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def counts(lazy, cards=4):
    graph, _ = planned(lazy, cards)
    return [node for node in ensure_dict(graph).values() if node_function(node) is count_digits]


def node_function(node):
    return getattr(node, "func", None)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cards", [2, 4])
def test_every_dtype_equals_numpy(dtype, cards):
    x = host(dtype)
    lazy = noted(x, ((0, 300, 1, 299, 0, 400),))
    same(
        value(da.quantile(lazy, [0.0, 0.1, 0.5, 0.999, 1.0], axis=0), cards),
        np.quantile(x, np.array([0.0, 0.1, 0.5, 0.999, 1.0])),
    )
    same(value(da.median(lazy, axis=0), cards), np.asarray(np.median(x)))
    same(value(da.nanmedian(lazy[:999], axis=0), cards), np.asarray(np.nanmedian(x[:999])))
    assert len(counts(da.median(lazy, axis=0), cards)) >= 4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["f4", "i2"])
def test_every_method_equals_numpy(method, dtype):
    levels = np.array([0.0, 0.25, 0.5, 0.123, 0.9, 1.0])
    for n in (2, 3, 997, 1000):
        x = host(dtype, n)
        lazy = da.quantile(noted(x, -(-n // 4)), levels, axis=0, method=method)
        same(value(lazy, 4), np.quantile(x, levels, method=method))


@pytest.mark.parametrize(
    "chunks", [((3, 4, 5), (6,)), ((12,), (2, 2, 2)), ((1, 11), (4, 2))], ids=str
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_all_axes_of_a_grid(chunks, keepdims):
    x = host("f8", 72).reshape(12, 6)
    lazy = noted(x, chunks)
    same(
        value(da.median(lazy, axis=(0, 1), keepdims=keepdims), 4),
        np.asarray(np.median(x, keepdims=keepdims)),
    )
    q = np.array([0.3, 0.8])
    same(
        value(da.quantile(lazy, q, axis=(0, 1), keepdims=keepdims), 4),
        np.quantile(x, q, axis=(0, 1), keepdims=keepdims),
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_nan_infinities_and_zeros(dtype):
    x = host(dtype, 400)
    x[:4] = np.inf, -np.inf, 0.0, -0.0
    q = np.array([0.0, 0.01, 0.4, 1.0])
    lazy = noted(x, 100)
    with np.errstate(invalid="ignore"):
        expected = np.quantile(x, q)
    same(value(da.quantile(lazy, q, axis=0), 4), expected)
    x[50] = np.nan
    lazy = noted(x, 100)
    same(value(da.quantile(lazy, q, axis=0), 4), np.full(4, np.nan))
    same(value(da.quantile(lazy, 0.3, axis=0), 4), np.asarray(np.nan))
    same(value(da.median(lazy, axis=0), 4), np.asarray(np.median(x)))
    x[::3] = np.nan
    lazy = noted(x, 100)
    with np.errstate(invalid="ignore"):
        expected = np.nanquantile(x, q)
    same(value(da.nanquantile(lazy, q, axis=0), 4), expected)
    same(value(da.nanmedian(lazy, axis=0), 4), np.asarray(np.nanmedian(x)))


def test_nan_of_any_bits_do_not_count():
    odd = np.array([0x7F800001, 0xFF800001, 0xFFC00000, 0x7FFFFFFF], np.uint32).view("f4")
    x = np.concatenate([host("f4", 40), odd, np.array([np.inf, -np.inf] * 3, "f4")])
    for q in (0.01, 0.5, 0.97):
        with np.errstate(invalid="ignore"):
            expected = np.nanquantile(x, np.array([q]))
        same(value(da.nanquantile(noted(x, 7), [q], axis=0), 4), expected)


def test_nothing_but_nan_is_nan_without_a_warning():
    x = np.full(40, np.nan, "f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for lazy in (da.nanmedian(noted(x, 10), axis=0), da.median(noted(x, 10), axis=0)):
            same(value(lazy, 4), np.asarray(np.float32(np.nan)))
        same(value(da.nanquantile(noted(x, 10), [0.2, 1.0], axis=0), 4), np.full(2, np.nan))


@pytest.mark.parametrize("seed", range(20))
def test_few_distinct_values(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    x = rng.integers(-2, 3, n).astype(rng.choice(DTYPES[:4] + DTYPES[8:]))
    q = rng.random(int(rng.integers(1, 5)))
    lazy = da.quantile(noted(x, max(1, n // 5)), q, axis=0, method=str(rng.choice(METHODS)))
    same(value(lazy, int(rng.integers(2, 5))), np.quantile(x, q, method=lazy_method(lazy)))


def lazy_method(lazy):
    (layer,) = [one for name, one in lazy.dask.layers.items() if name.startswith("quantile")]
    return layer.task.kwargs["method"]


@pytest.mark.parametrize("dtype", ["f4", "i4", "f8"])
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_percentiles_are_exact(dtype, method):
    x = host(dtype)
    lazy = da.percentile(noted(x, 70), [0, 1.5, 50, 100], method=method)
    expected = np.percentile(x, [0, 1.5, 50, 100], method=method).astype(lazy.dtype)
    same(value(lazy, 4), expected)


def test_a_pickled_graph_is_recognised():
    x = noted(host("f4"), 100)
    for lazy in (da.nanmedian(x, axis=0), da.nanquantile(x, 0.2, axis=0), da.percentile(x, [5])):
        sent = cloudpickle.loads(cloudpickle.dumps(lazy))
        assert counts(sent)


def test_on_cards_the_result_is_on_a_card():
    x = host("f4")
    lazy = da.from_array(x, chunks=100).map_blocks(
        from_numpy, dtype="f4", meta=from_numpy(np.empty(0, "f4"))
    )
    for result, expected in (
        (da.median(lazy, axis=0), np.asarray(np.median(x))),
        (da.nanquantile(lazy, [0.2, 0.7], axis=0), np.nanquantile(x, np.array([0.2, 0.7]))),
        (da.percentile(lazy, [20, 70]), np.percentile(x, [20, 70]).astype("f4")),
    ):
        graph, keys = planned(result, 4)
        (got,) = run_locally(graph, keys)
        assert type(got).__name__ == "AscendArray"
        same(got, expected)


def test_values_stay_where_they_are():
    x = noted(host("f4"), 100)
    graph, _ = planned(da.quantile(x, [0.1, 0.9], axis=0) * 2, 4)
    tasks, owners = ensure_dict(graph), annotations(graph, "card")
    found = gangs(graph).values()
    assert [gang.op for gang in found] == ["sum", "sum"]
    for key, node in tasks.items():
        if node_function(node) is count_digits:
            assert all(
                owners[dependency] == owners[key]
                for dependency in node.dependencies
                if node_function(tasks[dependency]) in (count_digits,)
                or str(dependency[0]).startswith("_same")
            )
    assert not any("rechunk" in str(key) for key in tasks)
    narrowing = [node for node in tasks.values() if node_function(node) is narrow]
    assert len(narrowing) == 1
    assert sum(node_function(node) is finish_selected for node in tasks.values()) == 1


def test_what_stays_stock(monkeypatch):
    x = noted(host("f4"), 100)
    grid = noted(host("f4").reshape(100, 10), (10, 10))
    for lazy in (
        da.median(grid, axis=0),
        da.quantile(x, 0.5, axis=0, weights=np.ones(1000)),
        da.quantile(x, np.linspace(0, 1, 50), axis=0),
        da.quantile(x, [0, 1], axis=0),
        da.median(noted(host("f4").astype("?"), 100), axis=0),
        da.median(da.from_array(host("f4"), chunks=100), axis=0),
    ):
        assert not counts(lazy)
    shared = x.rechunk(-1)
    both = da.stack([da.median(shared, axis=0), shared.sum()])
    assert not counts(both)
    monkeypatch.undo()
    assert not counts(da.median(x, axis=0))


def test_counting_pays_for_large_arrays_and_where_one_card_is_too_small(monkeypatch):
    monkeypatch.undo()
    x = da.zeros(1 << 24, chunks=1 << 20, dtype="f4")
    x = x.map_blocks(from_numpy, dtype="f4", meta=from_numpy(np.empty(0, "f4")))
    lazy = da.median(x, axis=0)
    assert len(counts(lazy)) == 32
    small = noted(host("f4"), 100)
    assert not counts(da.median(small, axis=0))
    graph, _ = planned(da.median(small, axis=0), 4, capacity=6000, memory_check="off")
    assert any(node_function(node) is count_digits for node in ensure_dict(graph).values())


def test_the_plan_names_the_collectives():
    x = da.zeros(1 << 24, chunks=1 << 20, dtype="f4")
    x = x.map_blocks(from_numpy, dtype="f4", meta=from_numpy(np.empty(0, "f4")))
    plan = daskasc.plan(da.median(x, axis=0), cards=4)
    (one,) = plan.collectives
    assert (one.name, one.operation, one.count) == ("median", "sum", 2)


def test_chunks_that_change_are_noticed():
    wanted = Wanted(np.dtype("f4"), 10, None, "linear", False, ())
    counted = count_digits(wanted, 0, None, host("f4", 10), None, None)
    found = narrow(wanted, 0, None, [counted])
    other = count_digits(wanted, 1, None, np.zeros(10, "f4"), found, None)
    with pytest.raises(InputError, match="changed while they were counted"):
        finish_selected(wanted, found, [other])


def told(x, dtype, chunks=100):
    """Chunks of NumPy's `x` that dask takes for others."""
    lazy = da.from_array(x, chunks=chunks)
    return lazy.map_blocks(_same, dtype=dtype, meta=from_numpy(np.empty(0, dtype)))


def _shorter(block):
    return block[1:]


def test_notes_may_be_wrong():
    x = host("f4")
    same(value(da.median(told(x, "f8"), axis=0), 4), np.asarray(np.median(x.astype("f8"))))
    same(value(da.nanmedian(told(host("u1"), "i2"), axis=0), 4), np.asarray(np.median(host("u1"))))
    with pytest.raises(InputError, match="chunk of float64 is noted as float32"):
        value(da.median(told(host("f8"), "f4"), axis=0), 4)
    lazy = noted(x, 100).map_blocks(_shorter, dtype="f4", meta=from_numpy(np.empty(0, "f4")))
    with pytest.raises(InputError, match="990 values were counted where dask notes 1000"):
        value(da.quantile(lazy, 0.4, axis=0), 4)

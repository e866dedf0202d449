import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import pytest
from dask.sizeof import sizeof
from dask.tokenize import tokenize

from daskasc import device, registration
from daskasc.array import AscendArray, from_numpy

registration.register()

DTYPES = ["?", "i1", "i8", "u1", "f4", "f8", "c8"]


@pytest.fixture(autouse=True)
def single_threaded():
    with dask.config.set(scheduler="synchronous"):
        yield


def on_card(host, chunks):
    return da.from_array(host, chunks=chunks).to_backend("ascend")


def check(result, expected):
    assert isinstance(result._meta, AscendArray), type(result._meta)
    got = result.compute()
    assert isinstance(got, AscendArray)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.asnumpy(), expected)


def test_registering_needs_no_torch():
    code = (
        "import sys, daskasc.registration as r; r.register(); r.register()\n"
        "import dask.array as da, dask\n"
        "assert 'ascend' in da.backends.array_creation_dispatch._lookup\n"
        "assert 'torch' not in sys.modules and 'daskasc.array' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_sizes_are_known_without_the_array_being_met_before():
    code = (
        "import daskasc, numpy as np\n"
        "from dask.sizeof import sizeof\n"
        "from daskasc.array import from_numpy\n"
        "assert sizeof(from_numpy(np.zeros(100))) == 800\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_concatenate_take_tensordot_einsum():
    host = np.arange(48.0).reshape(6, 8)
    x = on_card(host, (2, 3))
    check(da.concatenate([x, x]), np.concatenate([host, host]))
    check(da.take(x, [3, 0, 1], axis=0), host[[3, 0, 1]])
    check(da.tensordot(x, x.T, axes=1), host @ host.T)
    check(da.einsum("ij,kj->ik", x, x), host @ host.T)


def test_reductions_that_divide_and_count():
    host = np.array([[1.0, np.nan, 3], [4, 5, np.nan]])
    x = on_card(host, (1, 2))
    check(x.mean(axis=0), host.mean(axis=0))
    check(da.nanmean(x, axis=1), np.nanmean(host, axis=1))
    check(da.nanvar(x), np.nanvar(host))


def test_empty_through_the_table():
    from dask.array.dispatch import empty_lookup

    made = empty_lookup.dispatch(AscendArray)((2, 3), dtype="i4")
    assert isinstance(made, AscendArray)
    assert (made.shape, made.dtype) == ((2, 3), np.dtype("i4"))


def test_percentile():
    host = np.arange(20.0)
    with dask.config.set({"daskasc.fallback": "silent"}):  # merging takes np.interp
        result = da.percentile(on_card(host, 5), [50], internal_method="dask")
        assert isinstance(result._meta, AscendArray)
        assert abs(float(result.compute()[0]) - np.percentile(host, 50)) <= 2.5


def test_there_and_back():
    host = np.arange(6.0)
    x = on_card(host, 2)
    assert x.to_backend("ascend") is x
    back = x.to_backend("numpy")
    assert type(back._meta) is np.ndarray
    assert type(back.compute()) is np.ndarray
    np.testing.assert_array_equal(back.compute(), host)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sizes(dtype):
    assert sizeof(from_numpy(np.zeros((3, 5), dtype))) == 15 * np.dtype(dtype).itemsize


def test_tokens_follow_the_elements():
    a, b = from_numpy(np.arange(4.0)), from_numpy(np.arange(4.0))
    before = device.counters.snapshot()["device_to_host_bytes"]
    assert tokenize(a) == tokenize(b)
    assert device.counters.snapshot()["device_to_host_bytes"] > before
    different = [
        np.arange(4.0),
        from_numpy(np.arange(4.0, dtype="f4")),
        from_numpy(np.arange(4.0).reshape(2, 2)),
        from_numpy(np.arange(4.0) + 1),
    ]
    assert len({tokenize(x) for x in [a, *different]}) == 5
    assert tokenize(a, ensure_deterministic=True)


def test_from_array_of_a_card_array():
    host = np.arange(12.0).reshape(3, 4)
    check(da.from_array(from_numpy(host), chunks=2) + 1, host + 1)


def test_triangular_blocks():
    host = np.random.default_rng(0).random((6, 6)) + 6 * np.eye(6)
    right = np.arange(6.0)
    x, b = on_card(host, (3, 3)), on_card(right, 3)
    lower = da.linalg.solve_triangular(x, b, lower=True)
    check(lower, np.linalg.solve(np.tril(host), right))
    assert da.utils.scipy_linalg_safe.__wrapped__.__module__ == "dask.array.utils"
    plain = da.linalg.solve_triangular(da.from_array(host, 3), da.from_array(right, 3), lower=True)
    np.testing.assert_allclose(plain.compute(), np.linalg.solve(np.tril(host), right))


def test_missing_values():
    pytest.importorskip("pandas")
    host = np.array([1.0, np.nan, 3.0])
    check(da.isnull(on_card(host, 2)), np.isnan(host))
    check(da.notnull(on_card(host, 2)), ~np.isnan(host))
    check(da.isnull(on_card(np.arange(3), 2)), np.zeros(3, bool))
    np.testing.assert_array_equal(da.isnull(da.from_array(host, 2)).compute(), np.isnan(host))


def test_a_diagonal_outside_the_matrix_is_on_the_card():
    x = da.from_array(np.arange(6.0).reshape(2, 3), chunks=2).map_blocks(from_numpy)
    found = da.diagonal(x, 9).compute(scheduler="synchronous")
    assert isinstance(found, AscendArray)
    assert found.shape == (0,)


def test_counts_in_several_dimensions():
    host = np.random.default_rng(2).normal(size=(20, 3))
    bins, limits = (3, 4, 2), ((-3.0, 3.0),) * 3
    expected = np.histogramdd(host, bins, limits)[0]
    x = on_card(host, (4, 3))
    weights = np.arange(20.0)
    columns = tuple(x[:, index] for index in range(3))
    weighted = da.histogramdd(columns, bins, limits, weights=on_card(weights, 4))[0].compute()
    for counts in (da.histogramdd(part, bins, limits)[0].compute() for part in (x, columns)):
        assert isinstance(counts, AscendArray)
        np.testing.assert_array_equal(counts.asnumpy(), expected)
    expected_weights = np.histogramdd(host, bins, limits, weights=weights)[0]
    np.testing.assert_allclose(weighted.asnumpy(), expected_weights)
    # arrays in host memory stay there
    stock = da.histogramdd(da.from_array(host, chunks=(4, 3)), bins, limits)[0].compute()
    assert type(stock) is np.ndarray
    np.testing.assert_array_equal(stock, expected)

"""Grouped reductions against flox on NumPy, alone and through xarray."""

from __future__ import annotations

import warnings

import dask
import dask.array as da
import numpy as np
import pytest

from daskasc import registration
from daskasc.array import AscendArray, from_numpy
from daskasc.array._grouped import REDUCTIONS, aggregate
from daskasc.errors import HostFallbackError

flox_aggregations = pytest.importorskip("flox.aggregations")
xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")
registration.register_array_type()

SIZE = 5  # the last group is empty


def _expected(func, labels, host, **kwargs):
    original = flox_aggregations.generic_aggregate.__wrapped__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return original(labels, host, engine="numpy", func=func, axis=-1, **kwargs)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("func", sorted(REDUCTIONS))
@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_reductions(func: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    labels = np.array([3, 0, 1, 1, 3, 0, 1, 3, 2, 2])
    host = (rng.random((2, 10)) * 9 + 1).astype(dtype)
    if dtype == "f8":
        host[:, [1, 8, 9]] = np.nan  # group 2 has nothing else
    kwargs = {"size": SIZE, "fill_value": 0}
    if func in ("sum_of_squares", "nansum_of_squares", "first", "last", "median", "nanmedian"):
        kept = labels != 2
        labels, host = labels[kept], host[:, kept]
    got = flox_aggregations.generic_aggregate(
        labels, from_numpy(host), engine="flox", func=func, axis=-1, **kwargs
    )
    assert isinstance(got, AscendArray)
    expected = _expected(func, labels, host, **kwargs)
    filled = np.isin(np.arange(SIZE), labels)
    np.testing.assert_allclose(got.asnumpy()[:, filled], expected[:, filled])
    assert (got.asnumpy()[:, ~filled] == 0).all()


def test_what_is_no_reduction_goes_to_the_host(quiet_fallback: None) -> None:
    labels, host = np.array([0, 0, 1]), np.array([1.0, 2.0, 4.0])
    got = flox_aggregations.generic_aggregate(
        labels, from_numpy(host), engine="flox", func="argmax", axis=-1, size=2, fill_value=0
    )
    assert got.tolist() == [1, 2]
    with dask.config.set({"daskasc.fallback": "error"}), pytest.raises(HostFallbackError):
        aggregate(labels, from_numpy(host), func="argmax", otherwise=max, size=2)
    empty = aggregate(labels[:0], from_numpy(host[:0]), func="sum", otherwise=max, size=2)
    assert empty.tolist() == [0, 0]


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", ["mean", "sum", "max", "min", "std", "var", "count", "first"])
@pytest.mark.parametrize("kind", ["groupby", "resample"])
def test_plain_xarray(name: str, kind: str) -> None:
    time = pd.date_range("2000-01-01", periods=100)
    host = np.random.default_rng(0).random((100, 3))
    host[::7, 0] = np.nan
    card = da.from_array(host, chunks=(30, 2)).to_backend("ascend")

    def run(values):
        array = xr.DataArray(values, dims=("time", "x"), coords={"time": time}, name="t")
        grouped = array.groupby("time.month") if kind == "groupby" else array.resample(time="MS")
        return getattr(grouped, name)()

    with xr.set_options(use_flox=True), dask.config.set(scheduler="synchronous"):
        got, expected = run(card), run(host)
        assert isinstance(got.data._meta, AscendArray)
        computed = got.data.compute()
    assert isinstance(computed, AscendArray)
    np.testing.assert_allclose(computed.asnumpy(), expected.values)

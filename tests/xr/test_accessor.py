from __future__ import annotations

import dask
import numpy as np
import pytest
import xarray as xr
import zarr

import daskasc.xr
from daskasc.array import AscendArray
from daskasc.errors import HostConversionError, InputError
from daskasc.io._stores import COMPLETE


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def ds():
    values = np.arange(24, dtype="f4").reshape(6, 4)
    time = xr.date_range("2000", periods=6, freq="YS", calendar="noleap", use_cftime=True)
    return xr.Dataset(
        {"a": (("time", "x"), values, {"units": "m"}), "name": ("x", list("abcd")), "s": 1.5},
        {"time": time, "x": np.arange(4.0), "label": ("x", list("efgh"))},
        {"title": "t"},
    )


def test_lazy_variables_move_chunk_by_chunk(ds):
    card = ds.chunk(time=2).npu.to_device()
    assert type(card.a.data._meta) is AscendArray
    assert card.a.chunks == ((2, 2, 2), (4,))
    assert card.a.attrs == {"units": "m"}
    assert not ds.npu.is_on_device
    assert card[["a"]].npu.is_on_device
    assert card.a.npu.is_on_device
    chunk = card.a.data.compute()
    assert type(chunk) is AscendArray
    back = card.npu.to_host()
    assert type(back.a.data._meta) is np.ndarray
    xr.testing.assert_identical(back.compute(), ds)


def test_values_in_memory_move_at_once(ds):
    card = ds.npu.to_device()
    assert type(card.a.variable._data) is AscendArray
    assert card["name"].dtype.kind in "UO"
    assert card.npu.is_on_device
    xr.testing.assert_identical(card.npu.to_host(), ds)
    array = ds.a.npu.to_device()
    assert array.npu.is_on_device
    assert not array.npu.to_host().npu.is_on_device
    assert array.npu.to_device() is not array
    xr.testing.assert_identical(array.npu.to_host(), ds.a)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_writing_and_reading_back(ds, tmp_path, zarr_format):
    ds = ds.drop_vars("name").assign(b=ds.a.mean("time"))
    if zarr_format == 3:
        ds = ds.drop_vars("label")
    ds.chunk(time=2).npu.to_device().npu.to_zarr(tmp_path / "a", zarr_format=zarr_format)
    with xr.open_zarr(tmp_path / "a", chunks=None, consolidated=zarr_format == 2) as plain:
        xr.testing.assert_identical(plain.load(), ds)
    back = daskasc.open_zarr(tmp_path / "a")
    assert type(back.a.data._meta) is AscendArray
    assert back.attrs == {"title": "t"}
    assert back.time.dt.calendar == "noleap"
    xr.testing.assert_identical(back.npu.to_host().compute(), ds)


@pytest.mark.parametrize("lazy", [True, False])
def test_xarrays_own_writing_names_the_way(ds, tmp_path, lazy):
    card = (ds.chunk(time=2) if lazy else ds).npu.to_device()[["a"]]
    with pytest.raises(HostConversionError, match=r"\.npu\.to_zarr\(.*\.npu\.to_host\(\)"):
        card.to_zarr(tmp_path / "no", zarr_format=2)
    card.npu.to_host().to_zarr(tmp_path / "yes", zarr_format=2)


def test_writing_one_array_into_a_group(ds, tmp_path):
    ds.a.chunk(x=2).npu.to_device().npu.to_zarr(tmp_path, "g")
    assert zarr.open_array(tmp_path, path="g/a", mode="r").chunks == (6, 2)
    with pytest.raises(InputError, match="overwrite=True"):
        ds.a.npu.to_zarr(tmp_path, "g")
    ds.a.npu.to_zarr(tmp_path, "g", overwrite=True)
    assert COMPLETE not in zarr.open_group(tmp_path, path="g", mode="r").attrs


def test_lazy_writing_is_marked_until_done(ds, tmp_path):
    done = ds[["a"]].chunk(time=3).npu.to_zarr(tmp_path, compute=False)
    with pytest.raises(InputError, match="not finished"):
        daskasc.open_zarr(tmp_path)
    done.compute()
    assert daskasc.open_zarr(tmp_path).sizes == {"time": 6, "x": 4}

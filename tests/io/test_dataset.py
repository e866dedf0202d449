from __future__ import annotations

import zipfile

import numpy as np
import pytest
import xarray as xr
import zarr

from daskasc.array import AscendArray
from daskasc.errors import InputError
from daskasc.io import open_zarr
from daskasc.io._stores import COMPLETE


def dataset(values):
    time = xr.date_range("1990-01-01", periods=24, freq="MS", calendar="360_day", use_cftime=True)
    return xr.Dataset(
        {
            "t": (("time", "lat", "lon"), values, {"units": "K", "n": 3}),
            "bounds": (("time", "b"), np.stack([time, time], 1)),
            "crs": ((), 0),
        },
        {"time": time, "lat": np.linspace(-60, 60, 6), "lon": np.arange(8.0), "height": 2.0},
        {"title": "a test"},
    )


@pytest.fixture(params=[2, 3])
def store(tmp_path, values, request):
    dataset(values).to_zarr(
        tmp_path / "a",
        zarr_format=request.param,
        consolidated=request.param == 2,
        encoding={"t": {"chunks": (6, 6, 8)}},
    )
    return tmp_path / "a"


def test_data_on_cards_and_coordinates_on_the_host(store, values):
    ds = open_zarr(store)
    assert type(ds.t.data._meta) is AscendArray
    assert ds.t.chunks == ((6,) * 4, (6,), (8,))
    assert ds.t.attrs == {"units": "K", "n": 3}
    assert ds.attrs == {"title": "a test"}
    assert ds.time.dt.calendar == "360_day"
    assert ds.t.dims == ("time", "lat", "lon")
    assert ds.crs.ndim == 0
    assert isinstance(ds.lat.values, np.ndarray)
    assert ds.bounds.dtype == object
    assert "height" in ds.coords
    picked = ds.t.sel(time=slice("1990-03", "1990-05")).data.compute()
    np.testing.assert_array_equal(picked.asnumpy(), values[2:5])


def test_chunks_by_dimension(store):
    assert open_zarr(store, chunks={"time": 12}).t.chunks == ((12, 12), (6,), (8,))
    assert open_zarr(store, chunks={"time": -1}).t.chunks == ((24,), (6,), (8,))
    with pytest.raises(InputError, match="'level', which is no dimension"):
        open_zarr(store, chunks={"level": 1})


def test_variables_and_groups(tmp_path, values):
    dataset(values).to_zarr(tmp_path, group="g", zarr_format=3, consolidated=False)
    ds = open_zarr(tmp_path, "g", variables=["t"])
    assert list(ds.data_vars) == ["t"]
    with pytest.raises(InputError, match="no such variable: u; it has bounds, crs, t"):
        open_zarr(tmp_path, "g", variables=["u"])


def test_zip_archive(tmp_path, values):
    dataset(values).to_zarr(tmp_path / "a", zarr_format=3, consolidated=False)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for file in (tmp_path / "a").rglob("*"):
            archive.write(file, file.relative_to(tmp_path / "a"))
    ds = open_zarr(tmp_path / "a.zip")
    np.testing.assert_array_equal(ds.t.data.compute().asnumpy(), values)
    assert ds.bounds.values.shape == (24, 2)


PACKINGS = {
    "int16": ("i2", {"scale_factor": 0.01, "add_offset": 270.0, "_FillValue": -999}),
    "uint8": ("u1", {"scale_factor": 0.5, "_FillValue": 255, "missing_value": 254}),
    "unsigned": ("i1", {"_Unsigned": "true", "scale_factor": 0.5, "_FillValue": -1}),
    "fills only": ("i2", {"_FillValue": -999}),
    "float fill": ("f4", {"missing_value": 64.0}),
    "int32": ("i4", {"scale_factor": 1e-4, "_FillValue": -(2**31)}),
    "huge offset": ("i2", {"scale_factor": 0.01, "add_offset": 1e7}),
}


@pytest.mark.parametrize("name", PACKINGS)
@pytest.mark.filterwarnings("ignore:.*multiple fill values")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_packed_variables_are_xarrays(tmp_path, name, zarr_format):
    dtype, attrs = PACKINGS[name]
    raw = np.random.default_rng(1).integers(-100, 120, (20, 5)).astype(dtype)
    for value in (attrs.get("_FillValue"), attrs.get("missing_value")):
        if value is not None:
            raw.flat[:: 7 if value == attrs.get("_FillValue") else 11] = value
    attrs = dict(attrs)
    fill = attrs.pop("_FillValue", None)
    group = zarr.create_group(tmp_path, zarr_format=zarr_format)
    array = group.create_array(
        "p",
        shape=raw.shape,
        chunks=(6, 5),
        dtype=raw.dtype,
        fill_value=fill if zarr_format == 2 else 0,
        dimension_names=("y", "x") if zarr_format == 3 else None,
        attributes=attrs,
    )
    array[...] = raw
    if zarr_format == 2:
        array.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
    elif fill is not None:
        array.attrs["_FillValue"] = xr.backends.zarr.FillValueCoder.encode(
            np.asarray(fill, dtype)[()], np.dtype(dtype)
        )
    expected = xr.open_zarr(tmp_path, chunks=None, consolidated=False).p
    found = open_zarr(tmp_path).p
    wide = name in ("int32", "huge offset")
    assert found.dtype == (np.float64 if wide else np.float32)
    assert found.data._meta.dtype == found.dtype
    assert found.attrs == expected.attrs
    got = found.data.compute().asnumpy()
    assert got.dtype == found.dtype
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected.values))
    largest = np.nanmax(np.abs(expected.values))
    np.testing.assert_allclose(got, expected.values, rtol=0, atol=2e-7 * largest)


def test_no_such_store_or_group(tmp_path, values):
    with pytest.raises(InputError, match="no such store"):
        open_zarr(tmp_path / "nothing")
    zarr.create_array(store=tmp_path / "b", data=values)
    with pytest.raises(InputError, match=r"no Zarr group.*from_zarr"):
        open_zarr(tmp_path / "b")


def test_what_is_no_store_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "file.zip").write_text("x")
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("file", "it is a file; give the folder"),
        ("file.zip", "it is a file, but no zip archive"),
        ("folder.zip", "it is a folder"),
        ("empty", "it is an empty folder"),
        ("nothing.zip", "no such store"),
    ):
        with pytest.raises(InputError, match=message):
            open_zarr(tmp_path / name)


def test_a_calendar_that_cannot_be_decoded(tmp_path, values):
    ds = dataset(values).drop_vars("bounds")
    ds = ds.assign_coords(time=("time", np.arange(24), {"units": "days since 2000-01-01"}))
    ds.time.attrs["calendar"] = "lunar"
    ds.to_zarr(tmp_path, zarr_format=3, consolidated=False)
    with pytest.raises(InputError, match=r"array time: xarray cannot decode it: .*lunar"):
        open_zarr(tmp_path)


def test_a_damaged_coordinate(store):
    chunk = next(
        path for path in (store / "lat").rglob("*") if path.is_file() and path.name in ("0",)
    )
    chunk.write_bytes(chunk.read_bytes()[:4])
    message = r"array lat: chunk \(0,\) \((c/)?0\) is truncated or corrupt"
    with pytest.raises(InputError, match=message):
        open_zarr(store)


def test_an_unfinished_group_is_refused(tmp_path, values):
    dataset(values).to_zarr(tmp_path, zarr_format=3, consolidated=False)
    zarr.open_group(tmp_path, mode="r+").attrs[COMPLETE] = False
    with pytest.raises(InputError, match="not finished"):
        open_zarr(tmp_path)

"""Reading and writing on a cluster."""

from __future__ import annotations

import sys

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from distributed import wait

from daskasc.array import AscendArray
from daskasc.errors import InputError
from daskasc.io import from_zarr, open_zarr, to_zarr


@pytest.fixture
def cards(client4):
    """The cluster's scheduler by name, as a user may set it."""
    with dask.config.set(scheduler=client4):
        yield client4


@pytest.fixture
def values():
    return np.random.default_rng(7).normal(size=(24, 6, 8)).astype("float32")


def test_chunks_are_read_on_the_cards_and_written_from_there(cards, tmp_path, values):
    to_zarr(da.from_array(values, chunks=(3, 6, 8)), tmp_path / "a", "t")
    x = from_zarr(tmp_path / "a", "t")
    assert type(x._meta) is AscendArray
    y = (x * 2).persist()
    wait(y, timeout=60)
    found = cards.run(_types, _flat(y.__dask_keys__()))
    assert {name for names in found.values() for name in names} == {"AscendArray"}
    to_zarr(y, tmp_path / "b", "t")
    written = zarr.open_array(tmp_path / "b", path="t", mode="r")
    np.testing.assert_array_equal(written[...], values * 2)
    assert dict(written.attrs) == {}
    mean = x.mean(axis=0)
    np.testing.assert_allclose(np.asarray(mean.compute()), values.mean(0), rtol=1e-5, atol=1e-6)


def test_a_damaged_chunk_reaches_the_client_by_name(cards, tmp_path, values):
    to_zarr(da.from_array(values, chunks=(3, 6, 8)), tmp_path, "t")
    chunk = tmp_path / "t" / "c" / "5" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:10])
    with pytest.raises(InputError, match=r"array t: chunk \(5, 0, 0\)"):
        from_zarr(tmp_path, "t").sum().compute()


def test_xarray_is_an_option(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r'pip install "daskasc\[xarray\]"'):
        open_zarr(tmp_path)


def _flat(keys):
    return [keys] if isinstance(keys, tuple) else [key for part in keys for key in _flat(part)]


def _types(keys, dask_worker=None):
    return [type(dask_worker.data[key]).__name__ for key in keys if key in dask_worker.data]

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import zarr

from daskasc.errors import InputError, UnsupportedDTypeError
from daskasc.io import from_zarr, to_zarr
from daskasc.io._stores import COMPLETE


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("on_card", [True, False])
def test_round_trip(tmp_path, values, zarr_format, on_card):
    x = da.from_array(values, chunks=(10, 6, 4))
    if on_card:
        to_zarr(x, tmp_path / "a", "t")
        x = from_zarr(tmp_path / "a", "t")
    assert to_zarr(x * 2, tmp_path / "b", "g/t", zarr_format=zarr_format) is None
    array = zarr.open_array(tmp_path / "b", path="g/t", mode="r")
    np.testing.assert_array_equal(array[...], values * 2)
    assert array.chunks == (10, 6, 4)
    assert array.metadata.zarr_format == zarr_format
    assert dict(array.attrs) == {}


@pytest.mark.parametrize("dtype", ["?", "i2", "u1", "i8", "f8", "c8"])
def test_dtypes(tmp_path, dtype):
    values = (np.arange(12) % 3).astype(dtype)
    to_zarr(da.from_array(values, chunks=5), tmp_path, "t")
    np.testing.assert_array_equal(zarr.open_array(tmp_path, path="t", mode="r")[...], values)


def test_shards(tmp_path, values):
    x = da.from_array(values, chunks=(8, 6, 8))
    to_zarr(x, tmp_path, "t", chunks=(2, 3, 4), shards=(8, 6, 8))
    array = zarr.open_array(tmp_path, path="t", mode="r")
    assert (array.chunks, array.shards) == ((2, 3, 4), (8, 6, 8))
    np.testing.assert_array_equal(array[...], values)
    with pytest.raises(InputError, match="no multiple of the chunks"):
        to_zarr(x, tmp_path, "u", chunks=(3, 6, 8), shards=(8, 6, 8))
    with pytest.raises(InputError, match="shards need zarr_format=3"):
        to_zarr(x, tmp_path, "u", shards=(8, 6, 8), zarr_format=2)


def test_scalars(tmp_path):
    to_zarr(da.from_array(np.float32(3)), tmp_path, "t")
    assert zarr.open_array(tmp_path, path="t", mode="r")[...] == 3


@pytest.mark.parametrize(
    ("x_chunks", "chunks", "message"),
    [
        ((10, 6, 8), (4, 6, 8), r"at 10\) lies inside a Zarr chunk of 4.*rechunk\(\{0: 8\}"),
        (((9, 3, 12), 6, 8), None, r"\(9, 3, 12\), Zarr chunks are all equal.* with 3 along"),
        ((8, 6, 8), (8, 6), "give 3 positive integers"),
        ((8, 6, 8), (0, 6, 8), "give 3 positive integers"),
    ],
)
def test_misaligned_chunks_are_refused_before_writing(tmp_path, values, x_chunks, chunks, message):
    x = da.from_array(values, chunks=x_chunks)
    with pytest.raises(InputError, match=message):
        to_zarr(x, tmp_path / "a", "t", chunks=chunks)
    assert not (tmp_path / "a").exists()


def test_irregular_chunks_with_fitting_zarr_chunks(tmp_path, values):
    x = da.from_array(values, chunks=((9, 3, 12), 6, 8))
    to_zarr(x, tmp_path, "t", chunks=(3, 6, -1))
    np.testing.assert_array_equal(zarr.open_array(tmp_path, path="t", mode="r")[...], values)


def test_existing_data_are_kept_unless_told(tmp_path, values):
    x = da.from_array(values)
    to_zarr(x, tmp_path, "t")
    with pytest.raises(InputError, match="overwrite=True"):
        to_zarr(x + 1, tmp_path, "t")
    np.testing.assert_array_equal(zarr.open_array(tmp_path, path="t", mode="r")[...], values)
    to_zarr(x + 1, tmp_path, "t", overwrite=True)
    np.testing.assert_array_equal(zarr.open_array(tmp_path, path="t", mode="r")[...], values + 1)


def test_a_writer_that_fails_leaves_the_mark(tmp_path, values):
    def fail(block, block_id=None):
        if block_id == (1, 0, 0):
            raise OSError("disk full")
        return block

    x = da.from_array(values, chunks=(8, 6, 8)).map_blocks(fail, dtype=values.dtype)
    with pytest.raises(OSError, match="disk full"):
        to_zarr(x, tmp_path, "t")
    assert zarr.open_array(tmp_path, path="t", mode="r").attrs[COMPLETE] is False
    with pytest.raises(InputError, match="not finished"):
        from_zarr(tmp_path, "t")


def test_lazy_writing(tmp_path, values):
    x = da.from_array(values, chunks=(8, 6, 8))
    done = to_zarr(x, tmp_path, "t", compute=False)
    assert done.shape == ()
    with pytest.raises(InputError, match="not finished"):
        from_zarr(tmp_path, "t")
    assert done.compute()
    np.testing.assert_array_equal(zarr.open_array(tmp_path, path="t", mode="r")[...], values)


def test_what_cannot_be_written(tmp_path, values):
    x = da.from_array(values)
    with pytest.raises(UnsupportedDTypeError, match="<U1"):
        to_zarr(da.from_array(np.array(["a"])), tmp_path, "t")
    with pytest.raises(InputError, match="archive"):
        to_zarr(x, tmp_path / "a.zip", "t")
    with pytest.raises(InputError, match="allowed: 2, 3"):
        to_zarr(x, tmp_path, "t", zarr_format=1)
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        to_zarr(x[x > 0], tmp_path, "t")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be created"):
        to_zarr(x, tmp_path / "file" / "a", "t")

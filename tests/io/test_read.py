from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore, MemoryStore, ZipStore

from daskasc.array import AscendArray
from daskasc.errors import InputError, UnsupportedDTypeError
from daskasc.io import from_zarr
from daskasc.io._read import zarr_source
from daskasc.io._source import ZarrSource
from daskasc.io._stores import COMPLETE, store_ref

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "f2", "f4", "f8", "c8", "c16"]


def save(store, values, path="t", chunks=(5, 6, 4), **options):
    array = zarr.create_array(
        store=store,
        name=path,
        shape=values.shape,
        chunks=chunks,
        dtype=values.dtype,
        overwrite=True,
        **options,
    )
    array[...] = values
    return array


def host(x):
    """Compute, asserting that meta and chunks are on the card."""
    assert type(x._meta) is AscendArray
    chunk = x.compute()
    return chunk.asnumpy() if isinstance(chunk, AscendArray) else chunk


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["str", "path", "local", "memory", "address"])
def test_round_trip_of_stores(tmp_path, values, zarr_format, kind):
    target = {
        "str": lambda: str(tmp_path / "a"),
        "path": lambda: tmp_path / "a",
        "local": lambda: LocalStore(tmp_path / "a"),
        "memory": MemoryStore,
        "address": lambda: f"memory://{tmp_path}/a",
    }[kind]()
    save(target, values, "group/t", zarr_format=zarr_format)
    x = from_zarr(target, "group/t")
    assert x.chunks == ((5, 5, 5, 5, 4), (6,), (4, 4))
    assert x.dtype == np.float32
    np.testing.assert_array_equal(host(x), values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(tmp_path, dtype):
    values = (np.arange(12).reshape(3, 4) % 3).astype(dtype)
    save(tmp_path, values, chunks=(2, 4))
    x = from_zarr(tmp_path, "t")
    assert x.dtype == values.dtype
    np.testing.assert_array_equal(host(x), values)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", [">f4", ">i2", ">c16"])
def test_big_endian_becomes_native(tmp_path, values, dtype, zarr_format):
    stored = (values.real * 100).astype(dtype)
    save(tmp_path, stored, zarr_format=zarr_format)
    x = from_zarr(tmp_path, "t")
    assert x.dtype.isnative
    np.testing.assert_array_equal(host(x), stored)


def test_zip_archive_and_zarr_array(tmp_path, values):
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        save_once = zarr.create_array(store=store, name="t", data=values, chunks=(6, 6, 8))
        assert save_once.shape == values.shape
    np.testing.assert_array_equal(host(from_zarr(tmp_path / "a.zip", "t")), values)
    array = save(tmp_path / "b", values)
    np.testing.assert_array_equal(host(from_zarr(array)), values)


def test_shards_are_the_default_chunks(tmp_path, values):
    save(tmp_path, values, chunks=(2, 3, 4), shards=(8, 6, 8))
    x = from_zarr(tmp_path, "t")
    assert x.chunks == ((8, 8, 8), (6,), (8,))
    np.testing.assert_array_equal(host(x), values)


def test_missing_chunks_are_fill_values(tmp_path):
    zarr.create_array(
        store=tmp_path, name="t", shape=(4,), chunks=(2,), dtype="f4", fill_value=-9.0
    )[:2] = 1.0
    np.testing.assert_array_equal(host(from_zarr(tmp_path, "t")), [1, 1, -9, -9])


def test_scalars_and_empty_arrays(tmp_path):
    zarr.create_array(store=tmp_path, name="s", shape=(), dtype="f8")[...] = 2.5
    zarr.create_array(store=tmp_path, name="e", shape=(0, 3), chunks=(1, 3), dtype="f8")
    assert host(from_zarr(tmp_path, "s")) == 2.5
    assert host(from_zarr(tmp_path, "e")).shape == (0, 3)


@pytest.mark.parametrize(
    "index",
    [
        np.s_[3:17],
        np.s_[::-1],
        np.s_[20:2:-3, 1, ::2],
        np.s_[4],
        np.s_[-1, ..., -2],
        np.s_[5:5],
        np.s_[:, 2:4, 3],
    ],
)
def test_slices(tmp_path, values, index):
    save(tmp_path, values)
    np.testing.assert_array_equal(host(from_zarr(tmp_path, "t")[index]), values[index])
    source = zarr_source(store_ref(tmp_path), "t")
    np.testing.assert_array_equal(source[index].asnumpy(), values[index])


def test_only_the_chunks_of_a_slice_are_read(tmp_path, values, monkeypatch):
    save(tmp_path, values)
    read = []
    real = ZarrSource._read
    monkeypatch.setattr(
        ZarrSource, "_read", lambda self, part, out: (read.append(part[0]), real(self, part, out))
    )
    np.testing.assert_array_equal(host(from_zarr(tmp_path, "t")[6:11, :, :4]), values[6:11, :, :4])
    assert sorted(part.start for part in read) == [5, 10]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ((10, -1, 4), ((10, 10, 4), (6,), (4, 4))),
        ({0: 15}, ((15, 9), (6,), (4, 4))),
        (-1, ((24,), (6,), (8,))),
        ("auto", ((24,), (6,), (8,))),
    ],
)
def test_chunks_may_be_multiples(tmp_path, values, chunks, expected):
    save(tmp_path, values)
    x = from_zarr(tmp_path, "t", chunks=chunks)
    assert x.chunks == expected
    np.testing.assert_array_equal(host(x), values)


def test_chunks_that_cut_stored_chunks_are_refused(tmp_path, values):
    save(tmp_path, values)
    with pytest.raises(InputError, match=r"chunks of 7 along axis 0 cut .* of 5.* 5 or 10"):
        from_zarr(tmp_path, "t", chunks=(7, 6, 4))
    with pytest.raises(InputError, match="do not fit shape"):
        from_zarr(tmp_path, "t", chunks=(5, 6))


def test_names_are_deterministic_and_follow_the_metadata(tmp_path, values, monkeypatch):
    save(tmp_path / "a", values)
    first = from_zarr(tmp_path / "a", "t")
    monkeypatch.chdir(tmp_path)
    assert from_zarr("a", "t").name == first.name
    assert from_zarr("a", "t", chunks=-1).name != first.name
    save("a", values, chunks=(4, 6, 8))
    assert from_zarr("a", "t").name != first.name


def test_the_graph_is_small_and_imports_no_torch(tmp_path, values):
    save(tmp_path, values)
    source = zarr_source(store_ref(tmp_path), "t")
    data = pickle.dumps(source)
    assert len(data) < 1500
    code = f"import pickle, sys; pickle.loads({data!r}); assert 'torch' not in sys.modules"
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )


def test_memory_stores_stay_in_their_process(values):
    store = MemoryStore()
    save(store, values)
    source = zarr_source(store_ref(store), "t")
    with pytest.raises(InputError, match="memory of this process"):
        pickle.dumps(source)


def test_missing_stores_and_arrays(tmp_path, values):
    with pytest.raises(InputError, match=r"no such store: .*nothing"):
        from_zarr(tmp_path / "nothing", "t")
    save(tmp_path, values)
    with pytest.raises(InputError, match="no such array: u; the store has t"):
        from_zarr(tmp_path, "u")
    with pytest.raises(InputError, match=r"no array at its root; name one as component.* t"):
        from_zarr(tmp_path)
    with pytest.raises(InputError, match="store is a float"):
        from_zarr(3.5)


def test_dtypes_without_a_form_on_the_card(tmp_path):
    zarr.create_array(store=tmp_path, name="t", shape=(2,), chunks=(2,), dtype="M8[s]")
    with pytest.raises(UnsupportedDTypeError, match="datetime64"):
        from_zarr(tmp_path, "t")


@pytest.mark.parametrize("codec", ["zstd", "none"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_truncated_chunk_is_named(tmp_path, values, zarr_format, codec):
    options = {} if codec == "zstd" else {"compressors": None}
    save(tmp_path, values, zarr_format=zarr_format, **options)
    name = "t/c/2/0/1" if zarr_format == 3 else "t/2.0.1"
    damaged = tmp_path / name
    damaged.write_bytes(damaged.read_bytes()[:-30])
    x = from_zarr(tmp_path, "t", chunks=(15, 6, 8))
    with pytest.raises(InputError, match=r"array t: chunk \(2, 0, 1\) \(.*2.0.1\) is truncated"):
        x.compute()
    np.testing.assert_array_equal(host(x[15:]), values[15:])


def test_an_unfinished_array_is_refused(tmp_path, values):
    array = save(tmp_path, values)
    array.attrs[COMPLETE] = False
    with pytest.raises(InputError, match="writing it was not finished"):
        from_zarr(tmp_path, "t")


def test_damaged_metadata(tmp_path, values):
    save(tmp_path, values)
    (tmp_path / "t" / "zarr.json").write_text("{")
    with pytest.raises(InputError, match=r"zarr\.json"):
        from_zarr(tmp_path, "t")

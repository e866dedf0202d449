"""The class's own protocols: conversion, pickling, containers, namespaces, accounts, errors."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
import torch

import daskasc.array as xp
from daskasc import _handoff, device
from daskasc.array import AscendArray, asnumpy, from_numpy
from daskasc.array import _dispatch as dispatch
from daskasc.errors import (
    HostConversionError,
    HostCopyWarning,
    HostFallbackWarning,
    UnsupportedDTypeError,
)
from tests.programs import environment

ROOT = Path(__file__).parents[2]


@pytest.fixture
def x() -> AscendArray:
    return from_numpy(np.arange(6.0).reshape(2, 3))


def test_conversion_is_explicit(x: AscendArray) -> None:
    for convert in (np.asarray, np.array, lambda a: np.zeros((2, 3)).__setitem__(..., a)):
        with pytest.raises(HostConversionError, match=r"\.asnumpy\(\)"):
            convert(x)
    np.testing.assert_array_equal(asnumpy(x), np.arange(6.0).reshape(2, 3))
    with dask.config.set({"daskasc.host-conversion": "warn"}), pytest.warns(HostCopyWarning):
        np.asarray(x)
    before = device.counters.snapshot()["host_copies"]
    with dask.config.set({"daskasc.host-conversion": "allow"}):
        assert np.asarray(x, dtype="f4").dtype == np.float32
    assert device.counters.snapshot()["host_copies"] == before + 1


def test_construction() -> None:
    assert AscendArray((2, 3), dtype="f4").shape == (2, 3)
    assert AscendArray([], dtype="i2").shape == ()
    with pytest.raises(TypeError, match="takes a torch tensor"):
        AscendArray(np.ones(2))
    with pytest.raises(UnsupportedDTypeError, match="float8"):
        AscendArray(torch.empty(1, dtype=torch.float8_e5m2))


def test_attributes(x: AscendArray) -> None:
    assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize) == ((2, 3), 2, 6, 48, 8)
    assert x.dtype == np.float64
    assert x.strides == (24, 8)
    assert x.T.shape == (3, 2)
    assert x.flags["C_CONTIGUOUS"]
    assert x.T.flags["F_CONTIGUOUS"]
    assert isinstance(x.tensor, torch.Tensor)
    assert x.backend is device.current()
    assert "AscendArray" in repr(x)
    assert (x.real is x, x.imag.sum().item()) == (True, 0)


def test_scalars() -> None:
    one = from_numpy(np.array(2))
    assert (float(one), int(one), complex(one), operator.index(one)) == (2.0, 2, 2 + 0j, 2)
    assert bool(from_numpy(np.array([True])))
    assert one.item() == 2
    assert f"{one:03d}" == "002"
    for convert, value, error in (
        (float, np.ones(2), TypeError),
        (operator.index, np.array(1.0), TypeError),
        (bool, np.ones(2), ValueError),
        (bool, np.ones(0), ValueError),
        (len, np.array(1), TypeError),
        (iter, np.array(1), TypeError),
    ):
        with pytest.raises(error):
            convert(from_numpy(value))
    with pytest.raises(TypeError):
        hash(one)


def test_containers(x: AscendArray) -> None:
    assert len(x) == 2
    assert [row.shape for row in x] == [(3,), (3,)]
    assert 5 in x
    assert 9 not in x
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not (x == None).any()  # noqa: E711
    assert None not in x
    assert copy.deepcopy(x).tensor.data_ptr() != x.tensor.data_ptr()


def test_methods(x: AscendArray) -> None:
    assert x.sum().item() == 15
    assert x.mean(axis=0).tolist() == [1.5, 2.5, 3.5]
    assert x.reshape(3, 2).shape == x.reshape((3, -1)).shape == (3, 2)
    assert x.transpose(1, 0).shape == x.transpose().shape == (3, 2)
    assert x.clip(1, 2).max().item() == 2
    assert x.argmax().item() == 5
    assert x.flatten().shape == x.ravel().shape == (6,)
    x.fill(3)
    assert (x == 3).all()
    y = from_numpy(np.array([3, 1, 2]))
    y.sort()
    assert y.tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="safe"):
        x.astype("i4", casting="safe")
    assert x.astype("f8", copy=False) is x


def test_other_types_get_their_turn(x: AscendArray) -> None:
    class Other:
        __array_ufunc__ = None

        def __radd__(self, other: object) -> str:
            return "mine"

    assert x + Other() == "mine"
    lazy = da.ones((2, 3), chunks=2)
    assert isinstance(x + lazy, da.Array)
    assert isinstance(np.add(x, lazy), da.Array)
    with pytest.raises(TypeError):
        x + object()


def test_namespace(x: AscendArray) -> None:
    assert x.__array_namespace__() is xp
    assert xp.sum(x).item() == 15
    assert xp.zeros((2, 2)).dtype == np.float64
    assert xp.asarray([1, 2], dtype="f4").dtype == np.float32
    assert xp.arange(3).tolist() == [0, 1, 2]
    assert xp.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    assert xp.full((2,), math.pi, dtype="i4").tolist() == [3, 3]
    assert xp.astype(x, "i2").dtype == np.int16
    assert xp.float32 is np.float32
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = xp.nothing
    with pytest.raises(UnsupportedDTypeError, match="Convert it first"):
        xp.zeros(2, dtype="U3")


def test_creation_like(x: AscendArray) -> None:
    for make in (
        lambda: np.asarray([1, 2], like=x),
        lambda: np.array([1, 2], dtype="f4", like=x),
        lambda: np.zeros(3, like=x),
        lambda: np.ones((2, 1), dtype="i4", like=x),
        lambda: np.full(2, 5, like=x),
        lambda: np.empty((0, 2), like=x),
        lambda: np.arange(4, like=x),
        lambda: np.eye(3, like=x),
        lambda: np.asarray(x, like=x),
    ):
        assert isinstance(make(), AscendArray)


def test_fallback_is_said_once_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    dispatch.forget_warnings()
    monkeypatch.delitem(dispatch.TABLE, np.rot90)
    x = from_numpy(np.ones((2, 3)))
    with pytest.warns(HostFallbackWarning, match=r"numpy\.rot90"):
        first = np.rot90(x)
    np.rot90(x)  # a second warning would be an error
    assert isinstance(first, AscendArray)


def test_fallback_writes_into_its_first_argument() -> None:
    x = from_numpy(np.zeros(3))
    with dask.config.set({"daskasc.fallback": "silent"}):
        np.put(x, [0, 2], [5, 6])
        np.add.at(x, [0, 0], 1)
    assert x.tolist() == [7, 0, 6]


def test_pickle_without_a_card(x: AscendArray) -> None:
    back = pickle.loads(pickle.dumps(x))
    assert isinstance(back, AscendArray)
    assert back.tolist() == x.tolist()


@pytest.mark.usefixtures("stand_in")
def test_pickle_from_a_card_gives_numpy_elsewhere(x: AscendArray) -> None:
    frames = pickle.dumps(x)
    assert isinstance(pickle.loads(frames), AscendArray)
    device.detach()
    assert isinstance(pickle.loads(frames), np.ndarray)


@pytest.mark.usefixtures("stand_ins_only")  # on the host, as in a client
def test_placeholder_in_a_process_without_torch(x: AscendArray, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(pickle.dumps(x))
    code = (
        "import pickle, sys\n"
        f"folder = {str(tmp_path)!r}\n"
        "chunk = pickle.load(open(folder + '/in', 'rb'))\n"
        "assert 'torch' not in sys.modules\n"
        "assert type(chunk).__name__ == 'HostChunk', type(chunk)\n"
        "assert (chunk.shape, chunk.nbytes) == ((2, 3), 48)\n"
        "pickle.dump(chunk, open(folder + '/out', 'wb'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    back = pickle.loads((tmp_path / "out").read_bytes())
    assert isinstance(back, AscendArray)
    assert back.tolist() == x.tolist()
    assert isinstance(_handoff.rebuild(np.ones(2), True), np.ndarray)


@pytest.mark.usefixtures("quiet_fallback")
def test_tables_are_safe_under_threads(card_kind: str) -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for dtype in ("i1", "f4", "f8", "u2", "c8"):
                a = from_numpy(np.ones(4, dtype))
                assert (np.hypot(a.real, a.real) + a * a - a / 2).shape == (4,)
        except BaseException as error:
            errors.append(error)

    device.detach()
    device.attach(card_kind, 0)  # tables are empty now
    if card_kind == "cpu":
        device.detach()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors


def test_dask_keeps_the_chunk_type() -> None:
    host = np.random.default_rng(0).normal(size=(12, 10))
    x = da.from_array(host, chunks=(5, 4)).map_blocks(from_numpy)
    assert type(x._meta) is AscendArray
    cases = {
        "sum": (x.sum(axis=0), host.sum(axis=0)),
        "mean": (x.mean(), host.mean()),
        "std": (x.std(axis=1), host.std(axis=1)),
        "var": (x.var(ddof=1), host.var(ddof=1)),
        "max": (x.max(axis=0), host.max(axis=0)),
        "argmax": (x.argmax(axis=0), host.argmax(axis=0)),
        "T": (x + x.T[:1, :1], host + host.T[:1, :1]),
        "slice": (x[::-1, 2:7:2], host[::-1, 2:7:2]),
        "fancy": (x[:, [1, 5, 2]], host[:, [1, 5, 2]]),
        "where": (da.where(x > 0, x, 0), np.where(host > 0, host, 0)),
        "rechunk": (x.rechunk((12, 3)), host),
        "matmul": (x @ x.T, host @ host.T),
        "cumsum": (x.cumsum(axis=0), host.cumsum(axis=0)),
        "percentile": (da.median(x, axis=0), np.median(host, axis=0)),
        "concatenate": (da.concatenate([x, x]), np.concatenate([host, host])),
        "overlap": (
            x.map_overlap(lambda b: b, depth=1, boundary="reflect"),
            host,
        ),
        "nanmean": (da.nanmean(x, axis=0), np.nanmean(host, axis=0)),
        "tensordot": (da.tensordot(x, x, axes=([0], [0])), np.tensordot(host, host, ([0], [0]))),
    }
    with dask.config.set({"daskasc.fallback": "error", "scheduler": "synchronous"}):
        for name, (lazy, expected) in cases.items():
            found = lazy.compute()
            assert type(found) is AscendArray, name
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12, err_msg=name)
            assert type(lazy._meta) is AscendArray, f"{name}: meta is {type(lazy._meta)}"


def test_zero_dimensions() -> None:
    one = from_numpy(np.array(2.0))
    for result in (
        one.T,
        one.transpose(),
        one.ravel()[0],
        one.reshape(()),
        np.moveaxis(one, (), ()),
    ):
        assert result.shape == ()
    for function in (np.sum, np.median, np.max, np.std, np.argmax, np.cumsum, np.sort, np.unique):
        with dask.config.set({"daskasc.fallback": "silent"}):
            try:
                expected = function(np.array(2.0))
            except np.exceptions.AxisError:
                continue
            assert function(one).tolist() == expected.tolist()


@pytest.mark.usefixtures("no_fallback")
def test_imaginary_parts_are_set_and_real_arrays_are_their_own_conjugates() -> None:
    host = np.array([1 + 2j, 3 - 1j])
    card = from_numpy(host)
    card.imag += 1
    host.imag += 1
    np.testing.assert_array_equal(card.asnumpy(), host)
    for dtype in ("?", "i4", "f4", "c8"):
        real = np.ones(2, dtype)
        assert from_numpy(real).conj().dtype == real.conj().dtype
    with pytest.raises(TypeError, match="imaginary"):
        from_numpy(np.ones(2)).imag = 1

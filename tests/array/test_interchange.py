"""Arrays to and from NumPy, torch, DLPack, pickles and files."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import daskasc.array as da
from daskasc import device
from daskasc.array import AscendArray, from_numpy
from daskasc.errors import UnsupportedDTypeError

from .reference import DTYPES, data

ALL = [*DTYPES, ml_dtypes.bfloat16]


def sample(dtype: Any) -> Any:
    """Awkward values of a dtype."""
    return data("f4").astype(dtype) if dtype is ml_dtypes.bfloat16 else data(dtype)


def same_bits(one: Any, other: Any) -> bool:
    """Whether two NumPy arrays have the same elements, NaN included."""
    return bool(one.dtype == other.dtype and one.tobytes() == other.tobytes())


def same_memory(one: Any, other: Any) -> bool:
    return bool(one.data_ptr() == other.data_ptr())


def place() -> Any:
    return device.current().torch_device


# -- NumPy


@pytest.mark.parametrize("dtype", ALL)
def test_down_into_an_array_and_behind_the_caller(dtype: Any) -> None:
    host = sample(dtype)
    x = from_numpy(host, blocking=False)
    out = np.zeros((5, 8), host.dtype)[:, ::2].T
    assert x.asnumpy(out) is out
    assert same_bits(out, host)
    transfer = x.T.asnumpy(blocking=False)
    assert isinstance(transfer, device.Transfer)
    assert same_bits(transfer.result(), host.T)
    out[...] = 0
    transfer = da.asnumpy(x, out, blocking=False)
    transfer.synchronize()
    assert transfer.result() is out
    assert same_bits(out, host)
    da.synchronize()


def test_down_refuses_arrays_that_do_not_fit() -> None:
    x = from_numpy(np.arange(3.0))
    with pytest.raises(ValueError, match="out has shape"):
        x.asnumpy(np.zeros(4))
    with pytest.raises(ValueError, match="dtype float32"):
        x.asnumpy(np.zeros(3, "f4"))
    with pytest.raises(TypeError, match="NumPy array"):
        x.asnumpy([0, 0, 0])
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x.asnumpy(fixed)
    assert x.asnumpy(np.zeros(3, ">f8")).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["?", "f4", "f8", "u8", "c16", ">i4", "Q"])
def test_axes_of_one_element_have_any_strides(dtype: str) -> None:
    whole = np.arange(24).astype(dtype).reshape(2, 3, 4)
    odd = np.frombuffer(b"\0" + np.ones(1, "f4").tobytes(), "f4", offset=1)
    fields = np.zeros(1, "u1,f8")["f1"]
    for host in (whole[::-1, :1, :1][:1], whole[:1, 1:2, ::-1][..., :1].T, odd, fields):
        for blocking in (True, False):
            x = from_numpy(host, blocking=blocking)
            np.testing.assert_array_equal(x.asnumpy(), host)


def test_asnumpy_of_host_data() -> None:
    assert da.asnumpy([1, 2], blocking=False).result().tolist() == [1, 2]
    out = np.zeros(2)
    assert da.asnumpy([1, 2], out) is out
    assert out.tolist() == [1, 2]


@pytest.mark.parametrize("blocking", [True, False])
def test_the_source_may_change_after_an_upload(blocking: bool) -> None:
    source = np.arange(4.0)
    x = from_numpy(source, blocking=blocking)
    source[:] = 9
    assert x.tolist() == [0, 1, 2, 3]


SOURCES = {
    "float64": np.arange(6.0).reshape(2, 3),
    "float16": np.arange(6, dtype="f2").reshape(2, 3),
    "row": np.arange(3, dtype="f4"),
    "number": 2,
    "list": [[1, 2, 3], [4, 5, 6]],
    "longer shape": np.ones((1, 1, 2, 3)),
    "big-endian": np.arange(6, dtype=">f4").reshape(2, 3),
    "reversed": np.arange(6.0)[::-1].reshape(2, 3),
    "integers": np.arange(6, dtype="i2").reshape(2, 3),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("place", ["host", "card", "torch"])
def test_copy_from(name: str, place: str) -> None:
    source = SOURCES[name]
    expected = np.zeros((2, 3), "f4")
    np.copyto(expected, source, casting="same_kind")
    given = source
    if place != "host":
        given = from_numpy(np.asarray(source))
        given = given.tensor if place == "torch" else given
    for x in (da.zeros((2, 3), "f4"), da.zeros((3, 2), "f4").T, da.zeros((2, 6), "f4")[:, ::2]):
        address = x.tensor.data_ptr()
        x.copy_from(given)
        assert x.tensor.data_ptr() == address
        np.testing.assert_array_equal(x.asnumpy(), expected)


def test_copy_from_makes_no_memory_on_the_card(stand_in: device.Backend) -> None:
    x = da.zeros(100_000, "f4")
    other = da.ones(100_000, "f8")
    stand_in.reset_peak()
    used = stand_in.memory().used
    x.copy_from(np.arange(100_000.0))
    x.copy_from(other)
    assert stand_in.memory().peak == used
    assert bool((x == 1).all())


def test_copy_from_refuses(card_kind: str) -> None:
    x = da.zeros(3, "i4")
    for source in (np.ones(3), from_numpy(np.ones(3)), torch.ones(3)):
        with pytest.raises(TypeError, match="same_kind"):
            x.copy_from(source)
        x.copy_from(source, casting="unsafe")
        assert x.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="could not broadcast"):
        x.copy_from(np.ones(4, "i4"))
    with pytest.raises(ValueError, match="could not broadcast"):
        x.copy_from(from_numpy(np.ones(4, "i4")))
    with pytest.raises(ValueError, match=f"on meta; this process's card is {card_kind}"):
        x.copy_from(torch.ones(3, dtype=torch.int32, device="meta"))
    with pytest.raises(UnsupportedDTypeError):
        x.copy_from(np.array(["a"]))
    with pytest.raises(ValueError, match="negative step"):
        x[::-1].copy_from(np.ones(3, "i4"))


def test_copy_from_itself() -> None:
    x = from_numpy(np.arange(6.0))
    x[1:].copy_from(x[:-1])
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    square = from_numpy(np.arange(4.0).reshape(2, 2))
    square.copy_from(square.T)
    assert square.tolist() == [[0, 2], [1, 3]]


# -- torch


def test_torch_tensors_both_ways_without_a_copy() -> None:
    tensor = torch.arange(6.0, device=place()).reshape(2, 3)
    for array in (AscendArray(tensor), da.asarray(tensor), da.from_dlpack(tensor)):
        assert same_memory(array.tensor, tensor)
        array[0, 0] = 7
        assert tensor[0, 0] == 7
        tensor[0, 0] = 0
        assert array[0, 0].item() == 0
    if device.current().has_dlpack:
        assert same_memory(torch.from_dlpack(array), tensor)
        assert same_memory(torch.as_tensor(array), tensor)


def test_torch_tensors_lose_their_gradient_and_lazy_forms() -> None:
    leaf = torch.ones(2, requires_grad=True, device=place())
    assert not AscendArray(leaf).tensor.requires_grad
    assert not da.asarray(leaf).tensor.requires_grad
    lazy = torch.tensor([1 + 2j]).to(place()).conj()
    for array in (AscendArray(lazy), da.asarray(lazy), da.from_dlpack(lazy)):
        assert array.view("f4").tolist() == [1, -2]
        assert (array.imag + 0).tolist() == [-2]


@pytest.mark.parametrize("make", [AscendArray, da.asarray, da.from_dlpack])
def test_torch_tensors_elsewhere_are_refused(make: Any) -> None:
    own = re.escape(str(place()))
    with pytest.raises(ValueError, match=rf'on meta; .* card is {own}.*tensor.to\("{own}"\)'):
        make(torch.ones(2, device="meta"))
    with pytest.raises(TypeError, match="dense"):
        make(torch.eye(2).to_sparse())  # said before its place
    with pytest.raises(UnsupportedDTypeError, match="float8"):
        make(torch.ones(2).to(torch.float8_e5m2))


# -- DLPack


class Exporter:
    """Something else than torch and NumPy that speaks DLPack."""

    def __init__(self, tensor: torch.Tensor, where: tuple[int, int] | None = None) -> None:
        self._tensor = tensor
        self._where = where

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._where or self._tensor.__dlpack_device__()


@pytest.fixture
def dlpack() -> None:
    if not device.current().has_dlpack:
        pytest.skip("torch has no DLPack for these cards")


@pytest.mark.usefixtures("dlpack")
@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_shares_memory_both_ways(dtype: Any) -> None:
    host = data(dtype)
    for x in (from_numpy(host), from_numpy(host)[1:, ::2]):
        seen = np.from_dlpack(x)
        np.testing.assert_array_equal(seen, x.asnumpy())
        assert seen.__array_interface__["data"][0] == x.tensor.data_ptr()
        assert same_memory(torch.from_dlpack(x), x.tensor)
        assert same_memory(da.from_dlpack(Exporter(x.tensor)).tensor, x.tensor)
    back = da.from_dlpack(host)
    back[0, 0] = 1
    assert host[0, 0] == 1


def test_dlpack_copies_when_asked() -> None:
    x = from_numpy(np.arange(3.0))
    copies = [da.from_dlpack(x, copy=True), da.from_dlpack(x.asnumpy(), copy=True)]
    if device.current().has_dlpack:
        copies += [np.from_dlpack(x, copy=True), da.from_dlpack(Exporter(x.tensor), copy=True)]
    for copied in copies:
        copied[0] = 5
    assert x.tolist() == [0, 1, 2]
    same = da.from_dlpack(x, copy=False)
    assert same_memory(same.tensor, x.tensor)


UNSHARED = {
    "negative steps": np.arange(3.0)[::-1],
    "read-only": np.broadcast_to(np.float64(1), (3,)),
    "big-endian": np.arange(3, dtype=">f8"),
    "odd steps": np.zeros(3, "u1,f8")["f1"],
}


@pytest.mark.parametrize("name", UNSHARED)
def test_dlpack_of_host_memory_that_cannot_be_shared_is_a_copy(name: str) -> None:
    host = UNSHARED[name]
    x = da.from_dlpack(host)
    np.testing.assert_array_equal(x.asnumpy(), host)
    x[...] = 8
    assert not (host == 8).any()
    with pytest.raises(BufferError, match="cannot be shared"):
        da.from_dlpack(host, copy=False)


@pytest.mark.usefixtures("dlpack")
def test_dlpack_of_other_devices_is_refused() -> None:
    x = from_numpy(np.arange(3.0))
    with pytest.raises(BufferError, match=r"\(2, 0\) was asked for; the array is on"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="no streams"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"DLPack device \(2, 1\); this process's card is cpu"):
        da.from_dlpack(Exporter(x.tensor, (2, 1)))
    with pytest.raises(ValueError, match="'npu:0'"):
        da.from_dlpack(x, device="npu:0")
    with pytest.raises(TypeError, match="no __dlpack__"):
        da.from_dlpack([1, 2])
    assert da.from_dlpack(x, device=x.device).tolist() == [0, 1, 2]


def test_cards_without_dlpack_share_with_torch_only(monkeypatch: pytest.MonkeyPatch) -> None:
    x = from_numpy(np.arange(3.0))
    own = device.current()
    monkeypatch.setattr(own, "has_dlpack", False)
    with pytest.raises(BufferError, match=rf"no from_dlpack for {own.kind} cards"):
        da.from_dlpack(Exporter(torch.ones(2), (12, 0)))
    for export in (
        x.__dlpack__,
        x.__dlpack_device__,
        lambda: x.__dlpack__(dl_device=(12, 0)),
        lambda: torch.from_dlpack(x),
    ):
        with pytest.raises(BufferError, match=r"no DLPack for .*use \.tensor .* or \.asnumpy\(\)"):
            export()
    back = np.from_dlpack(x, device="cpu", copy=True)
    assert back.tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="only a copy to the host"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    assert da.from_dlpack(x.tensor).tolist() == [0, 1, 2]


def test_dlpack_of_the_host_is_copied_to_cards_that_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Npu:
        type, index = "npu", 0

        def __str__(self) -> str:
            return "npu:0"

    if device.current().kind == "cpu":
        monkeypatch.setattr(device.current(), "torch_device", Npu())
    with pytest.raises(BufferError, match="cannot be shared with npu:0"):
        da.from_dlpack(np.ones(2), copy=False)
    assert da.from_dlpack(Exporter(torch.ones(2))).tolist() == [1, 1]


def test_equal_dtypes_of_other_names_are_taken() -> None:
    # on 64-bit Linux long and longlong are equal; torch knows one of the unsigned two
    for letter in "qQlLpP":
        host = np.arange(3).astype(letter)
        for x in (from_numpy(host), from_numpy(host, blocking=False), da.from_dlpack(host)):
            assert x.dtype == host.dtype
            assert x.tolist() == [0, 1, 2]
        assert np.add(da.ones(3, "i8"), 3, dtype=letter, casting="unsafe").tolist() == [4] * 3
        assert from_numpy(host).asnumpy(np.zeros(3, letter)).tolist() == [0, 1, 2]


# -- pickle, copy, files


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("dtype", ALL)
def test_pickle(protocol: int, dtype: Any) -> None:
    x = from_numpy(sample(dtype)).T
    back = pickle.loads(pickle.dumps(x, protocol))
    assert isinstance(back, AscendArray)
    assert same_bits(back.asnumpy(), x.asnumpy())


def test_pickle_out_of_band() -> None:
    x = from_numpy(np.arange(10_000.0))
    buffers: list[pickle.PickleBuffer] = []
    small = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(small) < 1000
    assert sum(b.raw().nbytes for b in buffers) == x.nbytes
    read_only = [bytes(b.raw()) for b in buffers]
    back = pickle.loads(small, buffers=read_only)
    back[0] = 5
    assert back.tolist() == [5, *range(1, 10_000)]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_have_own_memory(duplicate: Any) -> None:
    x = from_numpy(np.arange(6).reshape(2, 3))
    for source in (x, x.T, x[:, ::-1]):
        made = duplicate(source)
        expected = source.tolist()
        made[...] = 0
        assert source.tolist() == expected
    nested = {"a": x, "b": [x]}
    found = copy.deepcopy(nested)
    assert found["a"] is found["b"][0]


def test_files(tmp_path: Path, no_fallback: None) -> None:
    x, y = from_numpy(np.arange(6.0).reshape(2, 3)), from_numpy(np.array([1, 2], "u2"))
    np.save(tmp_path / "x.npy", x)
    for mode in (None, "r", "c"):
        back = da.load(tmp_path / "x.npy", mmap_mode=mode)
        assert isinstance(back, AscendArray)
        np.testing.assert_array_equal(back.asnumpy(), x.asnumpy())
    for save in (np.savez, np.savez_compressed, da.savez):
        save(tmp_path / "xy.npz", x, y=y)
        found = da.load(tmp_path / "xy.npz")
        assert sorted(found) == ["arr_0", "y"]
        assert found["y"].dtype == np.uint16
        np.testing.assert_array_equal(found["arr_0"].asnumpy(), x.asnumpy())
    np.savetxt(tmp_path / "x.txt", x)
    np.testing.assert_array_equal(da.loadtxt(tmp_path / "x.txt").asnumpy(), x.asnumpy())
    np.savez(tmp_path / "names.npz", np.array(["a"]))
    assert da.load(tmp_path / "names.npz")["arr_0"].tolist() == ["a"]


def test_texts_are_no_fallback(no_fallback: None) -> None:
    x = from_numpy(np.arange(3))
    assert np.array2string(x) == "[0 1 2]"
    assert np.array_str(x) == "[0 1 2]"
    assert np.array_repr(x) == "array([0, 1, 2])"


def test_times_in_files_and_dlpack(tmp_path: Path, no_fallback: None) -> None:
    host = np.array(["2020-01-01", "NaT"], "M8[D]")
    x = da.asarray(host)
    np.save(tmp_path / "x.npy", x)
    assert da.load(tmp_path / "x.npy").asnumpy().tolist() == host.tolist()
    assert np.array2string(x) == np.array2string(host)
    with pytest.raises(BufferError, match="datetime64"):
        da.from_dlpack(x)

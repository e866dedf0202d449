"""Each statement of docs/semantics.md."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import ml_dtypes
import numpy as np
import pytest

import daskasc.array as da
from daskasc import device
from daskasc.array import AscendArray, from_numpy
from daskasc.errors import HostConversionError, HostFallbackError, UnsupportedDTypeError

PAGE = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text()

VIEWS: dict[str, Callable[[Any], Any]] = {
    "x[1:]": lambda x: x[1:],
    "x[:, ::2]": lambda x: x[:, ::2],
    "x[0]": lambda x: x[0],
    "x[..., None]": lambda x: x[..., None],
    "x[1:1:-1]": lambda x: x[1:1:-1],
    "x[0:1:-1]": lambda x: x[:1][::-1],
    "T": lambda x: x.T,
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 2),
    "reshape": lambda x: x.reshape(-1),
    "reshape gaps": lambda x: x[..., ::2].reshape(-1),
    "reshape part": lambda x: x[:, :2].reshape(2, -1),
    "reshape F": lambda x: x.T.reshape(-1, order="F"),
    "ravel": lambda x: x.ravel(),
    "ravel K": lambda x: x.T.ravel("K"),
    "view": lambda x: x.view("i8"),
    "real": lambda x: x.real,
    "diagonal": lambda x: x.diagonal(),
    "squeeze": lambda x: x[:1].squeeze(),
    "split": lambda x: np.split(x, 2)[1],
    "unstack": lambda x: np.unstack(x)[0],
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3, 4)),
    "atleast_3d": np.atleast_3d,
    "astype": lambda x: x.astype("f8", copy=False),
    "conj": lambda x: x.conj(),
    "sliding": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=2),
}
COPIES: dict[str, Callable[[Any], Any]] = {
    "T.reshape": lambda x: x.T.reshape(-1),
    "reshape part": lambda x: x[:, :2].reshape(-1),
    "ravel gaps": lambda x: x[..., ::2].ravel(),
    "T.ravel": lambda x: x.T.ravel(),
    "flat": lambda x: x.flat[1:3],
    "index": lambda x: x[[0, 1]],
    "mask": lambda x: x[x > 3],
    "copy": lambda x: x.copy(),
    "flatten": lambda x: x.flatten(),
    "astype": lambda x: x.astype("f8"),
    "imag": lambda x: x.imag,
}
OURS: dict[str, Callable[[Any], Any]] = {
    "x[::-1]": lambda x: x[::-1],
    "x[..., ::-2]": lambda x: x[..., ::-2],
    "flip": np.flip,
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "rot90": np.rot90,
    "rot90 k": lambda x: np.rot90(x, 2),
}


def shares(one: AscendArray, other: AscendArray) -> bool:
    pair = (one.tensor.untyped_storage(), other.tensor.untyped_storage())
    return bool(pair[0].data_ptr() == pair[1].data_ptr())


def pair() -> tuple[Any, Any]:
    host = np.arange(24.0).reshape(2, 3, 4)
    return host, from_numpy(host)


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    host, x = pair()
    found = VIEWS[name](x)
    assert np.shares_memory(VIEWS[name](host), host) or not found.size
    assert shares(found, x)


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str) -> None:
    host, x = pair()
    assert not np.shares_memory(COPIES[name](host), host)
    assert not shares(COPIES[name](x), x)


@pytest.mark.parametrize("name", OURS)
def test_copies_that_are_views_in_numpy(name: str) -> None:
    host, x = pair()
    assert np.shares_memory(OURS[name](host), host)
    found = OURS[name](x)
    assert not shares(found, x)
    assert not found.flags.writeable
    with pytest.raises(ValueError, match="NumPy would write into the original"):
        found[...] = 0
    found.copy()[...] = 0
    assert x.tolist() == host.tolist()


def test_the_page_lists_these_copies() -> None:
    table = PAGE.split("| expression | here |")[1].split("\n\n")[0]
    listed = set(re.findall(r"`(\w+)", table)) - {"x"}
    assert listed == {name.split()[0] for name in OURS if not name.startswith("x")}


def test_assigning_to_a_negative_step() -> None:
    host, x = pair()
    host[::-1] = host * 2
    x[::-1] = x * 2
    host[::-1, [0, 2]] += 1
    x[::-1, [0, 2]] += 1
    assert x.tolist() == host.tolist()


@pytest.mark.parametrize("error", [TypeError])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.lib.stride_tricks.as_strided(x, (2,), (8,)),
        np.nditer,
        np.require,
        np.asarray,
        memoryview,
        hash,
        lambda x: np.add(x, 1, out=np.zeros(x.shape)),
    ],
)
def test_refused(function: Any, error: Any) -> None:
    with pytest.raises(error):
        function(pair()[1])


def test_host_memory_is_refused_by_name() -> None:
    _, x = pair()
    with pytest.raises(HostConversionError, match=r"call \.asnumpy\(\)"):
        np.asarray(x)
    with dask.config.set({"daskasc.host-conversion": "allow"}):
        assert np.asarray(x).tolist() == x.tolist()
    with pytest.raises(ValueError, match="WRITEABLE"):
        x.flags.writeable = False
    for name in ("data", "ctypes"):
        with pytest.raises(AttributeError, match="host memory"):
            getattr(x, name)


def test_scalars_are_arrays() -> None:
    _, x = pair()
    for value in (x.sum(), x[0, 0, 0], x.max(), next(iter(x[0, 0]))):
        assert isinstance(value, AscendArray)
        assert value.shape == ()
    assert (float(x.sum()), int(x[0, 0, 1]), bool(x.any())) == (276.0, 1, True)
    assert type(x[0, 0, 1].item()) is float


def test_fallback_is_counted_or_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    _, x = pair()
    monkeypatch.delitem(da.TABLE, np.rot90)
    with dask.config.set({"daskasc.fallback": "silent"}):
        before = device.counters.fallbacks().get("numpy.rot90", (0, 0))[0]
        assert isinstance(np.rot90(x), AscendArray)
        assert device.counters.fallbacks()["numpy.rot90"][0] == before + 1
    with dask.config.set({"daskasc.fallback": "error"}), pytest.raises(HostFallbackError):
        np.rot90(x)


def test_transfers() -> None:
    x = from_numpy(np.arange(3.0), blocking=False)
    transfer = x.asnumpy(blocking=False)
    transfer.synchronize()
    assert transfer.result().tolist() == [0, 1, 2]
    address = x.tensor.data_ptr()
    x.copy_from([5, 6, 7])
    assert (x.tolist(), x.tensor.data_ptr()) == ([5, 6, 7], address)


DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128"
).split()


def test_dtypes() -> None:
    for name in DTYPES:
        assert (from_numpy(np.ones(2, name)) + from_numpy(np.ones(2, name))).dtype == (
            np.ones(1, name) + np.ones(1, name)
        ).dtype
    assert da.asarray(np.array(["2020-01-01"], "M8[D]")).dtype == "M8[D]"
    assert da.asarray(np.array([5], "m8[s]")).dtype == "m8[s]"
    assert from_numpy(np.array([1.5], ">f4")).dtype == np.float32


@pytest.mark.parametrize(
    "value",
    [
        np.array(["a"]),
        np.array([None]),
        np.zeros(2, "f8,i4"),
        np.ma.masked_array([1, 2], mask=[0, 1]),
        np.longdouble(1),
    ],
    ids=str,
)
def test_other_dtypes_are_refused(value: Any) -> None:
    if isinstance(value, np.longdouble) and np.dtype(np.longdouble) == np.float64:
        pytest.skip("longdouble is float64 here")
    with pytest.raises(UnsupportedDTypeError):
        da.asarray(value)
    assert issubclass(UnsupportedDTypeError, TypeError)


def test_weak_and_strong_numbers() -> None:
    x = from_numpy(np.float32([1, 2]))
    assert (x + 1.0).dtype == np.float32
    assert (x + np.float64(1)).dtype == np.float64
    assert (x + from_numpy(np.array(1.0))).dtype == np.float64


def bfloat16_rows() -> list[tuple[str, str]]:
    table = PAGE.split("| with bfloat16 | gives |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if " | " in line]
    return [(name, gives) for names, gives in rows for name in names.split(", ")]


@pytest.mark.parametrize(("name", "gives"), bfloat16_rows())
def test_bfloat16_beside_others(name: str, gives: str) -> None:
    x = from_numpy(np.ones(2, ml_dtypes.bfloat16))
    other = 2 if name == "Python number" else from_numpy(np.ones(2, name))
    assert (x + other).dtype.name == gives
    assert (other + x).dtype.name == gives


def test_device_policy() -> None:
    x = from_numpy(np.array([1, 2], "i4"))
    with dask.config.set({"daskasc.promotion": "device"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (x / 2).dtype == np.float32
        assert (x * 1j).dtype == np.complex64
        assert x.astype("f8").dtype == np.float64
    assert (x / 2).dtype == np.float64


def test_numbers() -> None:
    x = from_numpy(np.array([127], "i1"))
    assert (x + x).tolist() == [-2]
    assert (x // 0).tolist() == [0]
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (from_numpy(np.array([1.0])) / 0).tolist() == [math.inf]
        assert math.isnan((from_numpy(np.array([0.0])) / 0).item())


def test_compensated_sums_are_as_exact_as_float64() -> None:
    host = np.random.default_rng(0).normal(size=100_000).astype("f4")
    wanted = math.fsum(host.tolist())
    found = from_numpy(host).sum(accumulate="compensated", dtype="f8").item()
    assert abs(found - wanted) <= 1e-14 * np.abs(host).sum()


def test_sorting_is_stable() -> None:
    host = np.tile([1, 0], 500)
    np.testing.assert_array_equal(
        np.argsort(from_numpy(host)).asnumpy(), np.argsort(host, kind="stable")
    )

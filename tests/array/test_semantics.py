"""Each statement of docs/semantics.md."""

from __future__ import annotations

import itertools
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
import daskasc.scipy.ndimage as ndimage
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
    "block": np.block,
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


RESULTS_OF_COPIES: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "x[::-1] + 1": (lambda x: x[::-1] + 1, True),
    "x[::-1].ravel()": (lambda x: x[::-1].ravel(), True),
    "x[::-1][:, 1:].ravel()": (lambda x: x[::-1][:, 1:].ravel(), True),
    "x[::-1][1:].flatten()": (lambda x: x[::-1][1:].flatten(), True),
    "x[::-1][1:].ravel()": (lambda x: x[::-1][1:].ravel(), False),
    "x[::-1][1:].reshape(-1)": (lambda x: x[::-1][1:].reshape(-1), False),
}


@pytest.mark.parametrize("name", RESULTS_OF_COPIES)
def test_what_numpy_copies_of_a_reversed_array(name: str) -> None:
    function, writeable = RESULTS_OF_COPIES[name]
    host, x = pair()
    assert function(host).flags.writeable
    found = function(x)
    assert found.flags.writeable == writeable
    assert found.tolist() == function(host).tolist()
    assert not writeable or name.startswith("x[::-1][") or f"`{name}`" in PAGE


def test_the_page_names_results_that_are_read_only() -> None:
    assert "`x[::-1][1:].ravel()`" in PAGE


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("cut", [np.s_[:], np.s_[:, ::-1], np.s_[..., ::2], np.s_[1:]])
def test_uploads_keep_the_order_of_axes_in_memory(axes: tuple[int, ...], cut: Any) -> None:
    host = np.arange(24.0).reshape(2, 3, 4).transpose(axes)[cut]
    wanted = host.copy("K")
    like = from_numpy(np.zeros(1))
    for x in (from_numpy(host), da.asarray(host), da.array(host), np.asarray(host, like=like)):
        assert x.tolist() == host.tolist()
        assert lying(x) == lying(wanted)
        assert (x.flags.owndata, x.flags.writeable) == (True, True)
        assert x.ravel("K").tolist() == wanted.ravel("K").tolist()
        assert x.reshape(-1, order="A").tolist() == wanted.reshape(-1, order="A").tolist()
        assert x.asnumpy().flags.c_contiguous
    assert lying(from_numpy(host) + 1) == lying(wanted + 1)


def lying(array: Any) -> list[int]:
    """Strides of the axes that have some."""
    return [step for step, n in zip(array.strides, array.shape, strict=True) if n > 1]


def test_uploads_of_fortran_order() -> None:
    host = np.asfortranarray(np.arange(6, dtype="f4").reshape(2, 3))
    for x in (da.asarray(host), da.asarray(host, "f8"), da.asarray(host.astype("M8[s]"))):
        assert (x.flags.f_contiguous, x.flags.c_contiguous) == (True, False)
    assert da.array(host, order="C").flags.c_contiguous
    host[0, 0] = 7  # the card has its own memory
    assert x.astype("i8").tolist() == [[0, 1, 2], [3, 4, 5]]
    spread = np.broadcast_to(np.arange(3.0), (2, 3))
    assert from_numpy(spread).tolist() == spread.tolist()


def test_the_class_of_arrays() -> None:
    assert da.ndarray is AscendArray
    assert isinstance(da.zeros(2), da.ndarray)
    assert not isinstance(np.zeros(2), da.ndarray)
    assert not issubclass(AscendArray, np.ndarray)
    made = da.ndarray((2, 3), np.int32)
    assert (made.shape, made.dtype) == ((2, 3), np.int32)


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


def small_differences() -> dict[str, str]:
    rows = PAGE.split("| where | here | NumPy |")[1].strip().splitlines()[1:]
    return {row.strip("| ").split(" | ")[0]: row.strip("| ").split(" | ")[1] for row in rows}


def test_small_differences() -> None:
    """Each row of the page's table, in its order."""
    x, dates = from_numpy(np.arange(6.0).reshape(2, 3)), np.array(["2020-01-01", "NaT"], "M8[D]")
    assert len(small_differences()) == 29
    assert not np.equal(x, "a").any()
    assert np.not_equal(x, "a").all()
    with pytest.raises(TypeError, match="did not contain a loop"):
        np.equal(np.arange(6.0), "a")
    for refused in (lambda: x[0, :2] == ["a", "b"], lambda: x.__setitem__(0, dates[0])):
        with pytest.raises(UnsupportedDTypeError):
            refused()
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(from_numpy(np.full((2, 2), np.nan)))
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        x[[5], []]
    with pytest.raises(ValueError, match="the image has no elements"):
        ndimage.map_coordinates(from_numpy(np.zeros(0)), np.ones((1, 2)), order=1, mode="wrap")
    assert (x[...].flags.owndata, x.T.reshape(-1).flags.owndata) == (True, True)
    assert (x[:1].squeeze().flags.owndata, x.view().flags.owndata) == (False, False)
    assert np.fft.fft(x, n=True).shape == (2, 1)
    with pytest.raises(TypeError):
        np.nditer(x)


@pytest.mark.usefixtures("stand_ins_only")
def test_small_differences_of_rounding_and_of_two_faults() -> None:
    """The rows about torch's order and last bits, and about calls with something to refuse."""
    with np.errstate(all="ignore"):
        many = np.array([0.0] + [1e200] * 20)
        assert (np.prod(many), np.prod(many[1:5], initial=0)) == (0, 0)
        assert math.isnan(np.prod(from_numpy(many[1:5]), initial=0).item())
    numbers = np.random.default_rng(0).random(10_000).astype("f4")
    roots = np.sqrt(from_numpy(numbers)).asnumpy()
    assert (np.abs(roots - np.sqrt(numbers)) <= np.spacing(roots)).all()
    assert np.sqrt(from_numpy(np.arange(100.0, dtype="f4") ** 2)).tolist() == list(range(100))
    equal = np.full(3_611_951, 0.021894297, "f4")
    total = from_numpy(equal).sum().item()
    assert abs(total - equal.sum(dtype="f8")) <= 3 * np.spacing(np.float32(total))
    x = from_numpy(np.arange(6.0))
    with pytest.raises(UnsupportedDTypeError):
        np.where(x > 1, x, None)
    y = from_numpy(np.arange(6))
    with pytest.raises((TypeError, ValueError)):
        y += np.ones((5, 7))
    assert np.concatenate([x, x], casting="bad").shape == (12,)
    assert np.pad(y, 0, constant_values=np.nan).shape == (6,)
    x[np.array(0)] = np.array([36.0])
    assert x[0].item() == 36
    assert x.reshape((True, 6)).shape == (1, 6)
    zeros = from_numpy(np.zeros(9))
    for function in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert (function(zeros, -zeros) == 0).all()
    for places in (np.array([1, 1], "u1"), np.array([1, 1], "u8"), [1, 1]):
        assert np.insert(y, places, 7).tolist() == [0, 7, 7, 1, 2, 3, 4, 5]
    with pytest.raises(IndexError):
        np.insert(y, [-9, -9], 7)


@pytest.mark.usefixtures("stand_ins_only")  # what the host computes is NumPy's
def test_small_differences_of_values_that_do_not_fit() -> None:
    """The rows of the page's table where NumPy's value comes from its ways of computing."""
    out = from_numpy(np.zeros((), "u4"))
    assert int(np.max(from_numpy(np.array([-1, 5], "i4")), out=out)) == 5
    assert float(np.quantile(from_numpy(np.array([-128, 4], "i1")), 0.5)) == -62
    levels = [[0, 0.5, 1], [0.1, 0.2, 0.3]]
    assert np.nanquantile(from_numpy(np.ones((4, 5, 6))), levels, axis=(0, 1)).shape == (2, 3, 6)
    for bins in ([3, np.nan, 1], [1, np.nan], [1, 2, np.nan, 3]):
        with pytest.raises(ValueError, match="NaN"):
            np.digitize(from_numpy(np.ones(2)), bins)
    bools = from_numpy(np.array([True, False]))
    assert np.clip(bools, -300, np.uint64(7)).tolist() == [1, 0]
    integers = from_numpy(np.arange(3))
    for value, error in ((np.float64(1e300), OverflowError), (np.float64("nan"), ValueError)):
        with pytest.raises(error):
            np.put(integers, 0, value)
    with pytest.raises(TypeError):
        integers + range(3)


def test_in_place_operators_on_scalars_work_on_arrays():
    host = np.arange(6)
    x = from_numpy(host)
    total = kept = x.sum()
    total += 1
    assert int(kept) == 16
    with pytest.raises(TypeError):
        x[0] += 2.5
    x[0] = x[0] + 2.5
    assert int(x[0]) == 2


def test_small_differences_of_errors():
    x, y = from_numpy(np.ones(2, "u1")), from_numpy(np.ones(2, "f4"))
    with pytest.raises(TypeError):
        np.einsum("i,j", x, y, dtype="f2", optimize=True)
    with pytest.raises(HostConversionError):
        list(np.ndenumerate(x))
    with pytest.raises(TypeError):
        np.fft.rfft(y.astype("c8"), axis=5)
    with pytest.raises(TypeError):
        np.einsum("ij,j", y, y, dtype="i4")

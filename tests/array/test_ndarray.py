"""Attributes and methods of ndarray: flags, order in memory, flat, and the rarer methods."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daskasc.array as da
from daskasc.array import AscendArray, from_numpy

from .reference import DTYPES, check, data

pytestmark = pytest.mark.usefixtures("no_fallback")

# attributes that only make sense for host memory, subclasses or the interpreter's own copy protocol
NOT_OURS = {
    "__array_finalize__",
    "__array_interface__",
    "__array_struct__",
    "__array_wrap__",
    "__setstate__",
}


def test_every_attribute_of_ndarray_is_there() -> None:
    assert set(dir(np.ndarray)) - set(dir(AscendArray)) == NOT_OURS


LAYOUTS: dict[str, Any] = {
    "C": np.arange(12.0).reshape(3, 4),
    "F": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": np.arange(24.0).reshape(3, 8)[:, ::2],
    "0-d": np.array(1.0),
    "1-d": np.arange(3.0),
    "empty": np.zeros((0, 3)),
    "single row": np.ones((1, 4)),
    "3-d": np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
}


def on_card(name: str) -> tuple[Any, Any]:
    """A NumPy array, and an array on the card with the same strides."""
    host = LAYOUTS[name]
    if name == "F":
        return host, from_numpy(host.T).T
    if name == "strided":
        return host, from_numpy(host.base.reshape(3, 8))[:, ::2]
    if name == "3-d":
        return host, from_numpy(host.transpose(1, 0, 2)).transpose(1, 0, 2)
    return host, from_numpy(host)


@pytest.mark.parametrize("name", LAYOUTS)
def test_flags(name: str) -> None:
    host, x = on_card(name)
    for flag in ("c_contiguous", "f_contiguous", "contiguous", "fortran", "fnc", "forc", "aligned"):
        assert getattr(x.flags, flag) == getattr(host.flags, flag), flag
    for flag in ("C", "F", "CA", "C_CONTIGUOUS", "X", "B", "W", "WRITEABLE", "FNC"):
        assert x.flags[flag] == host.flags[flag], flag


def test_flags_of_owners_and_copies() -> None:
    x = da.zeros((2, 3))
    assert x.flags.owndata
    assert x.flags["OWNDATA"]
    assert not x[1:].flags.owndata
    assert x.flags.num == np.zeros((2, 3)).flags.num
    assert repr(x.flags) == repr(np.zeros((2, 3)).flags)
    assert x.flags == da.ones((4, 4)).flags
    assert not x[::-1].flags.writeable
    with pytest.raises(KeyError, match="Unknown flag"):
        x.flags["x"]
    with pytest.raises(AttributeError, match="bogus"):
        _ = x.flags.bogus


def test_flags_that_cannot_be_set_are_refused() -> None:
    x = da.zeros(3)
    x.flags.writeable = True
    x.setflags(write=True, align=True, uic=False)
    for change in (
        lambda: setattr(x.flags, "writeable", False),
        lambda: x.flags.__setitem__("W", False),
        lambda: x.setflags(write=False),
        lambda: x[::-1].setflags(write=True),
    ):
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            change()
    with pytest.raises(ValueError, match="C_CONTIGUOUS"):
        x.flags.c_contiguous = False
    with pytest.raises(AttributeError):
        x.flags.bogus = True


def same_layout(function: Any, name: str) -> None:
    host, x = on_card(name)
    try:
        expected = function(host)
    except ValueError:
        with pytest.raises(ValueError, match="order"):
            function(x)
        return
    found = function(x)
    np.testing.assert_array_equal(found.asnumpy(), expected)
    assert found.flags.c_contiguous == expected.flags.c_contiguous
    assert found.flags.f_contiguous == expected.flags.f_contiguous


ORDERS = ["C", "F", "A", "K", "f", None, "X"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_orders(name: str, order: Any) -> None:
    for function in (
        lambda x: x.copy(order),
        lambda x: x.flatten(order or "C"),
        lambda x: x.ravel(order or "C"),
        lambda x: x.astype("f4", order=order or "K"),
        lambda x: x.astype(x.dtype, order=order or "K"),
        lambda x: x.reshape(-1, 1, order=order or "C") if x.size else x,
        lambda x: np.copy(x, order=order or "K"),
        lambda x: np.array(x, order=order or "K", like=x),
        lambda x: np.asarray(x, order=order, like=x),
        lambda x: np.zeros_like(x, order=order or "K"),
        lambda x: np.ones_like(x, order=order or "K", dtype="i4"),
        lambda x: np.full_like(x, 3, order=order or "K"),
        lambda x: np.zeros((2, 3), order=order or "C", like=x),
        lambda x: np.ones((2, 3), order=order or "C", like=x),
        lambda x: np.full((2, 3), 5, order=order or "C", like=x),
        lambda x: (np if type(x) is np.ndarray else da).asfortranarray(x),
    ):
        same_layout(function, name)


def test_orders_of_new_memory() -> None:
    assert da.empty((2, 3), order="F").flags.f_contiguous
    assert da.empty_like(da.empty((2, 3), order="F")).flags.f_contiguous
    assert da.empty_like(da.empty((2, 3), order="F"), order="C").flags.c_contiguous
    x = da.zeros((2, 3), order="F")
    assert x.astype(x.dtype, order="F", copy=False) is x
    assert x.astype(x.dtype, order="C", copy=False).flags.c_contiguous
    with pytest.raises(ValueError, match="negative dimensions"):
        da.zeros((2, -1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_filled_arrays_of_every_dtype(dtype: str) -> None:
    x = from_numpy(data(dtype))
    assert np.ones_like(x).tolist() == np.ones((4, 5), dtype).tolist()
    assert np.zeros_like(x, order="F").tolist() == np.zeros((4, 5), dtype).tolist()


# -- base, data, ctypes


def test_base_is_the_owner_of_the_memory() -> None:
    x = da.zeros((2, 3))
    assert x.base is None
    x[1:].base[0, 0] = 5
    assert x[0, 0].item() == 5


@pytest.mark.parametrize("name", ["data", "ctypes"])
def test_host_addresses_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=r"no .* in host memory; use \.asnumpy"):
        getattr(da.zeros(3), name)


def test_elements_are_not_deleted() -> None:
    with pytest.raises(ValueError, match="cannot delete array elements"):
        del da.zeros(3)[0]
    assert AscendArray[int] is not None


# -- flat

INDICES: list[Any] = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -2),
    [0, 2, 2],
    np.array([1, 0]),
    np.arange(12) > 7,
    ...,
    12,
    -13,
    (1, 2),
    (1,),
    "a",
]


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("name", ["C", "F", "strided"])
def test_flat_reads_and_writes(name: str, index: Any) -> None:
    host, x = on_card(name)
    host, x = host.copy("K"), x.copy("K")
    try:
        expected = host.flat[index]
    except IndexError:
        with pytest.raises(IndexError):
            _ = x.flat[index]
        with pytest.raises(IndexError):
            x.flat[index] = 1
        return
    found = x.flat[index]
    assert found.tolist() == expected.tolist()
    for value in (7, [1.5, 2.5], np.float32(3)):
        if isinstance(index, int | tuple) and isinstance(value, list):
            continue
        host.flat[index] = value
        x.flat[index] = value
        assert x.tolist() == host.tolist()
    if found.ndim:
        found[...] = -1
        assert x.tolist() == host.tolist()


def test_flat_iterates_in_c_order() -> None:
    host, x = on_card("F")
    flat = x.flat
    assert len(flat) == 12
    assert flat.base is x
    assert (flat.index, flat.coords) == (0, (0, 0))
    assert next(flat).item() == 0
    seen = [value.item() for value in flat]
    assert seen == list(host.flat)[1:]
    expected = host.flat
    flat = x.flat
    for _ in range(5):
        next(expected)
        next(flat)
        assert (flat.index, flat.coords) == (expected.index, expected.coords)
    assert (flat == host.ravel()).all()
    assert flat.copy().tolist() == host.flat.copy().tolist()
    x.flat = [1, 2]
    assert x.tolist() == np.resize([1.0, 2.0], (3, 4)).tolist()
    assert next(from_numpy(np.array(3.0)).flat).item() == 3


# -- writing methods


def changed(function: Any) -> Any:
    def run(x: Any) -> Any:
        made = x.copy()
        result = function(made)
        return made if result is None else (made, result)

    return run


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.put([0, 2, -1], [5, 6]),
        lambda x: x.put([0, 99], 5),
        lambda x: x.put([0, 99], 5, mode="clip"),
        lambda x: x.resize(2, 2, refcheck=False),
        lambda x: x.resize((4, 5), refcheck=False),
        lambda x: x.resize((-1, 5)),
        lambda x: x.T.resize((2, 2)),
        lambda x: x.fill(3),
        lambda x: x.sort(axis=0),
        lambda x: x.byteswap(),
        lambda x: x.byteswap(inplace=True) * 0,
        lambda x: x.__imatmul__(np.ones((4, 4)) if type(x) is np.ndarray else da.ones((4, 4))),
        lambda x: x.__imatmul__(np.ones((4, 3)) if type(x) is np.ndarray else da.ones((4, 3))),
        lambda x: x.setfield(7, "f4", 4),
        lambda x: x.getfield("i4", 4),
        lambda x: x.getfield("i4", 6),
        lambda x: divmod(x, 4),
        lambda x: x[:, :3].astype("i4").__imatmul__(x[:, :3]),
    ],
)
def test_methods_that_write(function: Any) -> None:
    check(changed(function), np.arange(12.0).reshape(3, 4))


def test_partition_in_place() -> None:
    x = from_numpy(np.array([3.0, 1, 2, 0]))
    assert x.partition(1) is None
    assert x[1].item() == 1
    with pytest.raises(ValueError, match="out of bounds"):
        x.partition(4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_byteswap(dtype: str) -> None:
    host = data(dtype)[:, ::2]
    found = from_numpy(host).byteswap().asnumpy()
    assert found.tobytes() == host.byteswap().tobytes()


def test_files_and_pickles(tmp_path: Path) -> None:
    x = from_numpy(np.arange(6.0))
    x.tofile(tmp_path / "x.bin")
    assert da.fromfile(tmp_path / "x.bin").tolist() == x.tolist()
    x.tofile(tmp_path / "x.txt", sep=",")
    assert (tmp_path / "x.txt").read_text() == "0.0,1.0,2.0,3.0,4.0,5.0"
    assert pickle.loads(x.dumps()).tolist() == x.tolist()
    x.dump(tmp_path / "x.pkl")
    with (tmp_path / "y.pkl").open("wb") as file:
        x.dump(file)
    for name in ("x.pkl", "y.pkl"):
        assert pickle.loads((tmp_path / name).read_bytes()).tolist() == x.tolist()


def test_scalars() -> None:
    x = from_numpy(np.array(2.5))
    assert (float(x), int(x), complex(x), bool(x), f"{x:.2f}") == (2.5, 2, 2.5, True, "2.50")
    with pytest.raises(TypeError, match="only integer scalar arrays"):
        range(x)
    assert [1, 2, 3][from_numpy(np.array(1))] == 2

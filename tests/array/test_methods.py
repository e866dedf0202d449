"""Every public method of numpy.ndarray, by position and by keyword, on NumPy and on the card."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from daskasc.array import AscendArray, from_numpy

from .reference import assert_same, down

Call = tuple[str, tuple[Any, ...], dict[str, Any]]

_TABLE = np.array([[3.5, -1.25, 2.0, 0.0], [7.0, 4.5, -2.5, 1.0], [0.5, 2.5, 9.0, -4.0]])
_ROW = np.array([4, 1, 3, 2])
_SORTED = np.array([1, 3, 3, 6, 9])


def _calls(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


# x is the array, a its elements' table, r integers, s sorted integers, o an array for out=
CALLS = _calls(
    """
    a.all()
    a.all(0)
    a.all(axis=1, keepdims=True)
    a.all(0, keepdims=True)
    a.all(where=a > 0)
    a.any(1)
    a.any(axis=(0, 1), keepdims=True)
    a.any(1, out=n(np.zeros(3, bool)))
    a.argmax()
    a.argmax(0)
    a.argmax(axis=1, keepdims=True)
    a.argmin(1)
    a.argmin(0, n(np.zeros(4, np.int64)))
    a.argpartition(1).shape
    r.argpartition(2)[2]
    r.argpartition(kth=2, axis=-1, kind='introselect')[2]
    a.argsort()
    a.argsort(0)
    a.argsort(axis=None, kind='stable')
    a.argsort(stable=True)
    a.astype('f4')
    a.astype('i4', 'F', 'unsafe')
    a.astype(dtype='i8', order='C', casting='unsafe', subok=True, copy=False)
    r.byteswap()
    r.byteswap(True)
    r.byteswap(inplace=False)
    r.choose([a[:, 0], a[:, 1]])
    (r % 2).choose([r, -r])
    (r % 2).choose([r, 7])
    r.choose([r, -r], mode='wrap')
    r.choose(r, -r, 5, mode='clip')
    (r % 2).choose([r, -r], out=n(np.zeros(4, np.int64)))
    a.clip(0, 3)
    a.clip(max=1.5)
    a.clip(min=0)
    a.clip(0, None, n(np.zeros((3, 4))))
    a.compress([1, 0, 1])
    a.compress([True, False, True], 0)
    a.compress(condition=[0, 1, 1, 0], axis=1)
    r.compress([1, 0, 1, 1])
    r.compress(r > 1)
    a.compress([1, 0], 0, n(np.zeros((1, 4))))
    r.compress([[1, 0]])
    a.conj()
    (a + 1j).conjugate()
    a.T.copy().strides
    a.T.copy('F').strides
    a.T.copy(order='K').strides
    a.cumprod()
    a.cumprod(0)
    a.cumprod(axis=1, dtype='f8')
    a.cumsum(1, 'f4')
    r.cumsum(0, None, n(np.zeros(4, np.int64)))
    a.diagonal()
    a.diagonal(1)
    a.diagonal(offset=-1, axis1=1, axis2=0)
    a.dot(a.T)
    a.dot(a.T, n(np.zeros((3, 3))))
    pickle.loads(r.dumps())
    _dumped(a)
    _after(a, 'fill', 2.5)
    a.flatten()
    a.T.flatten('F')
    a.T.flatten(order='A')
    r.getfield('i4')
    r.getfield(dtype='i2', offset=2)
    a.item(3)
    a.item((1, 2))
    a.item(1, 2)
    a[0, 0].item()
    a.item(-1)
    a.item()
    a.item(99)
    a.max()
    a.max(0)
    a.max(axis=1, keepdims=True)
    a.max(1, None, False)
    a.max(initial=8.0)
    a.max(0, initial=-9.0, where=a < 3)
    a.min(1)
    a.min((0, 1))
    a.min(axis=0, out=n(np.zeros(4)))
    a.mean()
    a.mean(0)
    r.mean(None, 'f4')
    a.mean(axis=1, dtype='f4', keepdims=True)
    a.mean(0, None, n(np.zeros(4)))
    a.mean(where=a > 0)
    a.nonzero()
    _after(r, 'partition', 2)[2]
    _after(a, 'partition', 1, 0)[1]
    _after(a, 'partition', kth=1, axis=1, kind='introselect')[:, 1]
    a.prod()
    a.prod(0)
    a.prod(axis=1, dtype='f4', keepdims=True)
    r.prod(initial=2)
    _after(a, 'put', [0, 5], [1.5, 2.5])
    _after(a, 'put', [99], 1, 'clip')
    _after(a, 'put', indices=[13], values=[1], mode='wrap')
    a.T.ravel()
    a.T.ravel('F')
    a.T.ravel(order='K')
    a.repeat(2)
    a.repeat([1, 2, 0], 0)
    a.repeat(repeats=2, axis=1)
    a.reshape(4, 3)
    a.reshape((2, -1))
    a.reshape(12)
    a.reshape(4, 3, order='F')
    a.reshape((6, 2), order='A')
    a.reshape(5, 5)
    _after(r.copy(), 'resize', 6)
    _after(r.copy(), 'resize', (2, 2))
    _after(r.copy(), 'resize', 2, 3, refcheck=False)
    a.round()
    a.round(1)
    a.round(decimals=1, out=n(np.zeros((3, 4))))
    s.searchsorted(3)
    s.searchsorted([3, 7], 'right')
    r.searchsorted(v=[2, 3], side='left', sorter=[1, 3, 2, 0])
    _after(r, 'setfield', 1, 'i4')
    _after(r, 'setfield', 1, dtype='i2', offset=2)
    _after(r, 'sort')
    _after(a, 'sort', 0)
    _after(a, 'sort', 0, 'stable')
    _after(a, 'sort', axis=1, kind='quicksort')
    _after(a, 'sort', stable=True)
    a[None].squeeze()
    a[None].squeeze(0)
    a[None, :, None].squeeze(axis=(0, 2))
    a.squeeze(0)
    a.std()
    a.std(0)
    a.std(1, 'f4', None, 1)
    a.std(axis=0, ddof=1, keepdims=True)
    a.sum()
    a.sum(0)
    r.sum(None, 'f8')
    a.sum(axis=1, dtype='f4', out=None, keepdims=True)
    a.sum(initial=3, where=a > 0)
    a.swapaxes(0, 1)
    a.swapaxes(-1, 0)
    a.take([1, 3])
    a.take([1, 0], 1)
    a.take(indices=[5, -7], axis=1, mode='wrap')
    a.take([0], 0, n(np.zeros((1, 4))))
    a.take([9], 0, None, 'clip')
    r.take(1)
    r.tobytes()
    a.T.tobytes('F')
    a.T.tobytes(order='A')
    a.tobytes('A')
    a.T.tobytes('K')
    a.T.tobytes(None)
    a.tobytes('X')
    a.tolist()
    a[0, 0].tolist()
    a.trace()
    a.trace(1)
    a.trace(offset=-1, axis1=1, axis2=0, dtype='f4')
    r.reshape(2, 2).trace(0, 0, 1, 'i4')
    a.transpose()
    a.transpose(None)
    a.transpose(1, 0)
    a.transpose((1, 0))
    a.transpose([-1, 0])
    a.transpose(0)
    a.var()
    a.var(1)
    a.var(axis=0, dtype='f4', ddof=1, keepdims=True)
    a.var(0, None, None, 1)
    a.var(where=a > 0)
    a.view()
    a.view('i8')
    a.view(dtype='u1')
    a[:, :2].view('c16')
    a.view('f4')[:, :4].view('f8')
    """
)


def _after(array: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Elements after a method that returns nothing."""
    array = array.copy()
    assert getattr(array, name)(*args, **kwargs) is None
    return array


def _dumped(array: Any) -> Any:
    file = io.BytesIO()
    array.dump(file=file)
    return pickle.loads(file.getvalue())


def _result(text: str, up: Callable[[Any], Any]) -> Any:
    names = {"np": np, "n": up, "pickle": pickle, "_after": _after, "_dumped": _dumped}
    arrays = {"a": up(_TABLE.copy()), "r": up(_ROW.copy()), "s": up(_SORTED.copy())}
    return eval(text, {**names, **arrays})


@pytest.mark.parametrize("text", CALLS)
@pytest.mark.usefixtures("no_fallback")
def test_method(text: str) -> None:
    """Elements, dtypes, layouts and kinds of errors are NumPy's."""
    try:
        expected = _result(text, lambda array: array)
    except (TypeError, ValueError, IndexError) as error:
        kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
        with pytest.raises(kind):
            _result(text, from_numpy)
        return
    found = _result(text, from_numpy)
    if not isinstance(expected, np.ndarray | np.generic | tuple):
        assert found == expected
        return
    assert_same(expected, found)


def test_every_public_method_is_called() -> None:
    """The list of calls is complete for the installed NumPy."""
    public = {
        name
        for name in dir(np.ndarray)
        if not name.startswith("_") and callable(getattr(np.ndarray, name))
    }
    called = {name for name in public for text in CALLS if name in text}
    elsewhere = {"setflags", "to_device", "tofile", "dump"}  # below, or in other test files
    assert public - called - elsewhere == set()
    assert [name for name in public if not hasattr(AscendArray, name)] == []


def test_tofile(tmp_path: Path) -> None:
    """Files are written as NumPy writes them."""
    array = from_numpy(_ROW)
    array.tofile(tmp_path / "plain")
    assert np.fromfile(tmp_path / "plain", np.int64).tolist() == _ROW.tolist()
    array.tofile(fid=tmp_path / "text", sep=",", format="%d")
    assert (tmp_path / "text").read_text() == "4,1,3,2"


def test_shape_is_set_in_place() -> None:
    """Strides allow it, or NumPy's errors."""
    array = from_numpy(_TABLE)
    array.shape = (4, 3)
    assert_same(_TABLE.reshape(4, 3), array)
    array.shape = -1
    assert array.shape == (12,)
    array[0] = 5.0
    with pytest.raises(ValueError, match="cannot reshape array of size 12"):
        array.shape = (5, 5)
    turned = from_numpy(_TABLE).T
    with pytest.raises(AttributeError, match="in-place"):
        turned.shape = (12,)


def test_dtype_and_strides_name_the_remedy() -> None:
    """Setting them in place is refused."""
    array = from_numpy(_TABLE)
    with pytest.raises(AttributeError, match=r"x\.view\(dtype\)"):
        array.dtype = np.int64
    with pytest.raises(AttributeError, match="use an index"):
        array.strides = (8, 8)


def test_view_of_rows_with_gaps() -> None:
    """A row stride that is no multiple of the new dtype gives a copy that cannot be written."""
    host = np.arange(20, dtype="f4").reshape(4, 5)
    found = from_numpy(host)[:, :4].view("c8")
    assert_same(host[:, :4].view("c8"), found)
    with pytest.raises(ValueError, match="read-only"):
        found[...] = 0
    assert_same(host[:, 1:5].view("c8"), from_numpy(host)[:, 1:5].view("c8"))


def test_view_as_a_class_of_host_memory() -> None:
    """The error names asnumpy."""
    array = from_numpy(_TABLE)
    for call in (lambda: array.view(np.ndarray), lambda: array.view("f4", np.matrix)):
        with pytest.raises(TypeError, match="asnumpy"):
            call()


@pytest.mark.parametrize("dtype", ["i8", "u1"])
def test_integers_without_axes_repeat_lists(dtype: str) -> None:
    """As NumPy's scalars, which reductions and indices give there."""
    three = from_numpy(_ROW.astype(dtype))[2]
    assert [0] * three == [0, 0, 0] == three * [0]
    assert (1, 2) * three == (1, 2) * 3
    assert "ab" * three == "ababab"
    assert down(np.multiply(three, [1, 2])).tolist() == [3, 6]
    assert down(three.astype("f8") * [1, 2]).tolist() == [3.0, 6.0]

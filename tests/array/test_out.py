"""``out=`` and in-place operators: no temporary where none is needed, NumPy's values always."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import daskasc.array as da
from daskasc import device
from daskasc.array import _out, from_numpy
from daskasc.errors import UnsupportedDTypeError

from . import gaps
from .reference import assert_same, check, data

pytestmark = pytest.mark.usefixtures("no_fallback")


class _Memory(TorchDispatchMode):
    """Counts results that lie in new memory."""

    def __init__(self, *known: Any) -> None:
        super().__init__()
        self._known = {x.tensor.untyped_storage().data_ptr() for x in known}
        self.new = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.new += result.untyped_storage().data_ptr() not in self._known
        return result


FLOATS = sorted(_out._FLOATS)
INTEGERS = sorted(_out._INTEGERS)


def operands(name: str, dtype: str) -> list[Any]:
    return [data(dtype, seed=seed) for seed in range(getattr(np, name).nin)]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(n, d) for n in FLOATS for d in ("f4", "f8")]
    + [(n, d) for n in INTEGERS for d in ("i2", "i8")],
)
def test_out_is_written_without_new_memory(name: str, dtype: str) -> None:
    function = getattr(np, name)
    host = operands(name, dtype)
    with np.errstate(all="ignore"):
        expected = function(*host)
    arrays = [from_numpy(h) for h in host]
    target = da.zeros((5, 4), dtype).T
    address = target.tensor.data_ptr()
    gaps_before = gaps.met()
    with _Memory(*arrays, target) as memory:
        assert function(*arrays, out=target) is target
    on_card = gaps.met() == gaps_before
    assert memory.new == 0 or not on_card
    assert target.tensor.data_ptr() == address
    assert_same(expected, target)
    # onto an operand, as x += y does
    with _Memory(*arrays) as memory:
        assert function(*arrays, out=arrays[0]) is arrays[0]
    assert memory.new == 0 or not on_card
    assert_same(expected, arrays[0])


@pytest.mark.parametrize("name", sorted(_out._COMPARISONS))
def test_comparisons_into_out(name: str) -> None:
    function = getattr(np, name)
    host = operands(name, "f4")
    x, y = map(from_numpy, host)
    target = da.zeros((4, 5), "?")
    with _Memory(x, y, target) as memory:
        function(x, y, out=target)
    assert memory.new == 0
    assert_same(function(*host), target)
    wide = da.zeros((4, 5), "f4")
    with np.errstate(all="ignore"):
        assert_same(function(*host).astype("f4"), function(x, y, out=wide))


IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv]


@pytest.mark.parametrize("function", IN_PLACE)
@pytest.mark.parametrize("other", [2.5, 0.0, np.inf, "row", "array"])
def test_in_place_operators_make_no_memory(function: Any, other: Any) -> None:
    host = data("f4")
    given = {"row": data("f4", (5,), 3), "array": data("f4", seed=4)}.get(other, other)
    x = from_numpy(host)
    value = from_numpy(given) if isinstance(given, np.ndarray) else given
    known = [x, value] if isinstance(given, np.ndarray) else [x]
    with _Memory(*known) as memory:
        assert function(x, value) is x
    assert memory.new == 0
    with np.errstate(all="ignore"):
        assert_same(function(host.copy(), given), x)


def test_operands_that_overlap_the_target() -> None:
    host = np.arange(10.0)
    for first, second, out in (
        (slice(0, 9), slice(0, 9), slice(1, 10)),
        (slice(0, 9), slice(1, 10), slice(0, 9)),
        (slice(1, 10), slice(0, 9), slice(0, 9)),
    ):
        expected, x = host.copy(), from_numpy(host)
        np.add(expected[first], expected[second], out=expected[out])
        np.add(x[first], x[second], out=x[out])
        assert x.tolist() == expected.tolist()
    square = from_numpy(np.arange(4.0).reshape(2, 2))
    square += square.T
    assert square.tolist() == [[0, 3], [3, 6]]


def test_conversions_and_errors_are_numpys() -> None:
    x, y = data("f4"), data("f8", seed=1)
    check(lambda a, b: np.add(a, b, out=a.copy()), x, y)
    check(lambda a, b: np.add(b, a, out=a.copy(), casting="unsafe"), x, y)
    check(lambda a: np.add(a, 1, out=np.empty_like(a)), np.arange(3, dtype="i4"))
    check(lambda a: np.add(a, 300, out=a.copy()), np.arange(3, dtype="i1"))
    check(lambda a: np.add(a, 1e39, out=a.copy()), np.arange(3, dtype="f4"))
    check(lambda a: np.add(a, 1.5, out=a.copy()), np.arange(3, dtype="i4"))
    check(lambda a, b: np.add(a, b, out=a.copy()), np.ones(3), np.ones((2, 3)))
    check(lambda a, b: np.add(a, b, out=a.copy()), np.ones((2, 3)), np.ones(3))
    check(lambda a, b: np.add(a, b, out=a.copy(), where=b > 0), np.ones(3), np.array([1.0, -1, 2]))
    x = from_numpy(np.arange(3.0))
    with pytest.raises(ValueError, match="negative step"):
        np.add(x, 1.0, out=x[::-1])
    with pytest.raises(TypeError, match=r"Call \.asnumpy\(\) on the result"):
        np.add(x, 1.0, out=np.zeros(3))


@pytest.mark.parametrize(
    "options",
    [
        {"signature": "dd->d"},
        {"signature": "ff->f"},
        {"sig": "ll->l"},
        {"signature": (None, None, np.float64)},
        {"signature": ("f8", "f8", None)},
        {"signature": "dd->d", "casting": "unsafe"},
        {"signature": "ff->f", "casting": "unsafe"},
        {"signature": "DD->D"},
        {"signature": "d"},
        {"signature": "xx->x"},
        {"signature": "dd->d", "dtype": "f8"},
        {"dtype": "f4"},
        {"dtype": "f4", "casting": "unsafe"},
        {"dtype": "i8", "casting": "no"},
        {"casting": "bogus"},
        {"bogus": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("i4", "f4"), ("f8", "f8")])
def test_loops_by_signature(options: dict[str, Any], dtypes: tuple[str, str]) -> None:
    check(lambda a, b: np.add(a, b, **options), *(data(d, (3,), 1) for d in dtypes))
    check(lambda a: np.multiply(a, 2, **options), data(dtypes[0], (3,), 1))


def test_loops_of_objects_have_no_form_on_the_card() -> None:
    with pytest.raises(UnsupportedDTypeError, match="object"):
        np.add(da.ones(2), da.ones(2), signature="OO->O")


@pytest.mark.parametrize(
    "function",
    [
        lambda x, out: np.clip(x, 0, None, out=out),
        lambda x, out: x.clip(0, None, out=out),
        lambda x, out: np.round(x, out=out),
        lambda x, out: x.round(1, out),
        lambda x, out: np.round(x, -1, out=out),
        lambda x, out: np.fix(x, out=out),
        lambda x, out: np.matmul(x, x, out=out),
        lambda x, out: np.dot(x, x, out=out),
        lambda x, out: np.vecdot(x, x, out=out),
        lambda x, out: np.outer(x, x, out=out),
        lambda x, out: np.einsum("i,i", x, x, out=out),
        lambda x, out: np.einsum("i,i->i", x, x, out=out, casting="same_kind"),
        lambda x, out: np.quantile(x, 0.5, out=out),
        lambda x, out: np.quantile(x, 0.5, out=out, method="higher"),
        lambda x, out: np.take(x, [0, 1], out=out),
        lambda x, out: np.fft.fft(x, out=out),
    ],
)
def test_results_are_cast_into_out_by_numpys_rule(function: Any) -> None:
    for source in ("i8", "u8", "f4", "f8", "c16"):
        for target in ("?", "i4", "i8", "u8", "f4", "f8", "c16"):
            x = np.array([1.5, 3e9]).astype(source)
            if device.current().kind != "cpu" and source[0] in "fc" and target == "i4":
                continue  # 3e9 is too large for it: what that becomes is the processor's own
            for shape in ((), (2,), (2, 2)):
                try:
                    if np.shape(function(np.ones(2), None)) != shape:
                        continue
                except TypeError:
                    continue

                def into(a: Any, s: Any = shape, target: str = target) -> Any:
                    return function(a, np.zeros_like(a, target, shape=s))

                check(into, x)


def test_products_want_an_out_like_their_result() -> None:
    for shape, order in (((2, 2), "C"), ((2, 2), "F"), ((4,), "C")):
        check(
            lambda a, s=shape, o=order: np.dot(a, a, out=np.zeros_like(a, shape=s, order=o)),
            np.arange(4, dtype="f4").reshape(2, 2),
        )
    check(lambda a: np.dot(a, 2.0, out=np.zeros_like(a, "f4")), np.arange(3.0))
    check(lambda a: np.linalg.multi_dot([a, a], out=np.zeros_like(a, "f4")), np.eye(2))

"""Arrays of one element do what NumPy's scalars do; texts and errors are NumPy's."""

from __future__ import annotations

import math
import operator
import pydoc
import types
from typing import Any

import numpy as np
import pytest

import daskasc.array as xp
from daskasc.errors import UnsupportedDTypeError


@pytest.mark.parametrize("dtype", ["?", "i4", "u8", "f4", "f8", "c16"])
@pytest.mark.parametrize("digits", [(), (None,), (0,), (2,), (-1,), (np.int64(1),)])
def test_round_is_that_of_numpys_scalars(dtype: str, digits: Any) -> None:
    host = np.asarray(25.4567 if dtype in "f4f8c16" else 26, dtype)[()]
    x = xp.from_numpy(np.asarray(host))
    try:
        expected = round(host, *digits)
    except TypeError:
        with pytest.raises(TypeError):
            round(x, *digits)
        return
    found = round(x, *digits)
    if isinstance(expected, np.generic) and isinstance(found, xp.AscendArray):
        assert found.dtype == expected.dtype
        found = found.asnumpy()[()]
    assert type(found) is type(expected)
    assert found == expected


def test_only_scalars_are_rounded_so() -> None:
    with pytest.raises(TypeError, match=r"x\.round\(n\)"):
        round(xp.ones(3), 2)
    x = xp.from_numpy(np.asarray(2.5))
    assert (math.floor(x), math.ceil(x), round(x)) == (2, 3, 2)


@pytest.mark.parametrize(
    "value", [2.5, True, [1, 2], [[1.5], [2]], np.array(["2001-01-01"], "M8[D]")]
)
def test_text_is_numpys(value: Any) -> None:
    host = np.asarray(value)
    x = xp.from_numpy(host)
    assert str(x) == str(host)
    assert f"{x}" == f"{host}"
    assert repr(x).startswith(f"{type(x).__name__}(")


X = np.arange(12.0).reshape(4, 3)
REFUSED: dict[str, Any] = {
    "more indices than axes": lambda x: x[0, 0, 0],
    "more indices, new axes": lambda x: x[None, 0, 0, 0],
    "slices of no axis": lambda x: x[0, 0, :1],
    "index out of bounds": lambda x: x[1:, 7],
    "item out of bounds": lambda x: x.item(12),
    "item of a place out of bounds": lambda x: x.item(0, 3),
    "item of too many": lambda x: x.item((1, 1, 1)),
    "host operand": lambda x: x + np.ones(5),
    "host operand first": lambda x: np.ones(5) - x,
    "operands": lambda x: x + x[:3],
    "comparison": lambda x: x < x[:3],
    "ufunc": lambda x: np.logaddexp(x, x[:2]),
    "where": lambda x: np.where(x > 1, x, np.ones(5)),
    "isclose": lambda x: np.isclose(x, np.ones(5)),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_errors_are_numpys(call: Any) -> None:
    with pytest.raises((IndexError, ValueError)) as theirs:
        call(X)
    with pytest.raises((IndexError, ValueError)) as ours:
        call(xp.from_numpy(X))
    assert type(ours.value) is type(theirs.value)
    assert str(ours.value) == str(theirs.value)


def test_item_takes_what_numpys_takes() -> None:
    x = xp.from_numpy(X)
    for index in ((5,), (-1,), (1, 2), ((1, 2),), ((3,),), (np.int64(4),), (-1, -1)):
        assert x.item(*index) == X.item(*index)


def test_the_package_lists_what_it_offers() -> None:
    names = dir(xp)
    assert {"sum", "add", "from_numpy", "asnumpy", "linalg", "fft", "float32", "pi"} <= set(names)
    assert not [name for name in names if name.startswith("_") and name not in xp.__all__]
    assert not [
        n for n in names if isinstance(getattr(xp, n), types.ModuleType) and n not in xp.__all__
    ]


@pytest.mark.parametrize("cls", [xp.AscendArray, xp.TimeArray])
def test_operators_are_documented(cls: Any) -> None:
    for name in [name for name in vars(operator) if name.startswith("__") and name in vars(cls)]:
        method = vars(cls)[name]
        if isinstance(method, types.FunctionType):
            assert not pydoc.getdoc(method).startswith("#"), name
    for name in ("add", "radd", "pow", "lt", "iadd", "neg", "divmod"):
        assert "numpy." in pydoc.getdoc(getattr(cls, f"__{name}__"))
    assert "from_numpy" in xp.AscendArray.__doc__
    assert "asnumpy" in xp.AscendArray.__doc__


def test_the_refusal_of_a_dtype_lists_the_times() -> None:
    with pytest.raises(UnsupportedDTypeError, match="bfloat16, datetime64, timedelta64"):
        xp.from_numpy(np.array(["a"]))

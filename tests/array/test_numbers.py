"""Python numbers beside arrays: the kept tensors give what NumPy gives, at each first and next."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from daskasc.array import AscendArray, _numbers, from_numpy

REAL = ["i1", "u1", "i2", "i4", "i8", "f4", "f8"]
NUMBERS: list[Any] = [0, 1, 2, -3, 100, 0.0, -0.0, 0.1, 1e300, -1e-50, np.inf, -np.inf, np.nan]
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


def agrees(function: Callable[..., Any], host: Any, number: Any, swapped: bool) -> None:
    """Compare one call's bits, or its error, with NumPy's."""
    array = from_numpy(host)
    sides = (lambda a: (number, a)) if swapped else (lambda a: (a, number))
    with np.errstate(all="ignore"):
        try:
            wanted = function(*sides(host))
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                function(*sides(array))
            return
    found = function(*sides(array))
    assert type(found) is AscendArray
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    if found.dtype.kind == "f":
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found.asnumpy())[known], np.signbit(wanted)[known])


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_values_and_signs_are_numpys(function: Callable[..., Any], dtype: str) -> None:
    for host in (np.array([0, 1, 3, 100]).astype(dtype), np.array(3, dtype)):
        if dtype[0] == "f" and host.ndim:
            host[1:2] = -0.0
        for number in NUMBERS + NUMBERS[5:7]:  # the zeros again, in the other order
            for swapped in (False, True):
                agrees(function, host, number, swapped)


def test_integers_that_do_not_fit_are_refused_each_time() -> None:
    x = from_numpy(np.ones(2, "i1"))
    for _ in range(2):
        with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
            x + 300
        assert not (x == 300).any().item()
    assert (x + 3).dtype == np.int8


def test_equal_numbers_of_other_types_stay_apart() -> None:
    single, whole = np.ones(2, "f4"), np.ones(2, "i4")
    for number in (2, 2.0, True, 2, 2 + 0j):
        for host in (single, whole):
            found, wanted = from_numpy(host) * number, host * number
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.asnumpy(), wanted)


def test_zeros_keep_their_signs() -> None:
    number = _numbers.keeper(np.dtype("f4"))
    for value, sign in ((0.0, False), (-0.0, True), (0, False), (-0.0, True)):
        assert number(value).signbit().item() is sign
    assert number(2.0) is number(2.0)


def test_results_own_their_memory() -> None:
    x = from_numpy(np.array(1.0, "f4"))
    for _ in range(2):
        found = x + 0.5
        found[...] = 7
        assert (x + 0.5).item() == 1.5

"""Arguments in NumPy's less common forms: powers by operators, places, cut points, shapes."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest

from daskasc.array import from_numpy

from .reference import check

pytestmark = pytest.mark.usefixtures("quiet_fallback")


def raised_in_place(x: Any, exponent: Any) -> Any:
    x **= exponent
    return x


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("exponent", [0.5, 2, 2.0, -1, -1.0, 1, 1.0])
def test_powers_by_operators_at_infinities_and_zeros(dtype: str, exponent: Any) -> None:
    x = np.array([4, -np.inf, -0.0, 0.0, np.nan, np.inf, -1]).astype(dtype)
    for function in (operator.pow, raised_in_place):
        check(lambda a, f=function: f(a.copy(), exponent), x)


def test_powers_of_reversed_arrays_in_place() -> None:
    def change(given: Any) -> Any:
        x = given.copy()
        x[::-1] **= 0.5
        return x

    check(change, np.array([4, -np.inf, -0.0], "f2"))


@pytest.mark.parametrize(
    "places", [np.zeros(0), np.zeros(0, "u8"), np.array([1], "u8"), [1.0], 1.0]
)
def test_places_are_cast_safely_in_arrays_only(places: Any) -> None:
    x = np.arange(5.0)
    check(lambda a: (np.put(b := a.copy(), places, 9), b)[1], x)
    check(lambda a: np.add.reduceat(a, np.atleast_1d(places)), x)
    check(lambda p: np.choose(p, [5, 6]), np.asarray(places))
    check(lambda a: np.add.reduceat(a, [[0, 1]]), x)


def test_inserting_and_putting_along_an_axis_look_at_the_places() -> None:
    x = np.arange(5)
    for places in ([[1, 2]], np.array(True), np.array([[True]]), np.zeros(0), [], np.array([0, 2])):
        check(lambda a, p=places: np.insert(a, p, 7), x)
    for places in (np.array([True]), np.zeros(0), np.array([1])):
        check(lambda a, p=places: (np.put_along_axis(b := a.copy(), p, 7, 0), b)[1], x)


@pytest.mark.parametrize(
    "cuts", [2, np.array(2), np.int8(0), 0, 4, 2.0, np.array([1, 3], "u1"), np.array([True]), [[1]]]
)
def test_cut_points_in_any_form(cuts: Any) -> None:
    x = np.arange(6)
    for function in (np.split, np.array_split, np.hsplit):
        with np.errstate(divide="ignore"):
            check(lambda a, f=function: f(a, cuts), x)
    if isinstance(cuts, np.ndarray) and cuts.dtype != bool:
        expected = [part.tolist() for part in np.split(x, cuts)]
        assert [part.tolist() for part in np.split(from_numpy(x), from_numpy(cuts))] == expected


@pytest.mark.parametrize("dtype", ["i4", "m8[s]"])
@pytest.mark.parametrize(
    "shape", [np.array([3, 2]), np.array(6), np.array([2, -1], "i1"), [1, 6], np.array([2.0, 3.0])]
)
def test_shapes_in_arrays_everywhere(dtype: str, shape: Any) -> None:
    def set_shape(a: Any) -> Any:
        b = a.copy()
        b.shape = shape
        return b

    def resized(a: Any) -> Any:
        b = a.copy()
        b.resize(shape, refcheck=False)
        return b

    x = np.arange(6).astype(dtype)
    check(set_shape, x)
    check(resized, x)
    for function in (np.reshape, np.resize, np.broadcast_to, np.tile):
        if function is not np.resize or np.ndim(shape):  # a 0-d array is no shape to np.resize
            check(lambda a, f=function: f(a, shape), x)
    check(lambda a: np.zeros_like(a, shape=shape), x)
    check(lambda a: a.reshape(2, 3).transpose(np.array([1, 0])), x)


def test_a_flat_bool_is_the_first_element_or_none() -> None:
    x = np.arange(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.4
        expected = x.flat[True]
    on_card = from_numpy(x)
    assert on_card.flat[True].tolist() == expected.tolist() == 0
    assert on_card.flat[False].shape == (0,)
    on_card.flat[np.array(True)] = 9
    assert on_card.tolist() == [9, 1, 2, 3]


@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe", "bad"])
def test_products_obey_the_casting_rule(casting: Any) -> None:
    one, two, three = np.array([1, 2], "i2"), np.array([3, -4], "i2"), np.array([1.5, 2.7])
    for function in (np.matmul, np.vecdot):
        check(lambda a, b, f=function: f(a, b, casting=casting), one, three)
        check(lambda a, b, f=function: f(a, b, casting=casting, dtype="u8"), one, two)
    check(lambda a, b: np.matmul(a, b, casting=casting, dtype="i2"), one, three)


def test_bytes_of_a_last_axis_of_one_element() -> None:
    x = np.arange(6.0).reshape(3, 2)
    check(lambda a: a[:, ::2].view("i4"), x)
    check(lambda a: a[:1].T.view("u1"), x)
    check(lambda a: a[:, ::-1].view("i4"), x)  # refused, as in NumPy


@pytest.mark.parametrize("dtype", ["m8[s]", "M8[s]"])
def test_times_in_these_forms(dtype: str) -> None:
    x = np.array([[3, 0], [0, 0]]).astype(dtype)
    for ufunc in (np.logical_or, np.logical_and):
        for initial in (0, 1, 2.5, None):
            check(lambda a, u=ufunc, i=initial: u.reduce(a, initial=i), x)
            check(lambda a, u=ufunc, i=initial: u.reduce(a, axis=None, initial=i), x)
    for ufunc in (np.add, np.maximum):
        for axis in (0, (0,), (1,), (0, 1), (), None):
            if ufunc is np.maximum or dtype[0] == "m":
                check(lambda a, u=ufunc, i=axis: u.accumulate(a, axis=i), x)
                check(lambda a, u=ufunc, i=axis: u.accumulate(a[0, 0, ...], axis=i), x)
    for values in ([1.5], [np.nan], [None], [1], [True], ["NaT"], [1 + 1j], [[1.5, 2.5]]):

        def write(a: Any, v: Any = values) -> Any:
            b = a.copy()
            b[:] = v
            return b

        check(write, x)
    wrong = np.zeros((2, 3)).astype(dtype)
    for function in (np.subtract, np.maximum, operator.lt):
        check(lambda a, b, f=function: f(a, b), x, wrong)
    check(lambda a, b: a == b, x, wrong[:, :1])

"""Indexing against NumPy: hand-picked traps, and generated indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from daskasc.array import from_numpy

from .reference import DTYPES, assert_same, check, data, up

pytestmark = pytest.mark.usefixtures("no_fallback")

X = np.arange(60).reshape(3, 4, 5)
INDICES: dict[str, Any] = {
    "integer": 1,
    "integers": (1, -1, 2),
    "ellipsis": (..., 1),
    "steps": (slice(None, None, -1), slice(3, 0, -2)),
    "empty": (slice(2, 1), slice(None, None, -3)),
    "newaxis": (None, 1, ..., None),
    "list": [2, 0, 0, -1],
    "array": np.array([[0, 1], [2, -3]]),
    "empty list": [],
    "separated": (0, slice(None), [1, 2]),
    "adjacent": (slice(None), [0, 1], [1, 2]),
    "separated by None": ([0, 1], None, [1, 2]),
    "integer and array": (slice(None), 1, np.array([1, 2])),
    "broadcast": (np.array([[0], [1]]), np.array([0, 1]), slice(1, 3)),
    "mask": X > 30,
    "mask first": np.array([True, False, True]),
    "mask middle": (slice(None), np.array([True, False, True, True])),
    "mask and ints": (np.array([True, False, True]), 1, slice(None, None, 2)),
    "mask 2-d": (X[0] % 2 == 0)[None].repeat(3, 0)[:, :, 0],
    "negative step and array": (slice(None, None, -1), [0, 2]),
    "bool": True,
    "bool false": (slice(None), False),
    "uint8 array": np.array([0, 1, 1], "u1"),
    "0-d array": np.array(1),
    "too many": (0, 0, 0, 0),
    "outside": 3,
    "outside array": [0, 3],
    "outside negative": [0, -4],
    "wrong mask": np.array([True, False]),
    "float": np.array([0.5]),
    "two ellipses": (..., ...),
    "ellipsis of no axis": (slice(None), 0, ..., [0, 1]),
    "ellipsis of no axis and mask": (slice(None), [1, 2], ..., np.arange(5) > 2),
    "ellipsis of no axis and newaxis": (slice(None), 0, ..., [0, 1], None),
    "ellipsis of no axis and steps": (slice(None, None, -1), [[1], [2]], ..., 0),
    "ellipsis of no axis at the end": (slice(None), [1, 2], [0, 1], ...),
    "ellipsis of no axis and bool": (slice(None), slice(None), True, ..., [0, 1]),
}


@pytest.mark.parametrize("name", INDICES)
def test_getitem(name: str) -> None:
    index = INDICES[name]
    check(lambda a: a[index], X)
    check(lambda a: a[index], X.astype("u2"))


@pytest.mark.parametrize("name", INDICES)
def test_getitem_by_arrays_on_the_card(name: str) -> None:
    index = INDICES[name]
    try:
        expected = X[index]
    except IndexError:
        with pytest.raises(IndexError):
            from_numpy(X)[up(index)]
        return
    assert_same(expected, from_numpy(X)[up(index)])


@pytest.mark.parametrize("name", [n for n in INDICES if n != "negative step and array"])
@pytest.mark.parametrize("value", [7, "same"])
def test_setitem(name: str, value: Any) -> None:
    index = INDICES[name]

    def change(a: Any) -> Any:
        a = a.copy()
        a[index] = value if value != "same" else np.arange(60).reshape(3, 4, 5)[index] * -1
        return a

    check(change, X)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_moves(dtype: str) -> None:
    x = data(dtype)
    for index in (slice(None, None, -1), [2, 0], x == x, (slice(None), [1, 1]), (1, 2)):
        check(lambda a, i=index: a[i], x)


def test_scalars_are_copies_and_rows_are_views() -> None:
    x = from_numpy(np.arange(4.0))
    x[0], x[1] = x[1], x[0]
    assert_same(np.array([1.0, 0, 2, 3]), x)
    y = from_numpy(np.zeros((2, 2)))
    y[0][1] = 5
    assert y[0, 1].item() == 5


def test_overlapping_assignment() -> None:
    def shift(a: Any) -> Any:
        a = a.copy()
        a[1:] = a[:-1]
        a[::-1] = a
        return a

    check(shift, np.arange(6))


def test_writing_through_a_reversed_copy_raises() -> None:
    x = from_numpy(np.arange(4.0))
    with pytest.raises(ValueError, match="negative step"):
        x[::-1][0] = 9
    with pytest.raises(ValueError, match="negative step"):
        np.flip(x)[:] = 0
    y = x[::-1].copy()
    y[0] = 9
    assert y[0].item() == 9


def test_assignment_converts_as_numpy() -> None:
    x = from_numpy(np.zeros(3, "i1"))
    with pytest.raises(OverflowError):
        x[0] = 300
    x[0] = 2.7
    assert_same(np.array([2, 0, 0], "i1"), x)
    with pytest.raises(ValueError, match="broadcast"):
        x[:] = [1, 2]
    x[...] = np.ones((1, 3))
    assert_same(np.ones(3, "i1"), x)


def test_length_zero() -> None:
    for index in (slice(None, None, -1), [], np.zeros(0, bool), (slice(None), 1)):
        check(lambda a, i=index: a[i], np.zeros((0, 3)))


_shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)


@st.composite
def _indexed(draw: Any, advanced: bool) -> tuple[np.ndarray[Any, Any], Any]:
    shape = draw(_shapes)
    array = np.arange(int(np.prod(shape))).reshape(shape)
    basic = hnp.basic_indices(shape, allow_newaxis=True)
    if not advanced:
        return array, draw(basic)
    if 0 in shape:
        return array, draw(hnp.arrays(bool, shape))
    chosen = draw(
        st.one_of(
            hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)),
            hnp.arrays(bool, shape),
            st.tuples(
                *(
                    st.one_of(
                        st.integers(-n, n - 1),
                        st.slices(n),
                        st.lists(st.integers(-n, n - 1), min_size=1, max_size=1),
                    )
                    for n in shape
                )
            ),
        )
    )
    return array, chosen


@settings(max_examples=200, deadline=None)
@given(_indexed(advanced=False))
def test_generated_basic(case: tuple[np.ndarray[Any, Any], Any]) -> None:
    array, index = case
    check(lambda a: a[index], array)


@settings(max_examples=200, deadline=None)
@given(_indexed(advanced=True))
def test_generated_advanced(case: tuple[np.ndarray[Any, Any], Any]) -> None:
    array, index = case
    check(lambda a: a[index], array)


@settings(max_examples=100, deadline=None)
@given(_indexed(advanced=False))
def test_generated_assignment(case: tuple[np.ndarray[Any, Any], Any]) -> None:
    array, index = case

    def change(a: Any) -> Any:
        a = a.copy()
        a[index] = np.arange(a[index].size).reshape(a[index].shape) * 2
        return a

    check(change, array)


@pytest.mark.usefixtures("no_fallback")
def test_the_last_of_duplicate_indices_wins() -> None:
    random = np.random.default_rng(3)
    rows, columns = random.integers(0, 4, 9), random.integers(0, 5, (2, 9))
    large = random.integers(0, 60, 300) * 7000  # places far apart: found by sorting
    for index, shape in (
        (rows, (4, 5)),
        ((slice(None), columns), (4, 5)),
        ((rows, columns), (4, 5)),
        ((rows, slice(1, 3), columns), (4, 3, 5)),
        (large, (420_000,)),
    ):
        host = np.zeros(shape)
        card = from_numpy(host)
        values = random.normal(size=host[index].shape)
        host[index] = values
        card[index] = from_numpy(values)
        assert_same(host, card)


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("f8", 1j, TypeError),
        ("i4", float("nan"), ValueError),
        ("i4", float("inf"), OverflowError),
        ("i4", 1j, TypeError),
    ],
)
def test_scalars_that_do_not_fit_are_refused_as_in_numpy(dtype, value, error):
    for array in (np.zeros(3, dtype), from_numpy(np.zeros(3, dtype))):
        with pytest.raises(error):
            array[1] = value
        with pytest.raises(error):
            array[[0, 2]] = value


def test_an_element_takes_no_sequence():
    for dtype in ("?", "i4", "f4", "c8"):
        for value in (np.array([1], dtype), np.array([1, 2], dtype), [1], (1,)):
            for shape, index in (((3,), 0), ((), ()), ((2, 2), (0, 1)), ((2, 2), (0, 1, ...))):

                def assign(x, v, index=index):
                    x[index] = v
                    return x

                # NumPy refuses sequences here, whatever their length, but arrays it broadcasts
                if type(value) not in (list, tuple) or (dtype != "?" and index != (0, 1, ...)):
                    check(assign, np.zeros(shape, dtype), value)


def test_a_scalar_read_from_an_array_without_axes_is_a_copy():
    x = from_numpy(np.array(1.0))
    taken = x[()]
    x[...] = 2.0
    assert float(taken) == 1.0
    x[...] += 1
    assert float(x) == 3.0


def test_values_under_a_full_mask_have_one_axis():
    def assign(x, mask, value):
        x[mask] = value
        return x

    mask = np.array([[True, False], [False, True]])
    check(assign, np.zeros((2, 2)), mask, np.ones((1, 2)))
    check(assign, np.zeros((2, 2)), mask, np.ones(2))
    check(assign, np.array(1.0), np.True_, np.ones((1, 1)))
    check(assign, np.array(1.0), (False, ...), np.ones((2, 1)))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (3, 0), (3,), (2, 2)])
def test_masks_of_length_0_fit_any_axis(shape):
    check(lambda x, m: x[m], np.arange(6.0).reshape(2, 3), np.zeros(shape, bool))


def test_powers_of_nothing_may_be_negative():
    check(np.power, np.empty((1, 0), "i4"), np.array([[-1]], "i4"))


@pytest.mark.parametrize("value", [[[1]], ((1.0,),), [[[2.0]]], [], [1, 2], [3], 4])
def test_nested_values_under_a_mask_of_all_axes(value: Any) -> None:
    one, masks = np.array([5.0, 6.0]), (np.array([True, False]), np.array([False, False]))
    cases = [(np.array(5.0), key) for key in (True, False, np.True_, (True,), np.array(True))]
    for host, key in [*cases, *((one, mask) for mask in masks)]:
        expected, found = host.copy(), from_numpy(host)
        given = from_numpy(key) if isinstance(key, np.ndarray) else key
        try:
            expected[key] = value
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                found[given] = value
        else:
            found[given] = value
        assert_same(expected, found)

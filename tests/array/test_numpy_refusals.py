"""What NumPy refuses or takes in small cases that torch decides otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daskasc.array as xp

from .reference import check

pytestmark = pytest.mark.usefixtures("no_fallback")


@pytest.mark.parametrize(
    "reduce", [np.sum, np.prod, np.nansum, np.add.reduce, np.bitwise_or.reduce]
)
@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (3, 2)])
def test_no_start_at_all(reduce: Any, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, "i4")
    check(lambda a: reduce(a, axis=0, initial=None), x)
    check(lambda a: np.sum(a, axis=0, initial=None, where=True), x)
    check(lambda a: np.sum(a, axis=0, initial=None, where=False), x)


def test_sums_over_no_axis_keep_their_dtype() -> None:
    x = np.arange(6, dtype="u2").reshape(2, 3)
    check(lambda a: np.sum(a, axis=(), dtype=bool), x)
    check(lambda a: np.nansum(a, axis=(), dtype=bool, initial=2**40), x)
    check(lambda a: np.add.reduce(a, axis=(), dtype=bool), x)


@pytest.mark.parametrize("dtype", ["?", "i4"])
@pytest.mark.parametrize("given", ["?", "u1", "i8", "f4"])
@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads_in_dtypes_of_integers(name: str, given: str, dtype: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(given)
    function = getattr(np, name)
    check(lambda a: function(a, dtype=dtype), x)
    check(lambda a: function(a, axis=0, dtype=dtype), x)


@pytest.mark.parametrize("value", [1j, [1.0], np.complex64(1)])
def test_nan_to_num_looks_at_its_values_for_inexact_numbers_only(value: Any) -> None:
    check(lambda a: np.nan_to_num(a, nan=value, posinf=value), np.array([1, 2]))


@pytest.mark.parametrize("dtype", ["i8", "u1"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, 2.5, (1.5, np.nan)])
def test_values_of_pad_that_do_not_fit(value: Any, dtype: str) -> None:
    check(lambda a: np.pad(a, 1, constant_values=value), np.arange(3, dtype=dtype))


def test_shapes_that_are_none() -> None:
    x = np.arange(4.0)
    check(lambda a: np.broadcast_to(a, (-1,)), x)
    check(lambda a: np.broadcast_to(a, (-1, 4)), x)
    check(np.ix_, x[:0])
    check(lambda a: np.packbits(a, axis=0), np.array(3))
    array = xp.asarray(x)
    with pytest.raises(ValueError, match="inhomogeneous"):
        xp.array([array[0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="a time"):
        array.flat[0] = np.datetime64(3, "D")


@pytest.mark.parametrize("text", ["ij->ji", "ii->i", "ba", "ii", "ij->i"])
@pytest.mark.parametrize("options", [{"dtype": "f8"}, {"dtype": "f8", "optimize": True}])
def test_einsum_of_one_operand_that_sums_nothing_is_a_view(text: str, options: Any) -> None:
    check(lambda a: np.einsum(text, a, **options), np.arange(9, dtype="i4").reshape(3, 3))


@pytest.mark.parametrize("target", ["i4", "f4", "f8"])
@pytest.mark.parametrize("given", ["i2", "f8"])
def test_dot_with_a_number_casts_into_out_as_multiply_does(given: str, target: str) -> None:
    x = np.arange(3, dtype=given)
    check(lambda a, o: np.dot(a, a[1], out=o), x, np.zeros(3, target))


def test_halves_are_refused_beside_other_dtypes() -> None:
    half, whole = np.eye(2, dtype="f2"), np.eye(2)
    check(np.linalg.solve, half, whole)
    check(np.linalg.solve, whole, half)
    check(lambda a: np.linalg.pinv(a[:0], hermitian=True), half)


def _choose(a: Any, mode: str) -> Any:
    return np.choose(a.astype(int), [a, a], mode=mode)


REFUSED: dict[str, Any] = {
    "isin table": lambda a: np.isin(a, a, kind="table"),
    "isin kind": lambda a: np.isin(a.astype(int), [1], kind="bad"),
    "isin sort": lambda a: np.isin(a, a, kind="sort"),
    "choose mode": lambda a: _choose(a - a, "bad"),
    "choose clip": lambda a: _choose(a, "clip"),
    "take floats": lambda a: np.take(a, a),
    "take floats wrapped": lambda a: np.take(a, a, mode="wrap"),
    "take floats clipped": lambda a: np.take(a, [0.0, 1.0], mode="clip"),
    "take bools": lambda a: np.take(a, a > 0),
    "take uint64": lambda a: np.take(a, a.astype("u8")),
    "take nothing": lambda a: np.take(a, []),
    "take no floats": lambda a: np.take(a, a[:0]),
    "take a list of floats": lambda a: np.take(a, [0.0, 1.5]),
    "take by NaN": lambda a: np.take(a, [np.nan]),
    "repeat": lambda a: np.repeat(a, 1.5),
    "repeat by floats": lambda a: np.repeat(a, [1.5, 2, 0]),
    "repeat by an array of floats": lambda a: np.repeat(a, a),
    "repeat by uint64": lambda a: np.repeat(a, a.astype("u8")),
    "or": lambda a: np.logical_or.reduce(a[:0], initial=None),
    "and": lambda a: np.logical_and.reduce(a, initial=None, where=a > 0),
    "and all": lambda a: np.logical_and.reduce(a, initial=None),
    "nanstd": lambda a: np.nanstd(a.reshape(1, -1).astype("i4"), axis=0, dtype=bool),
    "nanstd of all": lambda a: np.nanstd(a.astype("i4"), dtype=bool),
    "nanstd int": lambda a: np.nanstd(a.reshape(1, -1).astype("i4"), axis=0, dtype="i2"),
    "einsum no": lambda a: np.einsum("i,i", a, a.astype("f4"), casting="no"),
    "einsum equiv": lambda a: np.einsum("i,i", a, a.astype("f4"), casting="equiv"),
    "einsum one": lambda a: np.einsum("i,i", a, a, casting="no"),
    "roll axis": lambda a: np.roll(a, (), axis=5),
    "roll none": lambda a: np.roll(a, (), axis=()),
    "roll many": lambda a: np.roll(a, (1, 2), axis=(0, 0)),
    "full": lambda a: np.full_like(a, 2**70, dtype=bool),
    "full integer": lambda a: np.full_like(a, 2**40, dtype=bool),
    "choose nothing": lambda a: np.choose(a[:0].astype(int), []),
    "unravel bools": lambda a: np.unravel_index(a > 0, (2, 2)),
    "trapezoid over bools": lambda a: np.trapezoid(a, x=a > 1),
    "unpackbits": lambda a: np.unpackbits(a.astype("u1").sum(dtype="u1").reshape(()), axis=0),
    "over axes": lambda a: np.apply_over_axes(np.sum, a.reshape(3, 1)[0, 0].reshape(()), 0),
    "over negative axes": lambda a: np.apply_over_axes(np.sum, a.reshape(3, 1), (-1, 0)),
    "inv": lambda a: np.linalg.inv(a.reshape(1, 3).astype("f2")),
    "det": lambda a: np.linalg.det(a.astype("f2")),
    "solve": lambda a: np.linalg.solve(a.reshape(1, 3).astype("f2"), a),
    "solve halves": lambda a: np.linalg.solve(a[:1].reshape(1, 1), a[:1].astype("f2")),
    "nan_to_num": lambda a: np.nan_to_num(a, nan="a"),
    "reduce axis": lambda a: np.bitwise_and.reduce(a, axis=4),
    "median": lambda a: np.median(a[:0], axis=()),
    "histogram": lambda a: np.histogram(a, []),
    "histogram weights": lambda a: np.histogram(a, [], weights=a.astype("f4")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_small_refusals(name: str) -> None:
    check(REFUSED[name], np.array([1.0, 0.0, 2.0]))


@pytest.mark.parametrize("keepdims", ["a", None, 1.5, 2, np.True_])
@pytest.mark.parametrize("name", "sum prod any max mean var std nansum nanmax median".split())
def test_keepdims_is_an_integer_where_it_has_to_be(name: str, keepdims: Any) -> None:
    check(lambda a: getattr(np, name)(a, axis=0, keepdims=keepdims), np.ones((2, 3)))

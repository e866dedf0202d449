"""Operators beside operands that no card can hold, against NumPy."""

from __future__ import annotations

import datetime as dt
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest

from daskasc import device
from daskasc.array import AscendArray, from_numpy

from .reference import assert_same, check

NUMBERS = np.array([1.0, 2.0, np.nan])
DAYS = np.array(["2000-01-01", "2001-01-01", "NaT"], "M8[D]")
STEPS = np.array([1, 86400, "NaT"], "m8[s]")
ARRAYS = {
    "f8": NUMBERS,
    "i4": np.array([[1], [2]], "i4"),
    "?": np.array([True, False]),
    "0-d": np.array(1.0),
    "empty": np.empty((0, 3)),
    "days": DAYS,
    "ns": DAYS.astype("M8[ns]"),
    "us": DAYS.astype("M8[us]"),
    "years": DAYS.astype("M8[Y]"),
    "hours": DAYS.astype("M8[h]"),
    "step": STEPS,
    "step ns": STEPS.astype("m8[ns]"),
    "step D": STEPS.astype("m8[D]"),
}
OBJECTS: dict[str, Any] = {
    "None": None,
    "text": "a",
    "text of a date": "2001-01-01",
    "bytes": b"a",
    "numpy text": np.str_("a"),
    "Fraction": Fraction(1),
    "Decimal": Decimal(1),
    "object": object(),
    "dict": {},
    "date": dt.date(2001, 1, 1),
    "datetime": dt.datetime(2001, 1, 1),
    "datetime of a zone": dt.datetime(2001, 1, 1, tzinfo=dt.UTC),
    "timedelta": dt.timedelta(1),
    "Timestamp": pd.Timestamp("2001-01-01"),
    "Timestamp of a zone": pd.Timestamp("2001-01-01", tz="UTC"),
    "Timedelta": pd.Timedelta("1D"),
    "NaT": pd.NaT,
    "datetime64": np.datetime64("2001-01-01"),
    "timedelta64": np.timedelta64(1, "D"),
    "objects": np.array(None),
}


@pytest.mark.parametrize("other", OBJECTS)
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.usefixtures("quiet_fallback")
def test_equality_beside_objects_is_numpys(array: str, other: str) -> None:
    host, value = ARRAYS[array], OBJECTS[other]
    for compare in (operator.eq, operator.ne):
        # a NumPy operand on the left asks the ufunc, which has no loop for some of them
        for swap in (False,) if isinstance(value, np.ndarray | np.generic) else (False, True):
            expected = compare(value, host) if swap else compare(host, value)
            card = from_numpy(host)
            found = compare(value, card) if swap else compare(card, value)
            assert isinstance(found, AscendArray), (compare, swap, found)
            assert_same(expected, found)


@pytest.mark.parametrize("other", sorted(OBJECTS.keys() - {"object"}))
@pytest.mark.parametrize("array", ["f8", "i4", "days", "us", "step", "step ns"])
@pytest.mark.usefixtures("quiet_fallback")
def test_order_beside_objects_is_numpys(array: str, other: str) -> None:
    host = ARRAYS[array]
    host = host[~np.isnat(host)] if host.dtype.kind in "mM" else host
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        check(lambda x, compare=compare: compare(x, OBJECTS[other]), host)


@pytest.mark.usefixtures("no_fallback")
def test_what_is_a_time_and_what_never_equals_stays_on_the_card() -> None:
    value: Any
    for value in (None, "a", b"a"):
        for host in (NUMBERS, DAYS, STEPS):
            check(lambda x, value=value: x == value, host)
            check(lambda x, value=value: x != value, host)
    stamp, step = pd.Timestamp("2001-01-01"), pd.Timedelta("1D")
    for value in (dt.date(2001, 1, 1), stamp):
        check(lambda x, value=value: x == value, DAYS)
        check(lambda x, value=value: x > value, DAYS[:2])
    check(lambda x: x < dt.datetime(2001, 1, 1), DAYS[:2].astype("M8[us]"))
    check(lambda x: (x == dt.timedelta(1), x == step, x >= step), STEPS)
    check(lambda x: (x + step, x - step), DAYS)
    # NumPy leaves this to pandas, which has no answer
    assert_same(DAYS - stamp.to_datetime64(), from_numpy(DAYS) - stamp)
    assert_same(stamp.to_datetime64() - DAYS, stamp - from_numpy(DAYS))
    check(lambda x: (x + step, step - x, stamp + x, x / step, x % step), STEPS)
    with pytest.raises(TypeError):  # a quotient in floats, by pandas
        from_numpy(STEPS) // step


def test_in_place_beside_a_time_of_pandas_makes_a_new_array_as_numpy() -> None:
    host, card = DAYS.copy(), from_numpy(DAYS)
    before = card
    host += pd.Timedelta("1D")
    card += pd.Timedelta("1D")
    assert card is not before
    assert_same(DAYS, before)
    assert_same(host, card)


@pytest.mark.parametrize("array", ["f8", "i4", "days", "step"])
@pytest.mark.parametrize("other", ["None", "Fraction", "date", "Timestamp", "Timedelta", "NaT"])
@pytest.mark.usefixtures("quiet_fallback")
def test_ufuncs_of_comparison_beside_objects(array: str, other: str) -> None:
    check(lambda x: np.equal(x, OBJECTS[other]), ARRAYS[array])
    check(lambda x: np.not_equal(OBJECTS[other], x), ARRAYS[array])


@pytest.mark.usefixtures("quiet_fallback")
def test_ufuncs_of_order_keep_the_order_of_operands() -> None:
    bound: Any = Fraction(3, 2)
    check(lambda x: np.less(bound, x), NUMBERS)
    check(lambda x: np.greater_equal(x, bound), NUMBERS)


@pytest.mark.usefixtures("quiet_fallback")
def test_comparing_with_other_objects_is_counted() -> None:
    before = device.counters.fallbacks().get("numpy.equal")
    assert (from_numpy(NUMBERS) == Decimal(2)).tolist() == [False, True, False]
    assert device.counters.fallbacks()["numpy.equal"] != before
    assert Fraction(2) in from_numpy(NUMBERS)
    assert None not in from_numpy(NUMBERS)


class _Answers:
    """Defines the reflected operators."""

    def __eq__(self, other: object) -> Any:
        return "theirs"

    __ne__ = __lt__ = __gt__ = __radd__ = __eq__
    __hash__ = None  # type: ignore[assignment]


class _Refuses(_Answers):
    __array_ufunc__ = None


class _Higher(_Answers):
    __array_priority__ = 1e6


@pytest.mark.parametrize("kind", [_Refuses, _Higher])
@pytest.mark.parametrize("array", ["f8", "days", "step"])
def test_operands_with_a_protocol_answer_themselves(kind: type, array: str) -> None:
    card = from_numpy(ARRAYS[array])
    other: Any = kind()
    assert [card == other, card != other, card < other, card > other, card + other] == [
        "theirs"
    ] * 5


@pytest.mark.usefixtures("no_fallback")
def test_collections_answer_themselves() -> None:
    card = from_numpy(np.arange(3.0))
    lazy = card == da.ones(3)
    assert isinstance(lazy, da.Array)
    assert lazy.compute().tolist() == [False, True, False]
    delayed = dask.delayed(1.0)
    assert (card == delayed).compute().tolist() == [False, True, False]
    with pytest.raises(TypeError):  # pandas takes no arrays of cards
        card == pd.Series(np.arange(3.0))  # noqa: B015


def test_torch_tensors_are_refused_with_the_remedy() -> None:
    card = from_numpy(NUMBERS)
    with pytest.raises(TypeError, match="AscendArray"):
        card == card.tensor  # noqa: B015


@pytest.mark.usefixtures("quiet_fallback")
@pytest.mark.parametrize("other", [None, "a", b"a", 1, [1, "a"], ["a", "b"], [[1], 2], (1, 2)])
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "M8[D]", "m8[s]"])
def test_whole_arrays_beside_objects_are_not_equal(dtype: str, other: Any) -> None:
    for host in (np.arange(2).astype("i8").astype(dtype), np.zeros(0, "i8").astype(dtype)):
        for function in (np.array_equal, np.array_equiv):
            try:
                wanted = function(host, other)
            except TypeError:
                continue
            assert function(from_numpy(host), other) is wanted
            assert function(other, from_numpy(host)) is wanted


def test_numpys_times_of_the_other_kind_are_not_equal() -> None:
    dates, spans = np.array(["2020-01-01", "NaT"], "M8[D]"), np.array([1, 2], "m8[D]")
    for host, other in (
        (dates, np.timedelta64(1, "D")),
        (spans, np.datetime64("2020-01-01")),
        (dates, spans),
        (spans, dates),
    ):
        card = from_numpy(host)
        for function in (operator.eq, operator.ne):
            assert function(other, card).tolist() == function(other, host).tolist()
            assert function(card, other).tolist() == function(host, other).tolist()


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_matrices_are_refused_with_the_remedy() -> None:
    card, matrix = from_numpy(np.ones((2, 2))), np.matrix([[1.0, 2.0], [3.0, 4.0]])
    for function in (np.add, operator.add, operator.eq, operator.lt):
        for operands in ((card, matrix), (matrix, card)):
            with pytest.raises(TypeError, match=r"pass numpy\.asarray\(\.\.\.\) of it"):
                function(*operands)
    assert (card + np.asarray(matrix)).tolist() == [[2, 3], [4, 5]]

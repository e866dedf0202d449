"""Distinct values and sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import (
    ALL,
    COMMON,
    INTEGERS,
    REALS,
    Call,
    Case,
    arrays,
    axis,
    shapes,
)

FEW = ("?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8")


@st.composite
def distinct(draw: st.DrawFn, values: Any, axes: bool = False) -> Call:
    """Calls of unique with any of its further results."""
    array = draw(values)
    kwargs: dict[str, Any] = {
        f"return_{name}": draw(st.booleans()) for name in ("index", "inverse", "counts")
    }
    if axes:
        kwargs["axis"] = draw(axis(array.host.ndim))
    kwargs["equal_nan"] = draw(st.booleans())
    return Call((array,), kwargs)


@st.composite
def sets(draw: st.DrawFn, dtypes: Any = FEW, **options: Any) -> Call:
    """Calls with two arrays of values."""
    first, second = (draw(arrays(dtypes, shapes(1, 2, 0, 5))) for _ in range(2))
    return Call((first, second), {name: draw(option) for name, option in options.items()})


@st.composite
def unique_sets(draw: st.DrawFn, **options: Any) -> Call:
    """Calls with ``assume_unique=``, on arrays that are."""
    found = draw(sets(("i4", "f8"), assume_unique=st.just(True), **options))
    parts = [a._replace(base=np.unique(a.host), index=(), order=()) for a in found.args]
    return Call(tuple(parts), found.kwargs)


def in_order(function: Any) -> Any:
    """The results of a function whose order of values is not fixed, in the order of values."""

    def call(values: Any) -> Any:
        found = function(values)
        if not isinstance(found, tuple):
            return np.sort(found)
        order = np.argsort(found[0], stable=True)
        return [part[order] for part in found if part.shape == order.shape]

    return call


ONE = arrays(ALL, shapes(0, 3, 0, 4))
# the places of several NaN are in the order of an unstable sort
NUMBERS = st.one_of(arrays(INTEGERS), arrays(ALL, special=False))
# which of 0.0 and -0.0 stands for both is the first of an unstable sort

CASES: dict[str, Case] = {
    "unique": Case(np.unique, distinct(NUMBERS), zeros=False),
    "unique[nan]": Case(
        lambda a, equal_nan, **_: np.unique(a, return_counts=True, equal_nan=equal_nan),
        distinct(ONE),
        zeros=False,
    ),
    "unique[axis]": Case(
        np.unique, distinct(arrays(REALS, shapes(1, 3, 0, 3), special=False), True), zeros=False
    ),
    "unique_values": Case(in_order(np.unique_values), st.tuples(ONE), zeros=False),
    "unique_counts": Case(np.unique_counts, st.tuples(ONE), zeros=False),
    "unique_inverse": Case(np.unique_inverse, st.tuples(NUMBERS), zeros=False),
    "unique_all": Case(np.unique_all, st.tuples(NUMBERS), zeros=False),
    "isin": Case(np.isin, sets(invert=st.booleans())),
    "isin[complex]": Case(np.isin, sets(("c8", "f4", "c16"))),
    "isin[kind]": Case(np.isin, sets(INTEGERS, kind=st.sampled_from((None, "sort")))),
    "intersect1d": Case(np.intersect1d, sets(return_indices=st.booleans()), zeros=False),
    "intersect1d[unique]": Case(
        np.intersect1d, unique_sets(return_indices=st.booleans()), zeros=False
    ),
    "union1d": Case(np.union1d, sets(ALL), zeros=False),
    "setdiff1d": Case(np.setdiff1d, sets(), zeros=False),
    "setdiff1d[unique]": Case(np.setdiff1d, unique_sets(), zeros=False),
    "setxor1d": Case(np.setxor1d, sets(), zeros=False),
    "setxor1d[unique]": Case(np.setxor1d, unique_sets(), zeros=False),
    "trim_zeros": Case(
        np.trim_zeros,
        st.tuples(arrays(COMMON, shapes(1, 1, 0, 8)), st.sampled_from(("f", "b", "fb", "FB"))),
    ),
    "trim_zeros[axes]": Case(np.trim_zeros, st.tuples(arrays(("?", "i4"), shapes(1, 3, 0, 4)))),
}

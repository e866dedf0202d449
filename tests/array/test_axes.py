"""What is an axis, and what is none: ``axis=`` of NumPy's functions against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .reference import WRONG_REDUCTIONS, check

pytestmark = pytest.mark.usefixtures("no_fallback")
SCALAR, LINE, PLANE = np.array(3.5), np.arange(3.0), np.arange(6.0).reshape(2, 3)
INTEGERS: tuple[Any, ...] = (0, -1, 1, np.int64(0), np.array(0))
AXES: tuple[Any, ...] = (*INTEGERS, (0,), (0, 0), (), [0], 0.0, "a", np.array([0]))
REDUCTIONS = (
    "sum prod max min ptp all any nansum nanprod nanmax nanmin nanmean nanvar nanstd count_nonzero"
).split()
COMPILED = "argmax argmin cumsum cumprod argsort squeeze nancumsum nancumprod nanargmax".split()
LISTED = "median nanmedian flip average unstack trim_zeros".split()


@pytest.mark.parametrize("name", [*REDUCTIONS, *COMPILED])
def test_an_axis_of_compiled_functions(name: str) -> None:
    for array in (SCALAR, LINE, PLANE):
        for axis in (*AXES, True, np.False_):
            check(lambda a, x=axis: getattr(np, name)(a, axis=x), array)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_an_axis_of_means(name: str) -> None:
    for array in (SCALAR, LINE, PLANE):
        for axis in AXES:
            check(lambda a, x=axis: getattr(np, name)(a, axis=x), array)
    check(lambda a: getattr(np, name)(a, axis=True), PLANE)
    # a mask takes another way in NumPy, which knows axis 0 of an array without axes
    check(lambda a: getattr(np, name)(a, axis=np.int64(0), where=np.True_), SCALAR)


@pytest.mark.parametrize("name", LISTED)
def test_axes_in_a_list_or_an_array(name: str) -> None:
    for array in (LINE, PLANE):
        for axis in AXES:
            check(lambda a, x=axis: getattr(np, name)(a, axis=x), array)


def test_axes_of_quantiles_and_moves() -> None:
    for array in (SCALAR, LINE, PLANE):
        for axis in AXES:
            check(lambda a, x=axis: np.quantile(a, 0.5, axis=x), array)
            check(lambda a, x=axis: np.expand_dims(a, x), array)
            if not isinstance(axis, tuple) or len(axis) == 1:
                check(lambda a, x=axis: np.moveaxis(a, x, 0), array)
    for axis in (0.0, np.float64(1), "a", 1):
        check(lambda a, x=axis: np.roll(a, 1, axis=x), PLANE)


TAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "take": lambda a, x: np.take(a, [0], axis=x),
    "repeat": lambda a, x: np.repeat(a, 2, axis=x),
    "compress": lambda a, x: np.compress([True], a, axis=x),
}


@pytest.mark.parametrize("name", TAKERS)
def test_an_axis_of_takers(name: str) -> None:
    for array in (SCALAR, LINE, PLANE):
        for axis in (*AXES, True, None):
            check(lambda a, x=axis: TAKERS[name](a, x), array)
    check(lambda a: np.concatenate([a, a], axis=True), PLANE)


@pytest.mark.parametrize(
    "ufunc", [np.add, np.multiply, np.subtract, np.maximum, np.power, np.logical_and]
)
def test_an_axis_of_the_methods_of_ufuncs(ufunc: np.ufunc) -> None:
    for array in (SCALAR, LINE, PLANE):
        for axis in (*AXES, True, None):
            check(lambda a, x=axis: ufunc.accumulate(a, axis=x), array)
            given = array.astype("i8") if ufunc in WRONG_REDUCTIONS else array
            check(lambda a, x=axis: ufunc.reduce(a, axis=x), given)
            check(lambda a, x=axis: ufunc.reduceat(a, [0, 1], axis=x), given)


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="since NumPy 2.1")
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_an_axis_of_cumulative_functions(name: str) -> None:
    for array in (SCALAR, LINE, PLANE):
        for axis in (*AXES, True, None):
            check(lambda a, x=axis: getattr(np, name)(a, axis=x), array)

"""Reductions by ufuncs in the dtype that ``out=`` and ``dtype=`` ask for."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import daskasc.array as da
from daskasc import device
from daskasc.array import _dtypes

from .reference import WRONG_REDUCTIONS, assert_same, check, up

pytestmark = pytest.mark.usefixtures("no_fallback")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# a sum, a difference, a power and a length that the operands' own dtype cannot hold
GROWING = [
    (np.add, np.array([2**63 - 1, 1, 5])),
    (np.subtract, np.array([1, 2, 3], "u1")),
    (np.power, np.array([15, 9, 4])),
    (np.hypot, np.array([6e4, 6e4], "f2")),
    (np.left_shift, np.array([100, 60, 3], "u1")),
    (np.true_divide, np.array([1, 3, 7])),
    (np.gcd, np.array([12, 18, 8], "u1")),
    (np.bitwise_xor, np.array([1, 2, 3], "i2")),
    (np.logaddexp, np.array([1, 2, 3], "i1")),
    (np.maximum, np.array([2**63 - 1, -3])),
    (np.less, np.array([1, 2])),
]
FORMS: dict[str, Any] = {
    "reduce": lambda f, x, **options: f.reduce(x, **options),
    "accumulate": lambda f, x, **options: f.accumulate(x, **options),
    "reduceat": lambda f, x, **options: f.reduceat(x, [0, 1, 0], **options),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("ufunc", "x"), GROWING, ids=lambda v: getattr(v, "__name__", ""))
def test_out_takes_part_in_the_choice_of_the_loop(ufunc: np.ufunc, x: Any, form: str) -> None:
    shape = {"reduce": (), "accumulate": x.shape, "reduceat": (3,)}[form]
    for target in ("f8", "c16", "i8", "u8", "?"):
        if form == "reduce" and target == "?":
            continue  # NumPy's intermediate results are bools there or not, by the layout
        if ufunc in (np.logaddexp, np.true_divide, np.hypot) and target == "u8":
            continue  # its identity, or a quotient, has no unsigned integer
        if ufunc is np.power and target == "u8" and device.current().kind != "cpu":
            continue  # too large for it: what that becomes is the processor's own
        if ufunc in WRONG_REDUCTIONS and target in ("f8", "u8") and form != "accumulate":
            continue  # uint64 and int64 meet in float64

        def into(a: Any, target: str = target) -> Any:
            return FORMS[form](ufunc, a, out=np.zeros_like(a, target, shape=shape))

        check(into, x)


@pytest.mark.parametrize("ufunc", [np.power, np.arctan2], ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_reductions_that_numpy_may_get_wrong(ufunc: np.ufunc, dtype: str) -> None:
    array = np.random.default_rng(3).uniform(0.5, 1.5, (4, 5)).astype(dtype)
    for axis in (0, 1):
        lines = np.split(array, array.shape[axis], axis)
        folded = functools.reduce(ufunc, lines)
        assert_same(folded, ufunc.reduce(up(array), axis=axis, keepdims=True))
        first = functools.reduce(ufunc, lines[:2])
        found = ufunc.reduceat(up(array), [0, 2], axis=axis)
        rest = functools.reduce(ufunc, lines[2:])
        assert_same(np.concatenate([first, rest], axis), found)


def test_dtype_wins_over_out() -> None:
    for form in ("accumulate", "reduceat"):
        check(
            lambda a, f=form: FORMS[f](
                np.subtract, a, dtype="i2", out=np.zeros_like(a, "f8", shape=(3,))
            ),
            np.array([1, 2, 3], "u1"),
        )


def test_small_integers_are_added_in_64_bits_without_out() -> None:
    for dtype in ("?", "i1", "u1", "u2"):
        for ufunc in (np.add, np.multiply):
            x = np.array([100, 100, 3]).astype(dtype)
            for form in FORMS.values():
                check(lambda a, f=form, u=ufunc: f(u, a), x)


def test_out_has_the_shape_of_the_result() -> None:
    for form, shape in (("reduce", (2,)), ("accumulate", (2, 3)), ("reduceat", (2, 3))):
        for ufunc in (np.subtract, np.add):
            check(
                lambda a, f=form, u=ufunc, s=shape: FORMS[f](u, a, out=np.zeros_like(a, shape=s)),
                np.arange(3.0),
            )


def test_bfloat16_counts_as_a_dtype() -> None:
    x = up(np.array([3, 2, 1], BFLOAT16))
    out = da.zeros(3, "f4")
    assert_same(np.array([3, 1, 0], "f4"), np.subtract.accumulate(x, out=out))
    assert np.subtract.reduce(x).dtype == BFLOAT16
    whole = da.zeros(3, BFLOAT16)
    found = np.subtract.accumulate(up(np.array([3, 2, 1], "i1")), out=whole)
    assert found.asnumpy().astype("f4").tolist() == [3, 1, 0]
    assert _dtypes.reduction_loop(np.add, BFLOAT16, None, np.dtype("i4"))[0] == np.float64

"""Sums and products along an axis, in every dtype that can be asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .reference import DTYPES, REALS, check

pytestmark = pytest.mark.usefixtures("no_fallback")

SCANS = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "nancumsum": np.nancumsum,
    "nancumprod": np.nancumprod,
    "cumulative_sum": np.cumulative_sum,
    "cumulative_prod": np.cumulative_prod,
    "add": np.add.accumulate,
    "multiply": np.multiply.accumulate,
    "method": lambda x, **options: x.cumsum(**options),
}


def operand(dtype: str) -> np.ndarray[Any, Any]:
    """Sums and products that wrap in the narrow dtypes; no negative number in an unsigned one."""
    return np.array([[100, 120, 3], [7, 90, 4], [3, 3, 101]]).astype(dtype)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", SCANS)
def test_dtype_is_that_of_the_elements_and_of_the_result(name: str, dtype: str) -> None:
    scan = SCANS[name]
    for given in ("i1", "u8", "f4"):
        if given == "f4" and dtype[0] in "iu":
            continue  # floats beyond the dtype have no integer in C
        for axis in (0, 1):
            check(lambda x, a=axis: scan(x, axis=a, dtype=dtype), operand(given))


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("given", ["u2", "u4", "u8", "i4"])
def test_sums_are_formed_in_the_common_dtype_with_out(given: str, target: str) -> None:
    check(lambda x: np.cumsum(x, axis=0, out=np.zeros_like(x, target)), operand(given))
    check(lambda x: np.cumprod(x, axis=1, out=np.zeros_like(x, target)), operand(given))

"""Dtypes of results: every pair of dtypes, and Python's scalars, as NumPy's promotion gives them.

Exhaustive, where the property tests draw. bfloat16 is no dtype of NumPy's own; its rule is that of
a floating-point dtype with float32's range and eight bits: integers of one byte fit, others not.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import dask
import ml_dtypes
import numpy as np
import pytest

from daskasc.array import AscendArray, from_numpy
from daskasc.errors import PrecisionWarning

from .reference import DTYPES

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SCALARS: dict[str, Any] = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}
# one of each way of promotion: common dtype, division, floats only, comparison, bits, shifts,
# logic, tuples, signs
UFUNCS = [
    np.add,
    np.true_divide,
    np.arctan2,
    np.less,
    np.bitwise_and,
    np.left_shift,
    np.logical_or,
    np.divmod,
    np.copysign,
    np.power,
    np.maximum,
    np.float_power,
    np.heaviside,
]


def _dtypes(ufunc: np.ufunc, *operands: Any) -> Any:
    """Dtypes of the results, or the class of the error."""
    try:
        results = ufunc(*operands)
    except TypeError:
        return TypeError
    return [np.dtype(r.dtype) for r in (results if isinstance(results, tuple) else (results,))]


@pytest.fixture(autouse=True)
def _quiet(quiet_fallback: None) -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_pairs_of_arrays(ufunc: np.ufunc) -> None:
    hosts = {d: np.ones(1, d) for d in DTYPES}
    cards = {d: from_numpy(host) for d, host in hosts.items()}
    for left, right in itertools.product(DTYPES, DTYPES):
        expected = _dtypes(ufunc, hosts[left], hosts[right])
        assert _dtypes(ufunc, cards[left], cards[right]) == expected, (left, right)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_arrays_and_scalars(ufunc: np.ufunc) -> None:
    for dtype in DTYPES:
        host = np.ones(1, dtype)
        card = from_numpy(host)
        others = {**SCALARS, **{f"numpy.{d}": np.ones((), d)[()] for d in DTYPES}}
        for name, other in others.items():
            expected = _dtypes(ufunc, host, other)
            assert _dtypes(ufunc, card, other) == expected, (dtype, name)
            assert _dtypes(ufunc, other, card) == _dtypes(ufunc, other, host), (name, dtype)


ALL = [u for u in vars(np).values() if isinstance(u, np.ufunc) and u.nin <= 2 and u.nout == 1]


@pytest.mark.parametrize("ufunc", dict.fromkeys(ALL), ids=lambda u: u.__name__)
def test_what_an_array_says_of_its_dtype_is_the_tensors(ufunc: np.ufunc) -> None:
    cards = [from_numpy(np.ones(1, dtype)) for dtype in DTYPES]
    others = [*cards, *SCALARS.values()]
    rows = [(card,) for card in cards] if ufunc.nin == 1 else list(itertools.product(cards, others))
    for policy in ("numpy", "device", "numpy"):  # what one leaves in the tables the other meets
        with dask.config.set({"daskasc.promotion": policy}), warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            for operands in rows:
                for given in (operands, operands[::-1]):
                    try:
                        found = [ufunc(*given) for _ in range(2)]
                    except (TypeError, ValueError):
                        continue
                    assert all(type(array) is AscendArray for array in found)
                    assert all(array._d is array.tensor.dtype for array in found), (policy, given)
                    assert found[0].dtype == found[1].dtype


def test_result_type_and_where() -> None:
    for left, right in itertools.product(DTYPES, DTYPES):
        one, two = from_numpy(np.ones(1, left)), from_numpy(np.ones(1, right))
        common = np.promote_types(left, right)
        assert np.result_type(one, two) == common
        assert np.where(one, one, two).dtype == common
        assert np.concatenate([one, two]).dtype == common
        assert np.stack([one, two]).dtype == common
    for dtype, scalar in itertools.product(DTYPES, SCALARS.values()):
        one = from_numpy(np.ones(1, dtype))
        expected = np.result_type(np.dtype(dtype), scalar)
        assert np.result_type(one, scalar) == expected
        assert np.where(one, one, scalar).dtype == expected
        assert np.where(one, scalar, one).dtype == expected


def test_arrays_without_axes_are_not_weak() -> None:
    for left, right in itertools.product(DTYPES, DTYPES):
        found = from_numpy(np.ones(2, left)) * from_numpy(np.ones((), right))
        assert found.dtype == (np.ones(2, left) * np.ones((), right)).dtype


BFLOAT16_WITH = {
    **dict.fromkeys(("?", "i1", "u1"), BFLOAT16),
    **dict.fromkeys(("i2", "u2", "f2", "f4"), np.dtype("f4")),
    **dict.fromkeys(("i4", "u4", "i8", "u8", "f8"), np.dtype("f8")),
    "c8": np.dtype("c8"),
    "c16": np.dtype("c16"),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_bfloat16(dtype: str) -> None:
    small, other = from_numpy(np.ones(2, BFLOAT16)), from_numpy(np.ones(2, dtype))
    for found in (
        small + other,
        other * small,
        np.maximum(small, other),
        np.where(other, small, other),
    ):
        assert isinstance(found, AscendArray)
        assert found.dtype == BFLOAT16_WITH[dtype]
    assert np.less(small, other).dtype == np.bool_


def test_bfloat16_and_scalars() -> None:
    small = from_numpy(np.ones(2, BFLOAT16))
    for scalar in (True, 1, 1.0):
        assert (small + scalar).dtype == BFLOAT16
        assert (scalar * small).dtype == BFLOAT16
    assert (small + 1j).dtype == np.complex64
    assert np.sqrt(small).dtype == BFLOAT16
    assert (small + small).dtype == (small / small).dtype == BFLOAT16


@pytest.mark.parametrize("ufunc", [np.add, np.true_divide, np.arctan2, np.power], ids=str)
def test_policy_device(ufunc: np.ufunc) -> None:
    """What would be float64 is float32, what would be complex128 is complex64; all else stays."""
    narrower = {np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8")}
    with dask.config.set({"daskasc.promotion": "device"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        for left, right in itertools.product(DTYPES, [*DTYPES, *SCALARS]):
            one = np.ones(1, left)
            two = SCALARS[right] if right in SCALARS else np.ones(1, right)
            expected = _dtypes(ufunc, one, two)
            if expected is not TypeError:
                expected = [narrower.get(dtype, dtype) for dtype in expected]
            other = two if right in SCALARS else from_numpy(two)
            assert _dtypes(ufunc, from_numpy(one), other) == expected, (left, right)

"""Elementwise functions and promotion against NumPy: every ufunc, every dtype, weak scalars."""

from __future__ import annotations

import warnings
from typing import Any

import dask
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskasc import device
from daskasc.array import AscendArray, from_numpy
from daskasc.array import _dtypes as dtypes
from daskasc.array._dispatch import TABLE
from daskasc.errors import HostFallbackError, PrecisionWarning

from .reference import DTYPES, assert_same, check, data

UFUNCS = sorted(
    {
        u.__name__
        for u in vars(np).values()
        if isinstance(u, np.ufunc) and not u.signature and u.__name__ != "isnat"
    }
)
UNARY = [n for n in UFUNCS if getattr(np, n).nin == 1]
BINARY = [n for n in UFUNCS if getattr(np, n).nin == 2]
SCALARS = (2, 0, -3, 300, 2.5, 0.1, 1j, True)
# the sign of a zero chosen among both is NumPy's by chance of its vector instructions
FREE_ZEROS = {"fmax", "fmin", "maximum", "minimum", "nextafter"}
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def operands(name: str, dtype: str, seed: int) -> np.ndarray[Any, Any]:
    array = data(dtype, seed=seed)
    if name in ("power", "float_power"):
        return abs(array[2:])
    # 1 / 0 of integers is whatever the processor makes of it
    return np.where(array == 0, array.dtype.type(1), array) if name == "reciprocal" else array


@pytest.mark.usefixtures("quiet_fallback")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    for dtype in DTYPES:
        check(getattr(np, name), operands(name, dtype, 0), zeros=name not in FREE_ZEROS)


@pytest.mark.usefixtures("quiet_fallback")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    ufunc = getattr(np, name)
    for dtype in DTYPES:
        left = operands(name, dtype, 0)
        for other in (dtype, "i2", "u8", "f4"):
            check(ufunc, left, operands(name, other, 1), zeros=name not in FREE_ZEROS)
        for scalar in SCALARS:
            if name in ("power", "float_power") and scalar == 300:
                continue
            check(lambda a, s=scalar: ufunc(a, s), left, zeros=name not in FREE_ZEROS)
            check(lambda a, s=scalar: ufunc(s, a), left, zeros=name not in FREE_ZEROS)


ON_CARD = (
    "add subtract multiply divide floor_divide remainder fmod divmod power negative absolute sign "
    "sqrt square exp log expm1 log1p sin cos tan arcsin arctan arctan2 hypot sinh tanh arctanh "
    "cbrt maximum minimum fmax fmin floor ceil trunc rint isnan isinf isfinite signbit copysign "
    "equal less greater_equal logical_and logical_not logaddexp deg2rad reciprocal heaviside "
    "modf frexp"
).split()


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", ON_CARD)
def test_stays_on_card(name: str) -> None:
    ufunc = getattr(np, name)
    x = from_numpy(np.array([0.25, 0.5], "f4"))
    result = ufunc(*(x,) * ufunc.nin)
    assert all(isinstance(r, AscendArray) for r in (result if ufunc.nout > 1 else (result,)))


def test_host_is_an_error_where_forbidden_and_counted_where_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = from_numpy(np.array([[4, 6]], "u8"))
    monkeypatch.delitem(TABLE, np.rot90)
    with dask.config.set({"daskasc.fallback": "error"}), pytest.raises(HostFallbackError):
        np.rot90(x)
    before = device.counters.fallbacks().get("numpy.rot90", (0, 0))
    with dask.config.set({"daskasc.fallback": "silent"}):
        assert_same(np.array([[6], [4]], "u8"), np.rot90(x))
    after = device.counters.fallbacks()["numpy.rot90"]
    assert (after[0] - before[0], after[1] - before[1]) == (1, 16)


def test_python_integer_out_of_range() -> None:
    x = from_numpy(np.array([1, 2], "i1"))
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        x + 300
    assert_same(np.array([True, True]), x < 300)
    assert_same(np.array([False, False]), x == 10**30)


def test_large_integers_compare_by_value() -> None:
    big = from_numpy(np.array([2**24 + 1]))
    small = from_numpy(np.array([2**24 + 1], "f4"))
    assert_same(np.array([False]), big == small)


def test_division_by_integer_zero() -> None:
    for dtype in ("i1", "i4", "i8", "u1", "u4"):
        x = np.array([5, np.iinfo(dtype).min, 7], dtype)
        y = np.array([0, 0, 2], dtype)
        for ufunc in (np.floor_divide, np.remainder, np.fmod):
            check(ufunc, x, y)
    least = np.array([-(2**63)])
    check(np.floor_divide, least, np.array([-1]))


def test_negative_integer_powers_raise() -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        from_numpy(np.array([2, 3])) ** -1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_in_place() -> None:
    x = from_numpy(np.arange(4, dtype="f4"))
    same = x
    x += np.arange(4, dtype="f8")
    x *= 2
    x -= from_numpy(np.ones(4, "f4"))
    assert x is same
    assert_same(np.array([-1, 3, 7, 11], "f4"), x)
    integers = from_numpy(np.arange(4))
    with pytest.raises(TypeError, match="same_kind"):
        integers /= 2
    with pytest.raises(TypeError, match="same_kind"):
        integers += 0.5
    with pytest.raises(ValueError, match="non-broadcastable"):
        x += from_numpy(np.ones((2, 4), "f4"))
    x[1:] += x[:-1]
    assert_same(np.array([-1, 2, 10, 18], "f4"), x)


def test_out_where_and_dtype() -> None:
    a, b = np.arange(4.0), np.array([2.0, 0, 4, 5])
    out, host = from_numpy(np.full(4, 9.0)), np.full(4, 9.0)
    found = np.divide(from_numpy(a), from_numpy(b), out=out, where=from_numpy(b) != 0)
    assert found is out
    assert_same(np.divide(a, b, out=host, where=b != 0), out)
    assert_same(np.add(a, b, dtype="f4"), np.add(from_numpy(a), b, dtype="f4"))
    with pytest.raises(TypeError, match="AscendArray"):
        np.add(from_numpy(a), 1, out=np.zeros(4))


def test_host_operands_are_uploaded() -> None:
    x = from_numpy(np.arange(3.0))
    for other in (np.arange(3), np.float32(2), [1, 2, 3], np.array(2.0)):
        assert_same(np.arange(3.0) + other, x + other)
        assert_same(other - np.arange(3.0), other - x)


def test_bfloat16() -> None:
    x = from_numpy(np.array([1.5, 2.25, -3], BFLOAT16))
    assert x.dtype == BFLOAT16
    assert (x + 1.0).dtype == BFLOAT16
    assert (x * 2).dtype == BFLOAT16
    assert np.sin(x).dtype == BFLOAT16
    assert (x + from_numpy(np.ones(3, "f4"))).dtype == np.float32
    assert (x + from_numpy(np.ones(3, "i4"))).dtype == np.float64
    assert (x > 0).dtype == np.bool_
    assert x.sum().item() == 0.75
    assert x.mean().dtype == BFLOAT16
    assert (x.asnumpy().view("i2") == x.copy().asnumpy().view("i2")).all()


def test_device_policy_says_once_that_it_narrows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtypes, "_said_precision", False)
    x = from_numpy(np.arange(4))
    with dask.config.set({"daskasc.promotion": "device"}):
        with pytest.warns(PrecisionWarning, match="float32"):
            assert (x / 2).dtype == np.float32
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.sin(x).dtype == np.float32
            assert x.mean().dtype == np.float32
            assert (x + 0.5).dtype == np.float32
            assert (x + 1).dtype == np.int64
    assert (x / 2).dtype == np.float64


_numbers = st.one_of(
    st.integers(-100, 100), st.floats(-100, 100), st.complex_numbers(max_magnitude=9)
)


@settings(max_examples=150, deadline=None)
@given(
    left=st.sampled_from(DTYPES),
    right=st.one_of(st.sampled_from(DTYPES), _numbers),
    name=st.sampled_from("add multiply maximum true_divide arctan2 less".split()),
)
def test_promotion_is_numpys(left: str, right: Any, name: str) -> None:
    ufunc = getattr(np, name)
    x = np.ones((2,), left)
    y = np.ones((2, 1), right) if isinstance(right, str) else right
    with dask.config.set({"daskasc.fallback": "silent"}), np.errstate(all="ignore"):
        check(lambda a, b: ufunc(a, b).dtype.str, x, y)
        check(lambda a, b: ufunc(b, a).dtype.str, x, y)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "c8"])
@pytest.mark.parametrize("exponent", [2, 2.0, 0.5, 1, 3, -1.0])
def test_powers_with_python_exponents(dtype, exponent):
    host = np.array([-2.0, -0.0, 0.5, 3.0]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = host**exponent
    got = from_numpy(host) ** exponent
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.asnumpy(), expected, rtol=2e-3 if dtype == "f2" else 1e-6)


def test_complex_zero_to_a_complex_power():
    for exponent in (1 + 1j, 2, 0.5 - 3j, 0):
        expected = np.array([0j, 1j]) ** exponent
        np.testing.assert_allclose((from_numpy(np.array([0j, 1j])) ** exponent).asnumpy(), expected)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", [None, "i4", "f4"])
def test_casting_is_about_operands_too(casting, dtype):
    for left, right in (("i1", "f2"), ("i4", "i4"), ("f8", "f4"), ("?", "?")):
        x, y = np.ones(2, left), np.full(2, 2, right)
        check(lambda a, b: np.add(a, b, dtype=dtype, casting=casting), x, y)


def test_casting_of_bfloat16(no_fallback):
    x = from_numpy(np.ones(2, ml_dtypes.bfloat16))
    assert np.add(x, x, casting="no").dtype == ml_dtypes.bfloat16
    with pytest.raises(TypeError, match="casting rule 'no'"):
        np.add(x, from_numpy(np.ones(2, "f4")), casting="no")
    assert np.add(x, from_numpy(np.ones(2, "f4"))).dtype == np.float32
    assert np.add(x, x, dtype=np.float32).dtype == np.float32


def test_large_python_integers(no_fallback):
    for dtype in ("?", "f4", "f8", "c16"):
        for ufunc in (np.add, np.hypot, np.equal, np.less, np.logical_or):
            for number in (2**63, 2**64, -(2**70)):
                if not (dtype == "c16" and ufunc is np.hypot):
                    check(ufunc, np.ones(2, dtype), number)


def test_large_python_floats(no_fallback):
    for dtype in ("f2", "f4", "c8"):
        for ufunc in (np.add, np.logaddexp, np.maximum, np.true_divide):
            for number in (1e300, -1e300, 7e4):
                if not (dtype == "c8" and ufunc is np.logaddexp):
                    check(ufunc, np.ones(2, dtype), number)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4"])
def test_multiples_of_extremes_wrap(dtype, no_fallback):
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, limits.max // 2, 0, 1, 2, 3, 6, 96]
    host = np.array(values, dtype)
    host = np.concatenate([host, (0 - host).astype(dtype)])
    check(np.lcm, host[:, None], host)
    check(np.gcd, host[:, None], host)


def test_spacing_of_negative_zero_is_upwards(no_fallback):
    for dtype in ("f2", "f4", "f8"):
        host = np.array([-0.0, 0.0], dtype)
        np.testing.assert_array_equal(np.spacing(from_numpy(host)).asnumpy(), np.spacing(host))


def test_methods_begin_and_end_as_numpys(no_fallback):
    check(np.gcd.reduce, np.array([-4]))
    check(np.hypot.reduce, np.array([[-4.0], [3.0]]), 1)
    check(lambda x: np.gcd.reduce(x, axis=()), np.array([-4, 2]))
    check(lambda x: np.lcm.reduce(x, axis=(0, 1)), np.ones((2, 2), int))
    check(lambda x: np.lcm.reduce(x), np.array([100, 7, 9], "i1"))
    check(lambda x: np.hypot.reduce(x, axis=(0, 1), initial=1), np.ones((0, 0)))
    check(lambda x: np.hypot.reduce(x, dtype="i8"), np.ones(2))
    for ufunc in (np.add, np.multiply, np.maximum, np.subtract):
        check(ufunc.accumulate, np.array(1.0))
        check(ufunc.reduce, np.array(1.0))
        check(ufunc.reduceat, np.ones(2), np.array([], int))
        check(ufunc.reduceat, np.ones(2, bool), np.array([2]))


def test_at_takes_any_index(no_fallback):
    def at(ufunc, x, index, *rest):
        x = x.copy()
        ufunc.at(x, index, *rest)
        return x

    for index in (slice(None, None, 2), (slice(None), 0), ..., [0, 0, 2], (0, slice(1, None))):
        check(lambda x, i=index: at(np.add, x, i, 2.0), np.ones((3, 2)))
        check(lambda x, i=index: at(np.negative, x, i), np.ones((3, 2)))
    check(lambda x: at(np.negative, x, np.array([], int)), np.ones(2, bool))


def test_vecdot_is_refused_as_numpys(no_fallback):
    for shapes in (((2,), ()), ((), ()), ((2,), (3,)), ((2, 3), (3,)), ((0,), (0,))):
        for dtype in ("f4", "u2", "i4", "?"):
            check(np.vecdot, *(np.ones(shape, dtype) for shape in shapes))


def test_equiv_casting_beside_scalars(no_fallback):
    # NumPy's own resolve_dtypes crashes the process on it
    for value in (1, 1.5, True):
        for dtype in ("f4", "i4", "?"):
            for ufunc in (np.add, np.equal, np.less):
                check(lambda x, u=ufunc, v=value: u(x, v, casting="equiv"), np.ones(3, dtype))
    check(lambda x: np.add(x, 1, casting="equiv", signature=(None, None, "f4")), np.ones(3, "f4"))

"""Edges where torch and NumPy part: infinities in complex numbers, 0-d arrays, integers by zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daskasc.array as xp
from daskasc.array import from_numpy

from .reference import check, up

pytestmark = pytest.mark.usefixtures("no_fallback")

INF, NAN = np.inf, np.nan
PARTS = (INF, -INF, 0.0, -0.0, 1.5, NAN)
COMPLEX = np.array([complex(a, b) for a in PARTS for b in PARTS])


def same(function: Any, *args: np.ndarray[Any, Any]) -> None:
    with np.errstate(all="ignore"):
        expected = function(*args)
    found = function(*map(up, args)).asnumpy()
    assert found.dtype == expected.dtype
    for one, other in ((expected.real, found.real), (expected.imag, found.imag)):
        np.testing.assert_allclose(other, one, rtol=1e-5 if one.itemsize == 4 else 1e-12)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize(
    "function",
    [np.sign, np.square, np.sqrt, np.reciprocal, np.exp, np.log, np.absolute, np.positive],
)
def test_complex_functions_at_infinities(function: Any, dtype: str) -> None:
    same(function, COMPLEX.astype(dtype))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 7, 99, -1, -2, -3, 0.5, -0.5, 2.5])
def test_complex_powers_at_infinities(exponent: float, dtype: str) -> None:
    same(lambda x: x**exponent, COMPLEX.astype(dtype))
    same(lambda x: np.power(x, exponent), COMPLEX.astype(dtype))


def test_complex_powers_of_complex_exponents() -> None:
    same(np.power, COMPLEX[:, None], COMPLEX)
    finite = np.array([1 + 2j, -0.5j, 3, -2, 0.1 + 0.2j])
    same(np.power, finite[:, None], np.array([2 + 0j, -3, 0.5, 1j, 100, 101, -99, 5 + 1j]))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_reciprocals_of_integers(dtype: str) -> None:
    check(np.reciprocal, np.array([0, 1, 2, 100, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype))


WIDE = np.array([0, 1, 5, 2**63 - 1, 2**63, 2**64 - 1], "u8")


@pytest.mark.parametrize(
    "name",
    "add subtract multiply floor_divide remainder fmod divmod power bitwise_and bitwise_or "
    "bitwise_xor left_shift right_shift maximum minimum less equal gcd lcm logical_and".split(),
)
def test_uint64_stays_on_the_card(name: str) -> None:
    function = getattr(np, name)
    check(function, WIDE[:, None], np.array([1, 3, 63, 64, 65, 2**63, 2**64 - 1], "u8"))
    check(function, WIDE[:, None], np.array([0], "u8"))
    check(lambda x: function(x, 3), WIDE)


SIGNED = np.array([0, -1, 1, 5, 2**63 - 1, -(2**63), 7])


@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
)
def test_int64_and_uint64_compare_by_value(name: str) -> None:
    check(getattr(np, name), WIDE[:, None], SIGNED)
    check(getattr(np, name), SIGNED[:, None], WIDE)
    check(getattr(np, name), WIDE, SIGNED[5:6])


def test_signs_of_uint64() -> None:
    check(np.sign, WIDE)


@pytest.mark.parametrize(
    "name", ["argsort", "argpartition", "sort", "partition", "argmax", "cumsum"]
)
@pytest.mark.parametrize("axis", [0, -1, 1, None])
def test_arrays_without_axes(name: str, axis: Any) -> None:
    more = (0,) if "partition" in name else ()
    check(lambda x: getattr(np, name)(x, *more, axis=axis), np.array(3.0))


@pytest.mark.parametrize("kth", [0, -5, 4, [0, 2], 5, -6, 1.5, [0, 9], True, []])
def test_places_of_partitions(kth: Any) -> None:
    host = np.array([3.0, 1, 2, 5, 4])
    try:
        np.partition(host, kth)
    except (ValueError, TypeError) as error:
        for name in ("partition", "argpartition"):
            with pytest.raises(type(error)):
                getattr(np, name)(from_numpy(host), kth)
        return
    for place in np.ravel(kth):
        assert np.partition(from_numpy(host), kth)[place].item() == np.sort(host)[place]


@pytest.mark.parametrize(
    "options", [{"kind": "bogus"}, {"order": "f"}, {"kind": "stable", "stable": True}]
)
@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_options_of_sorting(name: str, options: dict[str, Any]) -> None:
    check(lambda x: getattr(np, name)(x, **options), np.array([2.0, 1.0]))


CUBE = np.arange(60.0).reshape(3, 4, 5)
REVERSED = [
    (slice(None, None, -1), [0, 2]),
    ([0, 1], slice(None, None, -1), [1, 2]),
    ([0, 1], slice(None, None, -2)),
    (slice(2, None, -2), [[0], [2]], slice(None, None, -1)),
    (slice(None, None, -1), np.array([True, False, True, True])),
    (slice(None, None, -1), [1, 1, 1]),
    (..., slice(None, None, -3), [0, 4]),
    (1, slice(None, None, -1), [0, 4]),
    (None, slice(None, None, -1), [0, 1], 2),
]


@pytest.mark.parametrize("index", REVERSED, ids=str)
@pytest.mark.parametrize("dtype", ["f8", "u2", "c8"])
def test_assignment_with_a_negative_step_beside_an_index_array(index: Any, dtype: str) -> None:
    host = CUBE.astype(dtype)
    shape = host[index].shape
    values = (np.arange(np.prod(shape)) + 100).reshape(shape).astype(dtype)
    for value in (values, values[..., :1], np.array(7, dtype), 9):
        expected, x = host.copy(), from_numpy(host)
        expected[index] = value
        x[index] = up(value) if isinstance(value, np.ndarray) else value
        np.testing.assert_array_equal(x.asnumpy(), expected)
    with pytest.raises(ValueError, match="broadcast"):
        from_numpy(host)[index] = np.ones((2, 3, 4, 5, 7))


@pytest.mark.parametrize("mask", [False, np.array([False, True]), np.array([[False], [False]])])
@pytest.mark.parametrize("exponent", [np.array([-1, 2]), -1, np.array([-1, 2], "i1")])
def test_negative_exponents_outside_the_mask_are_not_met(mask: Any, exponent: Any) -> None:
    base = np.array([[2, 3], [4, 5]])

    def power(a: Any, b: Any, where: Any) -> Any:
        return np.power(a, b, out=a.copy(), where=where)

    check(power, base, exponent, mask)
    if isinstance(exponent, np.ndarray):  # on the host, beside a base on the card
        found = power(from_numpy(base), exponent, mask)
        np.testing.assert_array_equal(found.asnumpy(), power(base, exponent, mask))


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**70), 10**400])
@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "u8", "f4", "f8", "c8"])
def test_where_beside_integers_beyond_64_bits(dtype: str, value: int) -> None:
    check(lambda a: np.where([True, False], a, value), np.array([1, 0]).astype(dtype))


@pytest.mark.parametrize("reps", [-1, (2, -1), (2, 0), (), 1.5])
def test_repetitions_of_tile(reps: Any) -> None:
    check(lambda a: np.tile(a, reps), np.arange(6.0).reshape(2, 3))


def test_polynomials_of_halves_are_refused_as_in_numpy() -> None:
    check(lambda a: np.polyfit(a, a, 1), np.arange(4, dtype="f2"))
    check(lambda a: np.polyfit(a.astype("f4"), a, 1), np.arange(4, dtype="f2"))


@pytest.mark.parametrize("values", [[], [-0.0], [-0.0, -0.0], [-0.0, 0.0], [1.0, -1.0]])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_that_begin_with_negative_zero(values, dtype):
    x = np.array(values, dtype)
    check(lambda a: np.sum(a, initial=-0.0), x)
    check(lambda a: np.sum(a[None], axis=0, initial=-0.0), x)
    check(lambda a: np.sum(a, initial=-0.0, where=np.zeros(x.shape, bool)), x)


@pytest.mark.parametrize("reduce", [np.sum, np.prod])
@pytest.mark.parametrize("initial", [np.inf, 2.0, 3])
def test_reductions_of_nothing_are_their_beginning(reduce, initial):
    check(lambda a: reduce(a, axis=0, initial=initial), np.ones((0, 2), "c16"))


@pytest.mark.parametrize("option", ["nan", "posinf", "neginf"])
@pytest.mark.parametrize("value", [1j, np.complex128(1 + 2j), np.complex64(1)])
@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_nan_to_num_takes_real_numbers(option, value, dtype):
    x = np.array([1, np.nan, np.inf], dtype)
    check(lambda a: np.nan_to_num(a, **{option: value}), x)


@pytest.mark.parametrize("make", ["zeros", "ones", "empty", "eye", "identity"])
def test_lengths_are_integers(make):
    for namespace in (np, xp):
        with pytest.raises(TypeError):
            getattr(namespace, make)(2.5)


def test_full_of_none_is_nan():
    check(lambda a: np.full_like(a, None), np.ones(2))
    check(lambda a: np.full_like(a, None), np.ones(2, "i4"))


NARROW = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4"]


@pytest.mark.parametrize("second", NARROW)
@pytest.mark.parametrize("first", NARROW)
def test_einsum_of_integers_summed_in_one_operand(first: str, second: str) -> None:
    a, b = np.arange(4).reshape(2, 2).astype(first), np.array([[1, 3]]).astype(second)
    check(lambda a, b: np.einsum("ij,ij->", a, b), a, b)
    check(lambda a, b: np.einsum("ij,kj->k", a, b), a, b)


@pytest.mark.parametrize(
    "dtypes", ["i1 i1 i8", "? ? i8", "i1 i8 i1", "i2 u2 f4", "f2 f4 i1", "f2 f2 f2"]
)
@pytest.mark.parametrize("shapes", [(2, 2, 2, 1), (1, 2, 2, 2), (2, 2, 2, 2), (0, 2, 2, 2)])
def test_chains_are_multiplied_in_numpys_order(dtypes: str, shapes: tuple[int, ...]) -> None:
    sizes = zip(shapes[:-1], shapes[1:], dtypes.split(), strict=True)
    chain = [np.full((m, n), 100).astype(dtype) for m, n, dtype in sizes]
    check(lambda *x: np.linalg.multi_dot(x), *chain)
    check(lambda *x: np.linalg.multi_dot([x[0][0] if len(x[0]) else x[0], *x[1:]]), *chain)
    check(lambda *x: np.linalg.multi_dot([*x, x[-1].T, x[-1]]), *chain)


FAR = np.array([1e300, -1.7e163, 5e-324, 1e-310, 3.0, np.inf, np.nan, -0.0, -2.5, 3e38, 1e-45])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide", "divmod"])
def test_division_whose_quotient_overflows(name: str, dtype: str) -> None:
    function: Any = getattr(np, name)
    with np.errstate(all="ignore"):
        values = FAR.astype(dtype)
    a, b = (np.ravel(x).repeat(8) for x in np.meshgrid(values, values))  # as long as vectors
    check(function, a, b)
    if name != "divmod":  # the tiny ones among them to scale
        check(lambda a, b: function(a, b).astype("f8") * 1e300, a, b)
    for number in (5e-324, -1e-40, 0.1, -2.0, np.nan, 0.0, np.inf):
        check(lambda a, n=number: function(a, n), a)
        check(lambda a, n=number: function(n, a), a)


@pytest.mark.parametrize("seed", range(3))
def test_whole_quotients_of_halves_round_once(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = (random.integers(0, 1 << 16, 9000).astype("u2").view("f2") for _ in "ab")
    with np.errstate(all="ignore"):
        expected, found = np.divmod(a, b), np.divmod(up(a), up(b))
        np.testing.assert_array_equal(np.floor_divide(up(a), up(b)).asnumpy(), expected[0])
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other.asnumpy(), one)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_negation_keeps_the_signs_of_zeros(dtype: str) -> None:
    for x in (COMPLEX, COMPLEX.reshape(6, 6).T, COMPLEX[::2]):
        x = x.astype(dtype)
        for negative in (lambda a: -a, np.negative, lambda a: np.negative(a, out=a.copy())):
            expected, found = negative(x), negative(up(x)).asnumpy()
            np.testing.assert_array_equal(np.signbit(found.real), np.signbit(expected.real))
            np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(expected.imag))
            np.testing.assert_array_equal(found, expected)


NEGATIVE = [-0.0, np.float32(-0.0), np.complex64(complex(-0.0, 0.0)), complex(-0.0, -0.0), None]


@pytest.mark.parametrize("initial", [*NEGATIVE, 0.0], ids=str)
@pytest.mark.parametrize("dtype", ["f2", "f4", "c8", "c16", "i4"])
def test_signs_of_sums_of_nothing_but_zeros(dtype: str, initial: Any) -> None:
    if isinstance(initial, complex | np.complex64) and dtype[0] != "c":
        pytest.skip("a complex number is no start of real sums")

    def parts(total: Any) -> Any:
        return np.stack([total.real, total.imag]) if dtype[0] == "c" else total

    zeros = np.zeros((2, 2), dtype)
    for x in (-zeros, zeros, np.array([[-0.0, 0.0], [0.0, -0.0]]).astype(dtype), -zeros * 1):
        check(lambda a: parts(np.sum(a, axis=1, initial=initial)), x)
        check(lambda a: parts(np.add.reduce(a, axis=0, initial=initial)), x)
        check(lambda a: parts(np.sum(a, axis=(), initial=initial)), x)
        check(lambda a: parts(np.sum(a, axis=1, initial=initial, dtype="c16")).real, x)
        mask = np.array([[True, False], [False, False]])
        check(lambda a, m: parts(np.sum(a, axis=1, initial=initial, where=m)), x, mask)


def test_products_without_a_start() -> None:
    x = np.array([[complex(np.inf, 0), complex(0, np.inf), 1j], [2, 3, 4]])
    for axis in (0, (), (0, 1)):
        check(lambda a, axis=axis: np.prod(a, axis=axis, initial=None), x[:, :1])
    check(lambda a: np.prod(a, axis=0, initial=None), x)
    check(lambda a: np.multiply.reduce(a, initial=None), x)


@pytest.mark.parametrize("reduce", [np.sum, np.prod, np.subtract.reduce, np.hypot.reduce])
@pytest.mark.parametrize("target", ["i4", "f4", "f8", "c16"])
def test_starts_are_put_into_out_first(reduce: Any, target: str) -> None:
    for x in (np.array([-5.0]), np.zeros(0)):
        check(lambda a, o: reduce(a, dtype="f8", initial=2.5, out=o), x, np.zeros((), target))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_statistics_of_nothing(dtype: str) -> None:
    x = np.ones((0, 3), dtype)
    for function in (np.nanquantile, np.nanpercentile):
        for method in ("linear", "lower", "inverted_cdf"):
            check(lambda a, f=function, m=method: f(a, [0.5, 0.2], method=m), x)
            check(lambda a, f=function, m=method: f(a, 0.5, axis=0, method=m, keepdims=True), x)
    for function in (np.median, np.nanmedian):
        check(lambda a, o, f=function: f(a, out=o).imag, x, np.zeros((), "c16"))
        check(lambda a, o, f=function: f(a, axis=0, out=o).imag, x, np.zeros(3, "c16"))
    for function in (np.cov, np.corrcoef):
        check(function, x.astype("c8"))


@pytest.mark.parametrize("values", [(0.401000986343372, 1), (1 + 2.0**-11 + 2.0**-40, -1)])
def test_halves_of_doubles_are_rounded_once(values: tuple[float, ...]) -> None:
    random = np.random.default_rng(0)
    halves = random.normal(size=3000).astype("f2").astype("f8")
    ties = halves * (1 + 2.0**-11)  # between two halves, for normal ones
    x = np.concatenate(
        [values, ties, ties * (1 + 2.0**-50), ties * (1 - 2.0**-50), [1e300, 1e-300]]
    )
    with np.errstate(all="ignore"):
        expected = x.astype("f2")
    target = up(np.zeros_like(expected))
    target[...] = up(x)
    for found in (up(x).astype("f2"), target):
        np.testing.assert_array_equal(found.asnumpy(), expected)
    check(lambda a: a + values[0], np.zeros(3, "f2"))
    assert (up(np.zeros(1, "f2")) + values[0]).item() == np.float16(values[0])

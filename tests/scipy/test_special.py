"""``scipy.special`` on the card, against SciPy: values, dtypes, poles, NaN and infinities."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import daskasc.array
import daskasc.scipy.special as special
from daskasc import device
from daskasc.array import AscendArray, _special, from_numpy
from daskasc.errors import HostFallbackWarning, MissingLibraryError
from daskasc.scipy._library import library
from tests.array.restricted import restricted_card

ROWS = [name for name in _special.ROWS if hasattr(scipy.special, name)]
SINGLE = ("gammainc",)
POINTS = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, 30, -30, 1e-300, 1e300, -1e300])
POINTS = np.concatenate([POINTS, [np.nan, np.inf, -np.inf, 0.999, -0.999, 33, 34.5, 171, 172]])
RTOL = {"f4": 1e-6, "f8": 1e-12}
# near a zero of the function, and below the normal numbers, the error is an absolute one
ATOL = {"f4": 1e-37, "f8": 1e-15}

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def samples(name, dtype):
    """Operands of a ufunc: random ones, and every pair of awkward values."""
    random = np.random.default_rng(0)
    count = getattr(scipy.special, name).nin
    smooth = [random.normal(size=400) * scale for scale in (1, 4, 60)]
    wide = [random.uniform(-1, 1, 200), 10 ** random.uniform(-12, 12, 200)]
    columns = []
    for place in range(count):
        grid = np.meshgrid(*[POINTS] * count)[place].ravel()
        drawn = np.concatenate([*smooth, *wide])
        random.shuffle(drawn)
        columns.append(np.concatenate([drawn, grid]).astype(dtype))
    return columns


def compare(found, expected, dtype, atol=None):
    assert isinstance(found, AscendArray)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        found.asnumpy(), expected, rtol=RTOL[dtype], atol=ATOL[dtype] if atol is None else atol
    )


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ROWS)
def test_ufunc(name, dtype):
    if name in SINGLE and dtype == "f8":
        pytest.skip("float64 goes to the host")
    ufunc = getattr(scipy.special, name)
    operands = samples(name, dtype)
    compare(ufunc(*map(from_numpy, operands)), ufunc(*operands), dtype)


@pytest.mark.usefixtures("quiet_fallback")
@pytest.mark.parametrize("name", ROWS)
def test_ufunc_on_a_card_without_float64(name):
    ufunc = getattr(scipy.special, name)
    operands = samples(name, "f4")
    with restricted_card():
        found = ufunc(*map(from_numpy, operands))
    compare(found, ufunc(*operands), "f4")


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", [n for n in ROWS if n not in SINGLE])
def test_dtypes_of_results(name):
    ufunc = getattr(scipy.special, name)
    for dtype in ("?", "i1", "i4", "i8", "u1", "u2", "u8", "f2"):
        operands = [np.array([0, 1, 1], dtype)] * ufunc.nin
        expected = ufunc(*operands)
        found = ufunc(*map(from_numpy, operands))
        compare(found, expected, "f4" if expected.dtype == np.float32 else "f8")


@pytest.mark.usefixtures("no_fallback")
def test_the_ufuncs_are_scipys():
    assert special.erf is scipy.special.erf
    assert special.digamma is scipy.special.psi
    x = np.array([0.5, 2.0], "f4")
    out = from_numpy(np.zeros(2, "f4"))
    assert special.erf(from_numpy(x), out=out) is out
    compare(out, scipy.special.erf(x), "f4")
    # a Python scalar is weak
    compare(special.xlogy(2.0, from_numpy(x)), scipy.special.xlogy(2.0, x), "f4")
    wide = special.xlogy(from_numpy(x.astype("f8")), from_numpy(x))
    compare(wide, scipy.special.xlogy(x.astype("f8"), x), "f8")


def test_names_that_numpy_has_too_do_not_meet():
    names = {scipy.special.exp2: "exp2", scipy.special.cbrt: "cbrt", scipy.special.i0: "i0"}
    for ufunc, name in names.items():
        found, _ = _special.find(ufunc)
        assert found == f"scipy.special.{name}"
    assert _special.find(np.exp2) is None
    # some other library's ufunc under a name of SciPy's
    erf = np.frompyfunc(lambda x: x, 1, 1)
    assert _special.find(erf) is None


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_sums_of_exponentials(name, axis, dtype):
    x = (np.random.default_rng(1).normal(size=(3, 1, 4)) * 50).astype(dtype)
    expected = getattr(scipy.special, name)(x, axis=axis)
    found = getattr(special, name)(from_numpy(x), axis=axis)
    # SciPy's own logarithm of a float32 sum near 1
    compare(found, np.asarray(expected), *(("f4", 2e-7) if dtype == "f4" else ("f8", 1e-15)))


@pytest.mark.usefixtures("no_fallback")
def test_logsumexp_of_special_values_and_weights():
    x = np.array([[np.inf, 1.0], [-np.inf, -np.inf], [np.nan, 0], [1000, 1000.5]])
    weights = np.array([[1.0, -1.0], [0, 1], [0, 2], [-1, 1]])
    compare(special.logsumexp(from_numpy(x), axis=1), scipy.special.logsumexp(x, axis=1), "f8")
    wanted = scipy.special.logsumexp(x, axis=1, b=weights, return_sign=True, keepdims=True)
    for factors in (weights, from_numpy(weights)):
        found = special.logsumexp(from_numpy(x), axis=1, b=factors, return_sign=True, keepdims=True)
        for part, expected in zip(found, wanted, strict=True):
            compare(part, expected, "f8")


@pytest.mark.usefixtures("no_fallback")
def test_functions_that_are_no_ufuncs():
    x = np.random.default_rng(2).uniform(2, 9, (2, 3))
    orders = np.array([[0], [3]])
    compare(special.polygamma(2, from_numpy(x)), scipy.special.polygamma(2, x), "f8")
    compare(
        special.polygamma(from_numpy(orders), from_numpy(x)),
        scipy.special.polygamma(orders, x),
        "f8",
    )
    compare(special.zeta(from_numpy(x)), scipy.special.zeta(x), "f8")
    compare(special.zeta(from_numpy(x), 1.5), scipy.special.zeta(x, 1.5), "f8")
    compare(special.multigammaln(from_numpy(x), 3), scipy.special.multigammaln(x, 3), "f8")
    compare(special.sinc(from_numpy(x)), scipy.special.sinc(x), "f8")
    # lists go to the card, as in daskasc.array
    compare(special.softmax([1.0, 2.0]), scipy.special.softmax([1.0, 2.0]), "f8")
    with pytest.raises(ValueError, match="not met"):
        special.multigammaln(from_numpy(x), 9)
    with pytest.raises(ValueError, match="positive integer"):
        special.multigammaln(from_numpy(x), 1.5)


@pytest.mark.usefixtures("no_fallback")
@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    name=st.sampled_from([n for n in ROWS if n not in SINGLE and n not in ("gammaln", "loggamma")]),
    data=st.data(),
)
def test_any_values(name, data):
    ufunc = getattr(scipy.special, name)
    dtype = data.draw(st.sampled_from(["f4", "f8"]))
    elements = st.floats(-100, 100, width=32, allow_subnormal=False)
    shapes = arrays.mutually_broadcastable_shapes(num_shapes=ufunc.nin, max_side=3, max_dims=3)
    operands = [
        data.draw(arrays.arrays(dtype, shape, elements=elements))
        for shape in data.draw(shapes).input_shapes
    ]
    with np.errstate(all="ignore"):
        expected = np.asarray(ufunc(*operands))
    compare(ufunc(*map(from_numpy, operands)), expected, dtype)


def test_the_host_is_counted_and_said():
    x = np.array([0.5, 7.0])
    before = device.counters.fallbacks().get("scipy.special.j0", 0)
    with pytest.warns(HostFallbackWarning, match=r"scipy\.special\.j0"):
        found = scipy.special.j0(from_numpy(x))
    np.testing.assert_array_equal(found.asnumpy(), scipy.special.j0(x))
    assert device.counters.fallbacks()["scipy.special.j0"] != before


@pytest.mark.usefixtures("quiet_fallback")
def test_what_torch_lacks_equals_scipy_over_the_host():
    x = np.random.default_rng(3).uniform(0.5, 9, 6)
    for name in ("gammainc", "beta", "betaln", "jv"):
        found = getattr(special, name)(from_numpy(x), from_numpy(x[::-1].copy()))
        np.testing.assert_array_equal(found.asnumpy(), getattr(scipy.special, name)(x, x[::-1]))
    z = x + 1j
    np.testing.assert_array_equal(special.erf(from_numpy(z)).asnumpy(), scipy.special.erf(z))
    below = special.zeta(from_numpy(x - 3)).asnumpy()
    np.testing.assert_array_equal(below, scipy.special.zeta(x - 3))
    np.testing.assert_array_equal(
        special.comb(from_numpy(x), 2).asnumpy(), scipy.special.comb(x, 2)
    )


def test_namespace():
    assert set(scipy.special.__all__) <= set(dir(special))
    with pytest.raises(AttributeError, match="no_such_name"):
        special.no_such_name  # noqa: B018
    assert special.softmax.__module__ == "daskasc.scipy.special"
    assert daskasc.array.TABLE  # the module imports the array layer


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingLibraryError, match=r"daskasc\[scipy\]"):
        library("special")

"""NumPy's interface: signatures, shapes, dtypes, errors, out, the old functions."""

from __future__ import annotations

import inspect

import dask
import numpy as np
import pytest

from daskasc import device, random
from daskasc.array import AscendArray, from_numpy
from daskasc.errors import HostFallbackError, PrecisionWarning
from tests.random.examples import PARAMETERS

METHODS = [n for n in dir(np.random.Generator) if n[0] != "_" and n != "bit_generator"]


def parameters(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", METHODS)
def test_signatures_are_numpys(name: str) -> None:
    ours, numpys = (getattr(cls, name) for cls in (random.Generator, np.random.Generator))
    assert parameters(ours) == parameters(numpys)


@pytest.mark.parametrize("name", [n for n in dir(np.random.RandomState) if n[0] != "_"])
def test_old_signatures_are_numpys(name: str) -> None:
    ours, numpys = (getattr(cls, name) for cls in (random.RandomState, np.random.RandomState))
    assert parameters(ours) == parameters(numpys)


@pytest.mark.parametrize("size", [None, (), 3, (2, 0), (2, 3), [4, 1], np.int64(2)])
@pytest.mark.parametrize("name", PARAMETERS)
def test_shapes_and_dtypes(name: str, size) -> None:
    args = PARAMETERS[name]
    expected = np.asarray(getattr(np.random.default_rng(0), name)(*args, size=size))
    found = getattr(random.default_rng(0), name)(*args, size=size)
    assert isinstance(found, AscendArray)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


BROADCAST = [
    n
    for n in PARAMETERS
    if n not in ("dirichlet", "multinomial", "multivariate_normal", "multivariate_hypergeometric")
    and PARAMETERS[n]
]


@pytest.mark.parametrize("where", ["host", "card"])
@pytest.mark.parametrize("name", BROADCAST)
def test_parameters_broadcast(name: str, where: str) -> None:
    args = list(PARAMETERS[name])
    args[0] = np.full((3, 1), args[0])
    args[-1] = np.full((3, 4) if len(args) == 1 else 4, args[-1])
    given = [from_numpy(a) if where == "card" and isinstance(a, np.ndarray) else a for a in args]
    for size in (None, (3, 4), (2, 3, 4)):
        expected = getattr(np.random.default_rng(0), name)(*args, size=size)
        found = getattr(random.default_rng(0), name)(*given, size=size)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        same = getattr(random.default_rng(0), name)(*args, size=size).asnumpy()
        np.testing.assert_array_equal(found.asnumpy(), same)
    with pytest.raises(ValueError, match=r"not compatible|mismatch|broadcast"):
        getattr(random.default_rng(0), name)(*given, size=5)


BAD = [
    ("normal", (0, -1)),
    ("normal", (0, [1.0, -1.0])),
    ("normal", ("a", 1)),
    ("normal", (1j, 1)),
    ("lognormal", (0, -1)),
    ("uniform", (3, 1)),
    ("uniform", (0, np.inf)),
    ("uniform", (0, [1.0, -1.0])),
    ("exponential", (-1,)),
    ("laplace", (0, -1)),
    ("logistic", (0, -1)),
    ("gumbel", (0, -1)),
    ("rayleigh", (-1,)),
    ("weibull", (-1,)),
    ("pareto", (0,)),
    ("power", (0,)),
    ("gamma", (-1, 1)),
    ("standard_gamma", (-1,)),
    ("beta", (0, 1)),
    ("chisquare", (0,)),
    ("f", (1, 0)),
    ("standard_t", (0,)),
    ("noncentral_chisquare", (1, -1)),
    ("noncentral_f", (0, 1, 1)),
    ("triangular", (1, 0, 2)),
    ("triangular", (1, 1, 1)),
    ("triangular", ([0.0, 3.0], 2, 4)),
    ("vonmises", (0, -1)),
    ("wald", (0, 1)),
    ("poisson", (-1,)),
    ("poisson", (np.nan,)),
    ("poisson", ([1.0, np.nan],)),
    ("poisson", (1e30,)),
    ("binomial", (3, 2)),
    ("binomial", (-3, 0.5)),
    ("binomial", ([3, -3], 0.5)),
    ("negative_binomial", (1, 0)),
    ("geometric", (0,)),
    ("logseries", (1,)),
    ("zipf", (1,)),
    ("hypergeometric", (1, 2, 4)),
    ("hypergeometric", ([1, -2], 2, 1)),
    ("hypergeometric", ([5, 1], 2, 4)),
    ("multinomial", (3, [0.5, 0.7, 0.1])),
    ("dirichlet", ([-1, 2],)),
    ("multivariate_normal", ([0, 0], [[1]])),
    ("multivariate_hypergeometric", ([1, 2], 5)),
    ("integers", (0,)),
    ("integers", (5, 2)),
    ("integers", ([5, 1], [6, 1])),
    ("integers", (2**63, 2**63 + 1)),
    ("random", (-1,)),
    ("random", ("a",)),
]


@pytest.mark.parametrize(("name", "args"), BAD)
def test_errors_are_numpys(name: str, args) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
        getattr(np.random.default_rng(0), name)(*args)
    with pytest.raises(expected.type, match=r"[a-z]") as found:
        getattr(random.default_rng(0), name)(*args)
    assert not isinstance(found.value, HostFallbackError)


ON_CARD = [(n, a) for n, a in BAD if any(isinstance(x, list) for x in a) and n[:5] != "multi"]


@pytest.mark.parametrize(("name", "args"), ON_CARD)
def test_errors_of_parameters_on_the_card(name: str, args) -> None:
    given = [from_numpy(np.array(a)) if isinstance(a, list) else a for a in args]
    with pytest.raises(ValueError, match=r"[a-z]"):
        getattr(random.default_rng(0), name)(*given)


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
@pytest.mark.parametrize("dtype", ["f4", "f8", np.float32, float])
def test_dtype_and_out(name: str, dtype) -> None:
    rng = random.default_rng(2)
    drawn = getattr(rng, name)(5, dtype=dtype)
    assert drawn.dtype == np.dtype(dtype)
    out = from_numpy(np.zeros(5, dtype))
    assert getattr(random.default_rng(2), name)(dtype=dtype, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), drawn.asnumpy())
    for bad in (dict(size=3, out=out), dict(out=from_numpy(np.zeros((5, 5), dtype)).T[:, :2])):
        with pytest.raises(ValueError, match=r"size must match|not contiguous"):
            getattr(rng, name)(dtype=dtype, **bad)
    for bad in (np.zeros(5, dtype), from_numpy(np.zeros(5, "i4"))):
        with pytest.raises(TypeError, match=r"out is ndarray|wrong type"):
            getattr(rng, name)(dtype=dtype, out=bad)
    with pytest.raises(TypeError, match="Unsupported dtype"):
        getattr(rng, name)(3, dtype="i4")


def test_standard_gamma_out() -> None:
    out = from_numpy(np.zeros((2, 3), "f4"))
    k = np.array([0.5, 1, 20])
    assert random.default_rng(2).standard_gamma(k, dtype="f4", out=out) is out
    drawn = random.default_rng(2).standard_gamma(k, (2, 3), dtype="f4")
    np.testing.assert_array_equal(out.asnumpy(), drawn.asnumpy())


def test_exponential_methods() -> None:
    inv, zig = (random.default_rng(1).standard_exponential(3, method=m) for m in ("inv", "zig"))
    np.testing.assert_array_equal(inv.asnumpy(), zig.asnumpy())


def test_promotion_policy() -> None:
    with dask.config.set({"daskasc.promotion": "device"}):
        rng = random.default_rng(1)
        try:
            first = rng.normal(size=3)
        except PrecisionWarning:
            first = rng.normal(size=3)  # said once
        assert first.dtype == rng.random(3).dtype == np.float32
        assert rng.random(3, dtype="f8").dtype == np.float64
        assert rng.poisson(3.0, 4).dtype == np.int64


def test_nothing_comes_down(stand_in) -> None:
    rng = random.default_rng(1)
    before = device.counters.snapshot()
    rng.normal(1.0, 2.0, size=1000)
    rng.random(1000, dtype="f4")
    rng.integers(0, 1 << 20, size=100)
    rng.permutation(100)
    after = device.counters.snapshot()
    assert after["device_to_host_bytes"] == before["device_to_host_bytes"]


def test_old_functions_of_the_package() -> None:
    random.seed(4)
    state = random.get_state()
    first = [random.normal(size=3).asnumpy(), random.rand(2, 3).asnumpy()]
    random.set_state(state)
    np.testing.assert_array_equal(first[0], random.normal(size=3).asnumpy())
    np.testing.assert_array_equal(first[1], random.rand(2, 3).asnumpy())
    assert random.randn(2, 2).shape == (2, 2)
    assert random.randint(0, 5, size=4, dtype="i2").dtype == np.int16
    assert random.random_sample((2,)).shape == (2,)
    assert random.tomaxint(3).dtype == np.int64
    assert random.rand().shape == ()
    with pytest.warns(DeprecationWarning, match="randint"):
        drawn = random.random_integers(3, size=100).asnumpy()
    assert set(drawn) == {1, 2, 3}
    assert {"normal", "seed", "rand", "default_rng"} <= set(dir(random))
    with pytest.raises(AttributeError, match="no attribute"):
        random.nothing  # noqa: B018

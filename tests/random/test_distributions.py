"""What is drawn follows its distribution: fixed seeds, thresholds far from chance."""

from __future__ import annotations

import dask
import numpy as np
import pytest
import scipy.stats as st

from daskasc import device, random
from daskasc.array import from_numpy
from daskasc.errors import HostFallbackError
from tests.random.examples import CONTINUOUS, COUNTS

N = 20_000
# the seed is fixed; a wrong formula gives far less
LEAST = 1e-4


@pytest.mark.parametrize(("name", "args", "expected"), CONTINUOUS)
def test_continuous(name, args, expected) -> None:
    drawn = getattr(random.default_rng(11), name)(*args, size=N).asnumpy()
    assert st.kstest(drawn, expected.cdf).pvalue > LEAST


def fits(drawn, expected) -> float:
    """Probability of a chi-square as large as that of the counts."""
    low, high = int(expected.ppf(1e-4)), int(expected.ppf(1 - 1e-4))
    k = np.arange(low, high + 1)
    share = np.r_[expected.cdf(low - 1), expected.pmf(k), expected.sf(high)] * len(drawn)
    inside = drawn[(drawn >= low) & (drawn <= high)] - low
    found = np.r_[(drawn < low).sum(), np.bincount(inside, minlength=len(k)), (drawn > high).sum()]
    rare = share < 10
    share = np.r_[share[~rare], max(share[rare].sum(), 1e-9)]
    found = np.r_[found[~rare], found[rare].sum()]
    return float(st.chi2.sf(((found - share) ** 2 / share).sum(), len(share) - 1))


@pytest.mark.parametrize(("name", "args", "expected"), COUNTS)
def test_counts(name, args, expected) -> None:
    drawn = getattr(random.default_rng(12), name)(*args, size=N).asnumpy()
    assert fits(drawn, expected) > LEAST


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("random", st.uniform()),
        ("standard_normal", st.norm()),
        ("standard_exponential", st.expon()),
        ("standard_gamma", st.gamma(1.7)),
    ],
)
def test_float32(name, expected) -> None:
    args = (1.7,) if name == "standard_gamma" else ()
    drawn = getattr(random.default_rng(5), name)(*args, size=N, dtype="f4").asnumpy()
    assert st.kstest(drawn.astype("f8"), expected.cdf).pvalue > LEAST


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_ranges(dtype) -> None:
    rng = random.default_rng(1)
    uniform = rng.random(400_000, dtype=dtype).asnumpy()
    assert uniform.min() >= 0
    assert uniform.max() < 1
    waits = rng.standard_exponential(400_000, dtype=dtype).asnumpy()
    assert not np.signbit(waits).any()
    assert np.isfinite(rng.standard_normal(400_000, dtype=dtype).asnumpy()).all()


def test_neighbours_are_independent() -> None:
    for dtype in ("f4", "f8"):
        x = random.default_rng(2).standard_normal(100_001, dtype=dtype).asnumpy().astype("f8")
        for lag in (1, 2, 3, 4, 1000):
            for a, b in ((x[:-lag], x[lag:]), (x[:-lag] ** 2, x[lag:] ** 2)):
                assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(len(a))


def test_mixed_parameters_draw_each_its_own() -> None:
    lam = np.repeat([0.0, 3.0, 200.0], N)
    drawn = random.default_rng(3).poisson(lam).asnumpy().reshape(3, N)
    assert not drawn[0].any()
    assert fits(drawn[1], st.poisson(3)) > LEAST
    assert fits(drawn[2], st.poisson(200)) > LEAST
    n, p = np.repeat([4, 400, 7], N), np.repeat([0.5, 0.8, 1.0], N)
    drawn = random.default_rng(3).binomial(from_numpy(n), p).asnumpy().reshape(3, N)
    assert fits(drawn[0], st.binom(4, 0.5)) > LEAST
    assert fits(drawn[1], st.binom(400, 0.8)) > LEAST
    assert (drawn[2] == 7).all()
    k = np.repeat([0.0, 0.3, 30.0], N)
    drawn = random.default_rng(3).standard_gamma(k).asnumpy().reshape(3, N)
    assert not drawn[0].any()
    for row, shape in zip(drawn[1:], (0.3, 30.0), strict=True):
        assert st.kstest(row, st.gamma(shape).cdf).pvalue > LEAST


def test_special_parameters() -> None:
    rng = random.default_rng(4)
    ends = {
        "normal": ((3.0, 0.0), 3.0),
        "exponential": ((0.0,), 0.0),
        "gamma": ((0.0, 2.0), 0.0),
        "weibull": ((0.0,), 0.0),
        "uniform": ((2.0, 2.0), 2.0),
        "binomial": ((5, 0.0), 0),
        "poisson": ((0.0,), 0),
        "geometric": ((1.0,), 1),
        "hypergeometric": ((5, 0, 3), 3),
        "logseries": ((0.0,), 1),
        "zipf": ((5000.0,), 1),
    }
    for name, (args, expected) in ends.items():
        drawn = getattr(rng, name)(*args, size=20).asnumpy()
        np.testing.assert_array_equal(drawn, expected)
    assert rng.geometric(1e-300, size=3).asnumpy().tolist() == [2**63 - 1] * 3
    for name in ("normal", "lognormal", "gamma", "standard_t", "vonmises", "chisquare"):
        args = (1.0, np.nan) if name in ("normal", "lognormal", "gamma", "vonmises") else (np.nan,)
        assert np.isnan(getattr(rng, name)(*args, size=3).asnumpy()).all(), name


def test_vectors() -> None:
    rng, many = random.default_rng(6), 20_000
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    for method in ("svd", "eigh", "cholesky"):
        drawn = rng.multivariate_normal([1, 2], cov, many, method=method).asnumpy()
        np.testing.assert_allclose(drawn.mean(0), [1, 2], atol=0.05)
        np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.06)
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        rng.multivariate_normal([0, 0], [[1, 2], [2, 1]])
    shares = np.array([0.2, 0.3, 0.5])
    drawn = rng.multinomial(15, shares, many).asnumpy()
    assert (drawn.sum(1) == 15).all()
    np.testing.assert_allclose(drawn.mean(0), 15 * shares, atol=0.05)
    np.testing.assert_allclose(
        np.cov(drawn.T), 15 * (np.diag(shares) - np.outer(shares, shares)), atol=0.1
    )
    # NumPy gives the last category what is left
    assert rng.multinomial(9, [0.5, 0.9], 100).asnumpy().sum(1).tolist() == [9] * 100
    by_row = rng.multinomial([3, 5], [[0.0, 1.0], [1.0, 0.0]]).asnumpy()
    assert by_row.tolist() == [[0, 3], [5, 0]]
    alpha = np.array([0.01, 0.3, 2.0])
    drawn = rng.dirichlet(alpha, many).asnumpy()
    np.testing.assert_allclose(drawn.sum(1), 1, rtol=1e-12)
    expected = st.dirichlet(alpha)
    np.testing.assert_allclose(drawn.mean(0), expected.mean(), atol=0.01)
    np.testing.assert_allclose(drawn.var(0), expected.var(), atol=0.003)
    assert rng.dirichlet([0.0, 1.0], 4).asnumpy().tolist() == [[0, 1]] * 4
    for method in ("marginals", "count"):
        drawn = rng.multivariate_hypergeometric([10, 20, 30], 15, many, method=method).asnumpy()
        assert (drawn.sum(1) == 15).all()
        assert fits(drawn[:, 1], st.hypergeom(60, 20, 15)) > LEAST


def test_large_counts_go_to_the_host(quiet_fallback) -> None:
    before = device.counters.fallbacks().get("numpy.random.Generator.poisson", (0, 0))[0]
    drawn = [random.default_rng(1).poisson(1e12, 4).asnumpy() for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    assert np.abs(drawn[0] - 1e12).max() < 1e7
    assert device.counters.fallbacks()["numpy.random.Generator.poisson"][0] == before + 2
    assert random.default_rng(1).binomial(10**12, 0.5, ()).shape == ()
    if not device.current().supports("multiply", "float64"):
        return  # the host draws small counts, too
    with (
        dask.config.set({"daskasc.fallback": "error"}),
        pytest.raises(HostFallbackError, match="poisson"),
    ):
        random.default_rng(1).poisson(1e12)


@pytest.mark.usefixtures("stand_ins_only")  # others draw everything on one side
@pytest.mark.parametrize("name", ["normal", "poisson", "standard_normal", "choice", "dirichlet"])
def test_without_float64_the_host_draws_the_same_numbers(name, monkeypatch) -> None:
    args = {"poisson": (20.0, 50), "choice": (3, 50, True, [0.2, 0.3, 0.5]), "dirichlet": ([1, 2],)}
    given = args.get(name, ())
    expected = getattr(random.default_rng(1), name)(*given).asnumpy()
    monkeypatch.setattr(device.current(), "restricts", True, raising=False)
    monkeypatch.setattr(device.current(), "supports", lambda op, dtype: dtype != "float64")
    with pytest.raises(HostFallbackError, match=name):
        getattr(random.default_rng(1), name)(*given)
    with dask.config.set({"daskasc.fallback": "silent"}):
        found = getattr(random.default_rng(1), name)(*given)
        out = from_numpy(np.zeros(3))
        random.default_rng(1).random(out=out)
        filled = from_numpy(np.zeros((2, 3)))
        random.default_rng(1).standard_gamma(from_numpy(np.arange(1.0, 4)), out=filled)
        many = random.default_rng(1).poisson(1e12, 4).asnumpy()
        binomial = random.default_rng(1).binomial(10**12, 0.5)
    np.testing.assert_array_equal(found.asnumpy(), expected)
    monkeypatch.undo()
    np.testing.assert_array_equal(out.asnumpy(), random.default_rng(1).random(3).asnumpy())
    gammas = random.default_rng(1).standard_gamma(from_numpy(np.arange(1.0, 4)), (2, 3))
    np.testing.assert_array_equal(filled.asnumpy(), gammas.asnumpy())
    assert np.abs(many - 1e12).max() < 1e7
    assert abs(binomial.item() - 5e11) < 1e8
    assert random.default_rng(1).random(3, dtype="f4").shape == (3,)
    assert random.default_rng(1).integers(0, 9, 3).shape == (3,)

"""Generator: NumPy's interface, with numbers drawn on this process's card.

Every method has the arguments of NumPy's and hands them to the table of ``_draw``. This module
imports no torch until a number is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc import device
from daskasc.errors import DeviceUnavailableError
from daskasc.random._bits import SplitMix64, of_card, seeded


class Generator:
    """Random numbers as :class:`numpy.random.Generator` makes them, in arrays on the card.

    Parameters
    ----------
    bit_generator : SplitMix64
        The stream; see :func:`default_rng`.

    Notes
    -----
    Results are always arrays on the card, without axes where NumPy gives a Python number. Numbers
    differ from NumPy's for the same seed. Threads may share a generator; which thread gets which
    numbers is then a matter of timing, so give each its own by :meth:`spawn`.
    """

    def __init__(self, bit_generator: SplitMix64) -> None:
        if not isinstance(bit_generator, SplitMix64):
            raise TypeError(
                f"a Generator draws from a daskasc.random.SplitMix64; got "
                f"{type(bit_generator).__name__}. Use default_rng(seed)"
            )
        self._bit_generator = bit_generator

    @property
    def bit_generator(self) -> SplitMix64:
        """The stream that the numbers come from; its `state` can be read and set."""
        return self._bit_generator

    def __repr__(self) -> str:
        return f"Generator({type(self._bit_generator).__name__})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._bit_generator,)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "daskasc.random.Generator", self._bit_generator.__dask_tokenize__()

    def _draw(self, name: str, **arguments: Any) -> Any:
        from daskasc.random._draw import draw  # imports torch

        return draw(self._bit_generator, name, arguments)

    def spawn(self, n_children: int) -> list[Generator]:
        """Return independent generators, as :meth:`numpy.random.Generator.spawn`."""
        return [type(self)(child) for child in self._bit_generator.spawn(n_children)]

    def bytes(self, length: int) -> bytes:
        """As :meth:`numpy.random.Generator.bytes`; the bytes come down to the host."""
        drawn: bytes = self._draw("bytes", length=length)
        return drawn

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.beta`."""
        return self._draw("beta", a=a, b=b, size=size)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.binomial`."""
        return self._draw("binomial", n=n, p=p, size=size)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.chisquare`."""
        return self._draw("chisquare", df=df, size=size)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """As :meth:`numpy.random.Generator.choice`."""
        return self._draw(
            "choice", a=a, size=size, replace=replace, p=p, axis=axis, shuffle=shuffle
        )

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.dirichlet`."""
        return self._draw("dirichlet", alpha=alpha, size=size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.exponential`."""
        return self._draw("exponential", scale=scale, size=size)

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.f`."""
        return self._draw("f", dfnum=dfnum, dfden=dfden, size=size)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.gamma`."""
        return self._draw("gamma", shape=shape, scale=scale, size=size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.geometric`."""
        return self._draw("geometric", p=p, size=size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.gumbel`."""
        return self._draw("gumbel", loc=loc, scale=scale, size=size)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.hypergeometric`."""
        return self._draw("hypergeometric", ngood=ngood, nbad=nbad, nsample=nsample, size=size)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """As :meth:`numpy.random.Generator.integers`."""
        return self._draw("integers", low=low, high=high, size=size, dtype=dtype, endpoint=endpoint)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.laplace`."""
        return self._draw("laplace", loc=loc, scale=scale, size=size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.logistic`."""
        return self._draw("logistic", loc=loc, scale=scale, size=size)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.lognormal`."""
        return self._draw("lognormal", mean=mean, sigma=sigma, size=size)

    def logseries(self, p: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.logseries`."""
        return self._draw("logseries", p=p, size=size)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.multinomial`."""
        return self._draw("multinomial", n=n, pvals=pvals, size=size)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Any = None, method: str = "marginals"
    ) -> Any:
        """As :meth:`numpy.random.Generator.multivariate_hypergeometric`."""
        return self._draw(
            "multivariate_hypergeometric", colors=colors, nsample=nsample, size=size, method=method
        )

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: Any = 1e-08,
        *,
        method: str = "svd",
    ) -> Any:
        """As :meth:`numpy.random.Generator.multivariate_normal`."""
        return self._draw(
            "multivariate_normal",
            mean=mean,
            cov=cov,
            size=size,
            check_valid=check_valid,
            tol=tol,
            method=method,
        )

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.negative_binomial`."""
        return self._draw("negative_binomial", n=n, p=p, size=size)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.noncentral_chisquare`."""
        return self._draw("noncentral_chisquare", df=df, nonc=nonc, size=size)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.noncentral_f`."""
        return self._draw("noncentral_f", dfnum=dfnum, dfden=dfden, nonc=nonc, size=size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.normal`."""
        return self._draw("normal", loc=loc, scale=scale, size=size)

    def pareto(self, a: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.pareto`."""
        return self._draw("pareto", a=a, size=size)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """As :meth:`numpy.random.Generator.permutation`."""
        return self._draw("permutation", x=x, axis=axis)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.permuted`."""
        return self._draw("permuted", x=x, axis=axis, out=out)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.poisson`."""
        return self._draw("poisson", lam=lam, size=size)

    def power(self, a: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.power`."""
        return self._draw("power", a=a, size=size)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.random`."""
        return self._draw("random", size=size, dtype=dtype, out=out)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.rayleigh`."""
        return self._draw("rayleigh", scale=scale, size=size)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """As :meth:`numpy.random.Generator.shuffle`."""
        self._draw("shuffle", x=x, axis=axis)

    def standard_cauchy(self, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.standard_cauchy`."""
        return self._draw("standard_cauchy", size=size)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> Any:
        """As :meth:`numpy.random.Generator.standard_exponential`."""
        return self._draw("standard_exponential", size=size, dtype=dtype, method=method, out=out)

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> Any:
        """As :meth:`numpy.random.Generator.standard_gamma`."""
        return self._draw("standard_gamma", shape=shape, size=size, dtype=dtype, out=out)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.standard_normal`."""
        return self._draw("standard_normal", size=size, dtype=dtype, out=out)

    def standard_t(self, df: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.standard_t`."""
        return self._draw("standard_t", df=df, size=size)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.triangular`."""
        return self._draw("triangular", left=left, mode=mode, right=right, size=size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.uniform`."""
        return self._draw("uniform", low=low, high=high, size=size)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.vonmises`."""
        return self._draw("vonmises", mu=mu, kappa=kappa, size=size)

    def wald(self, mean: Any, scale: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.wald`."""
        return self._draw("wald", mean=mean, scale=scale, size=size)

    def weibull(self, a: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.weibull`."""
        return self._draw("weibull", a=a, size=size)

    def zipf(self, a: Any, size: Any = None) -> Any:
        """As :meth:`numpy.random.Generator.zipf`."""
        return self._draw("zipf", a=a, size=size)


def default_rng(seed: Any = None) -> Generator:
    """Return a generator of a seed: the same seed gives the same numbers on every card.

    Parameters
    ----------
    seed : None, int, array_like of int, SeedSequence, SplitMix64 or Generator, optional
        As for :func:`numpy.random.default_rng`; a Generator is returned itself.

    Raises
    ------
    TypeError
        A generator or bit generator of NumPy's.
    """
    return seed if isinstance(seed, Generator) else Generator(seeded(seed))


def card_rng(seed: Any = None, card: int | None = None) -> Generator:
    """Return this card's own generator: one seed, an independent stream on each card.

    Parameters
    ----------
    seed : None, int, array_like of int or SeedSequence, optional
    card : int, optional
        Number of the card in the cluster; None for the one that this process owns.

    Raises
    ------
    DeviceUnavailableError
        `card` is None in a process that owns none.
    """
    if card is None:
        card = device.current().card if device.has_card() else None
    if card is None:
        raise DeviceUnavailableError(
            "card_rng() takes the number of this process's card, which owns none: call it in a "
            "task on a worker, or name the card"
        )
    return Generator(of_card(seed, card))

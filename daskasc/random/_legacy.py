"""RandomState and the functions of ``numpy.random``: the old interface over the same streams."""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.random._bits import SplitMix64
from daskasc.random._generator import Generator

# methods that a Generator has too, with the same first arguments
SAME = (
    "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel "
    "hypergeometric laplace logistic lognormal logseries multinomial multivariate_normal "
    "negative_binomial noncentral_chisquare noncentral_f normal pareto permutation poisson power "
    "rayleigh shuffle standard_cauchy standard_exponential standard_gamma standard_normal "
    "standard_t triangular uniform vonmises wald weibull zipf"
).split()
OWN = (
    "get_state rand randint randn random random_integers random_sample seed set_state tomaxint"
).split()


class RandomState:
    """Random numbers by the old interface (:class:`numpy.random.RandomState`), on the card.

    Parameters
    ----------
    seed : None, int, array_like of int, SeedSequence or SplitMix64, optional
        Also the 624 words that dask seeds a chunk with.

    Notes
    -----
    The streams and methods are those of :class:`Generator`; only names and arguments are the old
    ones. The state is that of a SplitMix64, also with ``legacy=True``.
    """

    def __init__(self, seed: Any = None) -> None:
        self._generator = Generator(_seeded(seed))

    def __repr__(self) -> str:
        return "RandomState(SplitMix64)"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._generator.bit_generator,)

    def seed(self, seed: Any = None) -> None:
        """Begin the stream of another seed."""
        self._generator = Generator(_seeded(seed))

    def get_state(self, legacy: bool = True) -> dict[str, Any]:
        """Return the state of the bit generator."""
        return self._generator.bit_generator.state

    def set_state(self, state: Any) -> None:
        """Go to a state that :meth:`get_state` returned."""
        self._generator.bit_generator.state = state

    def random_sample(self, size: Any = None) -> Any:
        """Uniform on [0, 1)."""
        return self._generator.random(size)

    def random(self, size: Any = None) -> Any:
        """Uniform on [0, 1)."""
        return self._generator.random(size)

    def rand(self, *args: int) -> Any:
        """Uniform on [0, 1), the shape as arguments."""
        return self._generator.random(args or None)

    def randn(self, *args: int) -> Any:
        """Standard normal, the shape as arguments."""
        return self._generator.standard_normal(args or None)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Integers from `low` to below `high`."""
        return self._generator.integers(low, high, size, dtype)

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Any:
        """Integers from `low` (1 without `high`) to `high`, both included."""
        warnings.warn(
            "random_integers is deprecated in NumPy; call randint(low, high + 1)",
            DeprecationWarning,
            stacklevel=2,
        )
        low, high = (1, low) if high is None else (low, high)
        return self._generator.integers(low, high, size, endpoint=True)

    def tomaxint(self, size: Any = None) -> Any:
        """Integers from 0 to the largest int64."""
        return self._generator.integers(0, np.iinfo(np.int64).max, size, endpoint=True)


def _seeded(seed: Any) -> SplitMix64:
    return seed if isinstance(seed, SplitMix64) else SplitMix64(seed)


def _same(name: str) -> Callable[..., Any]:
    numpys = inspect.signature(getattr(np.random.RandomState, name))

    def method(self: RandomState, *args: Any, **kwargs: Any) -> Any:
        given = numpys.bind(self, *args, **kwargs).arguments
        given.pop("self")
        return getattr(self._generator, name)(**given)

    method.__name__ = name
    method.__qualname__ = f"RandomState.{name}"
    method.__doc__ = f"As :meth:`numpy.random.RandomState.{name}`."
    method.__signature__ = numpys  # type: ignore[attr-defined]
    return method


for _name in SAME:
    setattr(RandomState, _name, _same(_name))

_lock = threading.Lock()
_shared: RandomState | None = None


def shared() -> RandomState:
    """Return the process's generator behind the functions of this package."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = RandomState()
    return _shared

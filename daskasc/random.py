"""NumPy's random generators with results on the card.

Numbers are drawn by NumPy on the host and uploaded, so they equal NumPy's for the same seed. The
names of this module are looked up by ``dask.array.random`` through the bit generator's module.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class PCG64(np.random.PCG64):
    """NumPy's PCG64; its module tells dask where to find :func:`default_rng`."""


class _OnCard:
    """Calls the methods of a NumPy generator and uploads their results."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        method = getattr(self._generator, name)
        if not callable(method):
            return method

        def drawn(*args: Any, **kwargs: Any) -> Any:
            result = method(
                *(_host(value) for value in args),
                **{key: _host(value) for key, value in kwargs.items()},
            )
            return _card(result) if isinstance(result, (np.ndarray, np.generic)) else result

        return drawn


class Generator(_OnCard):
    """:class:`numpy.random.Generator` with results on the card."""

    @property
    def _bit_generator(self) -> Any:
        # dask makes its generator of this
        return self._generator.bit_generator


class RandomState(_OnCard):
    """:class:`numpy.random.RandomState` with results on the card."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(np.random.RandomState(seed))


def default_rng(seed: Any = None) -> Generator:
    """See :func:`numpy.random.default_rng`."""
    if isinstance(seed, Generator):
        return seed
    if not isinstance(seed, np.random.BitGenerator | np.random.Generator):
        seed = PCG64(seed)
    return Generator(np.random.default_rng(seed))


def _card(value: Any) -> Any:
    from daskasc.array import from_numpy  # imports torch, which unpickling a graph must not

    return from_numpy(value)


def _host(value: Any) -> Any:
    return value.asnumpy() if hasattr(value, "asnumpy") else value

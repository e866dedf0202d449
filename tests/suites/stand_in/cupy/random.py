"""Generators on a card under CuPy's names. dask looks for them by the bit generator's module."""

from daskasc import random as _random
from daskasc.random import Generator, RandomState, default_rng

__all__ = ["XORWOW", "Generator", "RandomState", "default_rng"]


class XORWOW(_random.SplitMix64):
    """CuPy's default bit generator."""


XORWOW.__module__ = "cupy.random"

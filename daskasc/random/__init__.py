"""Random numbers drawn on the card, with NumPy's ``Generator`` interface.

``default_rng(seed)`` has NumPy's meaning: the same seed gives the same numbers. ``card_rng(seed)``
gives every card its own, independent stream. ``da.random.default_rng`` with the backend
``ascend``, or with a generator of this package, draws each chunk on the card that it lies on, from
a stream of its own: the numbers depend on seed, shape and chunks, not on cards, scheduler or
order.

Why an own bit generator
------------------------
Words come from SplitMix64, computed by integer operators of torch (``_bits``, ``_words``). torch's
own generators were measured and not taken:

- Their streams differ by kind of card (Mersenne Twister, Philox) and, on CUDA, by the number of
  multiprocessors, and their states do not go from one kind to another. A client without a card
  could not hand a generator to a worker, nor the host draw what a card cannot.
- On the host they take 32 bits of a seed: of 77,000 chunks, two have the same numbers as likely as
  not.
- ``torch.randint`` takes a remainder of 32 bits: below ``3 * 2**26`` the lower third comes with a
  probability of 0.344.

One million numbers take 6.8 ms (float32) and 13.6 ms (float64) of one thread of the stand-in,
``torch.rand`` 5.0 and 7.3, Philox 4x32-10 by the same means 27 and 59; normal numbers take 13 and
24 ms, ``torch.randn`` 6.2 and 26 (``benchmarks/random_numbers.py``, torch 2.13).

What is the same where
----------------------
Raw words, ``random``, ``integers``, ``bytes``, ``permutation``, ``shuffle`` and ``choice`` without
probabilities have the same bits on every kind of card and with any number of threads. The other
methods go through logarithms and trigonometric functions: on one kind of card, torch and machine
they have the same bits; between kinds they agree to rounding, and rejection may, rarely, decide
otherwise. Draws of the shape a million and twice half a million are different numbers.

Importing this package imports no torch. dask looks up its names through the bit generator's module.
"""

from __future__ import annotations

from typing import Any

from daskasc.random import _legacy
from daskasc.random._bits import SplitMix64
from daskasc.random._generator import Generator, card_rng, default_rng
from daskasc.random._legacy import RandomState

__all__ = ["Generator", "RandomState", "SplitMix64", "card_rng", "default_rng"]


def __getattr__(name: str) -> Any:
    """Functions of the old interface, of one generator that the process shares."""
    if name in _legacy.SAME or name in _legacy.OWN:
        return getattr(_legacy.shared(), name)
    raise AttributeError(f"module 'daskasc.random' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_legacy.SAME, *_legacy.OWN})

"""The bit generator: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), by position.

Word number ``i`` of a stream is a hash of ``start + i * gamma`` modulo 2**64, so a stream is two
64-bit numbers, and a position in it is a count. Words are computed on the card by ordinary
integer operators (``_words``), many at a time, in any order, and have the same bits on every kind
of card, and on the host.

Streams
-------
``start`` and the odd ``gamma`` come from :class:`numpy.random.SeedSequence`, 127 bits together:
streams of neighbouring seeds, and of spawned children, are as far apart as those of any others.
As in Java's SplittableRandom, a gamma with few changes from bit to bit is replaced.

This module imports no torch: bit generators lie in graphs, which a scheduler unpickles.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from daskasc.random._mix import MASK, mixed

_ALTERNATING = 0xAAAAAAAAAAAAAAAA
_FEWEST_CHANGES = 24


class SplitMix64:
    """Stream of 64-bit words, drawn on the card.

    Parameters
    ----------
    seed : None, int, array_like of int or SeedSequence, optional
        As for NumPy's bit generators; None takes fresh entropy from the operating system.

    Notes
    -----
    Threads may share one: each draw takes the next words under a lock. One that has drawn nothing
    takes no memory but its numbers, and it can be pickled to any process, whatever its card.
    """

    # dask takes what has this name for a bit generator; there is none for NumPy's C interface
    capsule = None

    def __init__(self, seed: Any = None) -> None:
        sequence = seed if isinstance(seed, ISeedSequence) else np.random.SeedSequence(seed)
        self._seed_seq: Any = sequence
        start, gamma = (int(word) for word in sequence.generate_state(2, np.uint64))
        gamma |= 1
        if (gamma ^ (gamma >> 1)).bit_count() < _FEWEST_CHANGES:
            gamma ^= _ALTERNATING
        self._start, self._gamma, self._position = start, gamma, 0
        self.lock = threading.Lock()

    @property
    def seed_seq(self) -> Any:
        """The seed sequence, which children are spawned from."""
        return self._seed_seq

    @property
    def start(self) -> int:
        """Where the stream begins."""
        return self._start

    @property
    def gamma(self) -> int:
        """Distance of one word's number to the next one's; odd."""
        return self._gamma

    @property
    def state(self) -> dict[str, Any]:
        """Everything that fixes the words to come.

        ``{"bit_generator": "SplitMix64", "state": {"start": ..., "gamma": ..., "position": ...}}``
        with integers below 2**64, `gamma` odd. It can be set, also from another kind of card.
        """
        numbers = {"start": self._start, "gamma": self._gamma, "position": self._position}
        return {"bit_generator": "SplitMix64", "state": numbers}

    @state.setter
    def state(self, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != "SplitMix64":
            raise ValueError(
                f"state must be for a SplitMix64 generator; got {value.get('bit_generator')!r}"
            )
        numbers = [int(value["state"][name]) for name in ("start", "gamma", "position")]
        if not all(0 <= number <= MASK for number in numbers) or not numbers[1] % 2:
            raise ValueError(f"start, gamma (odd) and position lie below 2**64; got {numbers}")
        with self.lock:
            self._start, self._gamma, self._position = numbers

    def take(self, count: int) -> int:
        """Reserve the next `count` words and return the position of the first."""
        with self.lock:
            first = self._position
            self._position = (first + count) & MASK
        return first

    def advance(self, delta: int) -> SplitMix64:
        """Skip `delta` words (backwards if negative); returns itself."""
        self.take(int(delta))
        return self

    def host_words(self, count: int) -> list[int]:
        """Draw the next words on the host, for seeds."""
        first = self.take(count)
        return [mixed((self._start + i * self._gamma) & MASK) for i in range(first, first + count)]

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Return words as they are: an int, or a uint64 array of shape `size` on the card."""
        if size is None:
            (word,) = self.host_words(1)
            return word if output else None
        from daskasc.random import _words

        source = _words.Source(self)
        raw = source.raw(_words.shape_of(size))
        return source.array(raw, np.dtype("u8")) if output else None

    def spawn(self, n_children: int) -> list[SplitMix64]:
        """Return independent bit generators of the same class."""
        return [type(self)(child) for child in self._seed_seq.spawn(n_children)]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._seed_seq, self.state)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        sequence = self._seed_seq
        # what the children depend on, and what the words do
        known = getattr(sequence, "state", None) or repr(sequence)
        return type(self).__module__, type(self).__qualname__, known, self.state["state"]


def _restored(cls: type[SplitMix64], sequence: Any, state: dict[str, Any]) -> SplitMix64:
    made = cls(sequence)
    made.state = state
    return made


def seeded(seed: Any) -> SplitMix64:
    """Bit generator of whatever seeds one.

    Raises
    ------
    TypeError
        A generator of NumPy's: its numbers are drawn on the host.
    """
    if isinstance(seed, SplitMix64):
        return seed
    if isinstance(seed, np.random.BitGenerator | np.random.Generator | np.random.RandomState):
        raise TypeError(
            f"{type(seed).__name__} draws on the host. For numbers drawn on the card pass a seed "
            "or its seed_seq; for NumPy's numbers on the card call it and then "
            "daskasc.array.from_numpy"
        )
    return SplitMix64(seed)


# between the seed and the card's number, so that no child spawned from the seed has the same key
_CARDS = int.from_bytes(b"card", "big")


def of_card(seed: Any, card: int) -> SplitMix64:
    """Bit generator of one card: streams of one seed differ by card and are independent."""
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    key = (*sequence.spawn_key, _CARDS, card)
    return SplitMix64(
        np.random.SeedSequence(sequence.entropy, spawn_key=key, pool_size=sequence.pool_size)
    )

"""What runs on the workers to find order statistics by counting, without sorting or moving chunks.

Values are mapped to signed integers of the same order, and these are taken digit by digit, the
highest first. Each round counts, chunk by chunk, how often each digit occurs among the values whose
higher digits are those found so far; the counts are summed over chunks and cards; the digit of the
k-th value is where the running count passes k::

    round 0   counts of the high digits of all values              -> the high digit of value k
    round 1   counts of the low digits where the high one is that  -> value k

The values are exact, however many there are (selection by radix; Blanchard et al., "Radix select",
in the form that needs only histograms). NaN is counted apart. What a method makes of the values
next to a level is :mod:`daskasc._levels`' and NumPy's, so results are those of NumPy's functions.

All functions work on any array library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daskasc._levels import PICKS, neighbours, picked, precise
from daskasc.errors import InputError

DIGIT = 16  # bits counted in one round
OTHERS = 1 << DIGIT  # what is no digit in question: NaN, or other higher digits
_SIGNED = {2: "i2", 4: "i4", 8: "i8"}
# values of these are integers of a wider dtype, that has a sign and whole digits
_WIDER = {"i1": "i2", "u1": "i2", "u2": "i4", "u4": "i8"}


@dataclass(frozen=True)
class Wanted:
    """What a task wants to know of all values.

    Attributes
    ----------
    dtype : numpy.dtype
        Of the values: integers of any kind, float16, float32 or float64.
    count : int
        Number of values, NaN included.
    levels : numpy.ndarray or None
        Levels of quantiles in [0, 1], floating-point; None for the median.
    method : str
        NumPy's name of the method.
    skip_nan : bool
        NaN does not count; else one NaN makes all results NaN.
    shape : tuple of int
        Shape of the result.
    given : numpy.dtype, optional
        Dtype of the result; by default NumPy's.
    """

    dtype: np.dtype[Any]
    count: int
    levels: np.ndarray[Any, Any] | None
    method: str
    skip_nan: bool
    shape: tuple[int, ...]
    given: np.dtype[Any] | None = None

    @property
    def bits(self) -> int:
        """Bits of the integers that stand for the values."""
        return _working(self.dtype).itemsize * 8

    @property
    def rounds(self) -> int:
        """Rounds of counting."""
        return self.bits // DIGIT

    @property
    def most(self) -> int:
        """Digits that are looked for at once, at most."""
        return 2 if self.levels is None else 2 * self.levels.size

    def pairs(self, count: int) -> list[tuple[int, int, Any]]:
        """For each result the places of two values, and the weight of the second if it has one.

        `count` is the number of values that count.
        """
        if self.levels is None:
            return [((count - 1) // 2, count // 2, None)]
        found: list[tuple[int, int, Any]] = []
        for level in precise(self.levels, count):
            if self.method in PICKS:
                at = min(max(int(picked(self.method, count, count - 1, level, np)), 0), count - 1)
                found.append((at, at, None))
            else:
                low, high, weight = neighbours(self.method, count, count - 1, level, np)
                # weights of clipped places are beyond 1, where both ends are one element
                found.append((int(low), int(high), weight * 0 + 1 if low == high else weight))
        return found


@dataclass(frozen=True)
class Found:
    """What is known after some rounds.

    Attributes
    ----------
    count : int
        Number of values that count.
    nan : bool
        Whether the result is NaN.
    places : dict
        For each wanted place the number of its prefix, and its place among the values with it.
    prefixes : tuple of int
        Higher digits that are of interest, ascending.
    """

    count: int
    nan: bool
    places: Mapping[int, tuple[int, int]]
    prefixes: tuple[int, ...]


def count_digits(
    wanted: Wanted,
    turn: int,
    index: tuple[slice, ...] | None,
    chunk: Any,
    found: Found | None,
    before: Any,
) -> Any:
    """Task: how often each digit occurs in a chunk, added to those of the chunks before.

    Parameters
    ----------
    wanted : Wanted
        What is looked for.
    turn : int
        The round, from 0.
    index : tuple of slice, optional
        The part of the chunk that counts.
    chunk : array
        The values.
    found : Found or None
        Outcome of the round before; None in the first.
    before : array or None
        Counts of other chunks.

    Returns
    -------
    array of int64, shape (prefixes, OTHERS + 1)
        The last column counts what is no digit in question.

    Raises
    ------
    InputError
        The chunk has a dtype whose values that noted by dask cannot hold.
    """
    part = _as_noted(chunk if index is None else chunk[index], wanted.dtype)
    # one at a time: each takes as much memory as the chunk
    counted = [
        np.bincount(row, minlength=OTHERS + 1)
        for row in _digits(wanted, turn, part.reshape(-1), found)
    ]
    counts = counted[0].reshape(1, -1) if len(counted) == 1 else np.stack(counted)
    if before is not None:
        counts += before
    return counts


def _as_noted(values: Any, noted: np.dtype[Any]) -> Any:
    """Values in the dtype that dask noted, by which rounds and digits are chosen."""
    if values.dtype == noted:
        return values
    if np.can_cast(values.dtype, noted, "safe"):
        return values.astype(noted)
    raise InputError(
        f"a chunk of {values.dtype} is noted as {noted} by dask, so its order statistics cannot be "
        "counted; name the dtype that chunks have (dtype= and meta= of map_blocks, from_delayed)"
    )


def _digits(wanted: Wanted, turn: int, values: Any, found: Found | None) -> Iterator[Any]:
    """Digits of a round for each prefix; `OTHERS` where a value does not belong to it."""
    keys = _keys(values)
    low = wanted.bits - DIGIT * (turn + 1)
    digits = keys >> low if low else keys
    if found is None:
        digits = digits.astype(np.int32, copy=False) + (OTHERS >> 1)
    else:
        digits = (digits & (OTHERS - 1)).astype(np.int32, copy=False)
    if values.dtype.kind == "f":
        digits = np.where(np.isnan(values), OTHERS, digits)
    if found is None:
        yield digits
        return
    keys = keys >> (low + DIGIT)
    for prefix in found.prefixes:
        yield np.where(keys == prefix, digits, OTHERS)


def narrow(
    wanted: Wanted, turn: int, found: Found | None, contribution: Sequence[Any], *others: None
) -> Found:
    """Task: the digits of the wanted values, out of the counts of all cards.

    Parameters
    ----------
    wanted : Wanted
        What is looked for.
    turn : int
        The round that was counted.
    found : Found or None
        Outcome of the round before.
    contribution : sequence of array
        The counts, one array.
    *others : None
        What the other members' collecting tasks returned; they only keep partials alive.

    Raises
    ------
    InputError
        There are not as many values as dask noted, or they changed between rounds.
    """
    (counts,) = contribution
    table = np.asarray(counts.asnumpy() if hasattr(counts, "asnumpy") else counts)
    if found is None:
        if (counted := int(table.sum())) != wanted.count:
            raise InputError(
                f"{counted} values were counted where dask notes {wanted.count}: chunks have other "
                "shapes than noted; name theirs (chunks= of map_blocks, shape= of from_delayed)"
            )
        found = _begin(wanted, int(table[0, OTHERS]))
    cumulated = np.cumsum(table[:, :OTHERS], axis=1)
    places: dict[int, tuple[int, int]] = {}
    digits: dict[int, int] = {}
    for place, (number, inside) in found.places.items():
        row = cumulated[number]
        digit = int(np.searchsorted(row, inside, side="right"))
        if digit == OTHERS:
            raise InputError(
                f"value {place} of {found.count} was not found among the {int(row[-1])} counted "
                f"in round {turn}: the chunks changed while they were counted"
            )
        before = int(row[digit - 1]) if digit else 0
        high = found.prefixes[number] << DIGIT
        digits[place] = high + (digit if turn else digit - (OTHERS >> 1))
        places[place] = number, inside - before
    prefixes = tuple(sorted(set(digits.values())))
    number_of = {prefix: number for number, prefix in enumerate(prefixes)}
    places = {place: (number_of[digits[place]], inside) for place, (_, inside) in places.items()}
    # an array of counts has at least one row
    return replace(found, places=places, prefixes=prefixes or (0,))


def _begin(wanted: Wanted, missing: int) -> Found:
    count = wanted.count - missing if wanted.skip_nan else wanted.count
    nan = count == 0 or (missing > 0 and not wanted.skip_nan)
    pairs = [] if nan else wanted.pairs(count)
    places = {place: (0, place) for low, high, _ in pairs for place in (low, high)}
    return Found(count, nan, places, (0,))


def finish_selected(
    wanted: Wanted, found: Found | None, contribution: Sequence[Any], *others: None
) -> Any:
    """Task: the results, after the last round; arguments as of :func:`narrow`.

    Returns
    -------
    array
        In the memory of the counts' card.
    """
    last = narrow(wanted, wanted.rounds - 1, found, contribution)
    (like,) = contribution
    with np.errstate(all="ignore"):
        results = _of_nan(wanted) if last.nan else _of_values(wanted, last)
    whole = results.reshape(wanted.shape)
    return np.asarray(whole if wanted.given is None else whole.astype(wanted.given), like=like)


def _of_nan(wanted: Wanted) -> np.ndarray[Any, Any]:
    nothing = np.full(1, np.nan, wanted.dtype)
    if wanted.levels is None:
        return nothing
    levels = wanted.levels.reshape(-1)
    return np.quantile(nothing, levels, method=wanted.method)  # type: ignore[call-overload]


def _of_values(wanted: Wanted, last: Found) -> np.ndarray[Any, Any]:
    values = _values(np.array(last.prefixes), wanted.dtype)
    at = {place: values[number] for place, (number, _) in last.places.items()}
    results = []
    for low, high, weight in wanted.pairs(last.count):
        if wanted.levels is None:
            results.append(np.median([at[low]] if low == high else [at[low], at[high]]))
        elif weight is None:
            results.append(at[low])
        else:
            results.append(np.quantile(np.array([at[low], at[high]]), weight))
    return np.array(results)


def _working(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Signed integers that values of a dtype are mapped to."""
    wider = _WIDER.get(dtype.str[1:])
    return np.dtype(_SIGNED[dtype.itemsize] if wider is None else wider)


def _keys(values: Any) -> Any:
    """Signed integers in the order of the values; -0.0 comes before 0.0, NaN anywhere."""
    dtype = values.dtype
    working = _working(dtype)
    if dtype.kind == "f":
        bits = values.view(working)
        # of negative numbers a larger magnitude is less
        return np.where(bits < 0, bits ^ np.iinfo(working).max, bits)
    if dtype.str[1:] == "u8":
        return values.view(working) ^ np.iinfo(working).min
    return values if dtype == working else values.astype(working)


def _values(keys: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The values that keys stand for."""
    working = _working(dtype)
    keys = keys.astype(working)
    if dtype.kind == "f":
        return np.where(keys < 0, keys ^ np.iinfo(working).max, keys).view(dtype)
    if dtype.str[1:] == "u8":
        return (keys ^ np.iinfo(working).min).view(dtype)
    return keys.astype(dtype)

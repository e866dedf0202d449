"""The smallest operands that still drift: delta debugging over axes, then simpler values.

Lengths come first. Axes of equal length belong together (``x + y``, ``x @ y``), so they lose the
same indices at once; then each axis alone. Within a group the classic delta debugging runs: keep
one part of the indices, or all but one part, with ever finer parts. Then axes of length one go,
and keyword arguments, and at last each element is replaced by the simplest number that keeps the
drift. Every step is taken only if the predicate still holds, so the result always reproduces.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from daskasc.drift._calls import Call

_TRIALS = 3000
_SECONDS = 10.0
_FEW = 16  # elements up to which values are simplified


class _Search:
    """Holds the best call so far, and the predicate with its budget."""

    def __init__(self, call: Call, reproduces: Callable[[Call], bool]) -> None:
        self.call = call
        self._reproduces = reproduces
        self._trials = 0
        self._end = time.monotonic() + _SECONDS

    @property
    def exhausted(self) -> bool:
        return self._trials >= _TRIALS or time.monotonic() > self._end

    def arrays(self) -> list[Any]:
        return [operand.array for operand in self.call.operands()]

    def accept(self, call: Call) -> bool:
        """Take a call if it still drifts."""
        if self.exhausted:
            return False
        self._trials += 1
        if not self._reproduces(call):
            return False
        self.call = call
        return True

    def accept_arrays(self, arrays: list[Any]) -> bool:
        return self.accept(self.call.with_arrays(arrays))


def shrink(call: Call, reproduces: Callable[[Call], bool]) -> Call:
    """Smallest call found for which ``reproduces(call)`` holds; `call` itself must."""
    search = _Search(call, reproduces)
    size = -1
    while size != (size := sum(array.size for array in search.arrays())) and not search.exhausted:
        for group in list(_groups(search.arrays())):
            _shorten(search, group)
    _drop_keywords(search)
    _drop_axes(search)
    if sum(array.size for array in search.arrays()) <= _FEW:
        _simplify(search)
    return search.call


Group = list[tuple[int, int]]  # (number of the operand, axis)


def _groups(arrays: list[Any]) -> Iterator[Group]:
    axes = [(i, axis) for i, array in enumerate(arrays) for axis in range(array.ndim)]
    lengths = {arrays[i].shape[axis] for i, axis in axes} - {0, 1}
    for length in sorted(lengths, reverse=True):
        group = [(i, axis) for i, axis in axes if arrays[i].shape[axis] == length]
        if len(group) > 1:
            yield group
            # broadcast operands count axes from the end
            for back in range(1, 1 + max(array.ndim for array in arrays)):
                part = [(i, axis) for i, axis in group if arrays[i].ndim - axis == back]
                if 1 < len(part) < len(group):
                    yield part
        yield from ([member] for member in group)


def _shorten(search: _Search, group: Group) -> None:
    arrays = search.arrays()
    lengths = {arrays[i].shape[axis] for i, axis in group}
    if len(lengths) != 1:
        return
    kept = list(range(lengths.pop()))
    parts = 2
    while len(kept) > 1 and not search.exhausted:
        chunks = [part.tolist() for part in np.array_split(kept, min(parts, len(kept)))]
        rests = [[k for k in kept if k not in set(chunk)] for chunk in chunks]
        for wanted in itertools.chain(chunks, rests if len(chunks) > 2 else ()):
            trial = list(arrays)
            for i, axis in group:
                trial[i] = np.take(trial[i], wanted, axis)
            if search.accept_arrays(trial):
                kept, parts = wanted, max(parts - 1, 2) if wanted in rests else 2
                break
        else:
            if parts >= len(kept):
                return
            parts *= 2


def _drop_keywords(search: _Search) -> None:
    for key in list(search.call.kwargs):
        fewer = {k: v for k, v in search.call.kwargs.items() if k != key}
        # a target of the call may not go with its keyword
        if search.call.with_arrays(search.arrays()).operands() and key != "out":
            search.accept(replace(search.call, kwargs=fewer))


def _drop_axes(search: _Search) -> None:
    arrays = search.arrays()
    if all(array.ndim <= 1 for array in arrays):
        return
    flat = [array.reshape(-1) if array.ndim > 1 else array for array in arrays]
    if search.accept_arrays(flat):
        return
    if isinstance(search.call.kwargs.get("axis"), int):
        moved = replace(search.call, kwargs={**search.call.kwargs, "axis": 0})
        if search.accept(moved.with_arrays(flat)):
            return
    for i, array in enumerate(arrays):
        if array.ndim > 1:
            search.accept_arrays([*arrays[:i], flat[i], *arrays[i + 1 :]])
            arrays = search.arrays()


def _simplify(search: _Search) -> None:
    for i, array in enumerate(search.arrays()):
        for place in np.ndindex(array.shape):
            old = search.arrays()[i][place]
            for value in _simpler(old):
                changed = np.array(search.arrays()[i])
                changed[place] = value
                fresh = changed if isinstance(array, np.ndarray) else changed[()]
                arrays = search.arrays()
                if search.accept_arrays([*arrays[:i], fresh, *arrays[i + 1 :]]):
                    break


def _simpler(value: Any) -> list[Any]:
    """Numbers that read easier than `value`, the easiest first."""
    kind = value.dtype.kind
    if kind == "b":
        return [False] if value else []
    if kind in "iu":
        number = int(value)
        tries = [0, 1, 2, -1, *(number >> shift for shift in (32, 16, 8, 4, 2, 1))]
        fits = np.iinfo(value.dtype)
        return [
            t for t in dict.fromkeys(tries) if fits.min <= t <= fits.max and abs(t) < abs(number)
        ]
    if kind == "c":
        part = value.real.dtype.type
        numbers = [
            complex(r, i) for r in _parts(part(value.real)) for i in (0.0, float(value.imag))
        ]
        return [t for t in numbers if len(repr(t)) < len(repr(value.item()))]
    if kind in "fV":
        return _parts(value)
    return []


def _parts(value: Any) -> list[float]:
    number = float(value)
    short = [0.0, 1.0, 2.0, 3.0, -1.0, 0.5]
    if np.isfinite(number):
        short += [float(round(number)) if abs(number) < 1e15 else number]
        short += [float(f"{number:.{digits}g}") for digits in (1, 2, 3, 4, 5, 6)]
    length = len(repr(number))
    found = [t for t in dict.fromkeys(short) if len(repr(t)) < length or (t == 0 and number != 0)]
    if number in short[:6]:
        found = [t for t in short[: short.index(number)] if len(repr(t)) <= length]
    return found

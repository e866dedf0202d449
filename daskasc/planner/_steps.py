"""Rechunking in several steps, seen as one.

Where one step would take too many tasks, dask goes through a grid in between, often of a few very
large chunks::

    chunks            between            last              the same without the step between
    a  b  c  d   ->   [a b] [c d]   ->   parts of these    parts of a, b, c, d

An exchange has no task for a part, so it needs no step between, which would move everything twice
and gather it on few cards. A step is left out where nothing else uses it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np
from dask.typing import Key

from daskasc.planner._assemblies import Assemblies, Assembly, Piece
from daskasc.planner._recognise import name_of_array

# (number of a piece along an axis, start and end in it)
_Run = tuple[int, int, int]


@dataclass(frozen=True)
class Direct:
    """Last outputs without the steps between.

    Attributes
    ----------
    outputs : dict
        By key.
    steps : dict
        For the name of each such array, those of the steps left out.
    """

    outputs: Mapping[Key, Assembly]
    steps: Mapping[str, frozenset[str]]


def direct(found: Assemblies, users: Mapping[Key, Set[Key]], wanted: Set[Key], most: int) -> Direct:
    """What the last of several steps consist of.

    Parameters
    ----------
    found : Assemblies
        All steps.
    users : mapping
        For each key the keys of the tasks that use it.
    wanted : set
        Keys that the computation has to return.
    most : int
        Pieces that an array may consist of; one that would have more stays in steps.
    """
    arrays = found.arrays()
    inner = {name for name, outputs in arrays.items() if _is_inner(outputs, found, users, wanted)}
    seen: dict[str, tuple[dict[Key, Assembly], frozenset[str]]] = {}

    def follow(name: str) -> tuple[dict[Key, Assembly], frozenset[str]]:
        if name not in seen:
            seen[name] = {}, frozenset()  # for a graph with a cycle
            below = {
                step
                for output in arrays[name]
                for piece in output.pieces
                if (step := name_of_array(piece.chunk)) in inner
            }
            steps = {step: follow(step) for step in below}
            chunks = {key: one for outputs, _ in steps.values() for key, one in outputs.items()}
            flat = {output.key: _without(output, chunks) for output in arrays[name]}
            known = {key: output for key, output in flat.items() if output is not None}
            whole = len(known) == len(flat) and sum(len(o.pieces) for o in known.values()) <= most
            passed = frozenset(below).union(*(names for _, names in steps.values()))
            if whole:
                seen[name] = known, passed
            else:  # begin anew here
                seen[name] = {output.key: output for output in arrays[name]}, frozenset()
        return seen[name]

    last = {name: follow(name) for name in arrays if name not in inner}
    through = {name: one for name, one in last.items() if one[1]}
    return Direct(
        {key: output for outputs, _ in through.values() for key, output in outputs.items()},
        {name: steps for name, (_, steps) in through.items()},
    )


def _is_inner(
    outputs: list[Assembly],
    found: Assemblies,
    users: Mapping[Key, Set[Key]],
    wanted: Set[Key],
) -> bool:
    for output in outputs:
        if output.key in wanted:
            return False
        for user in users[output.key]:
            if user in found.cuts and user not in found.outputs:
                if user in wanted or not users[user] <= found.outputs.keys():
                    return False
            elif user not in found.outputs:
                return False
    return True


def _without(output: Assembly, chunks: Mapping[Key, Assembly]) -> Assembly | None:
    """An output with the pieces of intermediate chunks in the place of parts of these."""
    if not any(piece.chunk in chunks for piece in output.pieces):
        return output
    parts: dict[tuple[int, ...], dict[tuple[int, ...], Piece]] = {}
    lengths: list[dict[int, tuple[int, ...]]] = [{} for _ in output.grid]
    for place, piece in zip(np.ndindex(*output.grid), output.pieces, strict=True):
        found = _parts(piece, chunks)
        if found is None:
            return None
        parts[place], sizes = found
        for axis, (position, row) in enumerate(zip(place, sizes, strict=True)):
            if lengths[axis].setdefault(position, row) != row:
                return None
    lines = [
        [(position, inside) for position in range(n) for inside in range(len(rows[position]))]
        for n, rows in zip(output.grid, lengths, strict=True)
    ]
    pieces = [
        parts[tuple(position for position, _ in at)][tuple(inside for _, inside in at)]
        for at in itertools.product(*lines)
    ]
    return Assembly(output.key, tuple(pieces), tuple(map(len, lines)))


def _parts(
    piece: Piece, chunks: Mapping[Key, Assembly]
) -> tuple[dict[tuple[int, ...], Piece], list[tuple[int, ...]]] | None:
    """Pieces of a part of an intermediate chunk by place, and their lengths along each axis."""
    chunk = chunks.get(piece.chunk)
    if chunk is None:
        return {(0,) * len(piece.shape): piece}, [(length,) for length in piece.shape]
    lengths = chunk.lengths()
    if lengths is None or len(lengths) != len(piece.shape):
        return None
    runs: list[list[_Run]] = []
    for axis, row in enumerate(lengths):
        start, stop = (0, sum(row)) if piece.index is None else _span(piece.index[axis])
        if stop - start != piece.shape[axis]:
            return None
        runs.append(_runs(row, start, stop))
    by_place = dict(zip(np.ndindex(*chunk.grid), chunk.pieces, strict=True))
    found = {}
    for place in np.ndindex(*map(len, runs)):
        picked = [run[i] for run, i in zip(runs, place, strict=True)]
        source = by_place[tuple(number for number, _, _ in picked)]
        found[place] = source.part_of([(start, stop) for _, start, stop in picked])
    return found, [tuple(stop - start for _, start, stop in run) for run in runs]


def _span(index: slice) -> tuple[int, int]:
    return index.start, index.stop


def _runs(row: list[int], start: int, stop: int) -> list[_Run]:
    """Where ``range(start, stop)`` lies in consecutive pieces of the lengths `row`."""
    ends = list(itertools.accumulate(row))
    found = [
        (number, max(start, end - length) - (end - length), min(stop, end) - (end - length))
        for number, (length, end) in enumerate(zip(row, ends, strict=True))
        if max(start, end - length) < min(stop, end)
    ]
    return found or [(0, 0, 0)]

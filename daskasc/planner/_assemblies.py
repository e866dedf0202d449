"""Chunks that are put together out of parts of other chunks, as ``rechunk`` makes them.

Dask cuts every part out of its chunk in a task of its own and concatenates the parts of an output
chunk in another::

    chunk 0 -- getitem ---+
    chunk 1 -- getitem ---+-- concatenate_shaped     an output chunk
    chunk 2 --------------+                          (used as a whole)

They are recognised by these functions, where slices and shapes are known; an output chunk of one
part only is an alias of the cutting task. Which card gets what is decided here too: a part is
cut where its chunk lies, so that parts travel and not chunks; an output chunk lies where more
than half of it comes from, else by the block map of its grid.

Where one step would take too many tasks, dask takes several, often through very large chunks.
:mod:`._steps` sees them as one.
"""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask.array.chunk as dask_chunk
import numpy as np
from dask._task_spec import Alias, GraphNode, Task
from dask.array.core import concatenate_shaped
from dask.typing import Key

from daskasc.collectives import Part
from daskasc.planner._recognise import grid_position, is_list, name_of_array, reference
from daskasc.planner._sizes import Sizes

Index = tuple[slice, ...]
_CUTS = (dask_chunk.getitem, operator.getitem)


@dataclass(frozen=True)
class Piece:
    """A part of a chunk.

    Attributes
    ----------
    chunk : Key
        The chunk.
    index : tuple of slice or None
        The part; None for the whole chunk.
    shape : tuple of int
        Its shape.
    itemsize : int
        Bytes of an element.
    card : bool
        Whether the chunk lies in a card's memory.
    """

    chunk: Key
    index: Index | None
    shape: tuple[int, ...]
    itemsize: int
    card: bool

    @property
    def nbytes(self) -> int:
        """Its size."""
        return math.prod(self.shape) * self.itemsize

    def part(self, number: int) -> Part:
        """The piece of chunk `number` of those that a card cuts."""
        return (number, self.index)

    def part_of(self, spans: Sequence[tuple[int, int]]) -> Piece:
        """Part of this piece, by start and end along each axis."""
        starts = [0 if self.index is None else self.index[axis].start for axis in range(len(spans))]
        index = tuple(
            slice(begin + start, begin + stop)
            for begin, (start, stop) in zip(starts, spans, strict=True)
        )
        shape = tuple(stop - start for start, stop in spans)
        if shape == self.shape:
            return self
        return Piece(self.chunk, index, shape, self.itemsize, self.card)


@dataclass(frozen=True)
class Assembly:
    """An output chunk.

    Attributes
    ----------
    key : Key
        Its key.
    pieces : tuple of Piece
        What it consists of, in C order of `grid`.
    grid : tuple of int
        Number of pieces along each axis.
    """

    key: Key
    pieces: tuple[Piece, ...]
    grid: tuple[int, ...]

    def home(self, homes: Callable[[Key], int | None]) -> int | None:
        """Card that has more than half of it; None where no card has."""
        shares: Counter[int | None] = Counter()
        for piece in self.pieces:
            shares[homes(piece.chunk)] += max(piece.nbytes, 1)
        ((card, most),) = shares.most_common(1)
        return card if 2 * most > shares.total() else None

    def lengths(self) -> list[list[int]] | None:
        """Lengths of its pieces along each axis; None where they are no grid."""
        found: list[dict[int, int]] = [{} for _ in self.grid]
        for place, piece in zip(np.ndindex(*self.grid), self.pieces, strict=True):
            for row, position, length in zip(found, place, piece.shape, strict=True):
                if row.setdefault(position, length) != length:
                    return None
        return [[row[i] for i in range(n)] for row, n in zip(found, self.grid, strict=True)]


@dataclass(frozen=True)
class Assemblies:
    """All output chunks of a graph.

    Attributes
    ----------
    outputs : dict
        By key.
    cuts : dict
        Chunk that each cutting task takes.
    """

    outputs: Mapping[Key, Assembly]
    cuts: Mapping[Key, Key]

    def arrays(self) -> dict[str, list[Assembly]]:
        """Outputs by the name of their array."""
        found: defaultdict[str, list[Assembly]] = defaultdict(list)
        for key, assembly in self.outputs.items():
            found[name_of_array(key)].append(assembly)
        return dict(found)


def find_assemblies(graph: Mapping[Key, GraphNode], sizes: Sizes) -> Assemblies:
    """Chunks that are put together out of parts of other chunks, and the tasks that cut these."""
    outputs: dict[Key, Assembly] = {}
    cuts: dict[Key, Key] = {}
    for key, task in graph.items():
        if grid_position(key) is None:
            continue
        found = _joined(key, task, graph, sizes)
        if found is not None:
            outputs[key] = found
            for part in task.dependencies:
                cut = _cut(graph.get(part))
                if cut is not None:
                    cuts[part] = cut[0]
    return Assemblies(outputs, cuts)


def _joined(
    key: Key, task: GraphNode, graph: Mapping[Key, GraphNode], sizes: Sizes
) -> Assembly | None:
    position = grid_position(key) or ()
    if isinstance(task, Alias):
        if _cut(graph.get(task.target)) is None:
            return None
        piece = _piece(task.target, graph, sizes)
        if piece is None or len(piece.shape) != len(position):
            return None
        return Assembly(key, (piece,), (1,) * len(position))
    if not isinstance(task, Task) or task.func is not concatenate_shaped or task.kwargs:
        return None
    parts, grid = task.args
    grid = _literal(grid)
    if not is_list(parts) or grid is None or len(grid) != len(position):
        return None
    pieces = []
    for part in parts.args:
        source = reference(part)
        piece = None if source is None else _piece(source, graph, sizes)
        if piece is None:
            return None
        pieces.append(piece)
    known = len(pieces) == math.prod(grid) and all(len(p.shape) == len(grid) for p in pieces)
    return Assembly(key, tuple(pieces), grid) if known else None


def _literal(grid: Any) -> tuple[int, ...] | None:
    numbers = grid.args if is_list(grid) else grid
    if isinstance(numbers, (list, tuple)) and all(isinstance(n, int) for n in numbers):
        return tuple(numbers)
    return None


def _cut(task: GraphNode | None) -> tuple[Key, Index] | None:
    """Chunk and part of a cutting task."""
    if not isinstance(task, Task) or task.func not in _CUTS or len(task.args) != 2:
        return None
    chunk, index = reference(task.args[0]), task.args[1]
    if chunk is None or not isinstance(index, tuple) or not all(map(_is_range, index)):
        return None
    return chunk, index


def _is_range(index: Any) -> bool:
    return (
        isinstance(index, slice)
        and isinstance(index.start, int)
        and isinstance(index.stop, int)
        and index.step in (None, 1)
        and 0 <= index.start <= index.stop
    )


def _piece(key: Key, graph: Mapping[Key, GraphNode], sizes: Sizes) -> Piece | None:
    cut = _cut(graph.get(key))
    chunk, index = (key, None) if cut is None else cut
    size = sizes.chunk(chunk)
    if size is None or size.shape is None:
        return None
    if index is None:
        return Piece(chunk, None, size.shape, size.itemsize, size.card)
    if len(index) != len(size.shape):
        return None
    shape = tuple(len(range(*s.indices(n))) for s, n in zip(index, size.shape, strict=True))
    return Piece(chunk, index, shape, size.itemsize, size.card)

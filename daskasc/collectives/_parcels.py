"""Pieces of chunks, packed into one buffer for each card that gets some.

What a card cuts out of its chunks lies in one piece of memory, ordered by receiving card::

    pack     chunk 0, chunk 1, ...  ->  [ for card 0: p p p | for card 1: p p p | ... ]
    unpack   the items for one card, one from each member  ->  lists of arrays, views
    join     some of these arrays  ->  an output chunk

Sender and receiver know from the plan which part of which chunk comes where (a :class:`Cut`);
dtypes and shapes of the chunks travel along, since an array's notes may be wrong. Elements are only
moved: any dtype keeps its bits. Chunks that do not lie on a card are sent piece by piece, unpacked.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskasc.collectives._leaves import array_of, on_card, torch_of
from daskasc.collectives._manifest import aligned, device_dtype, is_device_array, itemsize

# the number of a chunk among those that a card cuts, and the part; None is the whole chunk
Part = tuple[int, tuple[slice, ...] | None]


@dataclass(frozen=True)
class Cut:
    """Parts of chunks that cards send to each other.

    Attributes
    ----------
    rows : tuple of tuple of Part
        What a card sends to each member, or what it gets from each.
    nbytes, own : int
        Planned bytes of all parts; of those that stay on the card.
    sizes : tuple of int
        Planned bytes for each member, or from each.
    """

    rows: tuple[tuple[Part, ...], ...]
    nbytes: int
    own: int
    sizes: tuple[int, ...] = ()


def _shape_of(part: Part, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    number, index = part
    shape = shapes[number]
    if index is None:
        return shape
    lengths = [len(range(*s.indices(n))) for s, n in zip(index, shape, strict=False)]
    return (*lengths, *shape[len(lengths) :])


def pack(cut: Cut, *chunks: Any) -> list[Any]:
    """Task: what a card brings into an exchange, cut out of its chunks.

    Parameters
    ----------
    cut : Cut
        The parts for each member.
    *chunks : array
        The chunks that they are cut from.

    Returns
    -------
    list
        One item a member: a description and a buffer on the card, or a list of pieces.
    """
    if not all(map(is_device_array, chunks)):
        return [[_part(chunks[n], index) for n, index in row] for row in cut.rows]
    torch = torch_of()
    shapes = [tuple(chunk.shape) for chunk in chunks]
    names = [device_dtype(chunk) for chunk in chunks]
    sizes = [itemsize("device", name) for name in names]
    lengths = [
        [math.prod(_shape_of(part, shapes)) * sizes[part[0]] for part in row] for row in cut.rows
    ]
    totals = [sum(map(aligned, row)) for row in lengths]
    place = chunks[0].tensor.device if chunks else None
    buffer = torch.empty(sum(totals), dtype=torch.uint8, device=place)
    header = pickle.dumps(_runs(zip(names, shapes, strict=True)), protocol=4)
    items: list[Any] = []
    start = 0
    for row, total in zip(cut.rows, totals, strict=True):
        offset = start
        for (number, index), length in zip(row, lengths[len(items)], strict=True):
            if length:
                piece = _part(chunks[number].tensor, index)
                target = buffer[offset : offset + length].view(piece.dtype)
                target.view(piece.shape).copy_(piece)
            offset += aligned(length)
        items.append((header, on_card(buffer[start : start + total])) if row else [])
        start += total
    return items


def _part(chunk: Any, index: tuple[slice, ...] | None) -> Any:
    return chunk if index is None else chunk[index]


def _runs(values: Any) -> list[tuple[int, Any]]:
    return [(len(list(group)), value) for value, group in itertools.groupby(values)]


def unpack(cut: Cut, items: Sequence[Any]) -> list[list[Any]]:
    """Pieces that each member has cut out for a card, as views of what was received.

    Parameters
    ----------
    cut : Cut
        The parts from each member.
    items : sequence
        The members' items for this card, as :func:`pack` made them.
    """
    return [
        list(item) if isinstance(item, list) else _unpacked(row, *item)
        for row, item in zip(cut.rows, items, strict=True)
    ]


def _unpacked(row: Sequence[Part], header: bytes, buffer: Any) -> list[Any]:
    kinds = [kind for count, kind in pickle.loads(header) for _ in range(count)]
    shapes = [tuple(shape) for _, shape in kinds]
    raw = buffer.tensor
    pieces: list[Any] = []
    offset = 0
    for part in row:
        name = kinds[part[0]][0]
        shape = _shape_of(part, shapes)
        length = math.prod(shape) * itemsize("device", name)
        found = raw[offset : offset + length] if length else None
        pieces.append(array_of(found, name, shape, raw.device))
        offset += aligned(length)
    return pieces


def join(
    received: Sequence[Sequence[Any]], places: Sequence[tuple[int, int]], grid: Sequence[int]
) -> Any:
    """Task: an output chunk out of received pieces.

    Parameters
    ----------
    received : sequence of sequence of array
        Pieces by member, as :func:`unpack` gives them.
    places : sequence of (int, int)
        For each piece of the chunk, in C order of `grid`: its member, and its number there.
    grid : sequence of int
        Number of pieces along each axis.
    """
    pieces = [received[member][number] for member, number in places]
    lengths = _lengths(pieces, grid)
    if lengths is None:
        from dask.array.core import concatenate_shaped

        return concatenate_shaped(pieces, list(grid)) if len(pieces) > 1 else pieces[0]
    first = pieces[0]
    shape = tuple(map(sum, lengths))
    whole = torch_of().empty(shape, dtype=first.tensor.dtype, device=first.tensor.device)
    starts = [list(itertools.accumulate(row, initial=0)) for row in lengths]
    for piece, position in zip(pieces, np.ndindex(*grid), strict=True):
        part = tuple(slice(s[i], s[i + 1]) for s, i in zip(starts, position, strict=True))
        whole[part].copy_(piece.tensor)
    return on_card(whole, device_dtype(first) if first.dtype.kind in "mM" else None)


def _lengths(pieces: Sequence[Any], grid: Sequence[int]) -> list[list[int]] | None:
    """Lengths of the pieces along each axis; None where they are no grid of one dtype."""
    if not all(map(is_device_array, pieces)):
        return None
    if len({device_dtype(piece) for piece in pieces}) != 1 or pieces[0].ndim != len(grid):
        return None
    by_place = dict(zip(np.ndindex(*grid), pieces, strict=True))
    lengths = []
    for axis, number in enumerate(grid):
        along = [tuple(i if a == axis else 0 for a in range(len(grid))) for i in range(number)]
        lengths.append([by_place[place].shape[axis] for place in along])
    for place, piece in by_place.items():
        if piece.shape != tuple(row[i] for row, i in zip(lengths, place, strict=True)):
            return None
    return lengths

"""How large a chunk is, before it exists: what the layers of a graph say about their arrays.

Dask writes chunks, dtype and chunk type of every array into the layer that bears its name, and
these notes travel with the graph. They are read before fusion, which merges layers but keeps the
names: inside a fused task the step of array ``x`` is called ``x_.0_.1``, where ``.0`` and ``.1``
are block indices of the fused task's own output.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dask.blockwise import Blockwise
from dask.highlevelgraph import HighLevelGraph
from dask.typing import Key

_STEP = re.compile(r"(?s)(.*?)((?:_\.\d+)+)")
_CHUNK_TYPES = "daskasc."


@dataclass(frozen=True)
class Size:
    """Size of a value.

    Attributes
    ----------
    nbytes : int or None
        Bytes of its elements, which a copy takes; None where nobody can know.
    shape : tuple of int, optional
        Shape, where it is one array of known shape.
    itemsize : int
        Bytes of one element; 0 where unknown.
    card : bool
        Whether the value lies in a card's memory; else in the host's.
    source : object
        For literals: array-like that a task reads from, function that it calls.
    parts : tuple of Size
        Sizes of the values that it consists of, where these are used one by one.
    keeps : int, optional
        Bytes of the memory that lives as long as the value, where it is a view.
    """

    nbytes: int | None
    shape: tuple[int, ...] | None = None
    itemsize: int = 0
    card: bool = False
    source: Any = field(default=None, compare=False)
    parts: tuple[Size, ...] = field(default=(), compare=False)
    keeps: int | None = None

    @property
    def kept(self) -> int | None:
        """Bytes of the memory that lives as long as the value."""
        return self.nbytes if self.keeps is None else self.keeps

    @property
    def kept_on_card(self) -> int:
        """The same, where it is a card's."""
        return (self.kept or 0) if self.card else 0

    @property
    def on_card(self) -> int:
        """Bytes of elements known to lie on a card."""
        return (self.nbytes or 0) if self.card else 0

    @property
    def on_host(self) -> int:
        """Bytes of elements known to lie on the host."""
        return 0 if self.card else self.nbytes or 0


def array_size(shape: tuple[float, ...], itemsize: int, card: bool) -> Size:
    """Size of one array; without bytes where a length is unknown (NaN)."""
    if any(math.isnan(length) for length in shape):
        return Size(None, None, itemsize, card)
    whole = tuple(int(length) for length in shape)
    return Size(math.prod(whole) * itemsize, whole, itemsize, card)


@dataclass(frozen=True)
class _Array:
    chunks: tuple[tuple[float, ...], ...]
    dtype: np.dtype[Any]
    card: bool

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)


class Sizes:
    """Sizes of the chunks of a graph's arrays.

    Parameters
    ----------
    graph : HighLevelGraph or mapping
        The graph before any optimisation; of a plain mapping nothing is known.
    """

    def __init__(self, graph: Any) -> None:
        self._arrays: dict[str, _Array] = {}
        self._indices: dict[str, tuple[str, ...]] = {}
        self._found: dict[Key, Size | None] = {}
        self._uniform: dict[Any, bool] = {}
        self._places: dict[tuple[Key, Any], Key] = {}
        if not isinstance(graph, HighLevelGraph):
            return
        for name, layer in graph.layers.items():
            notes = layer.collection_annotations or {}
            if "chunks" in notes and "dtype" in notes:
                card = str(notes.get("chunk_type", "")).startswith(_CHUNK_TYPES)
                dtype = np.dtype(notes["dtype"])
                self._arrays[name] = _Array(tuple(notes["chunks"]), dtype, card)
        self.look_at(graph)

    def look_at(self, graph: HighLevelGraph) -> None:
        """Note which block index is which, also of layers that were fused since."""
        for name, layer in graph.layers.items():
            if isinstance(layer, Blockwise):
                self._indices[name] = tuple(str(index) for index in layer.output_indices)

    def chunk(self, key: Key) -> Size | None:
        """Size of the chunk ``(name, i, j, ...)``; None where nothing is known of its array."""
        if not isinstance(key, tuple) or not key:
            return None
        if key not in self._found:
            self._found[key] = self._chunk(key[0], key[1:])
        return self._found[key]

    def uniform(self, name: Any) -> bool:
        """Whether all chunks of an array have one size; False where nothing is known of it."""
        if name not in self._uniform:
            array = self._arrays.get(name) if isinstance(name, str) else None
            self._uniform[name] = array is not None and all(
                len(set(sizes)) == 1 for sizes in array.chunks
            )
        return self._uniform[name]

    def dtype(self, key: Key) -> np.dtype[Any] | None:
        """Dtype of the chunk ``(name, i, j, ...)``; None where nothing is known of its array."""
        array = self._arrays.get(key[0]) if isinstance(key, tuple) and key else None
        return None if array is None else array.dtype

    def located(self, key: Key, task: Key) -> Key:
        """Key ``(name, i, j, ...)`` of an inner step of the fused task `task`.

        A position is None where the step's block is not told by the task's.
        """
        if isinstance(key, tuple) or not isinstance(task, tuple):
            return key
        if (key, task[1:]) not in self._places:
            self._places[key, task[1:]] = self._located(str(key), task)
        return self._places[key, task[1:]]

    def _located(self, key: str, task: tuple[Any, ...]) -> Key:
        if key == task[0]:
            return task
        match = _STEP.fullmatch(key)
        if match is None:
            # perhaps the task of another array, fused with one that only renames its result
            array = self._arrays.get(key)
            return (key,) if array is None else (key, *(None for _ in array.chunks))
        own = dict(zip(self._indices.get(task[0], ()), task[1:], strict=False))
        return (match[1], *map(own.get, match[2].removeprefix("_").split("_")))

    def _chunk(self, name: Any, position: tuple[Any, ...]) -> Size | None:
        array = self._arrays.get(name) if isinstance(name, str) else None
        if array is None or len(position) != len(array.chunks):
            return None
        lengths: list[float] = []
        for index, sizes in zip(position, array.chunks, strict=True):
            if len(sizes) == 1:  # also where the block is used for every index
                lengths.append(sizes[0])
            elif isinstance(index, int) and index < len(sizes):
                lengths.append(sizes[index])
            else:  # an index that is summed over: any block
                lengths.append(max(sizes, default=0))
        return array_size(tuple(lengths), array.itemsize, array.card)

    def names_with(self, prefix: str) -> list[str]:
        """Names of the arrays that begin so."""
        return [name for name in self._arrays if name.startswith(prefix)]

"""Medians and quantiles over all axes, without gathering the values in one chunk.

Dask rechunks the axes into one chunk and calls NumPy's function on it. Where other axes are left,
it cuts these into pencils, and :mod:`._rechunk` moves the parts in an exchange. Where none is left,
one card would have to hold everything. Then the values stay where they are and are counted, round
by round (see :mod:`._counting`)::

    chunks on card 0        chunks on card 1
      count - count           count - count       one after the other, added up
              |                       |
            partial 0               partial 1     counts of 2**16 digits
              +------ sum over cards -----+
                    narrow                        the digit of the wanted values
                      |  to all cards, next round
                    finish (old key)              the values, and what NumPy makes of them

A selection is recognised from the task that calls the function, on a chunk that is put together
out of others (see :mod:`._assemblies`); ``da.percentile``, which merges percentiles of chunks into
approximate ones, from the task that merges. Without cards for all chunks, or where counting would
move more bytes than gathering, the graph stays as it is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dask.array.reductions as dask_reductions
import numpy as np
from dask._task_spec import DataNode, GraphNode, Task, TaskRef
from dask.array.core import concatenate_axes
from dask.array.percentile import merge_percentiles, percentile_lookup
from dask.blockwise import Blockwise
from dask.highlevelgraph import HighLevelGraph
from dask.tokenize import tokenize
from dask.typing import Key
from dask.utils import Dispatch

from daskasc._levels import METHODS
from daskasc.planner._assemblies import Assemblies, Index
from daskasc.planner._combine import gather_nodes
from daskasc.planner._counting import (
    OTHERS,
    Wanted,
    count_digits,
    finish_selected,
    narrow,
)
from daskasc.planner._emit import Rewrite
from daskasc.planner._rechunk import home_of
from daskasc.planner._recognise import grid_position, is_list, reference
from daskasc.planner._sizes import Sizes
from daskasc.planner._steps import Direct

if TYPE_CHECKING:
    from daskasc.planner._optimize import Planner

# function -> whether NaN is skipped
_FUNCTIONS: dict[Any, bool] = {
    np.median: False,
    np.nanmedian: True,
    np.quantile: False,
    np.nanquantile: True,
    dask_reductions._custom_nanquantile: True,
}
_MEDIANS = (np.median, np.nanmedian)
_DTYPES = frozenset("i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split())
# levels of one call; each costs two digits that are looked for at once
_LEVELS = 32


@dataclass(frozen=True)
class Source:
    """Values of one chunk.

    Attributes
    ----------
    chunk : Key
        The chunk.
    index : tuple of slice or None
        The part that counts; None for all of it.
    card : int
        Where it lies.
    """

    chunk: Key
    index: Index | None
    card: int


@dataclass(frozen=True)
class Selection:
    """One call of a quantile's function.

    Attributes
    ----------
    key : Key
        Key of the task, which keeps its name.
    wanted : Wanted
        What it gives.
    sources : tuple of Source
        The values, in the order of the grid.
    whole : Key or None
        The chunk that dask would put together for it.
    """

    key: Key
    wanted: Wanted
    sources: tuple[Source, ...]
    whole: Key | None

    @property
    def members(self) -> list[int]:
        """Cards that take part, ascending."""
        return sorted({source.card for source in self.sources})


def layers_of(graph: HighLevelGraph) -> list[str]:
    """Names of the layers that call a quantile's function, which fusion has to leave apart."""
    return [
        name
        for name, layer in graph.layers.items()
        if isinstance(layer, Blockwise) and _function(layer.task) is not None
    ]


def _function(task: Any) -> Any:
    function = getattr(task, "func", None)
    try:
        return function if function in _FUNCTIONS else None
    except TypeError:  # unhashable callables
        return None


class Finder:
    """Looks for selections; the parameters are what the planner knows of the graph.

    Parameters
    ----------
    graph, users, outputs
        As of :func:`daskasc.planner._recognise.find_trees`.
    assemblies, last
        As of :func:`daskasc.planner._rechunk.write_exchanges`.
    owners, sizes, planner
        As there.
    """

    def __init__(
        self,
        graph: Mapping[Key, GraphNode],
        users: Mapping[Key, Set[Key]],
        outputs: Set[Key],
        assemblies: Assemblies,
        last: Direct,
        owners: Mapping[Key, int],
        sizes: Sizes,
        planner: Planner,
    ) -> None:
        self.graph, self.users, self.outputs = graph, users, outputs
        self.assemblies, self.last = assemblies, last
        self.owners, self.sizes, self.planner = owners, sizes, planner

    def find(self) -> list[Selection]:
        """All selections that pay, in the order of the graph."""
        found = []
        for key, task in self.graph.items():
            if not isinstance(task, Task):
                continue
            one = None
            if task.func is merge_percentiles:
                one = self._percentile(key, task)
            elif _function(task) is not None:
                one = self._quantile(key, task)
            if one is not None:
                found.append(one)
        # the chunk is made all the same if anything else uses it
        chosen = {selection.key for selection in found}
        return [
            one
            for one in found
            if one.whole is None
            or (one.whole not in self.outputs and self.users[one.whole] <= chosen)
        ]

    # -- dask's tasks

    def _quantile(self, key: Key, task: Task) -> Selection | None:
        whole = _only(task.args[0]) if task.args else None
        assembly = None if whole is None else self.assemblies.outputs.get(whole)
        if whole is None or assembly is None:
            return None
        pieces = self.last.outputs.get(whole, assembly).pieces
        keywords = dict(task.kwargs)
        axes = keywords.pop("axis", None)
        keepdims = bool(keywords.pop("keepdims", False))
        ndim = len(assembly.grid)
        if not isinstance(axes, (list, tuple)) or sorted(axes) != list(range(ndim)):
            return None
        levels: np.ndarray[Any, Any] | None = None
        method = "linear"
        if task.func in _MEDIANS:
            if len(task.args) != 1:
                return None
        else:
            method = keywords.pop("method", method)
            levels = self._levels(task.args[1]) if len(task.args) == 2 else None
            if levels is None:
                return None
        if keywords or not all(piece.card for piece in pieces):
            return None
        shape = (() if levels is None else levels.shape) + ((1,) * ndim if keepdims else ())
        skips = _FUNCTIONS[task.func]
        count = sum(math.prod(piece.shape) for piece in pieces)
        wanted = self._wanted(whole, count, levels, method, skips, shape)
        sources = self._sources([(piece.chunk, piece.index) for piece in pieces])
        if wanted is None or sources is None:
            return None
        found = Selection(key, wanted, sources, whole)
        owner = self.owners.get(whole)
        homes = [source.card for source in sources]
        moved = sum(p.nbytes for p, home in zip(pieces, homes, strict=True) if home != owner)
        nbytes = sum(piece.nbytes for piece in pieces)
        return found if self._pays(found, moved, nbytes) else None

    def _percentile(self, key: Key, task: Task) -> Selection | None:
        if len(task.args) < 4 or not is_list(task.args[2]) or task.kwargs:
            return None
        levels, method = _host(task.args[0]), task.args[3]
        chunks: list[Key] = []
        for part in map(reference, task.args[2].args):
            own = None if part is None else self.graph.get(part)
            if not isinstance(own, Task) or not _is_percentile(own.func):
                return None
            chunk = reference(own.args[0])
            if chunk is None or part in self.outputs or self.users[part] != {key}:
                return None
            chunks.append(chunk)
        sizes = [self.sizes.chunk(chunk) for chunk in chunks]
        shapes = [size.shape for size in sizes if size and size.card and size.shape is not None]
        if levels is None or len(chunks) < 2 or len(shapes) < len(chunks):
            return None
        levels = np.true_divide(levels, 100)
        count = sum(map(math.prod, shapes))
        given = self.sizes.dtype(key)
        wanted = self._wanted(chunks[0], count, levels, method, False, levels.shape, given)
        sources = self._sources([(chunk, None) for chunk in sorted(chunks, key=_position)])
        if wanted is None or sources is None:
            return None
        return Selection(key, wanted, sources, None)

    # -- what they are about

    def _levels(self, argument: Any) -> np.ndarray[Any, Any] | None:
        key = _only(argument)
        node = argument if key is None else self.graph.get(key)
        value = _host(node.value if isinstance(node, DataNode) else node)
        return value if value is not None and value.dtype.kind == "f" else None

    def _wanted(
        self,
        values: Key,
        count: int,
        levels: np.ndarray[Any, Any] | None,
        method: Any,
        skips: bool,
        shape: tuple[int, ...],
        given: np.dtype[Any] | None = None,
    ) -> Wanted | None:
        dtype = self.sizes.dtype(values)
        if dtype is None or dtype.str[1:] not in _DTYPES or method not in METHODS or not count:
            return None
        if levels is not None and not (
            0 < levels.size <= _LEVELS and bool(((levels >= 0) & (levels <= 1)).all())
        ):
            return None
        return Wanted(dtype.newbyteorder("="), count, levels, method, skips, shape, given)

    def _sources(self, values: Iterable[tuple[Key, Index | None]]) -> tuple[Source, ...] | None:
        found = []
        for chunk, index in values:
            card = home_of(chunk, self.owners, self.planner.cards)
            if card is None:
                return None
            found.append(Source(chunk, index, card))
        return tuple(found)

    def _pays(self, found: Selection, moved: int, nbytes: int) -> bool:
        limit = self.planner.stored_limit or self.planner.capacity
        if limit is not None and 2 * nbytes > limit:  # the sorted values lie beside the others
            return True
        return moved > counted_bytes(found)


def counted_bytes(found: Selection) -> int:
    """Bytes of counts that come to other cards, at most."""
    wanted = found.wanted
    rows = 1 + (wanted.rounds - 1) * wanted.most
    return rows * (OTHERS + 1) * 8 * (len(found.members) - 1)


def _only(argument: Any) -> Key | None:
    """Key of the one chunk that an argument consists of."""
    if isinstance(argument, Task) and argument.func is concatenate_axes:
        nested = argument.args[0]
        while is_list(nested) and len(nested.args) == 1:
            (nested,) = nested.args
        return reference(nested)
    return reference(argument)


def _is_percentile(function: Any) -> bool:
    """Whether a function is dask's dispatched one, which is copied when a graph is pickled."""
    return isinstance(function, Dispatch) and function.__name__ == percentile_lookup.__name__


def _position(key: Key) -> tuple[int, ...]:
    return grid_position(key) or ()


def _host(value: Any) -> np.ndarray[Any, Any] | None:
    """Numbers in a graph, as a NumPy array."""
    found = value.asnumpy() if hasattr(value, "asnumpy") else value
    if isinstance(found, (np.ndarray, np.generic, int, float)):
        array = np.asarray(found)
        return array if array.dtype.kind in "iuf" else None
    return None


def write_selections(found: list[Selection], planner: Planner, rewrite: Rewrite) -> None:
    """Write selections anew.

    Parameters
    ----------
    found : list of Selection
        As :meth:`Finder.find` gives them.
    planner : Planner
        The planner with all configured values filled in.
    rewrite : Rewrite
        Where the tasks go.
    """
    for number, selection in enumerate(found):
        SelectionWriter(selection, planner.cards, rewrite).write(number)


class SelectionWriter:
    """Writes one selection.

    Parameters
    ----------
    selection : Selection
        What is wanted.
    cards : int
        Number of cards of the plan.
    rewrite : Rewrite
        Where the tasks go.
    """

    def __init__(self, selection: Selection, cards: int, rewrite: Rewrite) -> None:
        self.selection, self.cards, self.rewrite = selection, cards, rewrite
        self.name = "median" if selection.wanted.levels is None else "quantile"
        self.token = tokenize(selection.key, selection.sources, cards)

    def _key(self, stage: str, *index: int) -> Key:
        return (f"{self.name}-{stage}-{self.token}", *index)

    def write(self, number: int) -> None:
        """Add the tasks; `number` is this selection's among others and decides the owner."""
        selection, rewrite = self.selection, self.rewrite
        members = selection.members
        owner = members[number % len(members)]
        wanted = selection.wanted
        found: TaskRef | None = None
        for turn in range(wanted.rounds):
            partials = {card: (gather_nodes, self._counted(turn, card, found)) for card in members}
            if len(members) == 1:
                key = self._key("partial", turn)
                result = TaskRef(rewrite.add(key, owner, Task(key, *partials[owner])))
                others: list[TaskRef] = []
            else:
                result, others = rewrite.exchange(
                    lambda stage, *index, turn=turn: self._key(stage, turn, *index),
                    f"{self.name}-{tokenize(self.token, turn)}",
                    "sum",
                    owner,
                    self.cards,
                    partials,
                )
            last = turn == wanted.rounds - 1
            key = selection.key if last else self._key("narrow", turn)
            if last:
                task = Task(key, finish_selected, wanted, found, result, *others)
            else:
                task = Task(key, narrow, wanted, turn, found, result, *others)
            found = TaskRef(rewrite.add(key, owner, task))
            rewrite.results.add(key)

    def _counted(self, turn: int, card: int, found: TaskRef | None) -> TaskRef:
        """Counts of one card, chunk after chunk."""
        before: TaskRef | None = None
        place: Counter[int] = Counter()
        for source in self.selection.sources:
            if source.card != card:
                continue
            key = self._key("count", turn, card, place[card])
            place[card] += 1
            chunk = TaskRef(source.chunk)
            wanted = self.selection.wanted
            task = Task(key, count_digits, wanted, turn, source.index, chunk, found, before)
            before = TaskRef(self.rewrite.add(key, card, task))
        assert before is not None
        return before

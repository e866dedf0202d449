"""Chunk tasks that are made where they run: those of layers that read or create their chunks.

Such a layer says for all its chunks at once what makes one, and which argument depends on its
place; dask writes a task for each out of it. Where these tasks end as steps of a bundle, the
scheduler need not have them at all: it knows their keys, and a bundle carries the layer, cut down
to its chunks::

    scheduler   x: read(store, slices of the chunk) + 1 -> sum     one stand-in for all chunks
    bundle      the layer, and the slices of its 64 chunks         64 tasks, made by the worker

A stand-in (:class:`Deferred`) is in the graph in the place of each of a layer's tasks. It has their
inputs, which are the same for all, but neither function nor arguments; a pass that looks at these
needs the tasks themselves, from :func:`made`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from dask._task_spec import GraphNode, Task, TaskRef
from dask.array.optimization import _optimize_slices
from dask.blockwise import Blockwise, BlockwiseDepDict
from dask.highlevelgraph import Layer
from dask.tokenize import tokenize
from dask.typing import Key

Graph = dict[Key, GraphNode]


def _not_made(*_: Any) -> Any:
    raise AssertionError("a stand-in for tasks of a layer was run")


class Deferred(Task):
    """Stands for any task of a layer.

    Parameters
    ----------
    layer : Blockwise
        The layer; all its tasks have the same inputs.
    sample : Task
        One of them.
    literals : frozenset
        Kinds of array literals that the tasks take by their place, see :func:`literal_kind`.
    """

    __slots__ = ("layer", "literals")

    def __init__(
        self, layer: Blockwise, sample: Task, literals: frozenset[Any] = frozenset()
    ) -> None:
        inputs = map(TaskRef, sample.dependencies)
        super().__init__(layer.output, _not_made, *inputs, _data_producer=sample.data_producer)
        self.layer = layer
        self.literals = literals

    def _get_token(self) -> str:
        blocks = self.layer.output_blocks
        return str(tokenize(self.layer.output, blocks and sorted(blocks)))

    def keys(self) -> list[Key]:
        """Keys of the layer's tasks, in the order in which dask writes them."""
        return [(self.layer.output, *block) for block in _blocks(self.layer)]

    def part(self, keys: Iterable[Key]) -> Deferred:
        """The same for some of the tasks alone, which knows nothing of the others' places."""
        blocks, layer = _places(keys), self.layer
        values: dict[str, dict[tuple[int, ...], Any]] = {name: {} for name in layer.io_deps}
        for name, axes in layer.indices:
            if axes is None:
                continue
            argument = layer.io_deps[name]
            where = [layer.output_indices.index(axis) for axis in axes]
            single = [count == 1 for count in layer.numblocks[name]]
            found = values[name]  # an argument may be there twice, with other axes
            for block in blocks:
                place = tuple(
                    0 if one else block[axis] for axis, one in zip(where, single, strict=True)
                )
                if place not in found:
                    found[place] = argument.get(place, place)
        arguments = {
            name: BlockwiseDepDict(found, numblocks=layer.io_deps[name].numblocks)
            for name, found in values.items()
        }
        kinds = {literal_kind(value) for found in values.values() for value in found.values()}
        cut = Blockwise(
            layer.output,
            layer.output_indices,
            layer.task,
            layer.indices,
            layer.numblocks,
            concatenate=layer.concatenate,
            new_axes=layer.new_axes,
            output_blocks=blocks,
            io_deps=arguments,
        )
        return Deferred(cut, self, frozenset(kinds))


def literal_kind(value: Any) -> Any:
    """What decides how much memory a literal takes: of an array its type, shape and dtype."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return None if shape is None or dtype is None else (type(value), tuple(shape), dtype)


def deferred(layer: Layer) -> Deferred | None:
    """What stands for the tasks of a layer; None where each has to be written out."""
    if not isinstance(layer, Blockwise) or not len(layer):
        return None
    for name, axes in layer.indices:
        if axes is None:
            continue
        argument = layer.io_deps.get(name)
        if argument is None or argument.produces_keys or argument.produces_tasks:
            return None
        if not set(axes) <= set(layer.output_indices):
            return None
    (sample,) = layer._cull({next(iter(_blocks(layer)))})._dict.values()
    return Deferred(layer, sample)


def _blocks(layer: Blockwise) -> Iterable[tuple[int, ...]]:
    """Places of a layer's tasks, in the order in which dask writes them."""
    counts = (range(layer.dims[axis]) for axis in layer.output_indices)
    return layer.output_blocks or itertools.product(*counts)


def made(nodes: Mapping[Key, GraphNode]) -> Graph:
    """The same nodes, stand-ins replaced by the tasks that they stand for."""
    result = dict(nodes)
    for standing, keys in _standing_in(nodes):
        tasks = _optimize_slices(standing.layer._cull(_places(keys))._dict)
        result.update({key: tasks[key] for key in keys})
    return result


def compact(steps: Mapping[Key, GraphNode]) -> Graph:
    """The same steps, each stand-in cut down to those of its tasks that are among them."""
    result = dict(steps)
    for standing, keys in _standing_in(steps):
        result.update(dict.fromkeys(keys, standing.part(keys)))
    return result


def _standing_in(nodes: Mapping[Key, GraphNode]) -> Iterable[tuple[Deferred, list[Key]]]:
    """Stand-ins among some nodes, each with the keys where it is."""
    found: dict[int, tuple[Deferred, list[Key]]] = {}
    for key, node in nodes.items():
        if isinstance(node, Deferred):
            found.setdefault(id(node), (node, []))[1].append(key)
    return found.values()


def _places(keys: Iterable[Key]) -> set[tuple[Any, ...]]:
    return {key[1:] for key in keys if isinstance(key, tuple)}

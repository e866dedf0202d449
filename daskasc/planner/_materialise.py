"""From dask's layers to tasks, or to what stands for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from dask._task_spec import GraphNode, convert_legacy_graph
from dask.blockwise import fuse_roots, optimize_blockwise
from dask.highlevelgraph import HighLevelGraph
from dask.typing import Key

from daskasc.planner._deferred import Deferred, deferred, made
from daskasc.planner._recognise import Tree
from daskasc.planner._selections import layers_of
from daskasc.planner._sizes import Sizes

Graph = dict[Key, GraphNode]


def materialise(dsk: Any, outputs: Set[Key], sizes: Sizes, defer: bool) -> Graph:
    """Tasks of a graph after dask's fusion of layers.

    Parameters
    ----------
    dsk : HighLevelGraph or mapping
        The graph of one or several collections.
    outputs : set
        Keys that the computation has to return.
    sizes : Sizes
        Is told of the fused layers.
    defer : bool
        Whether stand-ins take the place of tasks where they can.
    """
    if not isinstance(dsk, HighLevelGraph):
        dsk = HighLevelGraph.from_collections(str(id(dsk)), dsk, dependencies=())
    keys = [*outputs, *((name,) for name in layers_of(dsk))]
    dsk = optimize_blockwise(dsk, keys=keys)
    dsk = fuse_roots(dsk, keys=keys)
    sizes.look_at(dsk)
    layers: list[Mapping[Key, Any]] = []
    for layer in dsk.cull(set(outputs)).layers.values():
        standing = deferred(layer) if defer else None
        layers.append(layer if standing is None else dict.fromkeys(standing.keys(), standing))
    names = {key for layer in layers for key in layer}
    graph: Graph = {}
    for layer in layers:
        graph.update(convert_legacy_graph(layer, names))
    return graph


def only_leaves_deferred(
    graph: Graph, users: Mapping[Key, Set[Key]], trees: Iterable[Tree], outputs: Set[Key]
) -> Graph:
    """The same graph, with stand-ins for nothing but leaves of trees that nothing else uses."""
    inside = {key for tree in trees for key in (tree.key, *tree.inner)}
    leaves = {leaf for tree in trees for leaf in tree.leaves if leaf not in tree.replaced}
    wanted = {
        key: node
        for key, node in graph.items()
        if isinstance(node, Deferred)
        and (key not in leaves or key in outputs or not users[key] <= inside)
    }
    return {**graph, **made(wanted)} if wanted else graph

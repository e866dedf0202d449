"""The graph pass: dask's own optimisation, with placement and two-level reductions in between.

It is installed through dask's configuration key ``array_optimize`` and runs where dask optimises:
on the scheduler (or in the client, with a local scheduler). So it needs no torch and no worker.

Order of the steps, and why: dask's high-level fusion first, so that reading, arithmetic and the
chunk function of a reduction are one task; then the rewriting, while combining and aggregating
tasks still have their own functions; then linear fusion, which must not fuse over a card boundary
or touch the tasks of a collective; at last, chunk tasks become steps of the tasks that combine what
they make.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import dask.config
from dask._task_spec import Alias, GraphNode, cull, fuse_linear_task_spec
from dask.array.optimization import _optimize_slices
from dask.array.optimization import optimize as stock_optimize
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.typing import Key

from daskasc import config
from daskasc.errors import ConfigurationError
from daskasc.planner._assemblies import find_assemblies
from daskasc.planner._bundles import Bundler, is_bundle
from daskasc.planner._check import check_memory
from daskasc.planner._deferred import made
from daskasc.planner._emit import Rewrite, TreeWriter
from daskasc.planner._locality import follow_results, move_products
from daskasc.planner._materialise import materialise, only_leaves_deferred
from daskasc.planner._order import ranks
from daskasc.planner._owners import (
    assign_owners,
    chunk_counts,
    grids,
    stored,
    topological,
    users_of,
)
from daskasc.planner._place import PREFIX
from daskasc.planner._rechunk import PIECES, write_exchanges
from daskasc.planner._recognise import Tree, find_trees, grid_position
from daskasc.planner._scans import Scan, find_scans, write_scans
from daskasc.planner._selections import Finder, write_selections
from daskasc.planner._sizes import Sizes
from daskasc.planner._steps import direct
from daskasc.planner._work import Estimate
from daskasc.topology import Levels, server_order, servers_of

Graph = dict[Key, GraphNode]


@dataclass(frozen=True)
class Planner:
    """Optimiser of array graphs for a number of cards.

    Instances are values: equal ones hash equal and pickle small, since dask groups collections
    by their optimiser and sends it to the scheduler.

    Parameters
    ----------
    cards : int
        Number of cards of the cluster that will run the graphs.
    fan_in : int, optional
        Inputs of one card-local combining task; a power of two. By default as configured.
    reproducible : bool, optional
        Keep the bits of floating-point reductions when the number of cards changes. By default
        as configured.
    in_flight : int, optional
        Chunks that a card works on at a time. By default as configured.
    bundle : int, optional
        Chunks of a reduction that one task takes, one after the other. By default as configured.
    prefetch : int, optional
        Chunks that such a task reads before they are needed. By default as configured.
    enabled : bool, optional
        False leaves everything to dask's own optimiser. By default as configured.
    memory_check : {"error", "warn", "off"}, optional
        What a task that needs more memory than a card has does. By default as configured.
    capacity : int, optional
        Bytes of memory of a card; without it nothing is checked.
    stored_limit : int, optional
        Bytes of it for stored chunks, beyond which they are spilled.
    padding : int, optional
        Bytes by which the cards' allocator may round up one block of memory.
    asynchronous : bool
        Whether the cards compute beside the host; then reading ahead is the default.
    servers : tuple of int, optional
        Server of each card. By default as the scheduler of this process has found them, or one
        server where there is none.
    two_level : bool, optional
        Collectives combine within each server first. By default as configured.

    Notes
    -----
    Configured values are read in the process that pickles or calls the planner: it is the
    client's configuration that counts, not the scheduler's.

    Raises
    ------
    ConfigurationError
        `cards` is not positive.

    Examples
    --------
    >>> import dask
    >>> planner = SchedulerPlanner(Planner(cards=4))
    >>> with dask.config.set(array_optimize=planner):  # doctest: +SKIP
    ...     x.mean(axis=0).compute()
    """

    cards: int
    fan_in: int | None = None
    reproducible: bool | None = None
    in_flight: int | None = None
    bundle: int | None = None
    prefetch: int | None = None
    enabled: bool | None = None
    memory_check: str | None = None
    capacity: int | None = None
    stored_limit: int | None = None
    padding: int = 0
    asynchronous: bool = False
    servers: tuple[int, ...] | None = None
    two_level: bool | None = None

    def __post_init__(self) -> None:
        if self.cards < 1:
            raise ConfigurationError(f"cards is {self.cards}; a plan needs at least one card")
        if self.servers and len(self.servers) != self.cards:
            raise ConfigurationError(
                f"servers names the servers of {len(self.servers)} cards, but the plan has "
                f"{self.cards}; name one for each"
            )

    def resolved(self) -> Planner:
        """The same planner with all configured values filled in."""
        return Planner(
            self.cards,
            config.planner_fan_in() if self.fan_in is None else self.fan_in,
            config.reproducible() if self.reproducible is None else self.reproducible,
            config.planner_in_flight() if self.in_flight is None else self.in_flight,
            config.planner_bundle() if self.bundle is None else self.bundle,
            self._prefetch(),
            config.planner_enabled() if self.enabled is None else self.enabled,
            config.memory_check() if self.memory_check is None else self.memory_check,
            self.capacity,
            self.stored_limit,
            self.padding,
            self.asynchronous,
            self.servers,
            config.two_level() if self.two_level is None else self.two_level,
        )

    def _prefetch(self) -> int:
        chosen = config.planner_prefetch() if self.prefetch is None else self.prefetch
        return int(self.asynchronous) if chosen is None else chosen

    def located(self) -> Planner:
        """The same planner with the servers of its cards, as far as they are known here."""
        if self.servers is not None:
            return self
        return dataclasses.replace(self, servers=servers_of(self.cards))

    @property
    def order(self) -> tuple[int, ...] | None:
        """Cards in the order in which they get blocks of chunks; None for their own order."""
        return server_order(self.servers) if self.servers else None

    def __reduce__(self) -> tuple[Any, ...]:
        settled = self.resolved()
        return Planner, dataclasses.astuple(settled)

    def __call__(self, dsk: Any, keys: Any, **kwargs: Any) -> Any:
        """Optimise a graph.

        Parameters
        ----------
        dsk : HighLevelGraph or mapping
            The graph of one or several collections.
        keys : key or nested list of keys
            What the computation has to return.
        **kwargs
            Passed on to dask's optimiser when the planner is switched off.

        Returns
        -------
        HighLevelGraph or mapping
            An equivalent graph, its tasks annotated with ``card``, ``rank``, ``gang`` and
            ``plan`` where they apply. Dask's own result where ``daskasc.planner.enabled`` is false.

        Raises
        ------
        ProjectedMemoryError
            A task needs more memory than a card has.
        """
        settled = self.resolved()
        if not settled.enabled:
            return stock_optimize(dsk, keys, **kwargs)
        with _uncollected():
            planned = settled.planned(dsk, keys)
            check_memory(planned)
            return planned.annotated()

    def planned(self, dsk: Any, keys: Any) -> Planned:
        """Plan a graph: all passes, and what they found out about it.

        Parameters
        ----------
        dsk, keys
            As for calling the planner.
        """
        settled = self.resolved().located()
        outputs = set(flatten(keys if isinstance(keys, (list, set)) else [keys]))
        sizes = Sizes(dsk)
        located = sizes.located if sizes.names_with(f"{PREFIX}-") else None
        graph = materialise(dsk, outputs, sizes, defer=located is None)
        users = users_of(graph)
        grid = grids([*graph, *stored(graph)])
        assemblies = find_assemblies(graph, sizes)
        last = direct(assemblies, users, outputs, PIECES * self.cards)
        owners = assign_owners(
            graph, users, grid, self.cards, located, assemblies, last.outputs, settled.order
        )
        trees = [
            tree
            for tree in find_trees(graph, users, outputs)
            if all(leaf in owners for leaf in tree.leaves)
        ]
        graph = only_leaves_deferred(graph, users, trees, outputs)
        counts = chunk_counts(grid)
        move_products(graph, trees, owners, counts, settled.cards)
        rewrite = _rewrite(trees, owners, settled)
        scans = [
            scan
            for scan in find_scans(graph, users, outputs)
            if all(leaf in owners for leaf in scan.leaves)
        ]
        write_scans(scans, owners, settled.cards, settled.fan_in or 2, rewrite)
        rewritten: list[Tree | Scan] = [*trees, *scans]
        kept = {leaf for found in rewritten for leaf in found.leaves}
        selected = Finder(graph, users, outputs, assemblies, last, owners, sizes, settled).find()
        write_selections(selected, settled, rewrite)
        kept |= {source.chunk for one in selected for source in one.sources}
        counted = {one.whole for one in selected}
        kept |= write_exchanges(assemblies, last, counted, owners, sizes, settled, rewrite)
        if located is None:  # what a user has placed does not follow
            finished = {tree.key: rewrite.owners[tree.key] for tree in trees}
            owners.update(follow_results(graph, users, owners, finished, kept, counts))
        graph = {**graph, **rewrite.tasks}
        for tree in trees:
            graph.update(tree.replaced)
        for found in rewritten:
            for key in found.inner:
                del graph[key]
        owners = {**owners, **rewrite.owners}
        steps = rewrite.tasks.keys() - rewrite.chunks
        graph = _fuse(graph, outputs | kept | steps, owners)
        graph = cull(graph, outputs)
        results = {tree.key for tree in trees} | rewrite.results
        order = ranks(graph, results, steps)
        single = Planned(settled, outputs, graph, owners, rewrite, order, sizes)
        return single.bundled(results)


@dataclass(frozen=True)
class Planned:
    """A planned graph and what is known of it.

    Attributes
    ----------
    planner : Planner
        The planner with all configured values filled in.
    outputs : set
        Wanted keys.
    graph : dict
        The tasks.
    owners, ranks : dict
        Card of each pinned task; rank of each task.
    rewrite : Rewrite
        Tasks of reductions and collectives.
    sizes : Sizes
        Sizes of the arrays' chunks.
    """

    planner: Planner
    outputs: set[Key]
    graph: Graph
    owners: dict[Key, int]
    rewrite: Rewrite
    ranks: dict[Key, float]
    sizes: Sizes

    @property
    def in_flight(self) -> int:
        """Ranks that a card works on at a time."""
        return self.planner.in_flight or 1

    @functools.cached_property
    def estimate(self) -> Estimate:
        """What every task makes and needs."""
        levels = Levels(self.planner.servers) if self.planner.servers else None
        return Estimate(self.sizes, self.graph, topological(self.graph), levels)

    def bundled(self, results: Set[Key]) -> Planned:
        """The same plan with bundles, the largest that a card can hold.

        Parameters
        ----------
        results : set
            Finished reductions, whose results many chunks use.
        """
        most = self.planner.bundle or 1
        users = users_of(self.graph)
        fixed = self.outputs | self.rewrite.gangs.keys()
        while most > 1:
            bundler = Bundler(
                self.graph, users, self.owners, fixed, results, most, self.planner.prefetch or 0
            )
            graph = made(bundler.bundled())
            owners = {key: self.owners[one] for key, one in bundler.joint.items()}
            ranks = {key: self.ranks[one] for key, one in bundler.joint.items()}
            found = dataclasses.replace(
                self, graph=graph, owners={**self.owners, **owners}, ranks={**self.ranks, **ranks}
            )
            if found._bundles_fit():
                return found
            most //= self.planner.fan_in or 2
        return dataclasses.replace(self, graph=made(self.graph))

    def _bundles_fit(self) -> bool:
        limits = [n for n in (self.planner.capacity, self.planner.stored_limit) if n is not None]
        if not limits:
            return True
        # stored chunks that are inputs have to come back together where they are spilled
        found = [key for key, node in self.graph.items() if is_bundle(node)]
        return not found or max(map(self.estimate.need, found)) <= min(limits)

    def annotated(self) -> HighLevelGraph:
        """The graph as dask takes it, its tasks annotated for the placement plugin."""
        plan = {"cards": self.planner.cards, "in_flight": self.in_flight}
        return _annotate(self.graph, self.owners, self.rewrite.gangs, self.ranks, plan)


@dataclass(frozen=True)
class SchedulerPlanner:
    """What a client configures as ``array_optimize``: a planner that acts on the scheduler only.

    Called in the client's own process, by a local scheduler, it is dask's stock optimiser, since
    there are no cards there. Pickled with a graph, it arrives as its :class:`Planner`.

    Parameters
    ----------
    planner : Planner
        The planner for the cluster's cards.
    """

    planner: Planner

    def __call__(self, dsk: Any, keys: Any, **kwargs: Any) -> Any:
        """Optimise a graph that runs in this process; dask's own result."""
        return stock_optimize(dsk, keys, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.planner.__reduce__()


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's cyclic garbage collector.

    A plan consists of many objects and of no garbage; to look through all of them again and again
    took a third of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _rewrite(trees: Iterable[Tree], owners: Mapping[Key, int], planner: Planner) -> Rewrite:
    by_name: defaultdict[Any, list[Tree]] = defaultdict(list)
    for tree in trees:
        by_name[tree.key[0] if isinstance(tree.key, tuple) else tree.key].append(tree)
    rewrite = Rewrite(servers=planner.servers or () if planner.two_level else ())
    for group in by_name.values():
        group.sort(key=lambda tree: grid_position(tree.key) or ())
        for rank, tree in enumerate(group):
            writer = TreeWriter(
                tree,
                owners,
                planner.cards,
                planner.fan_in or 2,
                bool(planner.reproducible),
                rewrite,
            )
            writer.write(rank, len(group))
    return rewrite


def _fuse(graph: Graph, fixed: Set[Key], owners: Mapping[Key, int]) -> Graph:
    """Linear fusion within cards; keys in `fixed` keep their names."""
    if dask.config.get("optimization.fuse.active") is False:
        return graph
    crossing = {
        dependency
        for key, node in graph.items()
        for dependency in node.dependencies
        if owners.get(dependency) != owners.get(key)
    }
    fused = fuse_linear_task_spec(graph, keys=fixed | crossing)
    return _optimize_slices(_without_renaming(fused))


def _without_renaming(graph: Graph) -> Graph:
    """Give fused tasks the key that they are known by.

    Fusion stores a chain under a new key and leaves an alias; the names in owner maps and
    collectives are the old ones.
    """
    users = users_of(graph)
    result = dict(graph)
    for key, node in graph.items():
        if isinstance(node, Alias) and node.target in graph and users[node.target] == {key}:
            target = graph[node.target]
            if not isinstance(target, Alias):
                result[key] = target.substitute({}, key=key)
                result.pop(node.target)
    return result


def _annotate(
    graph: Graph,
    owners: Mapping[Key, int],
    gangs: Mapping[Key, str],
    order: Mapping[Key, float],
    plan: Mapping[str, int],
) -> HighLevelGraph:
    layers: dict[str, Graph] = {"free": {}, "pinned": {}, "collective": {}}
    for key, node in graph.items():
        kind = "collective" if key in gangs else "pinned" if key in owners else "free"
        layers[kind][key] = node
    annotations: dict[str, dict[str, Any]] = {
        "free": {"rank": order.__getitem__},
        "pinned": {"card": owners.__getitem__, "rank": order.__getitem__, "plan": plan},
        "collective": {
            "card": owners.__getitem__,
            "gang": gangs.__getitem__,
            "rank": order.__getitem__,
            "plan": plan,
        },
    }
    present = {kind: tasks for kind, tasks in layers.items() if tasks}
    return HighLevelGraph(
        {
            kind: MaterializedLayer(tasks, annotations=annotations[kind])
            for kind, tasks in present.items()
        },
        # the layers refer to each other in both directions; only their union is a graph
        {kind: set() for kind in present},
    )

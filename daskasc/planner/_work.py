"""What every task of a planned graph makes and needs, without running any.

A fused task is walked step by step in dask's own order, counting the memory of values that later
steps still need::

    read x       x              |  2 chunks
    x * 2        x  x*2         |  <- the most: peak of the task
    sqrt            x*2  sqrt   |
    sum                  sqrt s |

A view counts as the memory that it keeps, once. Tasks of one array whose steps have the same sizes
are alike, so each kind is walked once; where all chunks of the arrays have one size the names tell
it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dask._task_spec import Alias, DataNode, GraphNode, Task, TaskRef
from dask.typing import Key

from daskasc.collectives import Gang, by_server, collect
from daskasc.planner._bundles import is_bundle, is_combining
from daskasc.planner._calls import Step
from daskasc.planner._combine import ServerMerge
from daskasc.planner._deferred import Deferred, made
from daskasc.planner._own_rules import fold_memory
from daskasc.planner._rules import step
from daskasc.planner._sizes import Size, Sizes
from daskasc.planner._stream import inner_order, is_fused, sources
from daskasc.topology import Levels


@dataclass(frozen=True)
class Work:
    """What a task makes and needs; all but `out` in bytes.

    Attributes
    ----------
    out : Size
        The result.
    peak : int
        Most card memory while it runs, its result included and its arguments not.
    sure : int
        The same without guesses about functions that are not known.
    host : int
        Most host memory while it runs, counted as `peak`.
    read, uploaded : int
        Read from stores; brought from host to card.
    chunk : int
        The largest value that a step of the task makes.
    ahead, ahead_host : int
        Card and host memory that the reading in it takes, which may begin before the task.
    view : int or None
        Number of the task's argument whose memory the result shares.
    """

    out: Size
    peak: int = 0
    sure: int = 0
    host: int = 0
    read: int = 0
    uploaded: int = 0
    chunk: int = 0
    ahead: int = 0
    ahead_host: int = 0
    view: int | None = None

    @property
    def scratch(self) -> int:
        """Card memory that is free again when the task ends."""
        made = self.out.kept_on_card if self.view is None else 0
        return max(0, self.peak - made)


class Estimate:
    """Work of the tasks of a graph.

    Parameters
    ----------
    sizes : Sizes
        What is known of the arrays.
    graph : mapping
        The planned graph.
    keys : iterable of Key
        Its keys, inputs before users.
    levels : Levels, optional
        Cards by server, where these are several.
    """

    def __init__(
        self,
        sizes: Sizes,
        graph: Mapping[Key, GraphNode],
        keys: Iterable[Key],
        levels: Levels | None = None,
    ) -> None:
        self.sizes = sizes
        self._levels = levels
        self._graph = graph
        self._alike: dict[Any, Work] = {}
        self._uniform: dict[Any, Work] = {}
        self._orders: dict[Any, list[Key]] = {}
        self.work: dict[Key, Work] = {}
        self.inputs: dict[Key, Size] = {}
        for key in keys:
            node = graph[key]
            work = self._node(key, node, self.size)
            if isinstance(node, Task) and node.func is collect:
                work = self._collected(node, work)
            self.work[key] = work

    def size(self, key: Key) -> Size:
        """Size of another task's result, or of data that are there already."""
        if key in self.work:
            return self.work[key].out
        if key not in self.inputs:
            self.inputs[key] = self.sizes.chunk(key) or Size(None)
        return self.inputs[key]

    def need(self, key: Key) -> int:
        """Bytes of a task's arguments, its result and what it is known to take in between."""
        work = self.work[key]
        arguments = sum(self.size(d).kept_on_card for d in self._graph[key].dependencies)
        return arguments + max(work.sure, 0)

    def _collected(self, node: Task, work: Work) -> Work:
        """The owner of a collective gets what all members brought in, the others nothing."""
        barrier = self._graph[node.args[0].key]
        assert isinstance(barrier, Task)
        gang: Gang = barrier.args[0]
        card: int = node.args[3]
        if gang.op == "exchange":
            return Work(Size(0))
        if card != gang.owner:
            return self._led(gang, card)
        if gang.merge is not None:
            nbytes = sum(self.contributions(gang).values())
            merging = self._led(gang, card)
            out = replace(work.out, nbytes=nbytes, shape=None)
            peak = out.on_card + merging.peak
            return Work(out, peak, peak, out.on_host + merging.host)
        partials = [self.size(key) for key in gang.partial_keys]
        if gang.op != "gather":
            partials = partials[:1]
        nbytes = sum(partial.nbytes or 0 for partial in partials)
        out = replace(work.out, nbytes=nbytes, shape=None)
        return Work(out, out.on_card, out.on_card, out.on_host)

    def contributions(self, gang: Gang) -> dict[int, int]:
        """Bytes that each server contributes to a gather in two levels."""
        assert isinstance(gang.merge, ServerMerge)
        found: dict[int, int] = {}
        for server, indices in by_server(gang.servers).items():
            sizes = [self.size(gang.partial_keys[index]).nbytes or 0 for index in indices]
            found[server] = gang.merge.size(server, sizes)
        return found

    def _led(self, gang: Gang, card: int) -> Work:
        """What a card does as leader of its server: it takes in the others' partials and merges."""
        if not isinstance(gang.merge, ServerMerge) or self._levels is None:
            return Work(Size(0))
        if self._levels.leader(card, gang.owner) != card:
            return Work(Size(0))
        mates = self._levels.mates(card)
        partials = [
            self.size(key)
            for member, key in zip(gang.members, gang.partial_keys, strict=True)
            if member in mates
        ]
        server = gang.servers[gang.members.index(card)]
        taken = sum(partial.on_card for partial in partials)
        pieces = gang.merge.pieces[server]
        nodes = sum(len(places) for _, places in pieces)
        folded = max(fold_memory(gang.merge.combine, len(places)) for _, places in pieces)
        peak = taken + math.ceil((folded + len(pieces)) * taken / max(1, nodes))
        return Work(Size(0), peak, peak, sum(partial.on_host for partial in partials))

    def _node(self, key: Key, node: GraphNode, value: Callable[[Key], Size]) -> Work:
        if isinstance(node, DataNode):
            return Work(self._literal(key, node.value))
        if isinstance(node, Alias):
            return Work(value(node.target))
        if not isinstance(node, Task):
            return Work(self.sizes.chunk(key) or Size(None))
        if is_bundle(node):
            return self._bundled(node, value)
        if is_fused(node):
            return self._fused(key, node, value)
        found = self._call(node, value, self.sizes.chunk(key))
        return _as_work(found, node)

    def _literal(self, key: Key, literal: Any) -> Size:
        known = self.sizes.chunk(key)
        if known is not None:
            return known
        return _literal_size(literal)

    def _call(self, node: Task, value: Callable[[Key], Size], known: Size | None) -> Step:
        inputs = [value(key) for key in node.dependencies]
        keywords = {name: _plain(argument, value) for name, argument in node.kwargs.items()}
        arguments = [_plain(argument, value) for argument in node.args]
        return step(node.func, arguments, inputs, known, **keywords)

    def _bundled(self, node: Task, value: Callable[[Key], Size]) -> Work:
        steps, inputs, ahead, *references = node.args
        standing = _one_layer(steps) if not inputs else None
        if standing in self._uniform:
            return self._uniform[standing]
        steps = made(steps)
        kind, count = self._one_kind(steps) if not inputs else (None, 0)
        if (kind, count) in self._uniform:
            return self._uniform[kind, count]
        given: dict[Key, Size] = {}
        for name, argument in zip(inputs, references, strict=True):
            given[name] = _plain(argument, value, as_size=True)
        order = list(steps)
        walk = _Walk(self, steps, order[-1], given, {name: name for name in steps})
        work = walk.run(order)
        card, host = (ahead * most for most in walk.most_ahead)
        work = replace(work, peak=work.peak + card, sure=work.sure + card, host=work.host + host)
        if kind in self._uniform:  # the walk has found that chunks of this kind have one size
            self._uniform[kind, count] = work
            if standing is not None:
                self._uniform[standing] = work
        return work

    def _one_kind(self, steps: Mapping[Key, GraphNode]) -> tuple[Any, int]:
        """Names and literals of the chunk tasks of a bundle, None if they differ; their number."""
        kinds: set[Any] = set()
        count = 0
        for key, node in steps.items():
            if is_combining(node):
                continue
            if not is_fused(node) or node.dependencies:
                return None, 0
            count += 1
            sizes = (_literal_size(_literal(argument)) for argument in node.args[3:])
            kinds.add((*_names((key, *node.args[0])), *sizes))
        return (kinds.pop() if len(kinds) == 1 else None), count

    def _fused(self, key: Key, node: Task, value: Callable[[Key], Size]) -> Work:
        inner, outkey, inkeys = node.args[0], node.args[1], node.args[2]
        given: dict[Key, Size] = {}
        for name, argument in zip(inkeys, node.args[3:], strict=True):
            given[name] = _plain(argument, value, as_size=True)
        names = None if node.dependencies else tuple(_names((key, *inner)))
        uniform = None if names is None else (*names, *given.values())
        if uniform in self._uniform:
            return self._uniform[uniform]
        places = {name: self.sizes.located(name, key) for name in inner}
        if self.sizes.chunk(key) is not None:
            places[outkey] = key
        alike = None
        known = [self.sizes.chunk(place) for place in places.values()]
        if all(known) and not any(map(is_fused, inner.values())):
            alike = (*_names((key, *inner)), *known, *given.values())
            if alike in self._alike:
                return self._alike[alike]
        walk = _Walk(self, inner, outkey, given, places)
        work = walk.run(self._order(inner, given))
        if walk.holder in given:
            number = 3 + list(inkeys).index(walk.holder)
            work = replace(work, view=number if _refers(node.args[number]) else None)
        if alike is not None:
            self._alike[alike] = work
            if names is not None and all(map(self.sizes.uniform, _names(places.values()))):
                self._uniform[uniform] = work
        return work

    def _order(self, inner: Mapping[Key, GraphNode], given: Mapping[Key, Size]) -> list[Key]:
        names = tuple(inner)
        if names not in self._orders:
            self._orders[names] = inner_order(inner, given)
        return self._orders[names]


class _Walk:
    """Walks the steps of one fused task."""

    def __init__(
        self,
        estimate: Estimate,
        inner: Mapping[Key, GraphNode],
        outkey: Key,
        given: Mapping[Key, Size],
        places: Mapping[Key, Key],
    ) -> None:
        self._estimate = estimate
        self._inner = inner
        self._outkey = outkey
        self._places = places
        self._values: dict[Key, Size] = dict(given)
        # the step that made the memory which a value lies in, or the argument that it is
        self._maker: dict[Key, Key] = {name: name for name in given}
        self._made: dict[Key, Size] = {}
        # the most card and host memory that reading for one step takes
        self.most_ahead = (0, 0)

    def run(self, steps: list[Key]) -> Work:
        users = Counter(d for node in self._inner.values() for d in node.dependencies)
        users[self._outkey] += 1
        peak = sure = host = read = uploaded = chunk = ahead = ahead_host = 0
        first = set(sources(self._inner, self._values))
        for name in steps:
            work = self._step(name)
            card = sum(size.kept_on_card for size in self._made.values())
            peak = max(peak, card + work.peak)
            sure = max(sure, card + work.sure)
            host = max(host, sum(size.on_host for size in self._made.values()) + work.host)
            read += work.read
            uploaded += work.uploaded
            chunk = max(chunk, work.chunk, work.out.on_card)
            before = (work.ahead, work.ahead_host)
            if name in first:
                before = (work.peak, work.host)
            ahead += before[0]
            ahead_host += before[1]
            self.most_ahead = (
                max(self.most_ahead[0], before[0]),
                max(self.most_ahead[1], before[1]),
            )
            self._values[name] = work.out
            maker = self._maker[name]
            if maker == name:
                self._made[name] = work.out
            for dependency in self._inner[name].dependencies:
                users[dependency] -= 1
                if not users[dependency]:
                    self._drop(dependency)
        out = self._values[self._outkey]
        return Work(out, peak, sure, host, read, uploaded, chunk, ahead, ahead_host)

    @property
    def holder(self) -> Key:
        """The step or argument whose memory the result lies in."""
        return self._maker[self._outkey]

    def _step(self, name: Key) -> Work:
        node, estimate = self._inner[name], self._estimate
        self._maker[name] = name
        if isinstance(node, Alias):
            self._maker[name] = self._maker.get(node.target, node.target)
            return Work(self._values[node.target])
        if not isinstance(node, Task) or is_fused(node):
            return estimate._node(self._places[name], node, self._values.__getitem__)
        known = estimate.sizes.chunk(self._places[name])
        found = estimate._call(node, self._values.__getitem__, known)
        work = _as_work(found, node)
        if work.view is not None:
            viewed = target(node.args[work.view])
            self._maker[name] = self._maker.get(viewed, viewed)
        return work

    def _drop(self, name: Key) -> None:
        maker = self._maker.pop(name, None)
        if maker is not None and maker not in self._maker.values():
            self._made.pop(maker, None)


def _one_layer(steps: Mapping[Key, GraphNode]) -> tuple[Any, ...] | None:
    """Layer, literals and number of a bundle's chunk tasks, if all are stand-ins alike."""
    chunks = [node for node in steps.values() if not is_combining(node)]
    layers = {
        (node.layer.output, node.literals) if isinstance(node, Deferred) else None
        for node in chunks
    }
    (layer, *others) = layers
    if others or layer is None or len(layer[1]) > 1:
        return None
    return (*layer, len(chunks))


def _as_work(found: Step, node: Task) -> Work:
    out = found.out
    if found.view is not None and _refers(node.args[found.view]):
        peak = found.scratch + found.guess
        return Work(out, peak, found.scratch, read=found.read, view=found.view)
    peak = out.on_card + found.scratch + found.guess
    sure = found.scratch + (0 if found.doubtful else out.on_card)
    host = max(out.on_host, found.read if out.card else 0)
    return Work(out, peak, sure, host, found.read, found.uploaded)


def _refers(argument: Any) -> bool:
    return isinstance(argument, (TaskRef, Alias))


def target(reference: Any) -> Key:
    """Key that an argument refers to."""
    key: Key = reference.target if isinstance(reference, Alias) else reference.key
    return key


def _plain(argument: Any, value: Callable[[Key], Size], as_size: bool = False) -> Any:
    """Argument of a call: sizes in the place of other results, literals as they are."""
    if _refers(argument):
        return value(target(argument))
    argument = _literal(argument)
    return _literal_size(argument) if as_size else argument


def _literal(argument: Any) -> Any:
    return argument.value if isinstance(argument, DataNode) else argument


def _literal_size(literal: Any) -> Size:
    """Size of a value that stands in the graph; array-likes are read from, NumPy's are there."""
    shape, dtype = getattr(literal, "shape", None), getattr(literal, "dtype", None)
    if shape is None or dtype is None:
        return Size(0, source=literal if callable(literal) else None)
    held = int(literal.nbytes) if type(literal).__module__ == "numpy" else 0
    return Size(held, tuple(shape), dtype.itemsize, source=literal)


def _names(keys: Iterable[Key]) -> Iterator[Any]:
    for key in keys:
        yield key[0] if isinstance(key, tuple) else key

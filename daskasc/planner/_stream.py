"""How a worker runs a bundle: one step after the other, reading ahead of the one that computes.

::

    reader     read 1 | upload 1 | read 2 | upload 2 | read 3 ...
    bundle     ...... compute 0  |  compute 1        |  compute 2 ...

What reads is a step, or the first steps inside a fused one: those that dask marks as producing data
and that need nothing but literals and host arrays, and what uploads their results. The reader's
thread has a stream of its own on the card, so an upload does not wait for what is being computed.
It is `ahead` chunks ahead at most, so ``ahead + 1`` are live.
"""

from __future__ import annotations

import contextvars
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from dask._task_spec import DataNode, GraphNode, Task, TaskRef, _execute_subgraph
from dask.order import order
from dask.typing import Key

from daskasc.planner._calls import UPLOADS, name_of
from daskasc.planner._deferred import made

Steps = dict[Key, GraphNode]
Values = dict[Key, Any]
Handover = Callable[[Any], None]

# what a source gives is handed over where it is an array on the card, and waited for where it is
# neither that nor one of these
_ON_HOST = (np.ndarray, np.generic, int, float, complex, str, bytes, slice, tuple, type(None))


def run_bundle(steps: Steps, inputs: tuple[Key, ...], ahead: int, *values: Any) -> Any:
    """Task: run `steps` in their order, each as soon as possible without its inputs.

    Parameters
    ----------
    steps : dict
        Tasks, inputs before users; the last gives the result. There may be stand-ins.
    inputs : tuple of Key
        Keys under which the steps know `values`.
    ahead : int
        Chunks that are read before they are needed; 0 reads each in its turn.
    *values : object
        Results of tasks outside the bundle.
    """
    steps = made(steps)
    found: Values = dict(zip(inputs, values, strict=True))
    uses = Counter(name for node in steps.values() for name in node.dependencies)
    orders: dict[tuple[Key, ...], list[Key]] = {}
    result = None
    with _Reader(steps, found, ahead) as reader:
        for key, node in steps.items():
            try:
                result = _run(key, node, found, reader.take(key), orders)
            except Exception as error:
                error.add_note(f"in step {key!r} of a bundle of {len(steps)} steps")
                raise
            for name in node.dependencies:
                uses[name] -= 1
                if not uses[name]:
                    del found[name]
            found[key] = result
    return result


def several(*outcomes: Any) -> tuple[Any, ...]:
    """Last step of a bundle of several reductions."""
    return outcomes


def outcome(outcomes: tuple[Any, ...], number: int) -> Any:
    """Task: one of the outcomes of a bundle."""
    return outcomes[number]


def is_fused(node: GraphNode) -> bool:
    """Whether a task is a block of steps that dask has fused."""
    return isinstance(node, Task) and node.func is _execute_subgraph


def sources(steps: Mapping[Key, GraphNode], given: Iterable[Key]) -> list[Key]:
    """Steps that only read what `given` names, and those that upload what these read, in order."""
    there = set(given)
    found = [
        name
        for name, node in steps.items()
        if isinstance(node, Task)
        and node.data_producer
        and not is_fused(node)
        and node.dependencies <= there
    ]
    read = set(found)
    more = True
    while more:
        more = False
        for name, node in steps.items():
            if name in read or not isinstance(node, Task) or not node.dependencies & read:
                continue
            if _uploads(node.func) and node.dependencies <= there | read:
                found.append(name)
                read.add(name)
                more = True
    return found


def _uploads(function: Any) -> bool:
    module = str(getattr(function, "__module__", ""))
    return name_of(function) in UPLOADS and module.partition(".")[0] == "daskasc"


def inner_order(inner: Mapping[Key, GraphNode], given: Iterable[Key]) -> list[Key]:
    """Names of a fused task's steps in the order in which dask runs them."""
    ranks = order({**inner, **{name: DataNode(None, 0) for name in given}})
    return sorted(inner, key=ranks.__getitem__)


def _run(
    key: Key,
    node: GraphNode,
    found: Values,
    values: Values,
    orders: dict[tuple[Key, ...], list[Key]],
) -> Any:
    """Result of a step, some `values` of which are there already."""
    if key in values:
        return values[key]
    if not is_fused(node):
        return node(found)
    assert isinstance(node, Task)
    inner, outkey, inkeys, *arguments = node.args
    names = tuple(inner)
    if names not in orders:  # the same for all chunks of an array
        orders[names] = inner_order(inner, inkeys)
    left = [name for name in orders[names] if name not in values]
    uses = Counter(name for step in left for name in inner[step].dependencies)
    uses[outkey] += 1
    for name, argument in zip(inkeys, arguments, strict=True):
        if uses[name]:
            values[name] = _value(argument, found)
    for name in left:
        values[name] = inner[name](values)
        for used in inner[name].dependencies:
            uses[used] -= 1
            if not uses[used]:
                del values[used]
    return values[outkey]


def _value(argument: Any, found: Values) -> Any:
    """What an argument of a task stands for."""
    if isinstance(argument, GraphNode):
        return argument({name: found[name] for name in argument.dependencies})
    return found[argument.key] if isinstance(argument, TaskRef) else argument


@dataclass(frozen=True)
class _Calls:
    """What is read for one step: tasks in order, what they are given, the wanted of their names."""

    steps: Steps
    given: Values
    wanted: Set[Key]


class _Reader:
    """Reads for the steps of a bundle before their turn, in their order."""

    def __init__(self, steps: Steps, found: Values, ahead: int) -> None:
        self._found, self._ahead = found, ahead
        self._steps = deque(steps.items() if ahead else ())
        self._pending: deque[tuple[Key, Future[tuple[Values, Handover]]]] = deque()
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> _Reader:
        self._go_on()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)

    def take(self, key: Key) -> Values:
        """What was read for a step, by the names that the step or its inner steps have."""
        if not self._pending or self._pending[0][0] != key:
            return {}
        _, under_way = self._pending.popleft()
        self._go_on()
        values, hand_over = under_way.result()
        for value in values.values():
            hand_over(value)
        return values

    def _go_on(self) -> None:
        while self._steps and len(self._pending) < self._ahead:
            key, node = self._steps.popleft()
            calls = self._calls(key, node)
            if calls:
                if self._threads is None:
                    self._threads = _threads(self._ahead)
                self._pending.append((key, self._threads.submit(_read, calls, _mark())))

    def _calls(self, key: Key, node: GraphNode) -> _Calls | None:
        """What is to be read for a step; None where nothing can be."""
        if not is_fused(node):
            if not sources({key: node}, self._found):
                return None
            given = {name: self._found[name] for name in node.dependencies}
            return _Calls({key: node}, given, {key}) if _all_on_host(given) else None
        assert isinstance(node, Task)
        inner, outkey, inkeys, *arguments = node.args
        given = {
            name: _value(argument, self._found)
            for name, argument in zip(inkeys, arguments, strict=True)
            if self._is_here(argument)
        }
        found = {name: inner[name] for name in sources(inner, given)}
        needed = {name for step in found.values() for name in step.dependencies}
        given = {name: value for name, value in given.items() if name in needed}
        if not found or not _all_on_host(given):
            return None
        later = {
            name for key, step in inner.items() if key not in found for name in step.dependencies
        }
        return _Calls(found, given, found.keys() & (later | {outkey}))

    def _is_here(self, argument: Any) -> bool:
        if isinstance(argument, GraphNode):
            return argument.dependencies <= self._found.keys()
        return not isinstance(argument, TaskRef) or argument.key in self._found


def _all_on_host(given: Values) -> bool:
    from daskasc.array import AscendArray

    return not any(isinstance(value, AscendArray) for value in given.values())


def _mark() -> Any:
    from daskasc import device

    return device.current().mark()


def _read(calls: _Calls, after: Any) -> tuple[Values, Handover]:
    """Run sources; their results may be under way, so the user has to call what comes with them."""
    from daskasc import device
    from daskasc.array import AscendArray

    backend = device.current()
    with backend.beside(after) as used_here:
        values = dict(calls.given)
        for name, node in calls.steps.items():
            values[name] = node(values)
        values = {name: values[name] for name in calls.wanted}
        if not all(isinstance(value, (AscendArray, *_ON_HOST)) for value in values.values()):
            backend.synchronize()

    def hand_over(value: Any) -> None:
        if isinstance(value, AscendArray):
            used_here(value.tensor)

    return values, hand_over


def _threads(number: int) -> ThreadPoolExecutor:
    """Threads to which the calling one's task and card are known."""
    from daskasc import device

    context = contextvars.copy_context()
    distributed = sys.modules.get("distributed.utils")
    state = vars(distributed.thread_state).copy() if distributed is not None else {}

    def begin() -> None:
        for variable, value in context.items():
            variable.set(value)
        if distributed is not None:
            vars(distributed.thread_state).update(state)
        device.current().activate_thread()

    return ThreadPoolExecutor(number, "daskasc-reader", initializer=begin)

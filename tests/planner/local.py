"""Run a planned graph in one process: collectives become plain functions."""

from __future__ import annotations

from typing import Any

import dask
from dask._task_spec import Task
from dask.utils import ensure_dict

from daskasc.collectives import barrier, collect, deposit, receive
from daskasc.collectives._gang import merged
from daskasc.collectives._parcels import unpack


def _reduced(op: str, values: list[Any]) -> Any:
    import numpy as np

    if isinstance(values[0], dict):
        return {name: _reduced(op, [value[name] for value in values]) for name in values[0]}
    if isinstance(values[0], list):
        return [_reduced(op, list(items)) for items in zip(*values, strict=True)]
    function = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}[op]
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


def _barrier(gang: Any, *partials: Any) -> Any:
    if gang.merge is not None:
        return merged(gang.merge, gang.servers, list(partials))
    return (
        list(partials) if gang.op in ("gather", "exchange") else _reduced(gang.op, list(partials))
    )


def _collect(result: Any, partial: Any, gang: Any, card: int) -> Any:
    return result if card == gang.owner and gang.op != "exchange" else None


def _receive(partials: Any, settled: None, gang: Any, card: int, cut: Any) -> Any:
    place = gang.members.index(card)
    return unpack(cut, [partial[place] for partial in partials])


def _deposit(partial: Any, gang: Any, card: int) -> Any:
    return partial


SUBSTITUTES = {deposit: _deposit, barrier: _barrier, collect: _collect, receive: _receive}


def run_locally(graph: Any, keys: list[Any]) -> list[Any]:
    """Values of `keys`, computed by dask's synchronous scheduler."""
    tasks = {}
    for key, node in ensure_dict(graph).items():
        if isinstance(node, Task) and node.func in SUBSTITUTES:
            node = Task(key, SUBSTITUTES[node.func], *node.args, **node.kwargs)
        tasks[key] = node
    return list(dask.get(tasks, keys))

"""Every reduction against NumPy, planned for four cards and run on one in this process."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import pytest
from dask.highlevelgraph import HighLevelGraph

from daskasc.planner import Planner, _selections
from tests.integration.reduction_cases import DTYPES, cases, differences, every, in_turn
from tests.planner.local import run_locally
from tests.planner.test_planner import gangs


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow and zero counts, as NumPy
def test_equals_numpy(dtype, monkeypatch):
    monkeypatch.setattr(_selections, "counted_bytes", lambda found: 0)  # for small arrays too
    table = cases(dtype, every if dtype == "f8" else in_turn)
    lazy = [value for value, _ in table.values()]
    graph = HighLevelGraph.merge(*[value.dask for value in lazy])
    planned = Planner(4)(graph, [value.__dask_keys__() for value in lazy])
    assert len(gangs(planned)) > len(lazy) // 2
    keys = list(dask.core.flatten([value.__dask_keys__() for value in lazy]))
    chunks = dict(zip(keys, map(_on_host, run_locally(planned, keys)), strict=True))
    values = [_whole(value.__dask_keys__(), chunks) for value in lazy]
    assert differences(table, values) == []


def _on_host(chunk: Any) -> np.ndarray:
    return chunk.asnumpy() if hasattr(chunk, "asnumpy") else np.asarray(chunk)


def _whole(keys: Any, chunks: dict[Any, np.ndarray]) -> np.ndarray:
    """A result out of its chunks, given by keys nested as the chunks are."""
    if not isinstance(keys, list):
        return chunks[keys]
    parts = [_whole(part, chunks) for part in keys]
    return np.concatenate(parts, axis=parts[0].ndim - _depth(keys)) if parts[0].ndim else parts[0]


def _depth(keys: Any) -> int:
    return 1 + _depth(keys[0]) if isinstance(keys, list) else 0

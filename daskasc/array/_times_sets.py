"""Set operations of times; NaT equals nothing, and is kept or left out as NumPy does."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from daskasc.array import _dispatch
from daskasc.array._dispatch import implements_for_times
from daskasc.array._times_functions import Row, run

_with_indices = functools.partial(
    run, np.intersect1d, Row(("ar1", "ar2"), order=True, result="first", nats=0)
)


def _distinct(value: Any, assume_unique: bool) -> Any:
    array = _dispatch.call(np.asarray, (value,), {})
    return array.reshape(-1) if assume_unique else np.unique(array)


def _joined(ar1: Any, ar2: Any, assume_unique: bool) -> Any:
    return np.sort(np.concatenate([_distinct(x, assume_unique) for x in (ar1, ar2)]))


@implements_for_times(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """As :func:`numpy.setdiff1d`, in the unit of `ar1`."""
    left = _distinct(ar1, assume_unique)
    return left[np.isin(left, _dispatch.call(np.asarray, (ar2,), {}), invert=True)]


@implements_for_times(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """As :func:`numpy.setxor1d`."""
    joined = _joined(ar1, ar2, assume_unique)
    if not joined.size:
        return joined
    differs = joined[1:] != joined[:-1]
    edge = np.ones_like(differs, shape=(1,))
    edges = np.concatenate([edge, differs, edge])
    return joined[edges[1:] & edges[:-1]]


@implements_for_times(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """As :func:`numpy.intersect1d`."""
    if return_indices:
        return _with_indices(ar1, ar2, assume_unique, return_indices)
    joined = _joined(ar1, ar2, assume_unique)
    return joined[:-1][joined[1:] == joined[:-1]]

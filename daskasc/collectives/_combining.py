"""Combine partials of one structure, leaf by leaf."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from daskasc.collectives._manifest import flatten, is_device_array, unflatten

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
_COMBINE_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "sum": operator.add,
    "prod": operator.mul,
    "min": min,
    "max": max,
}


def combine(op: str, left: Any, right: Any) -> Any:
    """Reduce two partials of one structure leaf by leaf; called in the order of the cards."""
    skeleton, lefts = flatten(left)
    _, rights = flatten(right)
    return unflatten(skeleton, [_leaf(op, a, b) for a, b in zip(lefts, rights, strict=True)])


def combine_all(op: str, partials: Sequence[Any]) -> Any:
    """Reduce several partials, in the order in which they come."""
    return functools.reduce(functools.partial(combine, op), partials)


def _leaf(op: str, left: Any, right: Any) -> Any:
    if left is None and right is None:
        return None
    array = any(
        is_device_array(x) or isinstance(x, (np.ndarray, np.generic)) for x in (left, right)
    )
    return (_COMBINE if array else _COMBINE_PYTHON)[op](left, right)

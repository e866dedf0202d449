"""Nested arguments and results: lists, tuples, named tuples, dicts and slices of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def rebuild(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Copy of a nest with every leaf replaced by ``leaf(value)``."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*(rebuild(item, leaf) for item in value))
    if kind is list or kind is tuple:
        return kind(rebuild(item, leaf) for item in value)
    if kind is dict:
        return {key: rebuild(item, leaf) for key, item in value.items()}
    if kind is slice:
        return slice(*(rebuild(item, leaf) for item in (value.start, value.stop, value.step)))
    return leaf(value)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the leaves of a nest in order."""
    kind = type(value)
    if isinstance(value, tuple) or kind is list:
        for item in value:
            yield from leaves(item)
    elif kind is dict:
        for item in value.values():
            yield from leaves(item)
    elif kind is slice:
        yield from leaves((value.start, value.stop, value.step))
    else:
        yield value

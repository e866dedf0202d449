"""Partials as bytes: structure of a nested value, its leaves, and back.

A partial is nested lists, tuples and dicts around leaves. A *manifest* describes it without its
numbers; together with the bytes of its leaves it rebuilds the value on another worker::

    {"text": "{'n': *, 'total': *}",      structure, for comparing and for messages
     "skeleton": <pickle>,                structure, for rebuilding
     "leaves": ((kind, dtype, shape, value), ...)}

Kinds of leaves: ``device`` (an array on a card), ``numpy`` (an array), ``scalar`` (a NumPy scalar)
are sent as bytes; ``python`` (None, bool, int, float, complex, str, bytes; object arrays) travels
in the manifest itself, pickled. In a payload each leaf starts at a multiple of ``ALIGNMENT``, so
that a view of the received buffer is a valid array of any dtype.

Nothing here imports torch: arrays on cards are known by their class once that is loaded.
"""

from __future__ import annotations

import hashlib
import math
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from daskasc.errors import CollectiveError

ALIGNMENT = 64

_PYTHON = (type(None), bool, int, float, complex, str, bytes)
_LEAF = "*"


def is_device_array(value: Any) -> bool:
    """Whether `value` is an array on a card."""
    module = sys.modules.get("daskasc.array")
    return module is not None and isinstance(value, module.AscendArray)


def flatten(value: Any) -> tuple[Any, list[Any]]:
    """Split a nested value into a skeleton, with indices in place of leaves, and the leaves."""
    leaves: list[Any] = []

    def visit(node: Any) -> Any:
        if type(node) is dict:
            return ("dict", [(key, visit(item)) for key, item in node.items()])
        if type(node) in (list, tuple):
            return (type(node).__name__, [visit(item) for item in node])
        leaves.append(node)
        return len(leaves) - 1

    return visit(value), leaves


def unflatten(skeleton: Any, leaves: Sequence[Any]) -> Any:
    """Put leaves back into a skeleton; the inverse of :func:`flatten`."""
    if isinstance(skeleton, int):
        return leaves[skeleton]
    kind, items = skeleton
    if kind == "dict":
        return {key: unflatten(item, leaves) for key, item in items}
    built = [unflatten(item, leaves) for item in items]
    return tuple(built) if kind == "tuple" else built


def describe(value: Any) -> dict[str, Any]:
    """Manifest of a partial.

    Raises
    ------
    CollectiveError
        A leaf is of a type that cannot be sent.
    """
    skeleton, leaves = flatten(value)
    return {
        "text": _text(skeleton),
        "skeleton": pickle.dumps(skeleton, protocol=4),
        "leaves": tuple(_leaf(leaf) for leaf in leaves),
    }


def items_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Manifests of the items of a list, from that of the list.

    Raises
    ------
    CollectiveError
        The value is no list.
    """
    skeleton = pickle.loads(manifest["skeleton"])
    if isinstance(skeleton, int) or skeleton[0] != "list":
        raise CollectiveError(f"an exchange takes lists, one item a member, not {manifest['text']}")
    found = []
    start = 0
    for item in skeleton[1]:
        number = _count(item)
        found.append(
            {
                "text": _text(item),
                "skeleton": pickle.dumps(_shifted(item, -start), protocol=4),
                "leaves": tuple(manifest["leaves"][start : start + number]),
            }
        )
        start += number
    return found


def _shifted(skeleton: Any, by: int) -> Any:
    if isinstance(skeleton, int):
        return skeleton + by
    kind, items = skeleton
    if kind == "dict":
        return (kind, [(key, _shifted(item, by)) for key, item in items])
    return (kind, [_shifted(item, by) for item in items])


def _count(skeleton: Any) -> int:
    if isinstance(skeleton, int):
        return 1
    kind, items = skeleton
    return sum(_count(item[1] if kind == "dict" else item) for item in items)


def _leaf(leaf: Any) -> tuple[str, str, tuple[int, ...], bytes]:
    if is_device_array(leaf):
        return ("device", device_dtype(leaf), tuple(leaf.shape), b"")
    if isinstance(leaf, (np.generic, np.ndarray)) and not leaf.dtype.hasobject:
        if type(leaf) is np.ndarray and leaf.dtype.names is None:
            return ("numpy", leaf.dtype.str, leaf.shape, b"")
        if isinstance(leaf, np.generic) and leaf.dtype.names is None:
            return ("scalar", leaf.dtype.str, (), b"")
    if isinstance(leaf, (*_PYTHON, np.ndarray, np.void)):
        return ("python", "", (), pickle.dumps(leaf, protocol=4))
    raise CollectiveError(
        f"a partial holds a {type(leaf).__module__}.{type(leaf).__qualname__}; collectives take "
        "arrays, numbers, None, str and bytes in lists, tuples and dicts"
    )


def _text(skeleton: Any) -> str:
    if isinstance(skeleton, int):
        return _LEAF
    kind, items = skeleton
    if kind == "dict":
        return "{" + ", ".join(f"{key!r}: {_text(item)}" for key, item in items) + "}"
    inner = ", ".join(_text(item) for item in items)
    return f"[{inner}]" if kind == "list" else f"({inner})"


def device_dtype(array: Any) -> str:
    """Name of the dtype of an array on a card: torch's; NumPy's of times, which travel as ticks."""
    times = array.dtype.kind in "mM"
    return str(array.dtype) if times else str(array.tensor.dtype).removeprefix("torch.")


def aligned(nbytes: int) -> int:
    """Bytes that a leaf takes in a payload, with what is left free behind it."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def itemsize(kind: str, dtype: str) -> int:
    """Bytes of one element of a leaf."""
    if kind == "device" and dtype in _DEVICE_SIZES:
        return _DEVICE_SIZES[dtype]
    return np.dtype(dtype).itemsize


_DEVICE_SIZES = {
    **dict.fromkeys(("bool", "uint8", "int8", "float8_e4m3fn", "float8_e5m2"), 1),
    **dict.fromkeys(("uint16", "int16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("uint32", "int32", "float32", "complex32"), 4),
    **dict.fromkeys(("uint64", "int64", "float64", "complex64"), 8),
    "complex128": 16,
}


def leaf_bytes(leaf: Sequence[Any]) -> int:
    """Bytes that a leaf takes in a payload, without padding; 0 for Python leaves."""
    kind, dtype, shape, _ = leaf
    return 0 if kind == "python" else math.prod(shape) * itemsize(kind, dtype)


def layout(manifests: Iterable[Mapping[str, Any]]) -> tuple[list[list[tuple[int, int]]], int]:
    """Place the leaves of several partials in one buffer.

    Returns
    -------
    places : list of list of (offset, length)
        For each partial, where its leaves lie, in bytes.
    total : int
        Length of the buffer.
    """
    places: list[list[tuple[int, int]]] = []
    offset = 0
    for manifest in manifests:
        row = []
        for leaf in manifest["leaves"]:
            size = leaf_bytes(leaf)
            row.append((offset, size))
            offset += aligned(size)
        places.append(row)
    return places, offset


def rebuild(manifest: Mapping[str, Any], make: Callable[[int, Sequence[Any]], Any]) -> Any:
    """Value of a partial; ``make(i, leaf)`` gives the array of leaf `i`."""
    leaves = [
        pickle.loads(leaf[3]) if leaf[0] == "python" else make(index, leaf)
        for index, leaf in enumerate(manifest["leaves"])
    ]
    return unflatten(pickle.loads(manifest["skeleton"]), leaves)


def same(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether two manifests describe the same value; pickles of equal skeletons may differ."""
    return left["text"] == right["text"] and [_plain(x) for x in left["leaves"]] == [
        _plain(x) for x in right["leaves"]
    ]


def _plain(leaf: Sequence[Any]) -> tuple[str, str, tuple[int, ...]]:
    return (leaf[0], leaf[1], tuple(leaf[2]))


def digest(*parts: Any) -> tuple[int, int]:
    """Two signed 64-bit numbers that stand for `parts`, equal in all processes."""
    raw = hashlib.sha256(repr(parts).encode()).digest()
    return (
        int.from_bytes(raw[:8], "little", signed=True),
        int.from_bytes(raw[8:16], "little", signed=True),
    )


def outline(manifest: Mapping[str, Any]) -> tuple[Any, ...]:
    """Part of a manifest that all processes must agree on, for :func:`digest`."""
    return (manifest["text"], tuple(_plain(leaf) for leaf in manifest["leaves"]))

"""Sorting and partitions; NaN sorts last, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array import _complex
from daskasc.array._dispatch import implements, is_array
from daskasc.array._dtypes import (
    COMPLEX,
    sortable,
    torch,
    unsortable,
)
from daskasc.array._reductions import check_axes, normalize_axis
from daskasc.array._storage import tensor_of, wrap


def _along(a: Any, axis: Any) -> tuple[Any, int]:
    tensor = tensor_of(a)
    if axis is None:
        return tensor.reshape(-1), 0
    return tensor, normalize_axis(axis, tensor.ndim)


def _along_one(a: Any, axis: Any) -> tuple[Any, int]:
    check_axes(axis)
    tensor = tensor_of(a)
    return _along(wrap(tensor if tensor.ndim else tensor.reshape(1)), axis)


def _check_options(kind: Any, order: Any, stable: Any) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is None:
        return
    if stable is not None:
        raise ValueError("`kind` and `stable` parameters can't be provided at the same time.")
    if kind not in ("quicksort", "mergesort", "heapsort", "stable"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """As :func:`numpy.sort`."""
    _check_options(kind, order, stable)
    tensor, number = _along(a, axis)
    if tensor.dtype in COMPLEX:
        places = torch.sort(_complex.ranks(tensor), dim=number, stable=True).indices
        return wrap(tensor.gather(number, places))
    values = torch.sort(sortable(tensor), dim=number, stable=True).values
    return wrap(unsortable(values, tensor.dtype))


@implements(np.argsort)
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """As :func:`numpy.argsort`, always stable; of an array without axes as if it had one."""
    _check_options(kind, order, stable)
    tensor, number = _along_one(a, axis)
    keys = _complex.ranks(tensor) if tensor.dtype in COMPLEX else sortable(tensor)
    return wrap(torch.sort(keys, dim=number, stable=True).indices)


@implements(np.partition)
def partition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """As :func:`numpy.partition`; sorts, which is a partition for every `kth`."""
    tensor, number = _along(a, axis)
    _check_kth(kth, int(tensor.shape[number]) if tensor.numel() else 0)
    return sort(a, axis)


def _check_kth(kth: Any, length: int) -> None:
    places = np.asarray(kth.asnumpy() if is_array(kth) else kth)
    if places.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if places.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    for place in places.ravel().tolist():
        # NumPy looks at no place of an array without elements
        if length and not -length <= place < length:
            raise ValueError(f"kth(={place}) out of bounds ({length})")


@implements(np.argpartition)
def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """As :func:`numpy.argpartition`; sorts, which is a partition for every `kth`."""
    tensor, number = _along_one(a, axis)
    _check_kth(kth, int(tensor.shape[number]) if tensor.numel() else 0)
    return argsort(a, axis)

"""Sets of distinct values: unique with its variants, set operations, lexsort.

All of them sort stably and look where neighbours differ. Sizes of results depend on the data, so
these functions wait for the card.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from daskasc.array import _complex
from daskasc.array import _shaping as shaping
from daskasc.array._dispatch import implements, is_array
from daskasc.array._dtypes import COMPLEX, FLOATS, is_float, sortable, torch, twin
from daskasc.array._reductions import normalize_axis
from daskasc.array._shaping import common
from daskasc.array._sorting import sort
from daskasc.array._storage import tensor_of, wrap


class UniqueAllResult(NamedTuple):
    """Distinct values, and where they are."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """Distinct values and how often they occur."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """Distinct values and the place of each element among them."""

    values: Any
    inverse_indices: Any


def _keys(tensor: Any) -> Any:
    return _complex.ranks(tensor) if tensor.dtype in COMPLEX else sortable(tensor)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """As :func:`numpy.lexsort`."""
    tensors = list(keys._t) if is_array(keys) else [tensor_of(key) for key in keys]
    if not tensors:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({tuple(t.shape) for t in tensors}) > 1:
        raise ValueError("all keys need to be the same shape")
    if not tensors[0].ndim:
        return wrap(torch.zeros((), dtype=torch.int64, device=tensors[0].device))
    number = normalize_axis(axis, tensors[0].ndim)
    places: Any = None
    for tensor in tensors:
        key = _keys(tensor)
        key = key if places is None else key.gather(number, places)
        order = torch.sort(key, dim=number, stable=True).indices
        places = order if places is None else places.gather(number, order)
    return wrap(places)


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """As :func:`numpy.unique`, always sorted."""
    tensor = tensor_of(ar)
    if axis is None:
        shape = tuple(tensor.shape)
        values = tensor.reshape(-1)
        order, new = _runs(values, equal_nan)
        number = 0
    else:
        number = normalize_axis(axis, tensor.ndim)
        values = tensor.movedim(number, 0)
        order, new = _row_runs(values)
        shape = (values.shape[0],)
    starts = new.nonzero().reshape(-1)
    firsts = order.index_select(0, starts)
    chosen = shaping.moved(values, lambda t: t.index_select(0, firsts)).movedim(0, number)
    found: list[Any] = [wrap(chosen)]
    if return_index:
        found.append(wrap(firsts))
    if return_inverse:
        inverse = torch.empty_like(order)
        inverse[order] = torch.cumsum(new, 0) - 1
        found.append(wrap(inverse.reshape(shape)))
    if return_counts:
        ends = torch.cat([starts[1:], torch.full_like(starts[:1], order.shape[0])])
        found.append(wrap(ends - starts))
    return tuple(found) if len(found) > 1 else found[0]


def _runs(flat: Any, equal_nan: bool) -> tuple[Any, Any]:
    """Sorting permutation of a 1-D tensor, and where in it a new value begins."""
    keys = _keys(flat)
    ordered, order = torch.sort(keys, stable=True)
    new = torch.ones(flat.shape, dtype=torch.bool, device=flat.device)
    if flat.shape[0] < 2:
        return order, new
    new[1:] = ordered[1:] != ordered[:-1]
    if flat.dtype in COMPLEX:
        nan = _complex.isnan(flat)[order]
        new[1:] |= nan[1:] & nan[:-1]
    elif is_float(ordered):
        nan = torch.isnan(ordered)
    else:
        return order, new
    if equal_nan:
        new[1:] &= ~(nan[1:] & nan[:-1])
    return order, new


def _row_runs(rows: Any) -> tuple[Any, Any]:
    """Sorting permutation of the rows of a tensor, and where in it a new row begins."""
    flat = rows.reshape(rows.shape[0], math.prod(rows.shape[1:]))
    keys = _keys(flat)
    order = torch.arange(flat.shape[0], device=flat.device)
    for column in reversed(range(flat.shape[1])):
        order = order[torch.sort(keys[:, column][order], stable=True).indices]
    new = torch.ones(flat.shape[:1], dtype=torch.bool, device=flat.device)
    if flat.shape[0] > 1:
        # NaN differs from itself, as in NumPy's comparison of rows
        ordered = keys[order] if flat.dtype not in COMPLEX else torch.view_as_real(flat[order])
        differs = ordered[1:] != ordered[:-1]
        new[1:] = differs.reshape(differs.shape[0], -1).any(1)
    return order, new


@implements(np.unique_values)
def unique_values(x: Any, /) -> Any:
    """As :func:`numpy.unique_values`, sorted."""
    return unique(x, equal_nan=False)


@implements(np.unique_all)
def unique_all(x: Any, /) -> UniqueAllResult:
    """As :func:`numpy.unique_all`."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any, /) -> UniqueCountsResult:
    """As :func:`numpy.unique_counts`."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any, /) -> UniqueInverseResult:
    """As :func:`numpy.unique_inverse`."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def _flat(value: Any) -> Any:
    return wrap(tensor_of(value).reshape(-1))


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    """As :func:`numpy.union1d`."""
    return unique(shaping.concatenate([ar1, ar2], axis=None))


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """As :func:`numpy.setdiff1d`."""
    left = _flat(ar1) if assume_unique else unique(ar1)
    return left[isin(left, ar2, invert=True)]


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """As :func:`numpy.setxor1d`."""
    left, right = (_flat(x) if assume_unique else unique(x) for x in (ar1, ar2))
    joined = sort(shaping.concatenate([left, right]))
    if not joined.size:
        return joined
    tensor = joined._t
    edges = torch.ones(tensor.shape[0] + 1, dtype=torch.bool, device=tensor.device)
    edges[1:-1] = (joined[1:] != joined[:-1])._t
    return joined[wrap(edges[1:] & edges[:-1])]


@implements(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """As :func:`numpy.intersect1d`."""
    parts, firsts = [], []
    for value in (ar1, ar2):
        if assume_unique:
            parts.append(_flat(value))
            continue
        values, places = unique(value, return_index=True)
        parts.append(values)
        firsts.append(places)
    left, right = common([part._t for part in parts])
    joined = torch.cat([left, right])
    keys, order = torch.sort(_keys(joined), stable=True)
    ordered = shaping.moved(joined, lambda t: t.index_select(0, order))
    same = keys[1:] == keys[:-1]
    if joined.dtype in FLOATS or joined.dtype in COMPLEX:
        same &= ~torch.isnan(ordered[1:])
    places = same.nonzero().reshape(-1)
    found = wrap(shaping.moved(ordered, lambda t: t.index_select(0, places)))
    if not return_indices:
        return found
    first, second = wrap(order[places]), wrap(order[places + 1] - left.shape[0])
    if not assume_unique:
        first, second = firsts[0][first], firsts[1][second]
    return found, first, second


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """As :func:`numpy.sort_complex`."""
    array = sort(wrap(tensor_of(a)))
    if array.dtype.kind == "c":
        return array
    small = array.dtype.kind in "iu" and array.dtype.itemsize < 3
    return array.astype(np.complex64 if small else np.complex128)


@implements(np.isin)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    """As :func:`numpy.isin`."""
    if kind not in (None, "sort", "table"):
        raise ValueError(f"kind is {kind!r}; allowed: None, sort, table")
    given = [tensor_of(element), tensor_of(test_elements)]
    if kind == "table" and any(tensor.dtype in FLOATS | COMPLEX for tensor in given):
        raise ValueError("kind is 'table', which is for boolean or integer arrays only")
    left, right = common(given)
    if left.dtype in COMPLEX:
        ranked = _complex.ranks(torch.cat([left.reshape(-1), right.reshape(-1)]))
        inside = torch.isin(ranked[: left.numel()], ranked[left.numel() :])
        inside = inside.reshape(left.shape) & ~_complex.isnan(left)
        return wrap(~inside if invert else inside)
    if left.dtype is torch.bool:
        left, right = left.to(torch.uint8), right.to(torch.uint8)
    return wrap(torch.isin(twin(left), twin(right).reshape(-1), invert=invert))

"""Histograms: edges by NumPy's rules, counts by searching the edges on the card.

An element belongs to bin i if ``edges[i] <= x < edges[i + 1]``; the last bin is closed. Edges over
a range are made by NumPy itself from the least and the largest element (one wait for the card).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array._dispatch import NeedsHost, implements, is_array
from daskasc.array._dtypes import COMPLEX, NUMPY, cast, torch
from daskasc.array._selection import searchsorted
from daskasc.array._shaping import common
from daskasc.array._storage import from_numpy, tensor_of, wrap


def _plain(dtype: Any) -> np.dtype[Any]:
    numpy_dtype = NUMPY[dtype]
    return np.dtype("f4") if numpy_dtype.kind == "V" else numpy_dtype


def _span(values: Any) -> np.ndarray[Any, Any]:
    """Least and largest element on the host, in their own dtype; empty for no elements."""
    if not values.numel():
        return np.empty(0, _plain(values.dtype))
    ends: Any = np.stack([np.min(wrap(values)), np.max(wrap(values))])
    return np.asarray(ends.asnumpy()).astype(_plain(values.dtype))


# Widths of a bin by the rules of numpy.lib._histograms_impl (NumPy 2.4), from the elements that
# count and their range, a NumPy scalar. The arithmetic is of NumPy's scalars, whose dtypes decide
# how the widths of float32 are rounded.
def _scott(x: Any, spread: Any) -> Any:
    return (24.0 * np.pi**0.5 / x.size) ** (1.0 / 3.0) * np.std(x).asnumpy()[()]


def _fd(x: Any, spread: Any) -> Any:
    upper, lower = np.percentile(x, [75, 25]).asnumpy()
    return 2.0 * (upper - lower) * x.size ** (-1.0 / 3.0)


def _auto(x: Any, spread: Any) -> Any:
    return min(max(_fd(x, spread), _sqrt(x, spread) / 2), _sturges(x, spread))


def _sturges(x: Any, spread: Any) -> Any:
    return spread / (np.log2(x.size) + 1.0)


def _sqrt(x: Any, spread: Any) -> Any:
    return spread / np.sqrt(x.size)


def _rice(x: Any, spread: Any) -> Any:
    return spread / (2.0 * x.size ** (1.0 / 3))


_RULES = {
    "auto": _auto,
    "fd": _fd,
    "scott": _scott,
    "sturges": _sturges,
    "sqrt": _sqrt,
    "rice": _rice,
}


def _difference(high: Any, low: Any) -> Any:
    """Difference of two scalars, that of signed integers as an unsigned one, which holds it."""
    dtype = np.result_type(high, low)
    if dtype.kind != "i":
        return np.subtract(high, low, dtype=dtype)
    ends = np.asarray(high, dtype), np.asarray(low, dtype)
    return np.subtract(*ends, casting="unsafe", dtype=np.dtype(f"u{dtype.itemsize}"))


def _named(values: Any, rule: str, span: Any, weights: Any) -> int:
    """Return the number of bins by a named rule."""
    if rule not in (*_RULES, "doane", "stone"):
        raise ValueError(f"{rule!r} is not a valid estimator for `bins`")
    if weights is not None:
        raise TypeError(
            "Automated estimation of the number of bins is not supported for weighted data"
        )
    if rule not in _RULES or values.dtype in COMPLEX:
        raise NeedsHost(f"bins={rule!r}")
    array, ends = wrap(values), _span(values)
    np.histogram_bin_edges(ends, 1, span)  # raises for a range that is none
    low, high = span if span is not None else ends if ends.size else (0, 1)
    if low == high:
        low, high = low - 0.5, high + 0.5
    if span is not None:
        array = array[(array >= low) & (array <= high)]
        ends = _span(array._t)
    if not array.size:
        return 1
    width = _RULES[rule](array, _difference(ends[1], ends[0]))
    if not width:
        return 1
    if ends.dtype.kind in "iu" and width < 1:
        width = 1
    return int(np.ceil(_difference(high, low) / width))


def _edges(values: Any, bins: Any, span: Any, weights: Any) -> Any:
    """Edges as an array on the card; given ones stay there."""
    if is_array(bins) and bins.size and bins.dtype.kind in "biuf":
        if not bins.ndim:
            return _edges(values, bins.item(), span, weights)
        if bins.ndim > 1:
            raise ValueError("`bins` must be 1d, when an array")
        if bool(np.any(bins[:-1] > bins[1:])):
            raise ValueError("`bins` must increase monotonically, when an array")
        return bins
    if is_array(span):
        span = tuple(span.tolist())
    if values.dtype is torch.bool:
        values = values.to(torch.uint8)
    if isinstance(bins, str):
        bins = _named(values, bins, span, weights)
    if is_array(bins):
        bins = bins.asnumpy()
    edges: Any = np.histogram_bin_edges
    return from_numpy(np.asarray(edges(_span(values), bins, span)))


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """As :func:`numpy.histogram_bin_edges`; the rules doane and stone go to the host."""
    return _edges(tensor_of(a).reshape(-1), bins, range, weights)


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """As :func:`numpy.histogram`."""
    values = tensor_of(a).reshape(-1)
    if values.dtype in COMPLEX:
        raise NeedsHost("complex histogram")
    if values.dtype is torch.bool:
        values = values.to(torch.uint8)
    factors = None
    if weights is not None:
        given = tensor_of(weights)
        if tuple(given.shape) != tuple(tensor_of(a).shape):
            raise ValueError("weights should have the same shape as a.")
        factors = given.reshape(-1)
    edges = _edges(values, bins, range, weights)
    if not edges.size:
        nothing = torch.int64 if factors is None else factors.dtype
        return wrap(torch.zeros(0, dtype=nothing, device=values.device)), edges
    count = edges.size - 1
    places, inside = _bins_of(values, edges)
    if factors is None:
        counts = wrap(_counted(places, inside, count))
    else:
        if factors.dtype is torch.bool:
            raise NeedsHost("bool weights")
        counts = wrap(_added(places, inside, factors, count))
    if density:
        counts = counts / np.diff(edges).astype(np.float64) / counts.sum()
    return counts, edges


def _bins_of(values: Any, edges: Any) -> tuple[Any, Any]:
    """Bin number of each element, and whether it lies in any."""
    count = edges.size - 1
    places = searchsorted(edges, wrap(values), "right")._t - 1
    last = np.equal(wrap(values), edges[-1:])._t
    places = torch.where(last, count - 1, places)
    inside = (places >= 0) & (places < count)
    return places.clamp(0, max(count - 1, 0)), inside


def _counted(places: Any, inside: Any, count: int) -> Any:
    slots = torch.where(inside, places, count)
    return torch.bincount(slots, minlength=count + 1)[:count]


def _added(places: Any, inside: Any, factors: Any, count: int) -> Any:
    """Sum of the weights in each bin, floating-point ones in float64."""
    dtype = factors.dtype
    wide = torch.float64 if dtype.is_floating_point else dtype
    slots = torch.where(inside, places, count)
    total = torch.zeros(count + 1, dtype=wide, device=factors.device)
    return cast(total.index_add(0, slots, factors.to(wide))[:count], dtype)


def _grid_edges(column: Any, bins: Any, span: Any) -> Any:
    """Edges along one axis of a grid: a number of bins makes them in the dtype of the ends."""
    if np.ndim(bins):
        return _edges(column, bins, span, None)
    return from_numpy(_even_edges(column, bins, span))


def _even_edges(column: Any, bins: Any, span: Any) -> np.ndarray[Any, Any]:
    given = span.tolist() if is_array(span) else span
    count: Any = int(bins.item() if is_array(bins) else bins)
    edges = np.histogram_bin_edges(_span(column), count, given)
    if span is None and column.numel():
        return np.linspace(edges[0], edges[-1], edges.size)
    ends = tuple(span.tolist() if is_array(span) else span) if span is not None else (0.0, 1.0)
    low, high = np.histogram_bin_edges(np.zeros(0), 1, ends)
    return np.linspace(low, high, edges.size, dtype=np.result_type(*ends, 0.0))


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, tuple[Any, ...]]:
    """As :func:`numpy.histogramdd`."""
    if is_array(sample) or isinstance(sample, np.ndarray):
        tensor = tensor_of(sample)
        columns = [tensor] if tensor.ndim == 1 else list(tensor.unbind(1))
    else:
        columns = [c if isinstance(c, torch.Tensor) else tensor_of(c) for c in sample]
        if len({tuple(c.shape) for c in columns}) > 1:
            raise ValueError(f"columns of a sample have lengths {[len(c) for c in columns]}")
        columns = common(columns) if columns else columns
    depth = len(columns)
    try:
        widths = list(bins)
        if len(widths) != depth:
            raise ValueError(
                "The dimension of bins must be equal to the dimension of the sample x."
            )
    except TypeError:
        widths = [bins] * depth
    spans = [None] * depth if range is None else list(range)
    if len(spans) != depth:
        raise ValueError("range argument must have one entry per dimension")
    edges = []
    for column, width, span in zip(columns, widths, spans, strict=True):
        edges.append(_grid_edges(column, width, span))
    shape = [edge.size - 1 for edge in edges]
    total = torch.zeros_like(columns[0], dtype=torch.int64)
    everywhere = torch.ones_like(columns[0], dtype=torch.bool)
    for column, edge, size in zip(columns, edges, shape, strict=True):
        places, inside = _bins_of(column, edge)
        total = total * size + places
        everywhere &= inside
    count = math.prod(shape)
    if weights is None:
        flat = _counted(total, everywhere, count).to(torch.float64)
    else:
        flat = _added(total, everywhere, tensor_of(weights, torch.float64), count)
    found = wrap(flat.reshape(shape))
    bounds = tuple(edges)
    if density:
        whole = found.sum()
        for axis, bound in enumerate(bounds):
            spread = [1] * depth
            spread[axis] = -1
            found = found / np.diff(bound).reshape(spread)
        found = found / whole
    return found, bounds


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """As :func:`numpy.histogram2d`."""
    left, right = tensor_of(x), tensor_of(y)
    if left.shape[0] != right.shape[0]:
        raise ValueError("x and y must have the same length.")
    try:
        several = len(bins)
    except TypeError:
        several = 1
    if several not in (1, 2) or is_array(bins):
        bins = [bins, bins]
    counts, (first, second) = histogramdd([left, right], bins, range, density, weights)
    return counts, first, second

"""Distinct values, interpolation, covariance and slopes, built from sorting and searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array import _reductions as reductions
from daskasc.array._dispatch import NeedsHost, implements, is_array, require
from daskasc.array._dtypes import (
    COMPLEX,
    FLOATS,
    NUMPY,
    cast,
    is_float,
    result,
    sortable,
    torch,
    torch_dtype,
    unsortable,
)
from daskasc.array._linalg import matmul
from daskasc.array._reductions import normalize_axes
from daskasc.array._selection import searchsorted
from daskasc.array._storage import tensor_of, wrap


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
    """As :func:`numpy.unique` over all elements; by rows (``axis=``) on the host."""
    tensor = tensor_of(ar)
    if axis is not None or tensor.dtype in COMPLEX:
        raise NeedsHost("unique")
    require("sort", tensor)
    flat = sortable(tensor).reshape(-1)
    ordered, order = torch.sort(flat, stable=True)
    new = torch.ones(flat.shape, dtype=torch.bool, device=flat.device)
    if flat.numel() > 1:
        new[1:] = ordered[1:] != ordered[:-1]
        if equal_nan and is_float(ordered):
            new[1:] &= ~(torch.isnan(ordered[1:]) & torch.isnan(ordered[:-1]))
    starts = new.nonzero().reshape(-1)
    values = wrap(unsortable(ordered.index_select(0, starts), tensor.dtype))
    found: list[Any] = [values]
    if return_index:
        found.append(wrap(order.index_select(0, starts)))
    if return_inverse:
        inverse = torch.empty_like(order)
        inverse[order] = torch.cumsum(new, 0) - 1
        found.append(wrap(inverse.reshape(tensor.shape)))
    if return_counts:
        ends = torch.cat([starts[1:], torch.full_like(starts[:1], flat.numel())])
        found.append(wrap(ends - starts))
    return tuple(found) if len(found) > 1 else values


@implements(np.unique_values)
def unique_values(x: Any, /) -> Any:
    """As :func:`numpy.unique_values`, sorted."""
    return unique(x, equal_nan=False)


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """As :func:`numpy.interp` without a period, for real values."""
    values = tensor_of(fp)
    if period is not None or values.dtype in COMPLEX:
        raise NeedsHost("interp")
    double = torch_dtype(result(np.dtype("f8")))
    places, knots, values = tensor_of(x, double), tensor_of(xp, double), cast(values, double)
    if knots.ndim != 1 or knots.shape != values.shape or not knots.shape[0]:
        raise ValueError("fp and xp must be 1-D, not empty, and of the same length")
    last = knots.shape[0] - 1
    at = searchsorted(wrap(knots), wrap(places), "right")._t - 1
    low = at.clamp(0, max(last - 1, 0))
    high = (low + 1).clamp(max=last)
    x0, x1 = knots[low], knots[high]
    y0, y1 = values[low], values[high]
    slope = (y1 - y0) / (x1 - x0)
    found = torch.where(at >= last, values[last], slope * (places - x0) + y0)
    # NumPy gives the exact value on a knot, whatever the slope
    found = torch.where((places == x0) & (at < last), y0, found)
    first_value = values[0] if left is None else tensor_of(left, double)
    last_value = values[last] if right is None else tensor_of(right, double)
    found = torch.where(places < knots[0], first_value, found)
    found = torch.where(places > knots[last], last_value, found)
    return wrap(torch.where(torch.isnan(places), places, found))


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """As :func:`numpy.cov` without weights."""
    if y is not None or fweights is not None or aweights is not None:
        raise NeedsHost("cov")
    tensor = tensor_of(m)
    if tensor.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(NUMPY[tensor.dtype], result(np.dtype("f8")))
    rows = cast(tensor, torch_dtype(dtype))
    rows = rows.reshape(1, -1) if rows.ndim < 2 else rows
    if not rowvar and tensor.ndim == 2:
        rows = rows.mT
    if not rows.shape[0]:
        raise NeedsHost("cov of nothing")
    centred = rows - rows.mean(dim=1, keepdim=True)
    freedom = rows.shape[1] - (ddof if ddof is not None else int(not bias))
    product = matmul(wrap(centred), wrap(torch.conj(centred.mT).resolve_conj()))
    scaled = product / float(max(freedom, 0))
    return wrap(scaled._t.squeeze())


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """As :func:`numpy.gradient` for constant spacings and edges of first order."""
    tensor = tensor_of(f)
    axes = tuple(range(tensor.ndim)) if axis is None else normalize_axes(axis, tensor.ndim)
    steps = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    plain = all(not is_array(step) and np.ndim(step) == 0 for step in steps)
    if edge_order != 1 or not plain or len(steps) != len(axes) or tensor.dtype is torch.bool:
        raise NeedsHost("gradient")
    if tensor.dtype not in FLOATS and tensor.dtype not in COMPLEX:
        tensor = cast(tensor, torch_dtype(result(np.dtype("f8"))))
    found = [_slope(tensor, number, float(step)) for number, step in zip(axes, steps, strict=True)]
    if len(found) == 1:
        return found[0]
    return tuple(found)


def _slope(tensor: Any, axis: int, step: float) -> Any:
    length = tensor.shape[axis]
    if length < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least "
            "(edge_order + 1) elements are required."
        )
    inner = (tensor.narrow(axis, 2, length - 2) - tensor.narrow(axis, 0, length - 2)) / (2 * step)
    first = (tensor.narrow(axis, 1, 1) - tensor.narrow(axis, 0, 1)) / step
    last = (tensor.narrow(axis, length - 1, 1) - tensor.narrow(axis, length - 2, 1)) / step
    return wrap(torch.cat([first, inner, last], dim=axis))


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """As :func:`numpy.trapezoid` for a constant step, or 1-D places."""
    array = wrap(tensor_of(y))
    moved = wrap(array._t.movedim(axis, -1))
    pairs = _operators.apply(np.add, (moved[..., 1:], moved[..., :-1]))
    if x is None:
        widths = dx
    else:
        places = wrap(tensor_of(x))
        if places.ndim != 1:
            raise NeedsHost("trapezoid")
        widths = places[1:] - places[:-1]
    product = _operators.apply(np.multiply, (pairs, widths))
    return reductions.sum(product / 2.0, axis=-1)

"""Interpolation, covariance and correlation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from daskasc.array import _means as means
from daskasc.array._dispatch import implements
from daskasc.array._dtypes import (
    COMPLEX,
    NUMPY,
    cast,
    result,
    torch,
    torch_dtype,
)
from daskasc.array._linalg import matmul
from daskasc.array._selection import searchsorted
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import check_safe, value_for


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """As :func:`numpy.interp`."""
    values = tensor_of(fp)
    double = torch_dtype(result(np.dtype("f8")))
    if values.dtype in COMPLEX:
        parts = [
            interp(
                x, xp, wrap(getattr(values, part)), _part(left, part), _part(right, part), period
            )
            for part in ("real", "imag")
        ]
        real, imaginary = (part._t for part in parts)
        # a place that is no number makes the real part NaN, not the other
        places = tensor_of(x, double)
        if period is not None:
            nowhere = ~torch.isfinite(places)
        else:
            nowhere = torch.isnan(places) & (tensor_of(xp).shape[0] > 1)
        imaginary = imaginary.masked_fill(nowhere, 0)
        return wrap(torch.complex(real, imaginary))
    for given in (x, xp):
        check_safe(tensor_of(given), np.dtype("f8"))
    places, knots, values = tensor_of(x, double), tensor_of(xp, double), cast(values, double)
    if knots.ndim != 1 or knots.shape != values.shape or not knots.shape[0]:
        raise ValueError("fp and xp must be 1-D, not empty, and of the same length")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
        places = np.remainder(wrap(places), period)._t
        knots, order = torch.sort(np.remainder(wrap(knots), period)._t, stable=True)
        values = values[order]
        knots = torch.cat([knots[-1:] - period, knots, knots[:1] + period])
        values = torch.cat([values[-1:], values, values[:1]])
    return wrap(_between(places, knots, values, left, right))


def _part(value: Any, part: str) -> Any:
    return None if value is None else getattr(np.asarray(value), part)[()]


def _between(places: Any, knots: Any, values: Any, left: Any, right: Any) -> Any:
    last = knots.shape[0] - 1
    at = searchsorted(wrap(knots), wrap(places), "right")._t - 1
    low = at.clamp(0, max(last - 1, 0))
    high = (low + 1).clamp(max=last)
    x0, x1 = knots[low], knots[high]
    y0, y1 = values[low], values[high]
    slope = (y1 - y0) / (x1 - x0)
    found = slope * (places - x0) + y0
    # as NumPy: next to an infinity from the other end, and between equal infinities
    found = torch.where(torch.isnan(found), slope * (places - x1) + y1, found)
    found = torch.where(torch.isnan(found) & (y0 == y1), y0, found)
    found = torch.where(at >= last, values[last], found)
    # NumPy gives the exact value on a knot, whatever the slope
    found = torch.where((places == x0) & (at < last), y0, found)
    first_value = values[0] if left is None else value_for(left, values.dtype)
    last_value = values[last] if right is None else value_for(right, values.dtype)
    found = torch.where(places < knots[0], first_value, found)
    found = torch.where(places > knots[last], last_value, found)
    return torch.where(torch.isnan(places), places if last else values[0], found)


def _rows(m: Any, rowvar: bool, dtype: Any) -> Any:
    tensor = tensor_of(m)
    if tensor.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    rows = cast(tensor, torch_dtype(dtype))
    rows = rows.reshape(1, -1) if rows.ndim < 2 else rows
    return rows.mT if not rowvar and tensor.ndim == 2 else rows


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
    """As :func:`numpy.cov`."""
    given = [tensor_of(value) for value in ((m,) if y is None else (m, y))]
    if dtype is None:
        dtype = np.result_type(*(NUMPY[t.dtype] for t in given), result(np.dtype("f8")))
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    rows = _rows(wrap(given[0]), rowvar, dtype)
    if y is not None:
        # NumPy leaves a single row as it is
        single = given[1].ndim < 2 or given[1].shape[0] == 1
        other = _rows(wrap(given[1]), rowvar or single, dtype)
        if rows.shape[1] != other.shape[1]:
            raise ValueError(
                f"m has {rows.shape[1]} observations and y {other.shape[1]}; both must have as many"
            )
        rows = torch.cat([rows, other], dim=0)
    if not rows.shape[0]:
        # of no variables NumPy's is float64, whatever dtype= says
        double = torch_dtype(result(np.dtype("f8")))
        return wrap(torch.empty((0, 0), dtype=double, device=rows.device))
    array = wrap(rows)
    weights = _weights(fweights, aweights, rows.shape[1])
    freedom: Any = ddof if ddof is not None else int(not bias)
    if weights is None:
        total: Any = rows.shape[1]
        centred = array - means.mean(array, axis=1, keepdims=True)
        weighted = centred
    else:
        total = weights.sum()
        centred = array - (array * weights).sum(axis=1, keepdims=True) / total
        weighted = centred * weights
        if aweights is not None and freedom:
            squares = weights * wrap(tensor_of(aweights, torch_dtype("f8")))
            freedom = freedom * squares.sum() / total
    divisor = total - freedom
    if float(divisor) <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        divisor = 0.0
    product = matmul(centred, wrap(torch.conj(weighted._t.mT).resolve_conj()))
    factor: Any = np.true_divide(1, divisor)
    # a number of the host is weak: NumPy scales in place, in the product's dtype
    scaled = product * (float(factor) if isinstance(factor, np.floating) else factor)
    return wrap(cast(scaled._t, product._t.dtype).squeeze())


def _weights(fweights: Any, aweights: Any, count: int) -> Any:
    found: Any = None
    for name, value in (("fweights", fweights), ("aweights", aweights)):
        if value is None:
            continue
        array = wrap(tensor_of(value, torch_dtype("f8")))
        if array.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if array.shape[0] != count:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool((array < 0).any()):
            raise ValueError(f"{name} cannot be negative")
        if name == "fweights" and not bool((array == np.rint(array)).all()):
            raise TypeError("fweights must be integer")
        found = array if found is None else found * array
    return found


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """As :func:`numpy.corrcoef`."""
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return found / found
    spread = np.sqrt(np.diagonal(found).real)
    found = found / spread[:, None] / spread[None, :]
    if found.dtype.kind != "c":
        return np.clip(found, -1, 1)
    parts = (np.clip(found.real, -1, 1)._t, np.clip(found.imag, -1, 1)._t)
    return wrap(torch.complex(*parts))

"""Extremes: min, max, ptp and the places of extremes.

NaN wins, as in NumPy. Integers without torch kernels compare as signed or wider ones
(:func:`sortable`), complex numbers by their ranks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array import _complex, _operators
from daskasc.array._dispatch import implements, is_array, target_of
from daskasc.array._dtypes import (
    COMPLEX,
    FLOATS,
    NUMPY,
    cast,
    promote,
    sortable,
    torch,
    torch_dtype,
    unsortable,
)
from daskasc.array._reductions import (
    NO,
    Axes,
    combine,
    finish,
    initial_of,
    masked,
    strict_axis,
)
from daskasc.array._storage import tensor_of


def extreme_identity(dtype: Any, largest: bool) -> Any:
    """Value that never wins a minimum (`largest`) or a maximum."""
    if dtype is torch.bool:
        return largest
    if dtype in FLOATS:
        return math.inf if largest else -math.inf
    if dtype in COMPLEX:
        return complex(math.inf, math.inf) if largest else complex(-math.inf, -math.inf)
    limits = np.iinfo(NUMPY[dtype])
    return int(limits.max if largest else limits.min)


def extreme_over(tensor: Any, axes: Axes, largest: bool) -> Any:
    """Maximum (or minimum) with NaN winning, as NumPy."""
    if not axes.axes:
        return tensor.clone()
    if not axes.count(tensor):
        name = "maximum" if largest else "minimum"
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    if tensor.dtype in COMPLEX:
        return _complex.extreme_over(tensor, axes, largest)
    ordered = sortable(tensor)
    function = torch.amax if largest else torch.amin
    return unsortable(function(ordered, dim=axes.axes, keepdim=axes.keepdims), tensor.dtype)


def _extreme(
    a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any, largest: bool
) -> Any:
    tensor = tensor_of(a)
    axes = Axes(axis, tensor.ndim, keepdims, True)
    if out is not None:
        tensor = cast(tensor, torch_dtype(promote(NUMPY[tensor.dtype], target_of(out).dtype)))
    if where is not NO and where is not True:
        if initial is NO or initial is None:
            raise ValueError(
                "reduction operation 'maximum' does not have an identity, so to use a where "
                "mask one has to specify 'initial'"
            )
        tensor = masked(tensor, where, extreme_identity(tensor.dtype, not largest))
    if initial is not NO and initial is not None and not axes.count(tensor):
        first = initial_of(initial, tensor.dtype)
        return finish(first.expand(axes.kept(tensor)).clone(), out)
    found = extreme_over(tensor, axes, largest)
    return finish(combine(found, initial, np.maximum if largest else np.minimum), out)


@implements(np.max, np.amax)
def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.max`."""
    return _extreme(a, axis, out, keepdims, initial, where, True)


@implements(np.min, np.amin)
def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO,
    initial: Any = NO,
    where: Any = NO,
) -> Any:
    """As :func:`numpy.min`."""
    return _extreme(a, axis, out, keepdims, initial, where, False)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO) -> Any:
    """As :func:`numpy.ptp`."""
    high = max(a, axis=axis, keepdims=keepdims)
    low = min(a, axis=axis, keepdims=keepdims)
    if out is not None:
        high = finish(high._t, out)
    found = _operators.apply(np.subtract, (high, low))
    return found if out is None else _operators.store(np.subtract, found, out)


def arg_extreme(tensor: Any, axis: Any, out: Any, keepdims: Any, largest: bool) -> Any:
    """Index of the first extreme (the first NaN where there is one)."""
    if tensor.dtype in COMPLEX:
        tensor = _complex.extreme_keys(tensor, largest)
    keep = keepdims is not NO and bool(keepdims)
    ndim = tensor.ndim
    ordered = sortable(tensor)
    if axis is None or not ndim:
        ordered = ordered.reshape(-1)
    number = 0 if axis is None else strict_axis(axis, ordered.ndim)
    if not ordered.shape[number]:
        name = "argmax" if largest else "argmin"
        raise ValueError(f"attempt to get {name} of an empty sequence")
    function = torch.argmax if largest else torch.argmin
    flat = axis is None or not ndim
    found = function(ordered, dim=number, keepdim=keep and not flat)
    if keep and flat:
        found = found.reshape((1,) * ndim)
    fits = is_array(out) and out.shape == tuple(found.shape)
    if fits and not _operators.can_cast(out.dtype, np.dtype("i8"), "safe"):
        raise TypeError(
            f"Cannot cast array data from {out.dtype!r} to dtype('int64') according to the rule "
            "'safe'; give an integer array as out"
        )
    return finish(found, out)


@implements(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.argmax`."""
    return arg_extreme(tensor_of(a), axis, out, keepdims, True)


@implements(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    """As :func:`numpy.argmin`."""
    return arg_extreme(tensor_of(a), axis, out, keepdims, False)

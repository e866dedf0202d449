"""Slopes and integrals of sampled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array import _reductions as reductions
from daskasc.array._dispatch import implements, is_array
from daskasc.array._dtypes import COMPLEX, FLOATS, cast, result, torch, torch_dtype
from daskasc.array._reductions import normalize_axes
from daskasc.array._storage import tensor_of, wrap


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """As :func:`numpy.gradient`."""
    tensor = tensor_of(f)
    if axis is None:
        axes = list(range(tensor.ndim))
    else:
        given = axis if isinstance(axis, tuple | list) else (axis,)
        normalize_axes(axis, tensor.ndim)
        axes = [int(i) % tensor.ndim for i in given]
    steps = [_step(value) for value in varargs]
    if not steps:
        steps = [1.0] * len(axes)
    elif len(steps) == 1 and not is_array(steps[0]):
        steps = steps * len(axes)
    elif len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if not (tensor.dtype in FLOATS or tensor.dtype in COMPLEX or tensor.dtype is torch.bool):
        tensor = cast(tensor, torch_dtype(result(np.dtype("f8"))))
    found = [
        _slope(wrap(tensor), number, step, edge_order)
        for number, step in zip(axes, steps, strict=True)
    ]
    return found[0] if len(found) == 1 else tuple(found)


def _step(value: Any) -> Any:
    """A constant spacing as a number, coordinates as an array."""
    if is_array(value) and value.ndim:
        if value.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        return value
    if is_array(value):
        return value.item()
    if np.ndim(value):
        return _step(wrap(tensor_of(value)))
    return value


def _slope(array: Any, axis: int, step: Any, edge_order: int) -> Any:
    length = array.shape[axis]
    if length < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least "
            "(edge_order + 1) elements are required."
        )
    if array.dtype == np.bool_:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    values = wrap(array._t.movedim(axis, -1))
    widths = None
    if is_array(step):
        if step.shape[0] != length:
            raise ValueError(
                "when 1d, distances must match the length of the corresponding dimension"
            )
        if step.dtype.kind in "iu":
            step = step.astype(np.float64)
        widths = step[1:] - step[:-1]
        if bool((widths == widths[0]).all()):
            step, widths = widths[0], None
    inner = _inner(values, step, widths)
    first = _edge([values[..., i] for i in range(edge_order + 1)], step, widths, 1)
    last = _edge([values[..., -1 - i] for i in range(edge_order + 1)], step, widths, -1)
    found: Any = np.concatenate([first[..., None], inner, last[..., None]], axis=-1)
    return wrap(found.astype(array.dtype)._t.movedim(-1, axis))


def _inner(values: Any, step: Any, widths: Any) -> Any:
    if widths is None:
        return (values[..., 2:] - values[..., :-2]) / (2.0 * step)
    left, right = widths[:-1], widths[1:]
    a = -right / (left * (left + right))
    b = (right - left) / (left * right)
    c = left / (right * (left + right))
    return a * values[..., :-2] + b * values[..., 1:-1] + c * values[..., 2:]


def _edge(near: list[Any], step: Any, widths: Any, sign: int) -> Any:
    """Slope at one end from the elements nearest to it, the outermost first."""
    if len(near) == 2:
        difference = near[1] - near[0] if sign > 0 else near[0] - near[1]
        return difference / (step if widths is None else widths[0 if sign > 0 else -1])
    if widths is None:
        factors = [-1.5 / step, 2.0 / step, -0.5 / step]
    else:
        one, two = (widths[0], widths[1]) if sign > 0 else (widths[-1], widths[-2])
        factors = [
            -(2.0 * one + two) / (one * (one + two)),
            (one + two) / (one * two),
            -one / (two * (one + two)),
        ]
    if sign < 0:
        # the innermost first and the factors negated, as NumPy adds; zeros get its signs
        near, factors = near[::-1], [-factor for factor in factors[::-1]]
    a, b, c = factors
    return a * near[0] + b * near[1] + c * near[2]


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """As :func:`numpy.trapezoid`."""
    array = wrap(tensor_of(y))
    number = reductions.normalize_axis(axis, array.ndim)
    widths = dx
    if x is not None:
        places = wrap(tensor_of(x))
        if places.ndim == 1:
            widths = np.diff(places)
        else:
            widths = wrap(np.diff(places, axis=axis)._t.movedim(axis, -1))
    moved = wrap(array._t.movedim(number, -1))
    pairs = _operators.apply(np.add, (moved[..., 1:], moved[..., :-1]))
    return reductions.sum(_operators.apply(np.multiply, (widths, pairs)) / 2.0, axis=-1)

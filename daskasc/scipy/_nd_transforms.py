"""Interpolation of ``scipy.ndimage``: arrays at other places than their elements'.

The functions have the arguments of SciPy's compiled ones and write into `output`. Each axis gives
the places along it, mapped inside by the boundary mode, with the numbers and weights of their
neighbours (:class:`_Axis`). Zooms and shifts have one line of places an axis and interpolate along
one axis after the other; other transforms sum over all combinations of neighbours. So do results
that are rounded to integers, in SciPy's order: their ties come out as SciPy's. Ties of splines of
order 2 and more, whose coefficients have other rounding errors here, would not: they go to the
host.
"""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any, NamedTuple

from daskasc.array import _indexing
from daskasc.array._dispatch import MissingKernel, NeedsHost
from daskasc.array._dtypes import COMPLEX, torch
from daskasc.array._storage import tensor_of
from daskasc.scipy._nd_boundary import (
    CONSTANT,
    GRID_CONSTANT,
    GRID_WRAP,
    MIRROR,
    NEAREST,
    REFLECT,
    WRAP,
    computed,
    store,
)
from daskasc.scipy._nd_splines import first_neighbour, weights


class _Axis(NamedTuple):
    """Neighbours of places along one axis."""

    numbers: list[Any]  # int64 tensors
    weights: list[Any]  # float64 tensors; empty for the nearest neighbour
    filled: list[Any]  # bool tensors: the neighbour is `cval`; empty unless grid-constant
    outside: Any  # bool tensor: the result is `cval`; None unless constant


def _mapped(x: Any, length: int, mode: int) -> Any:
    """Places brought inside by a boundary mode, with SciPy's roundings; -1 is outside."""
    low, high = x < 0, x > length - 1
    if mode == CONSTANT:
        # a NaN is neither low nor high, and outside all the same
        return torch.where(low | high | torch.isnan(x), torch.full_like(x, -1.0), x)
    if length <= 1:
        return torch.where(low | high, torch.zeros_like(x), x)
    if mode == MIRROR:
        period = 2 * length - 2
        below = period * torch.trunc(-x / period) + x
        below = torch.where(below <= 1 - length, below + period, -below)
        above = x - period * torch.trunc(x / period)
        above = torch.where(above >= length, period - above, above)
    elif mode == REFLECT:
        period = 2 * length
        below = torch.where(x < -period, period * torch.trunc(-x / period) + x, x)
        turned = torch.where(below > -1e-15, torch.full_like(x, 1e-15), -below) - 1
        below = torch.where(below < -length, below + period, turned)
        above = x - period * torch.trunc(x / period)
        above = torch.where(above >= length, period - above - 1, above)
    elif mode == WRAP:
        period = length - 1
        below = x + period * (torch.trunc(-x / period) + 1)
        above = x - period * torch.trunc(x / period)
    elif mode == GRID_WRAP:
        below = x + length * (torch.trunc((-1 - x) / length) + 1)
        above = x - length * torch.trunc(x / length)
    else:  # nearest
        below, above = torch.zeros_like(x), torch.full_like(x, length - 1)
    return torch.where(low, below, torch.where(high, above, x))


def _axis(places: Any, length: int, order: int, mode: int) -> _Axis:
    if mode != CONSTANT and not bool(torch.isfinite(places).all()):
        raise NeedsHost("places that are no numbers")
    inside = places if mode in (NEAREST, GRID_CONSTANT) else _mapped(places, length, mode)
    outside = None
    if mode == CONSTANT:
        outside = inside <= -1
        inside = torch.where(outside, torch.zeros_like(inside), inside)
    first = first_neighbour(inside, order)
    # of splines without a boundary condition of their own the neighbours are mirrored
    around = MIRROR if mode in (CONSTANT, WRAP) else mode
    numbers, filled = [], []
    for step in range(order + 1):
        number = first + step
        if mode == GRID_CONSTANT:
            beyond = (number < 0) | (number > length - 1)
            filled.append(beyond)
            number = torch.where(beyond, torch.zeros_like(number), number)
        else:
            number = _mapped(number, length, around)
        numbers.append(number.to(torch.int64))
    return _Axis(numbers, weights(inside, order) if order else [], filled, outside)


def _checked(input: Any, output: Any, order: int, mode: int) -> Any:
    """Elements to compute with.

    Raises
    ------
    ValueError
        There are none, and the mode continues them; SciPy reads other memory.
    """
    if input._t.dtype in COMPLEX:
        raise RuntimeError("data type not supported")
    if output.size and not input.size and mode not in (CONSTANT, GRID_CONSTANT):
        raise ValueError(
            f"the image has no elements, and results of shape {output.shape} are asked for; only "
            "mode 'constant' and 'grid-constant' have values for them: give one of these"
        )
    tensor = computed(input, output)
    if tensor.dtype is not torch.float64:
        raise MissingKernel("mul", "float64")
    if order > 1 and not output._t.is_floating_point():
        raise NeedsHost("splines rounded to integers")
    return tensor


def zoom_shift(
    input: Any,
    zoom: Any,
    shift: Any,
    output: Any,
    order: int,
    mode: int,
    cval: float,
    npad: int,
    grid_mode: bool,
) -> None:
    """Zoom by factors and shift, each axis by itself."""
    tensor = _checked(input, output, order, mode)
    if not output.size:
        return
    axes = []
    for number, length in enumerate(tensor.shape):
        places = torch.arange(output.shape[number], dtype=torch.float64, device=tensor.device)
        if shift is not None:
            places = places + float(shift[number])
        if zoom is not None:
            factor = float(zoom[number])
            places = (places + 0.5) * factor - 0.5 if grid_mode else places * factor
        axes.append(_axis(places + float(npad), length, order, mode))
    if output._t.is_floating_point():
        for number, axis in enumerate(axes):
            tensor = _along(tensor, axis, number, float(cval))
        outside = _any_outside([_spread(a, n, len(axes)) for n, a in enumerate(axes)])
        _finish(output, tensor, outside, cval)
    else:
        _combined(tensor, [_spread(a, n, len(axes)) for n, a in enumerate(axes)], output, cval)


def _along(tensor: Any, axis: _Axis, number: int, cval: float) -> Any:
    """Interpolate along one axis."""
    total = None
    shape = [1] * tensor.ndim
    shape[number] = -1
    for step, index in enumerate(axis.numbers):
        part = tensor.index_select(number, index)
        if axis.filled:
            part = torch.where(axis.filled[step].reshape(shape), cval, part)
        if axis.weights:
            part = part * axis.weights[step].reshape(shape)
        total = part if total is None else total + part
    return total


def _spread(axis: _Axis, number: int, ndim: int) -> _Axis:
    """One axis's lines in the shape in which all axes broadcast against each other."""
    shape = [1] * ndim
    shape[number] = -1
    numbers, factors, filled = ([x.reshape(shape) for x in part] for part in axis[:3])
    outside = None if axis.outside is None else axis.outside.reshape(shape)
    return _Axis(numbers, factors, filled, outside)


def _any_outside(axes: list[_Axis]) -> Any:
    marks = [axis.outside for axis in axes if axis.outside is not None]
    return functools.reduce(operator.or_, marks) if marks else None


def _finish(output: Any, values: Any, outside: Any, cval: float) -> None:
    if outside is not None:
        values = torch.where(outside, float(cval), values)
    if output._t.is_floating_point() or output._t.dtype is torch.bool:
        store(output, values)
    else:
        _indexing.store(output._t, _rounded(values, output._t.dtype))


def _rounded(values: Any, dtype: Any) -> Any:
    """Integers as SciPy rounds interpolated values: halves away from 0, limited to the dtype."""
    limits = torch.iinfo(dtype)
    away = torch.where(values > 0, values + 0.5, values - 0.5)
    high = away > float(limits.max)
    low = away < float(limits.min)
    if dtype is torch.uint64 and bool((away >= 2.0**63).any()):
        raise NeedsHost("uint64 beyond int64")
    whole = torch.where(high | low, torch.zeros_like(away), away).to(torch.int64)
    if dtype is torch.uint64:
        return whole.view(dtype)
    whole = torch.where(high, limits.max, whole)
    return torch.where(low, limits.min, whole).to(dtype)


def geometric_transform(
    input: Any,
    mapping: Any,
    coordinates: Any,
    matrix: Any,
    offset: Any,
    output: Any,
    order: int,
    mode: int,
    cval: float,
    npad: int,
    extra_arguments: Any,
    extra_keywords: Any,
) -> None:
    """Interpolate at coordinates, or at those that a matrix makes of the output's."""
    if mapping is not None:
        raise NeedsHost("a function of coordinates")
    tensor = _checked(input, output, order, mode)
    if not output.size:
        return
    if coordinates is not None:
        places = list(tensor_of(coordinates).to(torch.float64).unbind(0))
    else:
        places = [
            _affine(matrix[row], float(offset[row]), output.shape, tensor.device)
            for row in range(tensor.ndim)
        ]
    axes = [
        _axis(place + float(npad), length, order, mode)
        for place, length in zip(places, tensor.shape, strict=True)
    ]
    _combined(tensor, axes, output, cval)


def _affine(row: Any, offset: float, shape: Any, place: Any) -> Any:
    """Coordinates along one axis of the input for every element of the output."""
    total = torch.full((1,) * len(shape), offset, dtype=torch.float64, device=place)
    for number, (factor, length) in enumerate(zip(row, shape, strict=True)):
        line = [1] * len(shape)
        line[number] = -1
        steps = torch.arange(length, dtype=torch.float64, device=place)
        total = total + (steps * float(factor)).reshape(line)
    return total


def _fill_of_nothing(output: Any, cval: float) -> None:
    """Results of an image without elements."""
    values = torch.full(output.shape, float(cval), dtype=torch.float64, device=output._t.device)
    _finish(output, values, None, cval)


def _combined(tensor: Any, axes: list[_Axis], output: Any, cval: float) -> None:
    """Sum over all combinations of the axes' neighbours, in SciPy's order."""
    if not tensor.numel():
        _fill_of_nothing(output, cval)
        return
    flat = tensor.reshape(-1)
    steps = [1] * len(axes)
    for number in range(len(axes) - 2, -1, -1):
        steps[number] = steps[number + 1] * tensor.shape[number + 1]
    total = torch.zeros(output.shape, dtype=tensor.dtype, device=tensor.device)
    for chosen in itertools.product(*(range(len(axis.numbers)) for axis in axes)):
        index: Any = 0
        for axis, step, which in zip(axes, steps, chosen, strict=True):
            index = index + axis.numbers[which] * step
        part = torch.take(flat, index)
        if axes[0].filled:
            marks = [axis.filled[which] for axis, which in zip(axes, chosen, strict=True)]
            part = torch.where(functools.reduce(operator.or_, marks), float(cval), part)
        for axis, which in zip(axes, chosen, strict=True):
            if axis.weights:
                part = part * axis.weights[which]
        total = total + part
    _finish(output, total, _any_outside(axes), cval)

"""Sums and products along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._dispatch import implements
from daskasc.array._dtypes import COMPLEX, FLOATS, NUMPY, TWINS, cast, torch, twin
from daskasc.array._nan_reductions import without_nan
from daskasc.array._reductions import Axes, accumulator, finish, strict_axis
from daskasc.array._storage import tensor_of


def _scan(tensor: Any, axis: Any, dtype: Any, out: Any, product: bool) -> Any:
    target = accumulator(tensor.dtype, dtype, out)
    values = cast(tensor, target)
    if axis is None or not values.ndim:
        values = values.reshape(-1)
    number = 0 if axis is None else strict_axis(axis, values.ndim)
    function = torch.cumprod if product else torch.cumsum
    # torch would scan narrow integers in int64
    scanned = function(twin(values), dim=number, dtype=TWINS.get(target))
    if target in TWINS:
        scanned = scanned.view(target)
    elif values.shape[number]:
        scanned = _started(values, scanned, number, product)
    return finish(cast(scanned, target), out)


def _started(values: Any, scanned: Any, number: int, product: bool) -> Any:
    """The scan as if it began with the first element; torch begins with 0 or 1."""
    if values.dtype in FLOATS:
        return scanned if product else _signed_start(values, scanned, number)
    if values.dtype not in COMPLEX:
        return scanned
    if not product:
        parts = (
            _signed_start(getattr(values, part), getattr(scanned, part), number)
            for part in ("real", "imag")
        )
        return torch.complex(*parts)
    # 1 * (inf + 0j) would be inf + nan j
    first = values.narrow(number, 0, 1)
    if bool(torch.isfinite(torch.view_as_real(first)).all()):
        scanned.narrow(number, 0, 1).copy_(first)
        return scanned
    steps = [first]
    for i in range(1, values.shape[number]):
        steps.append(steps[-1] * values.narrow(number, i, 1))
    return torch.cat(steps, dim=number)


def _signed_start(values: Any, scanned: Any, number: int) -> Any:
    """Sums with -0.0 as long as only -0.0 was added; torch begins with 0.0."""
    count = values.shape[number]
    other = (values != 0).logical_or_(torch.signbit(values).logical_not_()).to(torch.float32)
    first = torch.argmax(other, dim=number, keepdim=True)
    first = torch.where(other.amax(dim=number, keepdim=True) == 0, count, first)
    del other  # as large as the values
    shape = [count if i == number else 1 for i in range(values.ndim)]
    places = torch.arange(count, device=values.device).reshape(shape)
    return scanned.masked_fill_(places < first, -0.0)


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.cumsum`."""
    return _scan(tensor_of(a), axis, dtype, out, False)


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.cumprod`."""
    return _scan(tensor_of(a), axis, dtype, out, True)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.nancumsum`."""
    return _scan(without_nan(tensor_of(a), 0), axis, dtype, out, False)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As :func:`numpy.nancumprod`."""
    return _scan(without_nan(tensor_of(a), 1), axis, dtype, out, True)


def _cumulative(
    x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool, product: bool
) -> Any:
    tensor = tensor_of(x)
    tensor = tensor if tensor.ndim else tensor.reshape(1)
    if axis is None:
        if tensor.ndim > 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = 0
    axes = Axes(axis, tensor.ndim, False, True).axes  # as of ``ufunc.accumulate``
    if len(axes) != 1:
        raise ValueError(f"accumulate does not allow multiple axes; axis is {axis!r}")
    axis = axes[0]
    if dtype is None and out is not None:
        dtype = NUMPY[accumulator(tensor.dtype, None, out)]
    scanned = _scan(tensor, axis, dtype, None, product)._t
    if include_initial:
        shape = list(scanned.shape)
        shape[axis] = 1
        first = torch.full(shape, int(product), dtype=scanned.dtype, device=scanned.device)
        scanned = torch.cat([first, scanned], dim=axis)
    return finish(scanned, out)


@implements(np.cumulative_sum)
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """As :func:`numpy.cumulative_sum`."""
    return _cumulative(x, axis, dtype, out, include_initial, False)


@implements(np.cumulative_prod)
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """As :func:`numpy.cumulative_prod`."""
    return _cumulative(x, axis, dtype, out, include_initial, True)

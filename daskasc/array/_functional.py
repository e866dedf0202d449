"""Functions that take functions, and small composites over the other functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _shaping as shaping
from daskasc.array._dispatch import (
    NeedsHost,
    implements,
    implements_if_there,
    is_array,
    target_of,
)
from daskasc.array._dtypes import COMPLEX, FLOATS, cast, result, torch, torch_dtype
from daskasc.array._operators import check_output, stored
from daskasc.array._reductions import normalize_axis, truth
from daskasc.array._storage import stack, tensor_of, wrap


@implements(np.apply_along_axis)
def apply_along_axis(
    func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """As :func:`numpy.apply_along_axis`; the function gets 1-D arrays on the card."""
    tensor = tensor_of(arr)
    number = normalize_axis(axis, tensor.ndim)
    rows = tensor.movedim(number, -1)
    outer = tuple(rows.shape[:-1])
    if not math.prod(outer):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    flat = rows.reshape(math.prod(outer), rows.shape[-1])
    parts = [tensor_of(func1d(wrap(row), *args, **kwargs)) for row in flat.unbind(0)]
    # NumPy takes the dtype of the first result
    found = stack([cast(part, parts[0].dtype) for part in parts])
    inner = found.ndim - 1
    found = found.reshape((*outer, *found.shape[1:]))
    sources = tuple(range(len(outer), len(outer) + inner))
    return wrap(found.movedim(sources, tuple(range(number, number + inner))))


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """As :func:`numpy.apply_over_axes`."""
    array = wrap(tensor_of(a))
    numbers = [axes] if np.ndim(axes) == 0 else list(axes)
    for axis in numbers:
        number = axis + array.ndim if axis < 0 else axis
        found = func(array, number)
        if found.ndim != array.ndim:
            found = np.expand_dims(found, number)
            if found.ndim != array.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        array = found
    return array


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """As :func:`numpy.astype`."""
    return wrap(tensor_of(x)).astype(dtype, copy=copy)


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    """As :func:`numpy.common_type`."""
    return np.common_type(
        *(np.empty(0, a.dtype if is_array(a) else np.asarray(a).dtype) for a in arrays)
    )


@implements(np.isfortran)
def isfortran(a: Any) -> bool:
    """As :func:`numpy.isfortran`."""
    tensor = tensor_of(a)
    transposed = tensor.permute(tuple(reversed(range(tensor.ndim))))
    return bool(transposed.is_contiguous() and not tensor.is_contiguous())


@implements(np.i0)
def i0(x: Any) -> Any:
    """As :func:`numpy.i0`."""
    tensor = tensor_of(x)
    if tensor.dtype in COMPLEX:
        raise TypeError("i0 not supported for complex values")
    if tensor.dtype not in FLOATS:
        tensor = cast(tensor, torch_dtype(result(np.dtype("f8"))))
    if tensor.dtype in (torch.float16, torch.bfloat16):
        return wrap(torch.i0(tensor.float()).to(tensor.dtype))
    return wrap(torch.i0(tensor))


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """As :func:`numpy.unwrap`."""
    array = wrap(tensor_of(p))
    number = normalize_axis(axis, array.ndim)
    steps = np.diff(array, axis=number)
    if discont is None:
        discont = period / 2
    dtype = np.result_type(steps.dtype, period)
    integral = dtype.kind in "iu"
    if integral:
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    wrapped = np.mod(steps - low, period) + low
    if ambiguous:
        wrapped = np.where((wrapped == low) & (steps > 0), high, wrapped)
    corrections = np.where(np.abs(steps) < discont, 0, wrapped - steps)
    found = array.astype(dtype) if array.dtype != dtype else array.copy()
    later = (slice(None),) * number + (slice(1, None),)
    found[later] = array[later] + np.cumsum(corrections, axis=number)
    return found


@implements(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """As :func:`numpy.real_if_close`; waits for the card."""
    array = wrap(tensor_of(a))
    if array.dtype.kind != "c":
        return array
    if tol > 1:
        tol = float(np.finfo(array.dtype).eps) * tol
    return array.real if bool((np.abs(array.imag) < tol).all()) else array


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    """As :func:`numpy.packbits`."""
    tensor = tensor_of(a)
    if tensor.is_floating_point() or tensor.is_complex():
        raise TypeError("Expected an input array of integer or boolean data type")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    tensor = tensor if tensor.ndim else tensor.reshape(1)
    number = normalize_axis(axis, tensor.ndim)
    bits = truth(tensor).movedim(number, -1).to(torch.int64)
    missing = -bits.shape[-1] % 8
    if missing:
        bits = torch.nn.functional.pad(bits, (0, missing))
    shifts = torch.arange(8, device=bits.device)
    shifts = 7 - shifts if bitorder == "big" else shifts
    groups = bits.reshape(*bits.shape[:-1], bits.shape[-1] // 8, 8)
    packed = torch.bitwise_left_shift(groups, shifts).sum(-1).to(torch.uint8)
    return wrap(packed.movedim(-1, number))


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """As :func:`numpy.unpackbits`."""
    tensor = tensor_of(a)
    if tensor.dtype is not torch.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    tensor = tensor if tensor.ndim else tensor.reshape(1)
    number = normalize_axis(axis, tensor.ndim)
    shifts = torch.arange(8, device=tensor.device)
    shifts = 7 - shifts if bitorder == "big" else shifts
    wide = tensor.movedim(number, -1).to(torch.int64).unsqueeze(-1)
    bits = torch.bitwise_right_shift(wide, shifts) & 1
    bits = bits.flatten(-2).to(torch.uint8)
    if count is not None:
        length = operator.index(count)
        kept = length if length >= 0 else bits.shape[-1] + length
        if kept < 0:
            raise ValueError("-count larger than number of elements")
        extra = max(kept - bits.shape[-1], 0)
        bits = torch.nn.functional.pad(bits, (0, extra))[..., :kept]
    return wrap(bits.movedim(-1, number))


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """As :func:`numpy.nan_to_num`."""
    tensor = tensor_of(x)
    if not (tensor.dtype in COMPLEX or tensor.dtype in FLOATS):
        return wrap(tensor.clone()) if copy else x
    if any(is_array(value) or np.ndim(value) for value in (nan, posinf, neginf)):
        raise NeedsHost("nan_to_num with arrays of values")
    for value in (nan, posinf, neginf):
        if isinstance(value, complex | np.complexfloating | str):
            raise TypeError(f"{value!r} is no real number; real and imaginary parts take those")
    if tensor.dtype in COMPLEX:
        parts = [
            torch.nan_to_num(part, nan=float(nan), posinf=posinf, neginf=neginf)
            for part in (tensor.real, tensor.imag)
        ]
        found = wrap(torch.complex(*parts))
    else:
        found = wrap(torch.nan_to_num(tensor, nan=float(nan), posinf=posinf, neginf=neginf))
    if copy or not is_array(x):
        return found
    x[...] = found
    return x


@implements(np.round, np.around)
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """As :func:`numpy.round`."""
    decimals = operator.index(decimals)
    array = wrap(tensor_of(a))
    kind = array.dtype.kind
    inner = None if out is None else target_of(out).dtype
    if kind == "b":
        if decimals:
            raise NeedsHost("round of bool")
        found = array.astype(np.float16)
    elif kind in "iu":
        # NumPy rounds halves to even in float64 and casts back
        found = array.copy() if decimals >= 0 else _rounded(array, decimals, inner)
        found = found if out is not None else found.astype(array.dtype)
    elif kind == "c":
        real = None
        if inner is not None:
            check_output("rint", array.dtype, inner)
            real = np.zeros((), inner).real.dtype
        parts = [_rounded(part, decimals, real)._t for part in (array.real, array.imag)]
        found = wrap(torch.complex(*parts))
    else:
        found = _rounded(array, decimals, inner)
    return stored("rint", found, out)


def _rounded(array: Any, decimals: int, inner: Any) -> Any:
    """NumPy's way: scale, round to even, scale back; the last two in the dtype `inner` of out."""
    if not decimals:
        return np.rint(array)
    there, back = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    power = 10.0 ** abs(decimals)
    scaled = there(array, power)
    if inner is not None:
        check_output(there.__name__, scaled.dtype, inner)
        scaled = scaled.astype(inner)
    return back(np.rint(scaled), power)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """As :func:`numpy.sinc`."""
    tensor = tensor_of(x)
    if tensor.dtype not in FLOATS and tensor.dtype not in COMPLEX:
        tensor = cast(tensor, torch_dtype(result(np.dtype("f8"))))
    y = (wrap(tensor) * math.pi)._t
    filled = wrap(torch.where(y == 0, torch.full_like(y, math.pi * 1e-20), y))
    found = np.sin(filled) / filled
    return wrap(torch.where(y == 0, torch.ones_like(y), found._t))


implements_if_there("row_stack")(shaping.vstack)  # deprecated since NumPy 2.0

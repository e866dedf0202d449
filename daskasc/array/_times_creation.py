"""New arrays of times: what the creation functions do when they are asked for such a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array import _creation
from daskasc.array._dispatch import implements_for_times, is_array
from daskasc.array._masks import plain
from daskasc.array._storage import from_numpy, wrap_times
from daskasc.array._times_convert import holds_array, is_times, of_any
from daskasc.array._times_functions import joint

_INT64 = np.dtype(np.int64)


def _dtype(dtype: Any) -> np.dtype[Any]:
    return np.dtype(dtype).newbyteorder("=")


@implements_for_times(np.asarray, np.asanyarray)
def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
) -> Any:
    """As :func:`numpy.asarray`, on the card; an array of the right dtype is returned itself."""
    if is_array(a):
        return a.astype(a.dtype if dtype is None else dtype, copy=bool(copy))
    if isinstance(a, list | tuple) and holds_array(a):
        wanted = joint([a]) if dtype is None else _dtype(dtype)
        if wanted.kind in "mM":
            return wrap_times(of_any(a, wanted), wanted)
        return asarray(a).astype(wanted)
    return from_numpy(np.asarray(plain(a), dtype))


@implements_for_times(np.array)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
) -> Any:
    """As :func:`numpy.array`, on the card."""
    return _creation.with_axes(asarray(object, dtype, copy=copy), ndmin)


@implements_for_times(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """As :func:`numpy.ascontiguousarray`, on the card."""
    made = asarray(a, dtype)
    if not is_times(made):
        return _creation.ascontiguousarray(made)
    return wrap_times(_creation.ascontiguousarray(made._ticks), made.dtype)


@implements_for_times(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """As :func:`numpy.asfortranarray`, on the card."""
    made = asarray(a, dtype)
    if not is_times(made):
        return _creation.asfortranarray(made)
    return wrap_times(_creation.asfortranarray(made._ticks), made.dtype)


def _filled(shape: Any, dtype: np.dtype[Any], value: Any) -> Any:
    ticks = _creation.empty(shape, _INT64)
    ticks[...] = of_any(value, dtype)
    return wrap_times(ticks, dtype)


@implements_for_times(np.empty)
def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """As :func:`numpy.empty`, on the card."""
    return wrap_times(_creation.empty(shape, _INT64), _dtype(dtype))


@implements_for_times(np.zeros)
def zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """As :func:`numpy.zeros`, on the card: the beginning of 1970, or no time."""
    return wrap_times(_creation.zeros(shape, _INT64), _dtype(dtype))


@implements_for_times(np.ones)
def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """As :func:`numpy.ones`, on the card: one unit."""
    return _filled(shape, _dtype(dtype), 1)


@implements_for_times(np.full)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None
) -> Any:
    """As :func:`numpy.full`, on the card."""
    if dtype is None:
        given = fill_value if is_array(fill_value) else np.asarray(fill_value)
        dtype = given.dtype
    wanted = _dtype(dtype)
    if wanted.kind in "mM":
        return _filled(shape, wanted, fill_value)
    return _creation.full(shape, asarray(fill_value).astype(wanted))


def _like(a: Any, dtype: Any, shape: Any) -> tuple[Any, np.dtype[Any]]:
    given = a if is_array(a) else np.asarray(a)
    return given.shape if shape is None else shape, _dtype(given.dtype if dtype is None else dtype)


def _like_function(make: Any, name: str) -> Any:
    def function(
        a: Any,
        /,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Any:
        sizes, wanted = _like(a, dtype, shape)
        if wanted.kind not in "mM":
            return getattr(_creation, name)(sizes, wanted)
        return make(sizes, wanted)

    function.__name__ = f"{name}_like"
    function.__doc__ = f"As :func:`numpy.{name}_like`, on the card."
    return function


for _make in (empty, zeros, ones):
    _name = _make.__name__
    implements_for_times(getattr(np, f"{_name}_like"))(_like_function(_make, _name))


@implements_for_times(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """As :func:`numpy.full_like`, on the card."""
    sizes, wanted = _like(a, dtype, shape)
    return full(sizes, fill_value, wanted)


@implements_for_times(np.arange)
def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    """As :func:`numpy.arange`; NumPy computes it, and it is uploaded once."""
    bounds = [x.asnumpy()[()] if is_array(x) else x for x in (start, stop, step)]
    ranged: Any = np.arange
    return from_numpy(ranged(*bounds, dtype))

"""Arrays made from a few numbers: ranges, windows, triangles, grids of indices.

Values that NumPy computes from scalars (a window, a spacing) are computed by NumPy on the host, so
that they are its bits, and uploaded; what grows with an array on the card is made there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _creation as creation
from daskasc.array._dispatch import implements, is_array, on_host
from daskasc.array._dtypes import torch
from daskasc.array._reductions import truth
from daskasc.array._storage import from_numpy, tensor_of, wrap


def _scalar(value: Any) -> Any:
    """Host value of a 0-d array; anything else as it is."""
    return value.asnumpy()[()] if is_array(value) and not value.ndim else value


def _spaced(function: Any) -> Callable[..., Any]:
    def spaced(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device", None)
        args = tuple(map(_scalar, args))
        if any(is_array(value) for value in (*args, *kwargs.values())):
            return _spaced_arrays(function, *args, **kwargs)
        made = function(*args, **kwargs)
        if isinstance(made, tuple):
            return from_numpy(made[0]), made[1]
        return from_numpy(made)

    spaced.__name__ = function.__name__
    spaced.__doc__ = f"As :func:`numpy.{function.__name__}`."
    return spaced


def _spaced_arrays(function: Any, start: Any, stop: Any, num: Any = 50, **kwargs: Any) -> Any:
    """Ranges between arrays of ends: ``linspace`` on the card, the others on the host."""
    known = {"endpoint", "retstep", "dtype", "axis"}
    if function is not np.linspace or kwargs.keys() - known:
        name = f"numpy.{function.__name__}"
        return on_host(name, function, (start, stop, num), kwargs)
    first, last = wrap(tensor_of(start)) * 1.0, wrap(tensor_of(stop)) * 1.0
    endpoint = kwargs.get("endpoint", True)
    parts = int(num) - 1 if endpoint else int(num)
    width = last - first
    number = from_numpy(np.arange(int(num), dtype=first.dtype))
    number = number.reshape((-1,) + (1,) * width.ndim)
    step = width / parts if parts > 0 else width * np.nan
    made = number * step + first if parts > 0 else number * width + first
    if endpoint and num > 1:
        made[-1] = last
    dtype = kwargs.get("dtype")
    if dtype is not None:
        made = (np.floor(made) if np.dtype(dtype).kind in "iu" else made).astype(dtype)
    made = np.moveaxis(made, 0, kwargs.get("axis", 0))
    return (made, step) if kwargs.get("retstep") else made


linspace = implements(np.linspace)(_spaced(np.linspace))
implements(np.logspace)(_spaced(np.logspace))
implements(np.geomspace)(_spaced(np.geomspace))


def _uploaded(function: Any) -> Callable[..., Any]:
    """Function whose result is made from scalars: NumPy's values on the card."""

    def made(*args: Any, **kwargs: Any) -> Any:
        found = function(*map(_scalar, args), **kwargs)
        if isinstance(found, tuple):
            return tuple(map(from_numpy, found))
        return from_numpy(found)

    made.__name__ = function.__name__
    made.__doc__ = f"As :func:`numpy.{function.__name__}`."
    return made


_MADE: tuple[Any, ...] = (
    np.bartlett,
    np.blackman,
    np.hamming,
    np.hanning,
    np.kaiser,
    np.indices,
    np.diag_indices,
    np.tril_indices,
    np.triu_indices,
    np.frombuffer,
    np.fromfile,
    np.fromiter,
    np.fromstring,
    np.loadtxt,
    np.genfromtxt,
)
for _maker in _MADE:
    implements(_maker)(_uploaded(_maker))


@implements(np.load)
def load(*args: Any, **kwargs: Any) -> Any:
    """As :func:`numpy.load`; an archive of several arrays stays NumPy's."""
    found = np.load(*args, **kwargs)
    return from_numpy(found) if isinstance(found, np.ndarray) else found


@implements(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """As :func:`numpy.asarray_chkfinite`; waits for the card."""
    array = creation.asarray(a, dtype)
    if array.dtype.kind in "fcV" and not bool(torch.isfinite(array._t).all()):
        raise ValueError("array must not contain infs or NaNs")
    return array


@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """As :func:`numpy.require`; arrays on a card are always aligned, owned or views."""
    wanted = {str(item).upper()[:1] for item in (requirements or ())}
    array = creation.asarray(a, dtype)
    if "F" in wanted:
        return creation.asfortranarray(array)
    if ("C" in wanted and not array._t.is_contiguous()) or "O" in wanted:
        return array.copy()
    return array


@implements(np.fromfunction)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """As :func:`numpy.fromfunction`; the function gets arrays on the card."""
    grids = from_numpy(np.indices(shape, dtype=dtype))
    return function(*grids, **kwargs)


@implements(np.mask_indices)
def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> tuple[Any, ...]:
    """As :func:`numpy.mask_indices`."""
    mask = mask_func(creation.ones((n, n), np.int64), k)
    return tuple(wrap(part.contiguous()) for part in truth(tensor_of(mask)).nonzero().unbind(1))


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """As :func:`numpy.diag_indices_from`."""
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return tuple(map(from_numpy, np.diag_indices(arr.shape[0], arr.ndim)))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """As :func:`numpy.tril_indices_from`."""
    return _triangle(arr, k, np.tril_indices)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """As :func:`numpy.triu_indices_from`."""
    return _triangle(arr, k, np.triu_indices)


def _triangle(arr: Any, k: int, function: Any) -> tuple[Any, ...]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tuple(map(from_numpy, function(arr.shape[-2], k=k, m=arr.shape[-1])))


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    """As :func:`numpy.ix_`."""
    found = []
    for place, value in enumerate(args):
        tensor = tensor_of(value)
        if tensor.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if not tensor.numel():
            tensor = tensor.to(torch.int64)
        if tensor.dtype is torch.bool:
            tensor = tensor.nonzero().reshape(-1)
        shape = [1] * len(args)
        shape[place] = -1
        found.append(wrap(tensor.reshape(shape)))
    return tuple(found)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """As :func:`numpy.diagflat`."""
    return np.diag(wrap(tensor_of(v).reshape(-1)), k)


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """As :func:`numpy.vander`."""
    array = wrap(tensor_of(x))
    if array.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = array.shape[0] if N is None else int(N)
    dtype = np.promote_types(array.dtype, int)
    column = array.astype(dtype)[:, None]
    made = creation.ones((array.shape[0], count), dtype)
    if count > 1:
        powers = creation.ones((array.shape[0], count - 1), dtype) * column
        made[:, 1:] = np.multiply.accumulate(powers, axis=1)
    return made if increasing else wrap(made._t.flip(1))

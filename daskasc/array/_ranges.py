"""Arrays made from a few numbers: ranges, windows, triangles, grids of indices.

They are made on the card; only what is read from files, buffers and iterators comes from the host.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device as devices
from daskasc.array import _creation as creation
from daskasc.array._dispatch import check_device, implements, is_array, on_host
from daskasc.array._dtypes import result, torch
from daskasc.array._interchange import unmarked
from daskasc.array._reductions import truth
from daskasc.array._storage import from_numpy, tensor_of, wrap
from daskasc.errors import UnsupportedDTypeError


def _scalar(value: Any) -> Any:
    """Host value of a 0-d array; anything else as it is."""
    return value.asnumpy()[()] if is_array(value) and not value.ndim else value


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """As :func:`numpy.linspace`."""
    check_device(device)
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    parts = count - 1 if endpoint else count
    ends = [_scalar(end) for end in (start, stop)]
    first, last = (wrap(tensor_of(end)) for end in ends)
    # Python's numbers take the dtype of the other end
    weak = [
        end if type(end) in (int, float, complex) else array.dtype
        for end, array in zip(ends, (first, last), strict=True)
    ]
    given = result(np.result_type(*weak, float(count)))
    first, last = first.astype(given), last.astype(given)
    width = last - first
    number = creation.arange(count, dtype=np.zeros(0, given).real.dtype)
    number = number.reshape((-1,) + (1,) * width.ndim)
    step = width / parts if parts > 0 else width * np.nan
    if parts <= 0:
        made = number * width + first
    elif bool((step == 0).any()):
        made = number / parts * width + first  # steps too small for the dtype
    else:
        made = number * step + first
    if endpoint and count > 1:
        made[-1] = last
    made = np.moveaxis(made, 0, axis) if axis else made
    if dtype is not None:
        made = (np.floor(made) if np.dtype(dtype).kind in "iu" else made).astype(dtype)
    return (made, step) if retstep else made


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """As :func:`numpy.logspace`."""
    if is_array(base) and base.ndim:
        return on_host("numpy.logspace", np.logspace, (start, stop, num, endpoint, base), {})
    made = np.power(_scalar(base), linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else made.astype(dtype)


@implements(np.geomspace)
def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """As :func:`numpy.geomspace`; between complex numbers NumPy computes."""
    first, last = (wrap(tensor_of(value)) for value in (start, stop))
    if first.dtype.kind in "cV" or last.dtype.kind in "cV":
        if not is_array(start) and not is_array(stop):
            return from_numpy(np.geomspace(start, stop, num, endpoint, dtype, axis))
        options = {"endpoint": endpoint, "dtype": dtype, "axis": axis}
        return on_host("numpy.geomspace", np.geomspace, (start, stop, num), options)
    if bool(np.any((first == 0) | (last == 0))):
        raise ValueError("Geometric sequence cannot include zero")
    # NumPy's algorithm, its dtype included: float64 unless a narrower one is asked for
    kind = np.result_type(first.dtype, last.dtype, float(num), np.zeros((), dtype))
    working = result(kind, dtype is not None)
    first, last = first.astype(working), last.astype(working)
    sign = np.sign(first)
    first, last = first / sign, last / sign
    made = np.power(10.0, linspace(np.log10(first), np.log10(last), num, endpoint))
    if made.shape[0]:
        made[0] = first
    if made.shape[0] > 1 and endpoint:
        made[-1] = last
    made = (made * sign).astype(working if dtype is None else dtype, copy=False)
    return np.moveaxis(made, 0, axis) if axis else made


def _window(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Window of M points from its formula in n = 1 - M, 3 - M, ..., M - 1."""

    def window(M: Any) -> Any:
        size = _scalar(M)
        dtype = result(np.dtype("f8"))
        if size < 1:
            return creation.zeros(0, dtype)
        if size == 1:
            return creation.ones(1, dtype)
        return function(creation.arange(1 - size, size, 2).astype(dtype), size)

    return window


def _bartlett(n: Any, size: Any) -> Any:
    return np.where(n <= 0, 1 + n / (size - 1), 1 - n / (size - 1))


def _blackman(n: Any, size: Any) -> Any:
    turn = np.pi * n / (size - 1)
    return 0.42 + 0.5 * np.cos(turn) + 0.08 * np.cos(2.0 * turn)


def _hamming(n: Any, size: Any) -> Any:
    return 0.54 + 0.46 * np.cos(np.pi * n / (size - 1))


def _hanning(n: Any, size: Any) -> Any:
    return 0.5 + 0.5 * np.cos(np.pi * n / (size - 1))


implements(np.bartlett)(_window(_bartlett))
implements(np.blackman)(_window(_blackman))
implements(np.hamming)(_window(_hamming))
implements(np.hanning)(_window(_hanning))


@implements(np.kaiser)
def kaiser(M: Any, beta: Any) -> Any:
    """As :func:`numpy.kaiser`."""
    size, shape = _scalar(M), float(_scalar(beta))
    if size == 1:
        return creation.ones(1)
    half = (size - 1) / 2.0
    n = creation.arange(0, size).astype(result(np.dtype("f8")))
    return np.i0(shape * np.sqrt(1 - ((n - half) / half) ** 2.0)) / float(np.i0(shape))


@implements(np.indices)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """As :func:`numpy.indices`."""
    sizes = tuple(map(operator.index, dimensions))
    grids = []
    for axis, size in enumerate(sizes):
        shape = [1] * len(sizes)
        shape[axis] = size
        grids.append(creation.arange(size, dtype=dtype)._t.reshape(shape))
    if sparse:
        return tuple(map(wrap, grids))
    if not grids:
        return creation.empty((0,), dtype)
    return wrap(torch.stack([grid.expand(sizes) for grid in grids]))


@implements(np.diag_indices)
def diag_indices(n: Any, ndim: int = 2) -> tuple[Any, ...]:
    """As :func:`numpy.diag_indices`."""
    return (creation.arange(n),) * ndim


def _triangle_indices(n: Any, k: int, m: Any, lower: bool) -> tuple[Any, ...]:
    made = (torch.tril_indices if lower else torch.triu_indices)(
        int(n), int(n if m is None else m), int(k), device=devices.current().torch_device
    )
    return tuple(wrap(part.contiguous()) for part in made)


@implements(np.tril_indices)
def tril_indices(n: Any, k: int = 0, m: Any = None) -> tuple[Any, ...]:
    """As :func:`numpy.tril_indices`."""
    return _triangle_indices(n, k, m, True)


@implements(np.triu_indices)
def triu_indices(n: Any, k: int = 0, m: Any = None) -> tuple[Any, ...]:
    """As :func:`numpy.triu_indices`."""
    return _triangle_indices(n, k, m, False)


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
    """As :func:`numpy.load`; an archive of several arrays gives a dict of them.

    Arrays without a form on the card (strings, objects) stay NumPy's.
    """
    found = np.load(*args, **kwargs)
    if not isinstance(found, np.lib.npyio.NpzFile):
        return _onto_card(found)
    with found:
        return {name: _onto_card(found[name]) for name in found.files}


def _onto_card(value: Any) -> Any:
    try:
        return from_numpy(unmarked(value)) if isinstance(value, np.ndarray) else value
    except UnsupportedDTypeError:
        return value


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
    grids = indices(shape, dtype=dtype)
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
    return diag_indices(arr.shape[0], arr.ndim)


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """As :func:`numpy.tril_indices_from`."""
    return _triangle(arr, k, True)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """As :func:`numpy.triu_indices_from`."""
    return _triangle(arr, k, False)


def _triangle(arr: Any, k: int, lower: bool) -> tuple[Any, ...]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return _triangle_indices(arr.shape[-2], k, arr.shape[-1], lower)


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    """As :func:`numpy.ix_`."""
    found = []
    for place, value in enumerate(args):
        tensor = tensor_of(value)
        if tensor.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if not (tensor.numel() or is_array(value) or isinstance(value, np.ndarray)):
            tensor = tensor.to(torch.int64)  # of an empty list, whose dtype says nothing
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
        powers = column._t.expand(array.shape[0], count - 1)
        made[:, 1:] = np.multiply.accumulate(wrap(powers), axis=1)
    return made if increasing else wrap(made._t.flip(1))

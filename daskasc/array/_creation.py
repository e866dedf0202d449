"""New arrays: from host data, filled, by ranges, and like another one.

These implement NumPy's creation functions called with ``like=`` (NumPy drops that argument before
it dispatches) and are the creation functions of the array API namespace. Everything is made on
this process's card; ``subok`` has no meaning there and is accepted.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _dispatch, _indexing, _layout, _masks
from daskasc.array._dispatch import F, implements
from daskasc.array._dtypes import NUMPY, cast, result, torch, torch_dtype
from daskasc.array._interchange import adopt
from daskasc.array._operators import can_cast
from daskasc.array._storage import from_numpy, tensor_of, wrap
from daskasc.array._values import copied, whole_numbers

_FLOAT64 = np.dtype("f8")


def creates(*functions: Any) -> Callable[[F], F]:
    """Register a creation function, which also answers calls that do not pass the table.

    Asked for times, the returned function does what the table of times says.
    """

    def register(implementation: F) -> F:
        implements(*functions)(implementation)

        @functools.wraps(implementation)
        def function(*args: Any, **kwargs: Any) -> Any:
            if "device" in kwargs:
                _dispatch.check_device(kwargs.pop("device"))
            if device.current().restricts:
                return _dispatch.call(functions[0], args, kwargs)
            try:
                return implementation(*args, **kwargs)
            except _dispatch.MeetsTimes:
                return _dispatch.with_times(functions[0], args, kwargs)

        return function  # type: ignore[return-value]

    return register


def _place() -> Any:
    return device.current().torch_device


def _dtype(dtype: Any) -> Any:
    """Torch dtype asked for; the default float under the promotion policy for None."""
    return torch_dtype(result(_FLOAT64) if dtype is None else dtype)


def _shape(shape: Any) -> tuple[int, ...]:
    numbers = whole_numbers(shape)
    if min(numbers, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    return numbers


@creates(np.asarray, np.asanyarray)
def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
) -> Any:
    """AscendArray of anything array-like; an AscendArray of the right dtype is returned itself."""
    if hasattr(a, "__dask_graph__"):
        a = a.compute(scheduler="sync")  # as NumPy's functions do, without its conversion
    if order is not None and order != "K":
        return _in_order(asarray(a, dtype, copy=copy), order)
    if _dispatch.is_array(a) and (dtype is None or a.dtype == np.dtype(dtype)):
        return a.copy() if copy else a
    if isinstance(a, torch.Tensor):
        tensor = adopt(a)
        made = tensor if dtype is None else cast(tensor, torch_dtype(dtype))
        return wrap(made.clone() if copy and made is tensor else made)
    if dtype is not None and not _dispatch.is_array(a) and not _nested_arrays(a):
        # converted by NumPy, so that Python integers out of range raise as they do there
        return from_numpy(np.asarray(_masks.plain(a), dtype))
    tensor = tensor_of(a)
    if dtype is None and _are_numbers(a):
        dtype = result(NUMPY[tensor.dtype])  # numbers, which named no dtype
    return wrap(tensor if dtype is None else cast(tensor, torch_dtype(dtype)))


asanyarray = asarray


@implements(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """As :func:`numpy.ascontiguousarray`."""
    made = asarray(a, dtype)
    tensor = _layout.arranged(made._t if made.ndim else made._t.reshape(1), "C")
    return made if tensor is made._t else wrap(tensor)


@implements(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """As :func:`numpy.asfortranarray`."""
    made = asarray(a, dtype)
    return _in_order(made, "F") if made.ndim else wrap(made._t.reshape(1))


def _in_order(array: Any, order: Any) -> Any:
    """The array itself if its elements lie in an order, else a copy."""
    # without a copy, A takes any order
    if order in (None, "K", "A") or _layout.fits(array.tensor, order):
        return array
    return array.copy(order)


def _are_numbers(value: Any) -> bool:
    """Whether a value is a Python number or nested lists of numbers: no dtype was named."""
    if isinstance(value, list | tuple):
        return not value or _are_numbers(value[0])
    return type(value) in (bool, int, float, complex)


def _nested_arrays(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        _dispatch.is_array(item) or _nested_arrays(item) for item in value
    )


@creates(np.array)
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
    """As :func:`numpy.array`."""
    if copy and _dispatch.is_array(object) and (dtype is None or object.dtype == np.dtype(dtype)):
        made = object.copy("K" if order is None else order)
    else:
        made = _in_order(asarray(object, dtype, copy=copy), order)
    return with_axes(made, ndmin)


def with_axes(array: Any, ndmin: int) -> Any:
    """View of an array with new axes in front, so that it has `ndmin`; itself where it has."""
    missing = ndmin - array.ndim
    return array[(None,) * missing] if missing > 0 else array


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """As :func:`numpy.copy`."""
    return asarray(a).copy(order)


def _made(make: Any, shape: Any, dtype: Any, order: Any) -> Any:
    sizes, wanted = _shape(shape), _dtype(dtype)
    if order == "C" or _layout.order_of(order, "CF") == "C":
        return wrap(make(sizes, dtype=wanted, device=_place()))
    return wrap(_layout.turned(make(sizes[::-1], dtype=wanted, device=_place())))


@creates(np.empty)
def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """As :func:`numpy.empty`."""
    return _made(torch.empty, shape, dtype, order)


@creates(np.zeros)
def zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """As :func:`numpy.zeros`."""
    return _made(torch.zeros, shape, dtype, order)


@creates(np.ones)
def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """As :func:`numpy.ones`."""
    return _made(torch.ones, shape, dtype, order)


@creates(np.full)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None
) -> Any:
    """As :func:`numpy.full`."""
    if dtype is None:
        dtype = result(getattr(fill_value, "dtype", None) or np.asarray(fill_value).dtype)
    return _filled(empty(shape, dtype, order), fill_value)


def _filled(made: Any, value: Any) -> Any:
    _indexing.store(made._t, copied(value, made._t.dtype))
    return made


def _like(a: Any, dtype: Any, shape: Any, order: Any) -> Any:
    """Uninitialised array of the form of another one."""
    tensor = tensor_of(a)
    sizes = tuple(tensor.shape) if shape is None else _shape(shape)
    wanted = tensor.dtype if dtype is None else torch_dtype(dtype)
    return wrap(_layout.new_like(tensor, sizes, wanted, order))


@creates(np.empty_like)
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """As :func:`numpy.empty_like`."""
    return _like(prototype, dtype, shape, order)


@creates(np.zeros_like)
def zeros_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """As :func:`numpy.zeros_like`."""
    made = _like(a, dtype, shape, order)
    made._t.zero_()
    return made


@creates(np.ones_like)
def ones_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """As :func:`numpy.ones_like`."""
    made = _like(a, dtype, shape, order)
    made._t.fill_(1)
    return made


@creates(np.full_like)
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
    """As :func:`numpy.full_like`."""
    return _filled(_like(a, dtype, shape, order), fill_value)


@creates(np.arange)
def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    """As :func:`numpy.arange`."""
    bounds = [x._t.item() if _dispatch.is_array(x) else x for x in (start, stop, step)]
    start, stop, step = bounds
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    numbers = all(
        isinstance(x, int | float | np.integer | np.floating) for x in (start, stop, step)
    )
    wanted = np.dtype(dtype) if dtype is not None else None
    if numbers and wanted is None:
        wanted = np.result_type(*(np.asarray(x).dtype for x in (start, stop, step)))
    if not numbers or wanted is None or wanted.name not in _RANGES or not step:
        ranged: Any = np.arange
        return from_numpy(ranged(start, stop, step, dtype))
    count = max(math.ceil((stop - start) / step), 0)
    # NumPy's rounding: the first two values in the dtype, their difference, multiples of it
    first, second = np.array([start, start + step if count > 1 else start], object).astype(wanted)
    target = torch_dtype(wanted if dtype is not None else result(wanted))
    steps = torch.arange(count, dtype=torch_dtype(wanted), device=_place())
    made = steps * (second - first).item() + first.item()
    return wrap(made.to(target))


_RANGES = frozenset(("int32", "int64", "float32", "float64"))


def _default(dtype: Any) -> Any:
    """None for the class ``float``, which NumPy's own dispatch passes where no dtype was given."""
    return None if dtype is float else dtype


@creates(np.eye)
def eye(
    N: Any,
    M: Any = None,
    k: int = 0,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
) -> Any:
    """As :func:`numpy.eye`."""
    rows = operator.index(N)
    made = zeros((rows, rows if M is None else operator.index(M)), _default(dtype))
    made._t.diagonal(k).fill_(1)
    return made


@implements(np.identity)
def identity(n: Any, dtype: Any = None) -> Any:
    """As :func:`numpy.identity`."""
    return eye(n, dtype=dtype)


@implements(np.tri)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Any:
    """As :func:`numpy.tri`."""
    return wrap(torch.tril(ones((N, N if M is None else M), _default(dtype))._t, k))


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """As :func:`numpy.meshgrid`."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    tensors = [tensor_of(x).reshape(-1) for x in xi]
    n = len(tensors)
    grids = []
    for i, tensor in enumerate(tensors):
        axis = 1 - i if indexing == "xy" and i < 2 and n > 1 else i
        grids.append(tensor.reshape([-1 if j == axis else 1 for j in range(n)]))
    if not sparse:
        shape = np.broadcast_shapes(*(tuple(g.shape) for g in grids))
        grids = [g.expand(shape) for g in grids]
    return tuple(wrap(g.clone() if copy else g) for g in grids)


_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """As :func:`numpy.copyto`."""
    if not _dispatch.is_array(dst):
        if isinstance(dst, np.ndarray) and _dispatch.is_array(src) and not src.ndim:
            np.copyto(dst, src.asnumpy(), casting, where)  # type: ignore[arg-type]
            return
        raise TypeError("copyto from a card into a NumPy array: call .asnumpy() on the source")
    # an integer is converted below, after the casting rule has had its say
    source = None if type(src) is int else tensor_of(src)
    given = np.dtype("i8") if source is None else NUMPY[source.dtype]
    if type(src) in (int, float, complex) and casting not in ("equiv", "unsafe"):
        # Python's numbers go into every dtype of their kind or a higher one
        allowed = _RANKS.get(dst.dtype.kind, -1) >= _RANKS[given.kind]
    else:
        allowed = can_cast(given, dst.dtype, casting)
    if not allowed:
        raise TypeError(
            f"Cannot cast array data from {given!r} to {dst.dtype!r} according to the rule "
            f"'{casting}'"
        )
    target = dst._t.dtype
    source = copied(src, target) if source is None else cast(source, target)
    if where is not True:
        source = torch.where(tensor_of(where, torch.bool), source, dst._t)
    dst._write(source)

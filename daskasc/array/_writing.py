"""Functions that write into their first argument, and those that insert or choose elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array import _indexing
from daskasc.array import _shaping as shaping
from daskasc.array._dispatch import implements, into, is_array
from daskasc.array._dtypes import NUMPY, is_integer, torch, twin
from daskasc.array._operators import can_cast
from daskasc.array._reductions import normalize_axes, normalize_axis, truth
from daskasc.array._selection import weakly_cast
from daskasc.array._shaping import common, moved
from daskasc.array._storage import stack, tensor_of, wrap
from daskasc.array._values import check_cast, places_of, value_for, whole_numbers


def _target(function: str, a: Any) -> Any:
    if not is_array(a):
        raise TypeError(f"{function} writes into {type(a).__name__}; it has to be an AscendArray")
    a._check_writable()
    return a


def _flat(a: Any) -> Any:
    """1-D tensor with the elements in C order; a copy where no view is possible."""
    return a._t.reshape(-1)


def _store_flat(a: Any, flat: Any) -> None:
    if flat.data_ptr() != a._t.data_ptr() or not a._t.is_contiguous():
        a._write(flat.reshape(a.shape))


def _cycled(values: Any, count: int) -> Any:
    """`count` elements of a tensor, repeated from the start where there are fewer."""
    tensor = values.reshape(-1)
    if not tensor.numel():
        raise ValueError("Cannot insert from an empty array!")
    return moved(tensor, lambda t: t.repeat(-(-count // t.shape[0]))[:count])


def _safely(function: str, values: Any, array: Any) -> Any:
    """Tensor of values for an array; arrays of another dtype have to fit it by the rule "safe".

    Scalars are cast, and with them arrays on the card without axes, as reductions give them.
    """
    strict = values.ndim > 0 if is_array(values) else isinstance(values, np.ndarray)
    if strict and not can_cast(values.dtype, array.dtype, "safe"):
        raise TypeError(
            f"Cannot cast array data from {values.dtype!r} to {array.dtype!r} according to the "
            f"rule 'safe', as {function} needs; convert the values by .astype"
        )
    return value_for(values, array._t.dtype)


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """As :func:`numpy.put`; of duplicate indices the last one wins."""
    array = _target("put", a)
    places = places_of(ind).reshape(-1)
    size = array.size
    if not size and places.numel():
        raise IndexError("cannot replace elements of an empty array")
    if mode == "wrap":
        places = places % size
    elif mode == "clip":
        places = places.clamp(0, max(size - 1, 0))
    elif mode != "raise":
        raise ValueError(f"clipmode is {mode!r}; allowed: raise, wrap, clip")
    values = value_for(v, array._t.dtype)
    if not places.numel() or not values.numel():
        return
    values = _cycled(values, places.shape[0])
    flat = _flat(array)
    _indexing.setitem(flat, wrap(places), wrap(values))
    _store_flat(array, flat)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """As :func:`numpy.place`."""
    array = _target("place", arr)
    where = truth(tensor_of(mask)).reshape(-1)
    if where.shape[0] != array.size:
        raise ValueError("place: mask and data must be the same size")
    places = where.nonzero().reshape(-1)
    values = _safely("place", vals, array)
    if places.shape[0]:
        flat = _flat(array)
        twin(flat)[places] = twin(_cycled(values, places.shape[0]))
        _store_flat(array, flat)


@implements(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """As :func:`numpy.putmask`: element i gets value i, repeated where there are fewer."""
    array = _target("putmask", a)
    where = truth(tensor_of(mask))
    if where.numel() != array.size:
        raise ValueError("putmask: mask and data must be the same size")
    found = _safely("putmask", values, array)
    if not found.numel():
        return
    source = _cycled(found, array.size).reshape(array.shape)
    array._write(torch.where(where.reshape(array.shape), source, array._t))


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """As :func:`numpy.put_along_axis`."""
    array = _target("put_along_axis", arr)
    places = tensor_of(indices)
    if not is_integer(places):
        raise IndexError("`indices` must be an integer array")
    tensor = _flat(array) if axis is None else array._t
    number = 0 if axis is None else normalize_axis(axis, tensor.ndim)
    if tensor.ndim != places.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    index: list[Any] = []
    for i, size in enumerate(tensor.shape):
        if i == number:
            index.append(wrap(places))
            continue
        shape = [1] * tensor.ndim
        shape[i] = -1
        index.append(wrap(torch.arange(size, device=tensor.device).reshape(shape)))
    _indexing.setitem(tensor, tuple(index), values)
    if axis is None:
        _store_flat(array, tensor)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """As :func:`numpy.fill_diagonal`."""
    array = _target("fill_diagonal", a)
    if array.ndim < 2:
        raise ValueError("array must be at least 2-d")
    end = None
    if array.ndim == 2:
        step = array.shape[1] + 1
        if not wrap:
            end = array.shape[1] * array.shape[1]
    else:
        if len(set(array.shape)) > 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + int(np.cumprod(array.shape[:-1]).sum())
    flat = _flat(array)
    count = len(range(0, min(array.size, end or array.size), step))
    found = value_for(val, flat.dtype)
    if count and found.numel():
        values = _cycled(found, count)
        twin(flat)[0 : end or array.size : step] = twin(values)
        _store_flat(array, flat)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """As :func:`numpy.insert`."""
    tensor = tensor_of(arr)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    number = normalize_axis(axis, tensor.ndim)
    length = tensor.shape[number]
    scalar = False
    if isinstance(obj, slice):
        given: Any = np.arange(*obj.indices(length))
    else:
        given = obj._t if is_array(obj) else np.asarray(obj)
        scalar = given.ndim == 0
        if given.ndim > 1 or (scalar and str(given.dtype).endswith("bool")):
            raise ValueError(
                f"obj of insert is {given.dtype} with {given.ndim} axes; it has to be a whole "
                "number, a slice, or one axis of numbers or of bools"
            )
        given = given.reshape(-1)
    places = tensor_of(given) if isinstance(given, np.ndarray) else given
    if places.dtype is torch.bool:
        places = places.nonzero().reshape(-1)
    elif (places.shape[0] or hasattr(obj, "dtype")) and not is_integer(places):
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    else:
        _check_gaps(given, length, number)
    places = places.to(torch.int64)
    places = torch.where(places < 0, places + length, places)
    source = value_for(values, tensor.dtype)
    if scalar or places.shape[0] == 1:
        while source.ndim < tensor.ndim:
            source = source.unsqueeze(0)
        if scalar:
            source = source.movedim(0, number)
        count = source.shape[number]
        places = places.expand(count) if places.shape[0] else places
    else:
        count = places.shape[0]
    order = torch.argsort(places, stable=True)
    # the n-th of them in order lies n elements further
    new = places + torch.argsort(order)
    shape = list(tensor.shape)
    shape[number] += count
    made = torch.empty(shape, dtype=tensor.dtype, device=tensor.device)
    old = torch.ones(shape[number], dtype=torch.bool, device=tensor.device)
    _indexing.setitem(old, (wrap(new),), False)
    whole = (slice(None),) * number
    _indexing.setitem(made, (*whole, wrap(old.nonzero().reshape(-1))), wrap(tensor))
    _indexing.setitem(made, (*whole, wrap(new)), wrap(source))
    return wrap(made)


def _check_gaps(places: Any, length: int, number: int) -> None:
    """Raise IndexError for a place outside an axis; the end is a place, too."""
    if not places.shape[0]:
        return
    if isinstance(places, np.ndarray):
        low, high = int(places.min()), int(places.max())
    else:
        low, high = wrap(torch.stack([places.min(), places.max()])).tolist()
    for where in (low, high):
        if not -length <= where <= length:
            raise IndexError(f"index {where} is out of bounds for axis {number} with size {length}")


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """As :func:`numpy.resize`."""
    shape = whole_numbers(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    tensor = tensor_of(a).reshape(-1)
    count = int(np.prod(shape))
    if not count or not tensor.numel():
        return wrap(torch.zeros(shape, dtype=tensor.dtype, device=tensor.device))
    return wrap(_cycled(tensor, count).reshape(shape))


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """As :func:`numpy.choose`."""
    places = tensor_of(a)
    check_cast(NUMPY[places.dtype], np.dtype(np.intp), "safe")
    places = places.to(torch.int64)
    if is_array(choices):
        options = [choices._t[i] for i in range(choices.shape[0])]
    else:
        options = weakly_cast(list(choices))
    if not options:
        raise ValueError("choices hold no array; at least one is needed")
    options = common(options)
    shape = np.broadcast_shapes(tuple(places.shape), *(tuple(t.shape) for t in options))
    count = len(options)
    if mode == "wrap":
        places = places % count
    elif mode == "clip":
        places = places.clamp(0, count - 1)
    elif mode != "raise":
        raise ValueError(f"mode is {mode!r}; allowed: raise, wrap, clip")
    elif places.numel() and bool(((places < 0) | (places >= count)).any()):
        raise ValueError("invalid entry in choice array")
    layers = stack([t.expand(shape) for t in options])
    found = wrap(moved(layers, lambda t: t.gather(0, places.expand(shape).unsqueeze(0))[0]))
    return into(out, found)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """As :func:`numpy.piecewise`; the functions get arrays on the card."""
    array = wrap(tensor_of(x))
    if is_array(condlist) or not (
        isinstance(condlist, list | tuple)
        and len(condlist)
        and (isinstance(condlist[0], list | tuple) or np.ndim(condlist[0]) or array.ndim == 0)
    ):
        conditions = truth(tensor_of(condlist))
        several = conditions.ndim > 1 or (conditions.ndim and not array.ndim)
        masks = list(conditions) if several else [conditions]
    else:
        masks = [truth(tensor_of(condition)) for condition in condlist]
    count = len(masks)
    if count == len(funclist) - 1:
        rest = ~masks[0]
        for mask in masks[1:]:
            rest = rest & ~mask
        masks.append(rest)
    elif count != len(funclist):
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are expected"
        )
    made = wrap(torch.zeros_like(array._t))
    for mask, function in zip(masks, funclist, strict=True):
        where = wrap(mask)
        if not callable(function):
            made[where] = function
            continue
        chosen = array[where]
        if chosen.size:
            made[where] = function(chosen, *args, **kw)
    return made


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """As :func:`numpy.trim_zeros`; waits for the card."""
    letters = trim.lower()
    if letters not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    array = wrap(tensor_of(filt))
    if axis is None:
        axes = tuple(range(array.ndim))
    else:
        axes = normalize_axes(axis, array.ndim)
    places = truth(array._t).nonzero()
    index: list[slice] = []
    for i, size in enumerate(array.shape):
        if i not in axes:
            index.append(slice(None))
        elif not places.shape[0]:
            index.append(slice(0, 0))
        else:
            low, high = int(places[:, i].amin()), int(places[:, i].amax()) + 1
            index.append(slice(low if "f" in letters else 0, high if "b" in letters else size))
    return array[tuple(index)]


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """As :func:`numpy.dsplit`."""
    if tensor_of(ary).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return shaping.split(ary, indices_or_sections, 2)

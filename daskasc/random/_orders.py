"""Orders and samples: permutation, permuted, shuffle, choice.

An order is the sorting order of random 64-bit keys. Drawing without replacement and with
probabilities takes the least of exponential waiting times with these rates (Efraimidis and
Spirakis), which is drawing one after the other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import MutableSequence
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import torch, twin
from daskasc.array._storage import from_numpy, wrap_times
from daskasc.random._integers import below
from daskasc.random._words import Source, shape_of


def order(source: Source, count: int) -> Any:
    """Tensor of 0 to count - 1 in random order."""
    return torch.argsort(source.raw((count,)))


def _select(tensor: Any, axis: int, places: Any) -> Any:
    return twin(tensor).index_select(axis, places).view(tensor.dtype)


class _Elements:
    """Tensor of an array's elements, and the way back to an array; times go by their ticks."""

    def __init__(self, source: Source, x: Any) -> None:
        array = x if is_array(x) or source.host else from_numpy(x)
        self._times = array.dtype if getattr(array, "_ticks", None) is not None else None
        self._source = source
        self.tensor = source.tensor(array if self._times is None else array._ticks)

    def array(self, tensor: Any) -> Any:
        made = self._source.array(tensor)
        return made if self._times is None else wrap_times(made, self._times)


def permutation(source: Source, x: Any, axis: int) -> Any:
    """As :meth:`numpy.random.Generator.permutation`."""
    if isinstance(x, int | np.integer):
        return source.array(order(source, int(x)))
    elements = _Elements(source, x)
    number = _axis(axis, elements.tensor.ndim)
    places = order(source, elements.tensor.shape[number])
    return elements.array(_select(elements.tensor, number, places))


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def permuted(source: Source, x: Any, axis: Any, out: Any) -> Any:
    """As :meth:`numpy.random.Generator.permuted`."""
    if out is not None:
        if not is_array(out):
            raise TypeError("out must be a numpy array or an array on the card")
        if out.shape != np.shape(x):
            raise ValueError("out must have the same shape as x")
    elements = _Elements(source, x)
    tensor = elements.tensor
    if axis is None:
        places = order(source, tensor.numel())
        found = _select(tensor.reshape(-1), 0, places).reshape(tensor.shape)
    else:
        number = _axis(axis, tensor.ndim)
        places = torch.argsort(source.raw(tuple(tensor.shape)), dim=number)
        found = torch.take_along_dim(twin(tensor), places, number).view(tensor.dtype)
    made = elements.array(found)
    if out is None:
        return made
    np.copyto(out, made, casting="safe")
    return out


def shuffle(source: Source, x: Any, axis: int) -> None:
    """As :meth:`numpy.random.Generator.shuffle`; arrays on the host are put in order there."""
    x = getattr(x, "_ticks", x)  # times are in order when their ticks are
    if is_array(x):
        number = _axis(axis, x.ndim)
        x._write(_select(x._t, number, order(source, x.shape[number])))
    elif isinstance(x, np.ndarray):
        number = _axis(axis, x.ndim)
        x[...] = np.take(x, _down(order(source, x.shape[number])), number)
    elif isinstance(x, MutableSequence):
        if axis:
            raise NotImplementedError("Axis argument is only supported on ndarray objects")
        x[:] = [x[i] for i in _down(order(source, len(x)))]
    else:
        raise TypeError(f"{type(x).__name__} cannot be shuffled in place")


def _down(tensor: Any) -> np.ndarray[Any, Any]:
    return device.current().download(tensor)


def choice(
    source: Source, a: Any, size: Any, replace: bool, p: Any, axis: int, shuffle: bool
) -> Any:
    """As :meth:`numpy.random.Generator.choice`."""
    shape = shape_of(size)
    count = math.prod(shape)
    pool, number, many = _population(source, a, axis, count)
    weights = None if p is None else _probabilities(source, p, many)
    if replace:
        places = _with_replacement(source, shape, many, weights)
    elif count > many:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    elif weights is None:
        places = order(source, many)[:count].reshape(shape)
    else:
        places = _one_by_one(source, weights, count).reshape(shape)
    if pool is None:
        return source.array(places)
    tensor = pool.tensor
    taken = _select(tensor, number, places.reshape(-1))
    return pool.array(taken.reshape((*tensor.shape[:number], *shape, *tensor.shape[number + 1 :])))


def _population(source: Source, a: Any, axis: int, count: int) -> tuple[Any, int, int]:
    """Elements (None for a range), their axis, and how many there are; NumPy's errors."""
    values = a if is_array(a) else np.asarray(a)
    if values.ndim:
        number = _axis(axis, values.ndim)
        many = int(values.shape[number])
        if not many and count:
            raise ValueError("a cannot be empty unless no samples are taken")
        return _Elements(source, values), number, many
    try:
        many = operator.index(values.item())
    except TypeError as error:
        raise ValueError("a must be a sequence or an integer, not " + str(type(a))) from error
    if many <= 0 and count:
        raise ValueError("a must be a positive integer unless no samples are taken")
    return None, 0, max(many, 0)


def _probabilities(source: Source, p: Any, many: int) -> Any:
    """Probabilities as float64; NumPy's checks and tolerance."""
    source.floats(np.float64)
    tensor = source.tensor(p if is_array(p) else np.asarray(p), torch.float64)
    if tensor.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if tensor.numel() != many:
        raise ValueError("a and p must have same size")
    total, least, bad = torch.stack(
        [tensor.sum(), tensor.min(), torch.isnan(tensor).any().to(torch.float64)]
    ).tolist()
    if bad:
        raise ValueError("Probabilities contain NaN")
    if least < 0:
        raise ValueError("Probabilities are not non-negative")
    dtype = getattr(p, "dtype", np.dtype(np.float64))
    tolerance = math.sqrt(np.finfo(np.float64).eps)
    if dtype.kind == "f":
        tolerance = max(tolerance, math.sqrt(np.finfo(dtype).eps))
    if abs(total - 1.0) > tolerance:
        raise ValueError(
            "Probabilities do not sum to 1. See Notes section of docstring for more information."
        )
    return tensor


def _with_replacement(source: Source, shape: tuple[int, ...], many: int, weights: Any) -> Any:
    if not many:
        return torch.empty(shape, dtype=torch.int64, device=source.place)
    if weights is None:
        return below(source, shape, many)
    cumulative = weights.cumsum(0)
    cumulative = cumulative / cumulative[-1]
    u = source.random(shape, torch.float64)
    return torch.searchsorted(cumulative, u, right=True).clamp_(max=many - 1)


def _one_by_one(source: Source, weights: Any, count: int) -> Any:
    """Take `count` places in the order in which they would be drawn."""
    if int(weights.count_nonzero()) < count:
        raise ValueError("Fewer non-zero entries in p than size")
    waits = source.exponential((weights.numel(),), torch.float64) / weights
    return torch.topk(waits, count, largest=False, sorted=True).indices

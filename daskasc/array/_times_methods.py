"""``__array_ufunc__`` of arrays of times: calls, and the ufunc methods that the card knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _dispatch, _guard, _objects, _operators
from daskasc.array._dispatch import NeedsHost, is_array
from daskasc.array._storage import wrap
from daskasc.array._times_convert import is_times
from daskasc.array._times_ufuncs import last, unlast
from daskasc.array._ufunc_methods import one_axis
from daskasc.array._ufuncs import _at_on_host

REDUCE: dict[np.ufunc, Any] = {
    np.add: np.sum,
    np.minimum: np.min,
    np.maximum: np.max,
    np.fmin: np.nanmin,
    np.fmax: np.nanmax,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
# running extremes: the ufunc on integers, and whether these are keys that put NaT last
_RUNNING: dict[np.ufunc, tuple[np.ufunc, bool]] = {
    np.minimum: (np.minimum, False),
    np.maximum: (np.maximum, True),
    np.fmin: (np.minimum, True),
    np.fmax: (np.maximum, False),
}


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Implement ``__array_ufunc__`` of arrays of times."""
    out = kwargs.get("out") or ()
    for value in (*inputs, *(x for x in out if x is not None)):
        if not is_array(value) and not _operators.accepts(value, np.ndarray):
            if kwargs or ufunc not in _objects.COMPARISONS or _objects.protocol_of_its_own(value):
                return NotImplemented
            name = _dispatch.name_of(ufunc)
            return _dispatch.on_host(name, getattr(ufunc, method), inputs, kwargs)
    if not out:
        kwargs.pop("out", None)
    if method == "__call__":
        try:
            return _dispatch.with_times(ufunc, inputs, kwargs)
        except TypeError:
            other = next((x for x in inputs if isinstance(x, np.ndarray | np.generic)), None)
            if kwargs or other is None or ufunc not in (np.equal, np.not_equal):
                raise
            # asked by ``other == self`` of NumPy's class, perhaps: its answer where no loop is
            return _objects.COMPARISONS[ufunc](self, other)
    if out:
        kwargs["out"] = out[0] if len(out) == 1 else out
    name = f"{_dispatch.name_of(ufunc)}.{method}"
    found = _METHODS.get(method)
    why: NeedsHost | None = None
    if found is not None:
        try:
            return found(ufunc, *inputs, **kwargs)
        except NeedsHost as reason:
            why = _guard.bare(reason)
    if method == "at":
        return _at_on_host(ufunc, name, inputs, why)
    return _dispatch.on_host(name, getattr(ufunc, method), inputs, kwargs, why)


def _reduce(ufunc: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, **kwargs: Any) -> Any:
    function = REDUCE.get(ufunc)
    if function is None or not is_times(a) or (dtype is not None and dtype != a.dtype):
        raise NeedsHost(f"{ufunc.__name__}.reduce")
    if kwargs.get("initial", np._NoValue) is None:
        del kwargs["initial"]
    if ufunc in (np.logical_and, np.logical_or) and "initial" in kwargs:
        return ufunc.reduce(wrap(a._ticks._t != 0), axis=axis, **kwargs)
    if ufunc in (np.fmin, np.fmax) and ("where" in kwargs or "initial" in kwargs):
        raise NeedsHost(f"{ufunc.__name__}.reduce")
    return _dispatch.with_times(function, (a,), {"axis": axis, **kwargs})


def _accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    if dtype is not None or not is_times(array):
        raise NeedsHost(f"{ufunc.__name__}.accumulate")
    axis = one_axis("accumulate", axis, array.ndim)
    if ufunc is np.add:
        return _dispatch.with_times(np.cumsum, (array,), {"axis": axis, "out": out})
    if ufunc not in _RUNNING:
        raise NeedsHost(f"{ufunc.__name__}.accumulate")
    function, by_keys = _RUNNING[ufunc]
    ticks = array._ticks
    running: Any = function.accumulate(wrap(last(ticks._t)) if by_keys else ticks, axis=axis)
    found = array._like(wrap(unlast(running._t)) if by_keys else running)
    return _dispatch.into(out, found)


def _outer(ufunc: np.ufunc, left: Any, right: Any, **kwargs: Any) -> Any:
    width = right.ndim if is_array(right) else np.ndim(right)
    left = left if is_array(left) else np.asarray(left)
    return _dispatch.with_times(ufunc, (left[(..., *(None,) * width)], right), kwargs)


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
}

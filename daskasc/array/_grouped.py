"""Grouped reductions along the last axis: what flox asks of an array library.

The labels are on the host. Elements are brought into the order of their groups by one gather (none
where they are in order, as in resampling), so that a group is a slice; each slice is reduced by
the same functions as whole arrays, hence with their accuracy and always in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array._array import AscendArray
from daskasc.array._dispatch import call, on_host
from daskasc.array._dtypes import torch_dtype
from daskasc.array._storage import wrap

Reduction = Callable[[Any, Any, dict[str, Any]], Any]


def _plain(function: Any) -> Reduction:
    def reduce(x: Any, fill: Any, options: dict[str, Any]) -> Any:
        return call(function, (x,), {"axis": -1, **options})

    return reduce


def _missing(x: Any) -> Any:
    return np.isnan(x) if x.dtype.kind in "fc" else np.zeros_like(x, dtype=bool)


def _extreme(function: Any, least: float) -> Reduction:
    """Extreme of what is no NaN; the fill value where there is nothing."""

    def reduce(x: Any, fill: Any, options: dict[str, Any]) -> Any:
        if x.dtype.kind not in "fc":
            return call(function, (x,), {"axis": -1})
        nan = np.isnan(x)
        found = call(function, (np.where(nan, least, x).astype(x.dtype, copy=False),), {"axis": -1})
        return np.where(nan.all(axis=-1), fill, found).astype(x.dtype, copy=False)

    return reduce


def _spread(function: Any) -> Reduction:
    """Mean, variance and the like of what is no NaN; the fill value where there is nothing."""

    def reduce(x: Any, fill: Any, options: dict[str, Any]) -> Any:
        nothing = _missing(x).all(axis=-1)
        kept = np.where(nothing[..., None], 0, x)
        found = call(function, (kept,), {"axis": -1, **options})
        return np.where(nothing, np.nan if fill is None else fill, found)

    return reduce


def _end(first: bool, skip: bool) -> Reduction:
    """First or last element of a group, NaNs passed over if `skip`."""

    def reduce(x: Any, fill: Any, options: dict[str, Any]) -> Any:
        if not skip or x.dtype.kind not in "fc":
            return x[..., 0 if first else -1]
        there = ~np.isnan(x)
        place = np.argmax(there if first else np.flip(there, axis=-1), axis=-1)
        place = place if first else x.shape[-1] - 1 - place
        found = np.take_along_axis(x, place[..., None], axis=-1)[..., 0]
        return np.where(there.any(axis=-1), found, fill).astype(x.dtype, copy=False)

    return reduce


def _squares(x: Any, fill: Any, options: dict[str, Any]) -> Any:
    return np.sum(x * x, axis=-1, **options)


def _squares_without_nan(x: Any, fill: Any, options: dict[str, Any]) -> Any:
    return np.nansum(x * x, axis=-1, **options)


def _count(x: Any, fill: Any, options: dict[str, Any]) -> Any:
    return np.full_like(x[..., 0], x.shape[-1], dtype=np.intp)


def _count_without_nan(x: Any, fill: Any, options: dict[str, Any]) -> Any:
    return (~_missing(x)).sum(axis=-1)


REDUCTIONS: dict[str, Reduction] = {
    "sum": _plain(np.sum),
    "nansum": _plain(np.nansum),
    "prod": _plain(np.prod),
    "nanprod": _plain(np.nanprod),
    "max": _plain(np.max),
    "min": _plain(np.min),
    "nanmax": _extreme(np.max, -np.inf),
    "nanmin": _extreme(np.min, np.inf),
    "mean": _plain(np.mean),
    "nanmean": _spread(np.nanmean),
    "var": _plain(np.var),
    "std": _plain(np.std),
    "nanvar": _spread(np.nanvar),
    "nanstd": _spread(np.nanstd),
    "median": _plain(np.median),
    "nanmedian": _plain(np.nanmedian),
    "all": _plain(np.all),
    "any": _plain(np.any),
    "first": _end(True, False),
    "last": _end(False, False),
    "nanfirst": _end(True, True),
    "nanlast": _end(False, True),
    "sum_of_squares": _squares,
    "nansum_of_squares": _squares_without_nan,
    "len": _count,
    "nanlen": _count_without_nan,
}
# what gives another dtype on the way when told so
_TAKES_DTYPE = frozenset(("sum", "nansum", "prod", "nanprod", "sum_of_squares"))


def aggregate(
    group_idx: Any,
    array: AscendArray,
    *,
    func: str,
    size: int | None = None,
    fill_value: Any = None,
    dtype: Any = None,
    otherwise: Callable[..., Any],
    **options: Any,
) -> Any:
    """Reduce the last axis of an array by groups.

    Parameters
    ----------
    group_idx : ndarray of int, shape (n,)
        Group of each element.
    array : AscendArray, shape (..., n)
    func : str
        A name of ``REDUCTIONS``; for any other, and for times, `otherwise` computes on the host
        (counted).
    size : int, optional
        Number of groups; by default as many as are there.
    fill_value : scalar, optional
        Result of groups without elements.
    dtype : dtype_like, optional
        Of the result.
    otherwise : callable
        flox's own function.
    **options
        ``ddof`` and the like.

    Returns
    -------
    AscendArray, shape (..., size)
    """
    reduction = REDUCTIONS.get(func)
    times = array.dtype.kind in "mM"
    if reduction is None or times or options.keys() - {"axis", "engine", "ddof"}:
        options.setdefault("engine", "numpy")
        kwargs = {"func": func, "size": size, "fill_value": fill_value, "dtype": dtype, **options}
        return on_host(f"flox.{func}", otherwise, (group_idx, array), kwargs)
    labels = np.asarray(group_idx.asnumpy() if isinstance(group_idx, AscendArray) else group_idx)
    if (labels[1:] < labels[:-1]).any():
        order = np.argsort(labels, kind="stable")
        labels, array = labels[order], array[..., order]
    size = int(labels[-1]) + 1 if size is None else int(size)
    ends = np.searchsorted(labels, np.arange(size + 1))
    wanted = {key: value for key, value in options.items() if key == "ddof"}
    if dtype is not None and func in _TAKES_DTYPE:
        wanted["dtype"] = dtype
    parts = [
        reduction(array[..., start:stop], fill_value, wanted)._t if stop > start else None
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    if dtype is not None:
        target = torch_dtype(dtype)
    else:
        target = next((part.dtype for part in parts if part is not None), array._t.dtype)
    result = array._t.new_empty((*array.shape[:-1], size), dtype=target)
    if any(part is None for part in parts):
        result.fill_(0 if fill_value is None else fill_value)
    for place, part in enumerate(parts):
        if part is not None:
            result[..., place] = part
    return wrap(result)

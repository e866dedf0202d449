"""The table of reductions: what the planner knows about each, as data.

Dask builds every reduction from three functions: *chunk* makes a partial result of one chunk,
*combine* merges partials, *aggregate* makes the final value. A row names the aggregate function by
which a reduction is recognised in a graph, the function that combines its partials, and the
collective operation that equals the combination of whole partials, if there is one.

==============  ==================  =====================  ==========
row             aggregate           partial                collective
==============  ==================  =====================  ==========
sum, nansum     chunk.sum           array                  sum
prod, nanprod   chunk.prod          array                  prod
min             chunk.min           array                  gather
max             chunk.max           array                  gather
nanmin          _nanmin_skip        array                  gather
nanmax          _nanmax_skip        array                  gather
any             chunk.any           bool array             max
all             chunk.all           bool array             min
mean, nanmean   mean_agg            n, total               sum
moment          moment_agg          n, total, M            gather
argmax, argmin  arg_agg             vals, arg              gather
nanargmax, ...  nanarg_agg          vals, arg, some        gather
topk            topk_aggregate      at most k rows         gather
argtopk         argtopk_aggregate   (values, places)       gather
bincount        _bincount_agg       counts                 gather
contraction     _chunk_sum          array                  sum
unique          np.unique           distinct values        gather
stack           np.vstack           rows                   gather
==============  ==================  =====================  ==========

What dask makes out of these needs no rows of its own: ``var`` and ``std`` are moments, ``ptp`` is
two extremes, ``average``, ``count_nonzero``, ``histogram``, ``histogramdd``, ``tensordot`` and
``einsum`` are sums, ``matmul`` is a contraction, ``cov`` both, and ``qr`` and ``svd`` of tall
matrices stack the R factors of their chunks. Moments combine by the one-pass formulas of Pebay
(2008, SAND2008-6212), which dask implements.

The last two rows are no trees in dask: one task joins all partials (``joined_by``) and works on the
result. Where dask's functions are not good enough (see :mod:`._partials`), a row names ours.
Cumulative sums and products are no reductions; :mod:`._scans` has their table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask.array.chunk as chunk_functions
import dask.array.reductions as dask_reductions
import dask.array.routines as dask_routines
import numpy as np
from dask.array.core import _concatenate2
from tlz import compose

from daskasc.planner import _partials

COMPOSED = type(compose(len, list))  # toolz or cytoolz, whichever dask uses


@dataclass(frozen=True)
class Reduction:
    """One row of the table.

    Attributes
    ----------
    name : str
        What the row is called in task keys and plans.
    aggregate : callable
        Dask's aggregate function; the row is found by it.
    combine : callable
        Dask's function that merges partials into one partial.
    collective : str
        Collective equal to combining whole partials (``sum``, ``prod``, ``min``, ``max``), or
        ``gather`` where there is none.
    exact : bool
        The collective gives the same bits in any order whatever the dtype.
    argument : str, optional
        Name of what dask binds to `aggregate` as its first argument, where rows share that
        function. A name, since some of these are wrappers that are copied when a graph is pickled.
    joined_by : callable, optional
        One task joins all partials by this function and hands the result to `aggregate`.
    merge, finish : callable, optional
        Ours in the place of `combine` and `aggregate`: they take a nested list of partials.
    leaf : (callable, callable), optional
        Dask's chunk function, by which a partial must have been made, and ours in its place.
    grows : bool
        A combined partial may be larger than each of those that it is made of.
    """

    name: str
    aggregate: Callable[..., Any]
    combine: Callable[..., Any]
    collective: str
    exact: bool = False
    argument: str | None = None
    joined_by: Callable[..., Any] | None = None
    merge: Callable[..., Any] | None = None
    finish: Callable[..., Any] | None = None
    leaf: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    grows: bool = False


def _place_of(name: str, extreme: str, argument: str, skip_nan: bool) -> Reduction:
    """Row of the place of an extreme."""
    return Reduction(
        name,
        dask_reductions.nanarg_agg if skip_nan else dask_reductions.arg_agg,
        dask_reductions.arg_combine,
        "gather",
        argument=argument,
        merge=functools.partial(_partials.arg_merge, extreme),
        finish=functools.partial(_partials.arg_finish, extreme),
        leaf=(
            dask_reductions.arg_chunk,
            functools.partial(_partials.arg_leaf, extreme, skip_nan),
        ),
    )


def _joining(
    name: str,
    aggregate: Callable[..., Any],
    joined_by: Callable[..., Any],
    merge: Callable[..., Any],
) -> Reduction:
    """Row of a task that joins all partials."""
    return Reduction(
        name, aggregate, merge, "gather", joined_by=joined_by, merge=merge, finish=merge, grows=True
    )


TABLE = (
    Reduction("sum", chunk_functions.sum, chunk_functions.sum, "sum"),
    Reduction("prod", chunk_functions.prod, chunk_functions.prod, "prod"),
    # collective libraries may drop NaN in min and max, and a graph does not tell the dtype
    Reduction("min", chunk_functions.min, dask_reductions.chunk_min, "gather"),
    Reduction("max", chunk_functions.max, dask_reductions.chunk_max, "gather"),
    Reduction("nanmin", dask_reductions._nanmin_skip, dask_reductions._nanmin_skip, "gather"),
    Reduction("nanmax", dask_reductions._nanmax_skip, dask_reductions._nanmax_skip, "gather"),
    Reduction("any", chunk_functions.any, chunk_functions.any, "max", exact=True),
    Reduction("all", chunk_functions.all, chunk_functions.all, "min", exact=True),
    Reduction("mean", dask_reductions.mean_agg, dask_reductions.mean_combine, "sum"),
    Reduction("moment", dask_reductions.moment_agg, dask_reductions.moment_combine, "gather"),
    _place_of("argmax", "max", "argmax", False),
    _place_of("argmin", "min", "argmin", False),
    _place_of("nanargmax", "max", "_nanargmax", True),
    _place_of("nanargmin", "min", "_nanargmin", True),
    Reduction("topk", chunk_functions.topk_aggregate, chunk_functions.topk, "gather", grows=True),
    Reduction(
        "argtopk",
        chunk_functions.argtopk_aggregate,
        chunk_functions.argtopk,
        "gather",
        merge=_partials.argtopk_merge,
        finish=_partials.argtopk_finish,
        grows=True,
    ),
    # chunks may have counted up to different greatest values
    Reduction(
        "bincount", dask_routines._bincount_agg, dask_routines._bincount_agg, "gather", grows=True
    ),
    Reduction(
        "contraction",
        dask_routines._chunk_sum,
        dask_routines._chunk_sum,
        "sum",
        merge=_partials.sum_merge,
        finish=_partials.sum_finish,
    ),
    _joining("unique", np.unique, np.concatenate, _partials.distinct),
    _joining("stack", np.vstack, tuple, _partials.stacked),
)

_BY_AGGREGATE = {(row.aggregate, row.argument): row for row in TABLE if row.joined_by is None}
_BY_JOIN = {(row.aggregate, row.joined_by): row for row in TABLE if row.joined_by is not None}


@dataclass(frozen=True)
class Step:
    """A reduction's function as it stands in a task, taken apart.

    Attributes
    ----------
    row : Reduction
        Row of the table.
    keywords : dict
        Keyword arguments bound to the aggregate function, ``axis`` and ``keepdims`` included.
    concatenate : bool
        Whether partials are arrays to be concatenated first.
    """

    row: Reduction
    keywords: dict[str, Any]
    concatenate: bool

    @property
    def axes(self) -> tuple[int, ...]:
        """Reduced axes, ascending."""
        return tuple(sorted(self.keywords["axis"]))

    @property
    def collective(self) -> str:
        """Collective that serves when only exact, order-independent ones are wanted."""
        dtype = self.keywords.get("dtype")
        if self.row.exact or (
            self.row.name in ("sum", "prod", "contraction")
            and dtype is not None
            and np.dtype(dtype).kind in "iub"
        ):
            return self.row.collective
        return "gather"

    def aggregate_function(self) -> Callable[..., Any]:
        """Function from a nested list of partials to the final value."""
        if self.row.finish is not None:
            return functools.partial(self.row.finish, **self.keywords)
        return self._compose(self.row.aggregate, self.keywords)

    def combine_function(self) -> Callable[..., Any]:
        """Function from a nested list of partials to one partial."""
        keywords = {**self.keywords, "keepdims": True}
        if self.row.merge is not None:
            return functools.partial(self.row.merge, **keywords)
        if self.row.name == "moment":
            # A chunk without any value has no mean, and contributes 0 * NaN. NaN of the data lie
            # in the moments themselves, which are summed without skipping.
            keywords["sum"] = np.nansum
        return self._compose(self.row.combine, keywords)

    def _compose(self, function: Callable[..., Any], keywords: dict[str, Any]) -> Any:
        bound = functools.partial(function, **keywords)
        if not self.concatenate:
            return bound
        return compose(bound, functools.partial(_concatenate2, axes=list(self.axes)))


class Parts(NamedTuple):
    """A function out of a task, without what dask wrapped around it."""

    function: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    concatenate: bool


def take_apart(function: Any) -> Parts:
    """Base function, what is bound to it, and whether partials are concatenated first.

    Parameters
    ----------
    function : callable
        The function of a task: ``partial(f, ...)`` or ``compose(partial(f, ...), concatenate)``.

    Returns
    -------
    Parts
        ``(f, arguments, keywords, concatenate)``; `f` is `function` itself where nothing is bound.
    """
    concatenate = False
    if isinstance(function, COMPOSED) and len(function.funcs) == 1:
        first = function.first
        if isinstance(first, functools.partial) and first.func is _concatenate2:
            concatenate = True
            function = function.funcs[0]
    if isinstance(function, functools.partial):
        return Parts(function.func, function.args, dict(function.keywords), concatenate)
    return Parts(function, (), {}, concatenate)


def lookup(function: Any) -> Step | None:
    """Recognise the aggregate function of a task; None for anything not in the table."""
    parts = take_apart(function)
    base, _, keywords, concatenate = parts
    try:
        row = _BY_AGGREGATE.get((base, _argument(parts)))
    except TypeError:  # unhashable callables
        return None
    if row is None or not {"axis", "keepdims"} <= keywords.keys():
        return None
    if not isinstance(keywords["axis"], tuple):
        return None
    return Step(row, keywords, concatenate)


def lookup_join(function: Any, joined_by: Any) -> Step | None:
    """Recognise a task ``function(joined_by(partials))``; None for anything not in the table."""
    try:
        row = _BY_JOIN.get((function, joined_by))
    except TypeError:  # unhashable callables
        return None
    return None if row is None else Step(row, {"axis": (0,), "keepdims": True}, False)


def is_combine(function: Any, row: Reduction) -> bool:
    """Whether a task's function combines partials of `row`."""
    parts = take_apart(function)
    return parts.function in (row.combine, row.aggregate) and _argument(parts) == row.argument


def _argument(parts: Parts) -> Any:
    """Name of what is bound to a function as its first and only argument; None for nothing."""
    if not parts.arguments:
        return None
    return getattr(parts.arguments[0], "__name__", "?") if len(parts.arguments) == 1 else "?"


def own_leaf(function: Any, row: Reduction) -> Callable[..., Any] | None:
    """Our function in the place of the chunk function of a row; None where it is another one."""
    assert row.leaf is not None
    theirs, ours = row.leaf
    return ours if take_apart(function).function is theirs else None

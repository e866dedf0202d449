"""The table of reductions: what the planner knows about each, as data.

Dask builds every reduction from three functions: *chunk* makes a partial result of one chunk,
*combine* merges partials, *aggregate* makes the final value. A row names the aggregate function by
which a reduction is recognised in a graph, the function that combines its partials, and the
collective operation that equals the combination of whole partials, if there is one.

============  ==============  =====================  ==========
row           aggregate       partial                collective
============  ==============  =====================  ==========
sum, nansum   chunk.sum       array                  sum
prod,nanprod  chunk.prod      array                  prod
min           chunk.min       array                  min
max           chunk.max       array                  max
nanmin        _nanmin_skip    array                  gather
nanmax        _nanmax_skip    array                  gather
any           chunk.any       bool array             max
all           chunk.all       bool array             min
mean,nanmean  mean_agg        n, total               sum
var, nanvar   moment_agg      n, total, M            gather
============  ==============  =====================  ==========

``std`` and ``nanstd`` are the root of ``var`` and ``nanvar``. The moments combine by the one-pass
formulas of Pebay (2008, SAND2008-6212), which dask implements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask.array.chunk as chunk_functions
import dask.array.reductions as dask_reductions
import numpy as np
from dask.array.core import _concatenate2
from tlz import compose

_COMPOSED = type(compose(len, list))  # toolz or cytoolz, whichever dask uses


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
    """

    name: str
    aggregate: Callable[..., Any]
    combine: Callable[..., Any]
    collective: str
    exact: bool = False


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
)

_BY_AGGREGATE = {row.aggregate: row for row in TABLE}


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
            self.row.name in ("sum", "prod") and dtype is not None and np.dtype(dtype).kind in "iub"
        ):
            return self.row.collective
        return "gather"

    def aggregate_function(self) -> Callable[..., Any]:
        """Function from a nested list of partials to the final value."""
        return self._compose(self.row.aggregate, self.keywords)

    def combine_function(self) -> Callable[..., Any]:
        """Function from a nested list of partials to one partial."""
        keywords = {**self.keywords, "keepdims": True}
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


def take_apart(function: Any) -> tuple[Callable[..., Any], dict[str, Any], bool]:
    """Base function, bound keywords and whether partials are concatenated first.

    Parameters
    ----------
    function : callable
        The function of a task: ``partial(f, ...)`` or ``compose(partial(f, ...), concatenate)``.

    Returns
    -------
    tuple
        ``(f, keywords, concatenate)``; `f` is `function` itself where nothing is bound.
    """
    concatenate = False
    if isinstance(function, _COMPOSED) and len(function.funcs) == 1:
        first = function.first
        if isinstance(first, functools.partial) and first.func is _concatenate2:
            concatenate = True
            function = function.funcs[0]
    if isinstance(function, functools.partial) and not function.args:
        return function.func, dict(function.keywords), concatenate
    return function, {}, concatenate


def lookup(function: Any) -> Step | None:
    """Recognise the aggregate function of a task; None for anything not in the table."""
    base, keywords, concatenate = take_apart(function)
    try:
        row = _BY_AGGREGATE.get(base)
    except TypeError:  # unhashable callables
        return None
    if row is None or not {"axis", "keepdims"} <= keywords.keys():
        return None
    if not isinstance(keywords["axis"], tuple):
        return None
    return Step(row, keywords, concatenate)


def is_combine(function: Any, row: Reduction) -> bool:
    """Whether a task's function combines partials of `row`."""
    base, _, _ = take_apart(function)
    return base is row.combine or base is row.aggregate

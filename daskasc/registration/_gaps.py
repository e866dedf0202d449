"""The one place where this package changes other packages, because they offer no way to register.

- ``dask.array.utils.scipy_linalg_safe`` calls SciPy's function of a name, or CuPy's for CuPy's
  arrays, by the type's name. ``da.linalg.solve``, ``lstsq``, ``inv`` and ``cholesky`` solve their
  triangular blocks by it, and SciPy's functions take no arrays on a card.
- ``dask.array.routines._asarray_isnull`` asks pandas, which takes no arrays on a card.
- ``dask.array.diagonal`` of a diagonal outside the matrix makes an empty chunk by NumPy, or by CuPy
  for CuPy's arrays.
- ``dask.array.histogramdd`` hands the counts of a chunk on in a tuple, of which NumPy makes an
  array.
- ``flox.aggregations.generic_aggregate`` reduces a chunk by groups for xarray's ``groupby`` and
  ``resample``; all its engines write into NumPy buffers.

The changed functions answer for arrays on a card and hand everything else on. A package without the
function stays as it is.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

# flox's modules keep the function under its name each
_FLOX = ("flox.aggregations", "flox.core", "flox.scan")


def fill() -> None:
    """Apply the changes; does nothing the second time."""
    _replace("scipy_linalg_safe", _scipy_linalg_safe, ("dask.array.utils",))
    _replace("diagonal", _diagonal, ("dask.array.creation", "dask.array.reductions", "dask.array"))
    routines = importlib.import_module("dask.array.routines")
    for name, function in _BY_NAME.items():
        if hasattr(routines, name):
            setattr(routines, name, function)
    if importlib.util.find_spec("flox") is not None:
        _replace("generic_aggregate", _generic_aggregate, _FLOX)


def _replace(name: str, ours: Callable[..., Any], modules: tuple[str, ...]) -> None:
    for module_name in modules:
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue
        original = getattr(module, name, None)
        if original is None or hasattr(original, "__wrapped__"):
            continue
        setattr(module, name, functools.wraps(original)(functools.partial(ours, original)))


def is_null(values: Any) -> Any:
    """``pandas.isnull`` of a chunk; it stands in graphs, hence is found by its name."""
    if _is_on_card(values):
        missing = values.dtype.kind in "fcmM"  # NaT is the NaN of times
        return np.isnan(values) if missing else np.zeros_like(values, dtype=bool)
    import pandas as pd

    return np.asarray(pd.isnull(values))


def block_histogramdd_rect(sample: Any, bins: Any, range: Any, weights: Any) -> Any:
    """Counts of a chunk of ``histogramdd``, with one more axis; it stands in graphs."""
    return np.histogramdd(sample, bins, range=range, weights=weights)[0][np.newaxis]


def block_histogramdd_multiarg(*args: Any) -> Any:
    """The same for a chunk of each coordinate, then bins, range and weights."""
    return block_histogramdd_rect(args[:-3], *args[-3:])


# what takes the place of dask's functions of these names
_BY_NAME: dict[str, Callable[..., Any]] = {
    "_asarray_isnull": is_null,
    "_block_histogramdd_rect": block_histogramdd_rect,
    "_block_histogramdd_multiarg": block_histogramdd_multiarg,
}


def _is_on_card(value: Any) -> bool:
    return hasattr(type(value), "__ascend_array__")


def _scipy_linalg_safe(
    original: Callable[..., Any], func_name: str, *args: Any, **kwargs: Any
) -> Any:
    if func_name == "solve_triangular" and any(map(_is_on_card, args)):
        from daskasc.array import solve_triangular

        return solve_triangular(*args, **kwargs)
    return original(func_name, *args, **kwargs)


def _diagonal(original: Callable[..., Any], a: Any, *args: Any, **kwargs: Any) -> Any:
    found = original(a, *args, **kwargs)
    if 0 in found.shape and _is_on_card(getattr(a, "_meta", None)):
        return found.map_blocks(_onto_card, dtype=found.dtype, meta=found._meta)
    return found


def _onto_card(chunk: Any) -> Any:
    from daskasc.array import asarray

    return asarray(chunk)


def _generic_aggregate(
    original: Callable[..., Any], group_idx: Any, array: Any, **kwargs: Any
) -> Any:
    if not _is_on_card(array) or kwargs.get("func") == "identity":
        return original(group_idx, array, **kwargs)
    from daskasc.array._grouped import aggregate

    return aggregate(group_idx, array, otherwise=original, **kwargs)

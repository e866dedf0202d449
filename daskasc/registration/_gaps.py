"""The one place where this package changes dask, because dask offers no way to register.

``dask.array.utils.scipy_linalg_safe`` calls SciPy's function of a name, or CuPy's for CuPy's
arrays, by the type's name. ``da.linalg.solve``, ``lstsq``, ``inv`` and ``cholesky`` solve their
triangular blocks by it, and SciPy's functions take no arrays on a card. The changed function
answers for arrays on a card and hands everything else on. A dask without it stays as it is.
"""

from __future__ import annotations

import functools
from typing import Any

import dask.array.utils as dask_utils


def fill() -> None:
    """Apply the change; does nothing the second time."""
    original = getattr(dask_utils, "scipy_linalg_safe", None)
    if original is None or hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def scipy_linalg_safe(func_name: str, *args: Any, **kwargs: Any) -> Any:
        if func_name == "solve_triangular" and any(
            hasattr(type(x), "__ascend_array__") for x in args
        ):
            from daskasc.array import solve_triangular

            return solve_triangular(*args, **kwargs)
        return original(func_name, *args, **kwargs)

    dask_utils.scipy_linalg_safe = scipy_linalg_safe

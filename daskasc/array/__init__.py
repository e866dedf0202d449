"""Arrays in a card's memory, and the NumPy and array API namespace over them.

``from_numpy`` and ``asnumpy`` cross between host and card; every NumPy function works on
:class:`AscendArray`, and this module offers the same names (``daskasc.array.sum``), with creation
functions that make arrays on the card. Importing this package imports torch.
"""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np

from daskasc import device
from daskasc.array import (
    _array_api,
    _table,  # noqa: F401 - fills the table of functions
    fft,
    linalg,
)
from daskasc.array._array import AscendArray
from daskasc.array._array_api import VERSION as __array_api_version__
from daskasc.array._array_api import namespace_info as __array_namespace_info__
from daskasc.array._creation import (
    arange,
    array,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from daskasc.array._dispatch import TABLE
from daskasc.array._interchange import from_dlpack, synchronize
from daskasc.array._namespace import find, offered
from daskasc.array._ranges import linspace
from daskasc.array._storage import from_numpy
from daskasc.array._support import support
from daskasc.array._times import TimeArray
from daskasc.array._triangular import solve_triangular

__all__ = [
    "TABLE",
    "AscendArray",
    "TimeArray",
    "__array_api_version__",
    "__array_namespace_info__",
    "arange",
    "array",
    "asarray",
    "asnumpy",
    "astype",
    "empty",
    "empty_like",
    "eye",
    "fft",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "linalg",
    "linspace",
    "ndarray",
    "ones",
    "ones_like",
    "solve_triangular",
    "support",
    "synchronize",
    "zeros",
    "zeros_like",
]


# as code that asks ``isinstance(x, xp.ndarray)`` of a namespace expects
ndarray = AscendArray


def asnumpy(x: Any, out: Any = None, blocking: bool = True) -> Any:
    """NumPy array of an AscendArray or of anything that NumPy takes.

    Dask arrays, and what holds one, are computed. See :meth:`AscendArray.asnumpy` for `out` and
    `blocking`.
    """
    if hasattr(x, "__dask_graph__"):
        x = x.compute()
    if not isinstance(x, AscendArray | np.ndarray) and isinstance(
        data := getattr(x, "data", None), AscendArray
    ):
        x = data  # of an xarray object
    if isinstance(x, AscendArray):
        return x.asnumpy(out, blocking)
    host = np.asarray(x)
    if out is not None:
        np.copyto(out, host)
        host = out
    return host if blocking else device.Transfer(host)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Array of another dtype (array API standard)."""
    return asarray(x, device=device).astype(dtype, copy=copy)


def __getattr__(name: str) -> Any:
    """NumPy's function, dtype or constant of that name; it dispatches on its arguments."""
    if name in _array_api.NAMES:
        return _array_api.NAMES[name]
    return find(__name__, name)


def __dir__() -> list[str]:
    """Return the names that are offered: those of this package and NumPy's."""
    return sorted({*__all__, *_array_api.NAMES, *offered()})


dask.array.register_chunk_type(AscendArray)

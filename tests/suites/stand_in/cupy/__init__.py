"""A module by CuPy's name whose arrays are AscendArrays: what dask's CuPy tests find.

Names that this module does not define are those of :mod:`daskasc.array`. dask looks for CuPy while
``dask.array`` is imported; then there is none yet, which dask takes well.
"""

import sys
from importlib import import_module
from typing import Any

__version__ = "13.0.0"


def __getattr__(name: str) -> Any:
    if "_array" not in globals():
        raise ImportError("cupy is being imported")
    return getattr(_array, name)


import dask.array  # noqa: E402, F401

if not hasattr(sys.modules["dask.array"], "register_chunk_type"):
    raise ImportError("dask.array is being imported")

import daskasc.array as _array  # noqa: E402
from daskasc import registration as _registration  # noqa: E402
from daskasc.array import AscendArray as ndarray  # noqa: E402

__all__ = ["ndarray", "random"]

random = import_module("cupy.random")
_registration.register()

"""NumPy dtypes and torch dtypes, one to one.

bfloat16 is NumPy's through ``ml_dtypes``. Everything else that NumPy has (strings, longdouble,
objects) has no representation on a card; datetime64 and timedelta64 have no tensors either, the
array layer keeps their int64 ticks.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from daskasc.device._torch import torch
from daskasc.errors import UnsupportedDTypeError

BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
_NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 float32 float64 complex64 complex128"
).split()


@functools.cache
def numpy_dtypes() -> dict[Any, np.dtype[Any]]:
    """``{torch dtype: NumPy dtype}`` of all dtypes that an array on a card can have."""
    module = torch()
    table = {getattr(module, name): np.dtype(name) for name in _NAMES}
    table[module.bfloat16] = BFLOAT16
    return table


@functools.cache
def _torch_dtypes() -> dict[np.dtype[Any], Any]:
    return {ours: theirs for theirs, ours in numpy_dtypes().items()}


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype for a torch dtype."""
    try:
        return numpy_dtypes()[dtype]
    except KeyError:
        raise UnsupportedDTypeError(f"torch dtype {dtype} has no NumPy dtype here") from None


def torch_dtype(dtype: Any) -> Any:
    """Torch's dtype for a NumPy dtype of either byte order."""
    wanted = np.dtype(dtype)
    found = _torch_dtypes().get(wanted)
    if found is None:
        found = _torch_dtypes().get(wanted.newbyteorder("="))
    if found is None:
        if wanted.kind in "mM":
            raise UnsupportedDTypeError(f"dtype {wanted} has no tensors; pass .view('int64')")
        raise UnsupportedDTypeError(
            f"dtype {wanted} has no representation on a card; allowed: {', '.join(_NAMES)}, "
            "bfloat16, datetime64, timedelta64. Convert it first, or keep this array in NumPy"
        )
    return found

"""Python numbers beside tensors, kept as tensors.

torch makes a tensor of a number at each call, which takes as long as the operator itself on a few
elements. The few numbers that a program uses are kept as tensors without axes, of the dtype of
the tensor beside them, in host memory: torch reads those as it reads a number, on every device.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array._dtypes import cast, check_integer, torch, torch_dtype

_KEPT = 1024  # numbers of one operator and dtype


def keeper(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Return what stands for Python numbers beside tensors of one dtype.

    Parameters
    ----------
    dtype : numpy.dtype
        An integer, or a floating-point one that NumPy has.

    Returns
    -------
    callable
        Of an int or, for floating point, a float; gives a 0-d tensor on the host. It raises
        OverflowError for an integer that the dtype cannot hold, as NumPy does.
    """
    target = torch_dtype(dtype)
    if dtype.kind in "iu":

        @functools.lru_cache(_KEPT)
        def integer(value: int) -> Any:
            check_integer(value, dtype)
            return torch.tensor(value, dtype=target)

        return integer

    def made(value: float) -> Any:
        # by way of the widest dtype: what is too large for a narrower one is an infinity
        return cast(torch.tensor(float(value), dtype=torch.float64), target)

    kept = functools.lru_cache(_KEPT)(made)
    zero, minus_zero = made(0.0), made(-0.0)  # equal, hence one to the cache

    def number(value: float) -> Any:
        if value:
            return kept(value)
        return minus_zero if math.copysign(1.0, value) < 0 else zero

    return number

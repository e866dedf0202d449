"""Views of an array's bytes as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._dtypes import torch, torch_dtype
from daskasc.array._storage import wrap, wrap_times
from daskasc.errors import UnsupportedDTypeError


def as_dtype(array: Any, dtype: Any) -> Any:
    """Implement ``AscendArray.view`` with a dtype.

    Raises
    ------
    UnsupportedDTypeError
        The dtype is not of this machine's byte order, or has no representation on a card.
    ValueError
        The bytes of the last axis do not fit, or are not contiguous.
    """
    wanted = np.dtype(dtype)
    if not wanted.isnative:
        raise UnsupportedDTypeError(
            f"dtype {wanted.str} has another byte order, which a card does not read; view it as "
            f"{wanted.newbyteorder('=').str}, or take .asnumpy() first"
        )
    if wanted.kind in "mM":
        return wrap_times(as_dtype(array, np.int64), wanted)
    target = torch_dtype(wanted)
    tensor = array._t
    old, new = array.itemsize, target.itemsize
    if old == new:
        return wrap(tensor.view(target))
    if not array.ndim or array.shape[-1] * old % new:
        raise ValueError(
            f"a {array.ndim}-d array with {old} bytes an element has no view as {dtype}: the "
            "bytes of its last axis must be divisible by the new element's size"
        )
    if tensor.numel():
        if tensor.stride(-1) != 1 and array.shape[-1] > 1:
            raise ValueError("the last axis must be contiguous for a view as another size")
        return wrap(tensor.view(target))
    shape = (*array.shape[:-1], array.shape[-1] * old // new)
    return wrap(torch.empty(shape, dtype=target, device=tensor.device))

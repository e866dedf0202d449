"""Views of an array's bytes as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._dtypes import torch, torch_dtype
from daskasc.array._readonly import copies, freeze, like, stands_for
from daskasc.array._storage import wrap, wrap_times
from daskasc.array._values import whole_numbers
from daskasc.errors import UnsupportedDTypeError

NO_DTYPE = (
    "the dtype of an array on a card is not set in place; use x.view(dtype) for the same bytes, or "
    "x.astype(dtype) for the same values"
)
NO_STRIDES = (
    "the strides of an array on a card are not set in place; use an index, a reshape or a transpose"
)


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
        return wrap(like(tensor.view(target), tensor))
    if not array.ndim or array.shape[-1] * old % new:
        raise ValueError(
            f"a {array.ndim}-d array with {old} bytes an element has no view as {dtype}: the "
            "bytes of its last axis must be divisible by the new element's size"
        )
    if tensor.numel():
        numpys = stands_for(tensor)
        step = tensor.stride(-1) if numpys is None else numpys.strides[-1] // old
        if step != 1 and array.shape[-1] > 1:
            raise ValueError("the last axis must be contiguous for a view as another size")
        if tensor.stride(-1) != 1:  # of one element, which torch does not look at
            tensor = tensor.as_strided(tensor.shape, (*tensor.stride()[:-1], 1))
        if any(step * old % new for step in tensor.stride()[:-1]) or (
            tensor.storage_offset() * old % new
        ):
            # torch's strides are whole elements: a copy, which refuses to be written
            copy = tensor.clone(memory_format=torch.contiguous_format)
            return wrap(freeze(copy.view(target), ()))
        return wrap(like(tensor.view(target), tensor))
    shape = (*array.shape[:-1], array.shape[-1] * old // new)
    return wrap(torch.empty(shape, dtype=target, device=tensor.device))


def reshaped_in_place(tensor: Any, shape: Any) -> Any:
    """View of a tensor for ``array.shape = shape``.

    Raises
    ------
    AttributeError
        No view has the shape, as in NumPy.
    ValueError
        The number of elements is another.
    """
    wanted = whole_numbers(shape)
    # raises NumPy's error for a shape of another size
    np.broadcast_to(np.int8(0), tuple(tensor.shape)).reshape(wanted)
    try:
        if copies(tensor, wanted, "C"):
            raise RuntimeError
        return tensor.view(wanted)
    except RuntimeError:
        raise AttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with "
            "the desired shape."
        ) from None

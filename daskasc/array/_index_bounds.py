"""Indices checked against their axis before a kernel sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._dtypes import is_integer, torch

NO_INDEX = "arrays used as indices must be of integer (or boolean) type"


def check_int(value: int, length: int, axis: int) -> int:
    """Integer inside an axis, non-negative."""
    if not -length <= value < length:
        raise IndexError(f"index {value} is out of bounds for axis {axis} with size {length}")
    return value + length if value < 0 else value


def checked_index(entry: Any, length: int, axis: int, place: Any) -> Any:
    """int64 index tensor on the device, non-negative and inside the axis."""
    if isinstance(entry, np.ndarray):
        # a narrower dtype may not hold the length; of uint64 the bits, as NumPy takes them
        entry = entry.astype(np.int64) if entry.dtype.kind in "iu" else entry
        if entry.size:
            low, high = int(entry.min()), int(entry.max())
            check_int(low, length, axis)
            check_int(high, length, axis)
            if low < 0:
                entry = np.where(entry < 0, entry + length, entry)
        host = np.array(entry, dtype=np.int64, order="C")
        return torch.from_numpy(host).to(place)
    if not is_integer(entry):
        raise IndexError(NO_INDEX)
    indices = entry.to(torch.int64)
    if indices.numel():
        low, high = (int(edge) for edge in torch.stack([indices.amin(), indices.amax()]).tolist())
        check_int(low, length, axis)
        check_int(high, length, axis)
        if low < 0:
            indices = torch.where(indices < 0, indices + length, indices)
    return indices


def check_broadcast(advanced: list[Any]) -> None:
    """Raise NumPy's IndexError for index tensors of shapes that have none in common."""
    shapes = [tuple(entry.shape) for entry in advanced if entry is not None]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            + " ".join(map(str, shapes))
        ) from None

"""Arrays whose chunks would lie on cards."""

from __future__ import annotations

import dask.array as da
import numpy as np

from daskasc.array import from_numpy


def on_cards(shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str = "f8") -> da.Array:
    """Array of ones, uploaded chunk by chunk."""
    x = da.ones(shape, chunks=chunks, dtype=dtype)
    return x.map_blocks(from_numpy, dtype=dtype, meta=from_numpy(np.empty((0,) * x.ndim, dtype)))

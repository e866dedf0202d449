"""The dask array backend ``ascend``: creation functions whose chunks are on the cards.

``dask.config.set({"array.backend": "ascend"})`` makes ``da.ones`` and its kin create chunks on the
worker's card. ``da.random`` draws each chunk there, from a stream of its own (see
:mod:`daskasc.random`). ``da.arange`` computes each chunk with NumPy on the worker and uploads it
(counted as host to device): values are NumPy's to the last bit.
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.config
import numpy as np
from dask.array.backends import ArrayBackendEntrypoint

from daskasc import random
from daskasc.registration._convert import to_ascend, to_ascend_dispatch


class AscendBackendEntrypoint(ArrayBackendEntrypoint):
    """Creation functions and conversions of the backend ``ascend``."""

    @classmethod
    def to_backend_dispatch(cls) -> Any:
        """Return the function that moves one chunk to the card."""
        return to_ascend_dispatch

    @classmethod
    def to_backend(cls, data: da.Array, **kwargs: Any) -> da.Array:
        """Return an array whose chunks are on the cards."""
        meta = to_ascend(data._meta)
        if meta is data._meta:
            return data
        # not the dispatch object: it pickles with all its types, torch would reach the scheduler
        return data.map_blocks(to_ascend, dtype=data.dtype, meta=meta, **kwargs)

    @property
    def RandomState(self) -> type:
        """Random numbers by the old interface, on the card."""
        return random.RandomState

    @property
    def default_bit_generator(self) -> type:
        """Bit generator of ``da.random.default_rng``."""
        return random.SplitMix64

    @staticmethod
    def ones(*args: Any, **kwargs: Any) -> da.Array:
        """See :func:`dask.array.ones`."""
        return _create("ones", *args, **kwargs)

    @staticmethod
    def zeros(*args: Any, **kwargs: Any) -> da.Array:
        """See :func:`dask.array.zeros`."""
        return _create("zeros", *args, **kwargs)

    @staticmethod
    def empty(*args: Any, **kwargs: Any) -> da.Array:
        """See :func:`dask.array.empty`."""
        return _create("empty", *args, **kwargs)

    @staticmethod
    def full(*args: Any, **kwargs: Any) -> da.Array:
        """See :func:`dask.array.full`."""
        return _create("full", *args, **kwargs)

    @staticmethod
    def arange(*args: Any, like: Any = None, **kwargs: Any) -> da.Array:
        """See :func:`dask.array.arange`."""
        # Not arange(like=...): its keys do not depend on `like`, so NumPy chunks of an equal range
        # in the cluster's memory would be taken for ours.
        with dask.config.set({"array.backend": "numpy"}):
            return AscendBackendEntrypoint.to_backend(da.arange(*args, **kwargs))


def _create(function: str, *args: Any, meta: Any = None, **kwargs: Any) -> da.Array:
    if meta is None:
        meta = to_ascend(np.empty(()))
    with dask.config.set({"array.backend": "numpy"}):
        return getattr(da, function)(*args, meta=meta, **kwargs)

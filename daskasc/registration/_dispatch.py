"""The functions that dask.array looks up by chunk type.

NumPy's own functions are registered where they dispatch on their arguments: an array on a card
carries the implementation (``__array_function__``). The rest are the few that get no array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.array.backends import _nannumel, _numel_arraylike, array_creation_dispatch
from dask.array.dispatch import (
    concatenate_lookup,
    divide_lookup,
    einsum_lookup,
    empty_lookup,
    nannumel_lookup,
    numel_lookup,
    percentile_lookup,
    take_lookup,
    tensordot_lookup,
    to_numpy_dispatch,
)
from dask.array.numpy_compat import divide
from dask.array.percentile import _percentile
from dask.sizeof import sizeof
from dask.tokenize import normalize_token

from daskasc.registration import _gaps, _serialization
from daskasc.registration._backend import AscendBackendEntrypoint
from daskasc.registration._convert import to_ascend_dispatch

_TABLES = (
    concatenate_lookup,
    divide_lookup,
    einsum_lookup,
    empty_lookup,
    nannumel_lookup,
    numel_lookup,
    percentile_lookup,
    take_lookup,
    tensordot_lookup,
    to_numpy_dispatch,
    to_ascend_dispatch,
    sizeof,
    normalize_token,
)


def register_lazily() -> None:
    """Name :func:`register_array_type` in all tables, and the backend ``ascend``."""
    for table in _TABLES:
        table.register_lazy("daskasc", register_array_type)
    # the entry point does the same where the package is installed
    array_creation_dispatch.register_backend("ascend", AscendBackendEntrypoint())


def register_array_type() -> None:
    """Fill the tables for arrays on a card. Called by dask at the first one."""
    from daskasc.array import AscendArray, TimeArray

    _serialization.register(AscendArray)
    _serialization.register(TimeArray)
    _gaps.fill()
    concatenate_lookup.register(AscendArray, np.concatenate)
    take_lookup.register(AscendArray, np.take)
    tensordot_lookup.register(AscendArray, np.tensordot)
    einsum_lookup.register(AscendArray, _einsum)
    empty_lookup.register(AscendArray, _empty)
    divide_lookup.register(AscendArray, divide)
    percentile_lookup.register(AscendArray, _percentile)
    numel_lookup.register(AscendArray, _numel_arraylike)
    nannumel_lookup.register(AscendArray, _nannumel)
    to_numpy_dispatch.register(AscendArray, _to_numpy)
    to_ascend_dispatch.register(AscendArray, _identity)
    sizeof.register(AscendArray, _sizeof)
    normalize_token.register(AscendArray, _token)


def _einsum(*operands: Any, **kwargs: Any) -> Any:
    # of meaning for NumPy's memory only
    kwargs.pop("casting", None)
    kwargs.pop("order", None)
    return np.einsum(*operands, **kwargs)


def _empty(shape: Any, dtype: Any = np.float64, order: str = "C", **_: Any) -> Any:
    from daskasc.array import from_numpy

    return np.empty_like(from_numpy(np.empty(0, dtype)), shape=shape)


def _to_numpy(data: Any, **_: Any) -> Any:
    return data.asnumpy()


def _identity(data: Any, **_: Any) -> Any:
    return data


def _sizeof(array: Any) -> int:
    # a broadcast array has more elements than memory
    return int(min(array.nbytes, array.tensor.untyped_storage().nbytes()))


def _token(array: Any) -> Any:
    """Token of the elements; the bytes come down to the host for it and are counted there."""
    return "AscendArray", normalize_token(array.asnumpy())

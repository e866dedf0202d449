"""pytest plug-in for the suite's process: where dask's test tools ask for CuPy by its name.

``dask.array.utils.assert_eq`` takes results down to the host by CuPy's method, for types whose
name has "cupy" in it. This plug-in lets it do so for arrays on a card; nothing else is changed.
"""

from __future__ import annotations

import dask.array.utils

from daskasc.array import asnumpy

_normalize = dask.array.utils.normalize_to_array


def _normalize_to_array(x: object) -> object:
    return asnumpy(x) if hasattr(x, "__ascend_array__") else _normalize(x)


dask.array.utils.normalize_to_array = _normalize_to_array

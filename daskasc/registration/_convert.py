"""Moving one chunk to the card."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.utils import Dispatch

to_ascend_dispatch: Any = Dispatch("to_ascend_dispatch")


def to_ascend(data: Any) -> Any:
    """Put a chunk on this process's card; a chunk that is there already is returned."""
    from daskasc.array import from_numpy

    return from_numpy(data)


@to_ascend_dispatch.register((np.ndarray, np.generic))
def _upload(data: Any, **_: Any) -> Any:
    return to_ascend(data)

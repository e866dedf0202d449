"""Writing at integer indices by ``index_copy_``, the documented way on Atlas A2."""

from __future__ import annotations

from typing import Any

from daskasc.array._dtypes import torch


def copy_at(view: Any, advanced: list[Any], values: Any) -> bool:
    """Write values of the index's shape; False, and nothing written, if there is no such form.

    There is one if all axes are indexed and their elements lie side by side, or only one axis is.
    Places named several times must have one value, because the order of writing is open.
    """
    axes = [axis for axis, entry in enumerate(advanced) if entry is not None]
    if len(axes) == view.ndim and view.is_contiguous():
        entries = torch.broadcast_tensors(*advanced)
        places = entries[0]
        for length, entry in zip(view.shape[1:], entries[1:], strict=True):
            places = places * length + entry
        view.view(-1).index_copy_(0, places.reshape(-1), values.reshape(-1))
        return True
    if len(axes) == 1 and advanced[axes[0]].ndim == 1:
        view.index_copy_(axes[0], advanced[axes[0]], values)
        return True
    return False

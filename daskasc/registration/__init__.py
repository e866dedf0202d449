"""What dask has to know about arrays on a card: dispatch, sizes, tokens, the ``ascend`` backend.

Everything is registered lazily, by the name of the top-level module: dask asks for it when it meets
the first :class:`~daskasc.array.AscendArray`, so registering imports neither torch nor the array
package. Processes that own a card register at once (:func:`register_array_type`).
"""

from __future__ import annotations

import importlib
from typing import Any

_registered = False


def register() -> None:
    """Register everything; does nothing the second time."""
    global _registered
    if _registered:
        return
    importlib.import_module("daskasc.registration._dispatch").register_lazily()
    _registered = True


def register_array_type() -> None:
    """Register now what :func:`register` leaves for the first array. Imports torch."""
    register()
    importlib.import_module("daskasc.registration._dispatch").register_array_type()


def __getattr__(name: str) -> Any:
    if name == "AscendBackendEntrypoint":
        return getattr(importlib.import_module("daskasc.registration._backend"), name)
    raise AttributeError(f"module 'daskasc.registration' has no attribute {name!r}")

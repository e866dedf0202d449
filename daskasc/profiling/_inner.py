"""Copies that torch makes inside a call, seen by torch's own dispatch mode.

A mode belongs to one thread, so the recorder enters it for the outermost call of each thread. It
costs about ten microseconds an operator of torch, and changes no result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from daskasc import device

# what torch calls copying: contiguous() and clone(), to(dtype), copy_()
_COPIES = {"clone": "clone", "_to_copy": "dtype", "copy_": "copy_"}


@functools.cache
def _mode_class() -> Any:
    base = device.torch().utils._python_dispatch.TorchDispatchMode

    class Copies(base):  # type: ignore[misc, valid-type]
        """Tells `note` the reason and the bytes of each copy."""

        def __init__(self, note: Callable[[str, int], None]) -> None:
            super().__init__()
            self._note = note

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            reason = _COPIES.get(function.overloadpacket.__name__)
            if reason is not None:
                self._note(reason, result.numel() * result.element_size())
            return result

    return Copies


def watching(note: Callable[[str, int], None]) -> Any:
    """Context in which copies made by torch in this thread are told to `note`."""
    return _mode_class()(note)

"""NumPy's errors for lists and arrays that are nested deeper than where they are to be written."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_depth(value: Any, ndim: int) -> None:
    """Raise NumPy's error for lists that are nested deeper than the target has axes."""
    depth = 0
    while type(value) in (list, tuple):
        depth += 1
        value = value[0] if value else None
    depth += getattr(value, "ndim", 0) if depth else 0
    if depth > ndim:
        raise ValueError(
            "setting an array element with a sequence: the value is nested "
            f"{depth} deep, the target has {ndim} axes"
        )


def check_element(value: Any, dtype: np.dtype[Any]) -> None:
    """Raise NumPy's error for an array or a sequence as the value of one element."""
    sequence = type(value) in (list, tuple)
    if not (sequence or getattr(value, "ndim", 0) > 0):
        return
    if dtype.kind == "b" and not sequence and value.size == 1:
        return
    error = TypeError if dtype.kind == "c" or (sequence and dtype.kind in "iu") else ValueError
    raise error(
        f"setting an array element with a sequence ({type(value).__name__}); use an Ellipsis "
        "(x[0, ...] = value) to broadcast into an array without axes"
    )

"""Masked arrays on their way to a card, which knows no masks.

``numpy.asarray`` drops a mask silently, so whatever takes elements from the host asks here first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.errors import UnsupportedDTypeError


def is_masked(value: Any) -> bool:
    """Whether a value is a masked array, with masked elements or without."""
    return isinstance(value, np.ma.MaskedArray)


def plain(value: Any) -> Any:
    """Elements of a masked array none of which is masked; any other value as it is.

    Lists and tuples are looked through.

    Raises
    ------
    UnsupportedDTypeError
        An element is masked.
    """
    if isinstance(value, np.ma.MaskedArray):
        count = int(np.ma.count_masked(value))
        if count:
            raise UnsupportedDTypeError(
                f"{count} of {value.size} elements are masked, and a card knows no masks; fill "
                "them first, for instance with .filled(np.nan), or .astype(float).filled(np.nan) "
                "where the dtype has no NaN"
            )
        return value.data
    if type(value) in (list, tuple) and _holds_masked(value):
        return type(value)(map(plain, value))
    return value


def _holds_masked(values: Any) -> bool:
    return any(
        isinstance(value, np.ma.MaskedArray)
        or (type(value) in (list, tuple) and _holds_masked(value))
        for value in values
    )


def plain_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arguments of a call without masked arrays; raises as :func:`plain`."""
    return plain(args), {key: plain(value) for key, value in kwargs.items()}

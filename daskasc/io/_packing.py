"""CF packing, undone on the card: ``value = raw * scale_factor + add_offset``, fills become NaN.

The result is float32 where float32 resolves the packing step (all 8 and 16 bit data with a
reasonable offset), else float64; xarray often answers float64 there, because attributes read from
JSON are Python floats. Values agree with xarray's to the rounding of float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_FLOAT32_STEPS = 2.0**22
"""Largest |value| / packing step at which float32 still tells neighbours apart with a spare bit."""


@dataclass(frozen=True)
class Packing:
    """How raw numbers become values.

    Attributes
    ----------
    view : str or None
        Unsigned dtype that the raw signed bytes stand for (attribute ``_Unsigned``).
    fills : tuple of int or float
        Raw values that mean "missing".
    scale, offset : float or None
        Factors of the linear packing.
    dtype : str
        Dtype of the values.
    """

    view: str | None
    fills: tuple[float, ...]
    scale: float | None
    offset: float | None
    dtype: str

    def raw(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Host part: raw bytes under the dtype that they stand for."""
        return values if self.view is None else values.view(self.view)

    def unpack(self, chunk: Any) -> Any:
        """Card part: values of a chunk (NumPy or device) of raw numbers."""
        dtype = np.dtype(self.dtype)
        missing = None
        for fill in self.fills:
            found = chunk == chunk.dtype.type(fill)
            missing = found if missing is None else missing | found
        values = chunk.astype(dtype)
        if self.scale is not None:
            values = values * dtype.type(self.scale)
        if self.offset is not None:
            values = values + dtype.type(self.offset)
        if missing is not None:
            values = np.where(missing, dtype.type(np.nan), values)
        return values


def packing_of(raw_dtype: np.dtype[Any], attrs: Mapping[str, Any]) -> Packing | None:
    """Read the packing from a variable's attributes.

    Parameters
    ----------
    raw_dtype : numpy.dtype
        Stored dtype (native byte order).
    attrs : mapping
        Undecoded attributes.

    Returns
    -------
    Packing or None
        None where the stored numbers are the values.

    Raises
    ------
    ValueError, TypeError
        An attribute is not a number.
    """
    scale, offset = _number(attrs, "scale_factor"), _number(attrs, "add_offset")
    view = _unsigned_view(raw_dtype, attrs)
    seen = raw_dtype if view is None else np.dtype(view)
    fills = _fills(raw_dtype, seen, attrs)
    if scale is None and offset is None and not fills and view is None:
        # xarray never decodes half precision without packing attributes either
        return None
    if scale is None and offset is None and not fills:
        return Packing(view, (), None, None, seen.str)
    return Packing(view, fills, scale, offset, _value_dtype(seen, scale, offset).str)


def _number(attrs: Mapping[str, Any], name: str) -> float | None:
    value = attrs.get(name)
    return None if value is None else float(np.asarray(value).reshape(-1)[0])


def _unsigned_view(raw_dtype: np.dtype[Any], attrs: Mapping[str, Any]) -> str | None:
    if str(attrs.get("_Unsigned", "false")).lower() != "true" or raw_dtype.kind != "i":
        return None
    return np.dtype(f"u{raw_dtype.itemsize}").str


def _fills(
    raw_dtype: np.dtype[Any], seen: np.dtype[Any], attrs: Mapping[str, Any]
) -> tuple[float, ...]:
    """Fill values that a stored number can equal, without NaN (which is NaN already)."""
    found: list[float] = []
    for name in ("missing_value", "_FillValue"):
        for value in np.ravel(attrs.get(name, ())):
            number = value.item() if hasattr(value, "item") else value
            if isinstance(number, (str, bytes)) or number != number:
                continue
            if seen.kind in "iu":
                if seen.kind == "u" and raw_dtype.kind == "i" and number < 0:
                    number = int(number) + 2 ** (8 * seen.itemsize)
                limits = np.iinfo(seen)
                if number != int(number) or not limits.min <= number <= limits.max:
                    continue
                number = int(number)
            if number not in found:
                found.append(number)
    return tuple(found)


def _value_dtype(seen: np.dtype[Any], scale: float | None, offset: float | None) -> np.dtype[Any]:
    if seen.kind == "c":
        return seen
    if seen.kind == "f":
        return np.dtype("f4") if seen.itemsize <= 4 else np.dtype("f8")
    if seen.itemsize > 2:
        return np.dtype("f8")
    step = abs(scale) if scale else 1.0
    resolved = abs(offset or 0.0) <= step * _FLOAT32_STEPS
    return np.dtype("f4") if resolved else np.dtype("f8")

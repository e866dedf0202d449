"""Imports every module that fills the table of functions; the order does not matter."""

from __future__ import annotations

from daskasc.array import (  # noqa: F401
    _decompositions,
    _fft,
    _linalg,
    _nan_reductions,
    _numerics,
    _selection,
    _shaping,
    _sorting,
    _statistics,
)

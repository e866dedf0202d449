"""Imports every module that fills the table of functions; the order does not matter."""

from __future__ import annotations

from daskasc.array import (  # noqa: F401
    _calculus,
    _decompositions,
    _equality,
    _extremes,
    _fft,
    _functional,
    _histograms,
    _linalg,
    _means,
    _nan_reductions,
    _numerics,
    _policy,
    _polynomials,
    _quantiles,
    _ranges,
    _repeats,
    _scans,
    _selection,
    _sets,
    _shaping,
    _sorting,
    _statistics,
    _times_creation,
    _times_functions,
    _times_reductions,
    _times_sets,
    _writing,
)

"""The table of SciPy's functions is the code's, and true row by row."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
import scipy.version

from daskasc.array import _special
from daskasc.scipy import coverage

from .reference import check, drawn

IMAGE = drawn("f4", (26, 25))
SIGNAL = drawn("f8", 60)
POSITIVE = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4))
WINDOW = {"size": 3}
ARGUMENTS = {
    # special
    "logsumexp": [((POSITIVE,), {"axis": 1})],
    "softmax": [((POSITIVE,), {})],
    "log_softmax": [((POSITIVE,), {})],
    "multigammaln": [((POSITIVE + 2, 3), {})],
    "polygamma": [((1, POSITIVE), {})],
    "zeta": [((POSITIVE + 1,), {}), ((POSITIVE + 1, POSITIVE), {})],
    "sinc": [((POSITIVE,), {})],
    # ndimage
    "affine_transform": [((IMAGE, np.eye(2) * 0.7), {})],
    "convolve": [((IMAGE, np.ones((3, 2))), {})],
    "correlate": [((IMAGE, np.ones((3, 2))), {})],
    "convolve1d": [((IMAGE, np.arange(3.0)), {})],
    "correlate1d": [((IMAGE, np.arange(3.0)), {})],
    "gaussian_filter": [((IMAGE, 2), {})],
    "gaussian_filter1d": [((IMAGE, 2), {})],
    "gaussian_gradient_magnitude": [((IMAGE, 2), {})],
    "gaussian_laplace": [((IMAGE, 2), {})],
    "map_coordinates": [((IMAGE, np.full((2, 5), 3.3)), {})],
    "percentile_filter": [((IMAGE, 30, 3), {})],
    "rank_filter": [((IMAGE, 2, 3), {})],
    "rotate": [((IMAGE, 30), {})],
    "shift": [((IMAGE, 1.5), {})],
    "zoom": [((IMAGE, 1.5), {})],
    # signal
    "coherence": [((SIGNAL, SIGNAL[::-1].copy()), {"nperseg": 16})],
    "csd": [((SIGNAL, SIGNAL[::-1].copy()), {"nperseg": 16})],
    "convolve2d": [((IMAGE, np.ones((3, 2), "f4")), {})],
    "correlate2d": [((IMAGE, np.ones((3, 2), "f4")), {})],
    "fftconvolve": [((SIGNAL, SIGNAL[:9]), {})],
    "oaconvolve": [((SIGNAL, SIGNAL[:9]), {})],
    "get_window": [(("hann", 8), {})],
    "hilbert2": [((IMAGE,), {})],
    "resample": [((SIGNAL, 40), {})],
    "savgol_filter": [((SIGNAL, 7, 2), {})],
    "spectrogram": [((SIGNAL,), {"nperseg": 16})],
    "stft": [((SIGNAL,), {"nperseg": 16})],
    "welch": [((SIGNAL,), {"nperseg": 16})],
}
ROWS = [(module, name) for module, names in coverage.CARD.items() for name in names]


def examples(module, name, theirs):
    """Calls of a function: given above, or what functions of the module have in common."""
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    if isinstance(theirs, np.ufunc):
        dtypes = ("f4",) if name == "gammainc" else ("f4", "f8")
        return [((POSITIVE.astype(d),) * theirs.nin, {}) for d in dtypes]
    if module == "signal":
        return [((SIGNAL,), {})]
    if name.endswith("1d") and "spline" not in name:
        return [((IMAGE, 3), {})]
    sized = ("filter", "grey", "tophat", "morphological")
    if any(word in name for word in sized) and "spline" not in name:
        return [((IMAGE,), WINDOW)]
    return [((IMAGE,), {})]


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize(("module", "name"), ROWS)
def test_on_card(module, name):
    ours = getattr(importlib.import_module(f"daskasc.scipy.{module}"), name)
    theirs = getattr(importlib.import_module(f"scipy.{module}"), name)
    if name in ("generic_laplace", "generic_gradient_magnitude"):
        ndimage = importlib.import_module("daskasc.scipy.ndimage")
        check(
            lambda a: theirs(a, importlib.import_module("scipy.ndimage").sobel),
            lambda a: ours(a, ndimage.sobel),
            IMAGE,
        )
        return
    for args, kwargs in examples(module, name, theirs):
        check(theirs, ours, *args, **kwargs)


def test_the_table_is_the_codes():
    for module, names in coverage.CARD.items():
        assert len(set(names)) == len(names)
        functions = importlib.import_module(f"daskasc.scipy.{module}")._names.functions
        found = set(functions)
        if module == "special":
            found |= {name for name in _special.ROWS if not name.startswith("_")} | {"digamma"}
        assert set(names) == found
        assert set(names) <= set(importlib.import_module(f"scipy.{module}").__all__)


def test_the_page_is_the_tables():
    page = (Path(__file__).parents[2] / "docs" / "scipy.md").read_text()
    if f"SciPy {scipy.version.version} and NumPy {np.__version__}:" not in page:
        pytest.skip("the page was counted against another SciPy or NumPy")
    assert page == coverage.page()

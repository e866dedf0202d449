"""Differences, slopes, integrals, convolutions, covariances and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import (
    ALL,
    COMPLEX,
    REALS,
    Call,
    Case,
    arrays,
    axis,
    shapes,
)

NUMBERS = ("i4", "i8", "u1", "f4", "f8", "c16")
LINE = shapes(1, 1, 0, 6)


@st.composite
def differences(draw: st.DrawFn) -> Call:
    """Calls of diff: order, axis, values before and after."""
    array = draw(arrays(ALL, shapes(0, 3)))
    shape = array.host.shape
    kwargs: dict[str, Any] = {"n": draw(st.sampled_from((0, 1, 1, 2, 5, -1)))}
    if shape:
        kwargs["axis"] = draw(axis(len(shape), none=False))
        for name in ("prepend", "append"):
            if draw(st.integers(0, 2)) == 0:
                own = list(shape)
                own[kwargs["axis"]] = draw(st.integers(0, 2))
                kwargs[name] = draw(st.just(3) | arrays(ALL, tuple(own)))
    return Call((array,), kwargs)


@st.composite
def ends(draw: st.DrawFn) -> Call:
    """Calls of ediff1d with values at the ends."""
    array = draw(arrays(REALS, shapes(0, 2)))
    kwargs = {}
    for name in ("to_end", "to_begin"):
        if draw(st.booleans()):
            kwargs[name] = draw(arrays((*REALS, "c8"), shapes(0, 2, 0, 2)))
    return Call((array,), kwargs)


@st.composite
def sloped(draw: st.DrawFn) -> Call:
    """Calls of gradient: spacings as numbers or as places, one axis or several."""
    array = draw(arrays(NUMBERS, shapes(1, 2, 0, 4)))
    shape = array.host.shape
    kwargs: dict[str, Any] = {"edge_order": draw(st.sampled_from((1, 2, 3)))}
    spacings: tuple[Any, ...] = ()
    number = draw(axis(len(shape)))
    if number is not None:
        kwargs["axis"] = number
        spacing = st.sampled_from((0.5, 2)) | arrays(
            ("f8", "i4"), (max(shape[number], 2),), special=False
        )
        spacings = draw(st.just(()) | st.tuples(spacing))
    elif draw(st.booleans()):
        spacings = tuple(
            draw(st.sampled_from((0.5, 2))) for _ in draw(st.sampled_from((shape, "x")))
        )
    return Call((array, *spacings), kwargs)


@st.composite
def integrated(draw: st.DrawFn) -> Call:
    """Calls of trapezoid: a step, or places of the array's shape or of its axis."""
    array = draw(arrays(NUMBERS, shapes(1, 3), special=False))
    shape = array.host.shape
    number = draw(axis(len(shape), none=False))
    kwargs: dict[str, Any] = {"axis": number}
    way = draw(st.sampled_from(("dx", "x", "x whole", "")))
    if way == "dx":
        kwargs["dx"] = draw(st.sampled_from((0.5, 2)))
    elif way:
        own = shape if way == "x whole" else (shape[number],)
        kwargs["x"] = draw(arrays(("f4", "f8", "i4"), own, special=False))
    return Call((array,), kwargs)


@st.composite
def covered(draw: st.DrawFn, weights: bool = True) -> Call:
    """Calls of cov (with weights) and of corrcoef."""
    shape = draw(shapes(1, 2, 1, 4))
    array = draw(arrays(("?", "i4", "f4", "f8", "c16"), shape, special=False))
    kwargs: dict[str, Any] = {"rowvar": draw(st.booleans())}
    if draw(st.booleans()):
        kwargs["y"] = draw(arrays(("f4", "f8", "c8"), shape, special=False))
    if draw(st.booleans()):
        kwargs["dtype"] = draw(st.sampled_from(("f8", "c16")))
    if weights:
        kwargs["bias"] = draw(st.booleans())
        # no complex quotients of an infinity: which parts are NaN is the compiler's business
        real = array.host.dtype.kind != "c" and kwargs.keys().isdisjoint(("y", "dtype"))
        kwargs["ddof"] = draw(st.sampled_from((None, 0, 1, 2) if real else (0,)))
        count = shape[-1] if kwargs["rowvar"] or len(shape) == 1 else shape[0]
        for name, dtype in (("fweights", "u1"), ("aweights", "f8")):
            if draw(st.integers(0, 2)) == 0:
                found = draw(arrays((dtype,), (count,), special=False, strided=False))
                kwargs[name] = found._replace(base=np.abs(found.base) + 1)
    return Call((array,), kwargs)


@st.composite
def counted(draw: st.DrawFn, several: bool = False) -> Call:
    """Calls of histogram: bins as a number, as edges or by a rule; range, density, weights."""
    dtypes = ("i4", "u1", "f4", "f8", "i1", "i2")
    array = draw(arrays(dtypes, shapes(0, 2, 0, 9), special=draw(st.integers(0, 3)) == 0))
    edges = np.array([-4.0, -1, 0, 2.5, 7])
    rules: tuple[str, ...] = ("scott", "sqrt", "sturges", "rice", "doane")
    if array.base.dtype.str[1:] not in ("i1", "i2"):  # of those NumPy's own quartiles wrap
        rules = ("auto", "fd", *rules)
        if draw(st.integers(0, 2)) == 0:  # mostly zero: no interquartile range
            places = np.arange(array.base.size).reshape(array.base.shape)
            array = array._replace(
                base=np.where(places % 8, 0, array.base).astype(array.base.dtype)
            )
    kwargs: dict[str, Any] = {
        "bins": draw(st.sampled_from((1, 4, 10, 0, edges, edges.astype(int), *rules)))
    }
    if draw(st.booleans()):
        kwargs["range"] = draw(st.sampled_from(((-2, 3), (0, 0), (3, -2))))
    if not several:
        return Call((array,), kwargs)
    kwargs["density"] = draw(st.booleans())
    if draw(st.integers(0, 2)) == 0:
        kwargs["weights"] = draw(arrays(("f8", "i4", "f4", "c16"), array.host.shape, special=False))
    return Call((array,), kwargs)


@st.composite
def counted_in_space(draw: st.DrawFn, plane: bool) -> Call:
    """Calls of histogramdd, or of histogram2d."""
    count = draw(st.integers(0, 6))
    depth = 2 if plane else draw(st.integers(1, 3))
    columns = tuple(draw(arrays(("f4", "f8", "i4"), (count,), special=False)) for _ in range(depth))
    edges = np.array([-4.0, -1, 0, 2.5, 7])
    kwargs: dict[str, Any] = {"density": draw(st.booleans())}
    kwargs["bins"] = draw(st.sampled_from((2, [3] * depth, [edges] * depth, [edges] * 4)))
    if draw(st.booleans()):
        kwargs["weights"] = draw(arrays(("f8", "i4"), (count,), special=False))
    if draw(st.booleans()):
        kwargs["range"] = [(-3, 5)] * depth
    if plane:
        return Call(columns, kwargs)
    if draw(st.booleans()):
        return Call((list(columns),), kwargs)
    return Call((draw(arrays(("f4", "f8"), (count, depth), special=False)),), kwargs)


MODES = st.sampled_from(("full", "same", "valid", "none"))
LINES = st.tuples(
    arrays(("?", "i4", "u1", "u8", "f4", "f8"), LINE),
    arrays(("?", "i4", "u1", "u8", "f4", "f8"), LINE),
    MODES,
)
COMPLEX_LINES = st.tuples(
    arrays(NUMBERS, LINE, special=False), arrays(COMPLEX, LINE, special=False), MODES
)

RULES = "NumPy computes the rules doane and stone"

CASES: dict[str, Case] = {
    "diff": Case(np.diff, differences()),
    "ediff1d": Case(np.ediff1d, ends()),
    "gradient": Case(np.gradient, sloped()),
    "trapezoid": Case(np.trapezoid, integrated()),
    # the sign of a zero sum depends on whether zeros beside the ends were added
    "convolve": Case(np.convolve, LINES, zeros=False),
    "convolve[complex]": Case(np.convolve, COMPLEX_LINES),
    "convolve[half]": Case(
        np.convolve,
        st.tuples(*[arrays(("f2", "i1"), shapes(1, 1, 1, 5), special=False)] * 2),
        atol=0.1,  # NumPy adds in float16
        zeros=False,
    ),
    "correlate": Case(np.correlate, LINES, zeros=False),
    "correlate[complex]": Case(np.correlate, COMPLEX_LINES),
    # the sign of a zero product of sums depends on the order of BLAS
    "cov": Case(np.cov, covered(), zeros=False),
    "corrcoef": Case(
        np.corrcoef, covered(weights=False), atol=1e-6, zeros=False
    ),  # by float32 variances
    "histogram": Case(np.histogram, counted(several=True), host=RULES),
    "histogram_bin_edges": Case(np.histogram_bin_edges, counted(), host=RULES),
    "histogramdd": Case(np.histogramdd, counted_in_space(False)),
    "histogram2d": Case(np.histogram2d, counted_in_space(True)),
}

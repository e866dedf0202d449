"""Medians, percentiles and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.cases_sums import storing
from tests.array.properties.strategies import BOOL, COMMON, REALS, Call, Case, arrays, axes, shapes

METHODS = (
    "inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen "
    "weibull linear median_unbiased normal_unbiased lower higher midpoint nearest"
).split()
# without bool, of which NumPy subtracts nothing, and without infinities: their differences are NaN
# in the interpolation, by the order of its steps; without empty arrays, for which NumPy fails at
# an inner reshape or drops the axes of the levels
FULL = shapes(0, 3, 1, 4)
VALUES = st.one_of(
    arrays(("i1", "i4", "i8", "u1"), FULL, special=False),
    arrays(("f2", "f4", "f8"), FULL, special=False),
)


@st.composite
def ordered(
    draw: st.DrawFn,
    values: Any,
    quantiles: float = 0,
    methods: Any = ("linear",),
    square: bool = False,
) -> Call:
    """Calls of an order statistic; `quantiles` is the scale of levels, or 0 for a median."""
    array = draw(values)
    kwargs: dict[str, Any] = {"axis": draw(axes(array.host.ndim)), "keepdims": draw(st.booleans())}
    if not array.host.size and kwargs["axis"] == ():
        kwargs["axis"] = None  # NumPy fails at an inner reshape
    if not quantiles:
        return Call((array,), kwargs)
    level = st.sampled_from((0.0, 0.25, 0.3, 0.5, 0.9, 1.0)).map(lambda x: x * quantiles)
    q: Any = draw(level | st.lists(level, min_size=1, max_size=3))
    if draw(st.integers(0, 15)) == 0:
        q = draw(st.sampled_from((-0.5, 1.5 * quantiles)))
    if isinstance(q, list):
        q = np.array(q).reshape(draw(st.sampled_from(((-1,), (-1, 1)) if square else ((-1,),))))
    kwargs["method"] = draw(st.sampled_from(methods))
    return Call((array, q), kwargs)


@st.composite
def weighted(draw: st.DrawFn, scale: float) -> Call:
    """Calls with ``weights=`` of the array's shape or of its axis."""
    array = draw(arrays(("i4", "f4", "f8"), shapes(1, 2, 1, 4), special=False))
    shape = array.host.shape
    number = draw(st.integers(0, len(shape) - 1))
    own = draw(st.sampled_from((shape, shape[number : number + 1])))
    weights = draw(arrays(("u1", "f8"), own, special=False))
    q = scale * draw(st.sampled_from((0.0, 0.25, 0.5, 1.0)))
    weights = weights._replace(base=np.abs(weights.base) + 1)
    return Call((array, q, number), {"weights": weights, "method": "inverted_cdf"})


@st.composite
def into(draw: st.DrawFn, *q: float) -> Call:
    """Calls with ``out=``."""
    array = draw(arrays(("f4", "f8"), shapes(2, 2, 1, 4), special=False))
    out = arrays(("f8", "f4"), array.host.shape[1:], strided=False)
    return Call((array, *q, 0), {"out": draw(out)})


MEDIAN = ordered(arrays(REALS, special=False) | arrays(("f2", "f4", "f8")))
BOOLS = ordered(arrays(BOOL, FULL), 1)
NANS = ordered(arrays(COMMON[1:], FULL), 1, ("lower", "higher", "nearest"))
EMPTY = arrays(("f4", "i4"), shapes(1, 2, 0, 1)).map(lambda array: Call((array, 0.3), {}))

WEIGHTS = "weighted quantiles are computed by NumPy"

CASES: dict[str, Case] = {
    "median": Case(np.median, MEDIAN, zeros=False),  # the order of 0.0 and -0.0 is not defined
    "median[out]": Case(storing(np.median), into()),
    "nanmedian": Case(np.nanmedian, MEDIAN, zeros=False),
    "nanmedian[out]": Case(storing(np.nanmedian), into()),
    "quantile": Case(np.quantile, ordered(VALUES, 1, METHODS, True), zeros=False),
    "quantile[nan]": Case(np.quantile, NANS, zeros=False),
    "quantile[bool]": Case(np.quantile, BOOLS),
    "quantile[empty]": Case(np.quantile, ordered(arrays(("f4", "i4"), (0,)), 1)),
    "quantile[weights]": Case(np.quantile, weighted(1), zeros=False, host=WEIGHTS),
    # NumPy adds the two parts of the interpolation in the dtype of `out`
    "quantile[out]": Case(storing(np.quantile), into(0.3), zeros=False, atol=1e-6),
    "percentile": Case(np.percentile, ordered(VALUES, 100, METHODS), zeros=False),
    "percentile[weights]": Case(np.percentile, weighted(100), zeros=False, host=WEIGHTS),
    "nanquantile": Case(np.nanquantile, ordered(VALUES, 1, METHODS), zeros=False),
    "nanquantile[empty]": Case(np.nanquantile, EMPTY, zeros=False),
    "nanquantile[nan]": Case(np.nanquantile, NANS, zeros=False),
    "nanpercentile": Case(np.nanpercentile, ordered(VALUES, 100, METHODS), zeros=False),
    "nanpercentile[weights]": Case(np.nanpercentile, weighted(100), zeros=False, host=WEIGHTS),
}

"""The reductions that skip NaN, and the sums and products along an axis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.cases_sums import (
    ACCUMULATED,
    FREEDOM,
    MEASURED,
    MULTIPLIED,
    method,
    reduced,
    scanned,
    stored,
    storing,
)
from tests.array.properties.strategies import ALL, COMPLEX, REALS, Call, Case, arrays, shapes


@st.composite
def scanned_into(draw: st.DrawFn) -> Call:
    """Calls of a scan with ``out=``."""
    array = draw(arrays(("f4", "i4"), shapes(1, 2, 1, 3), special=False))
    shape = array.host.shape
    # of the right shape: into longer ones NumPy writes a part
    return Call((array, 0), {"out": draw(arrays(("f4", "f8", "i8", "i4"), shape, strided=False))})


SKIPPING = reduced(arrays(REALS), initial=st.none() | st.just(2))
# without infinities in complex numbers: inf * (1 + 0j) is inf or NaN by the grouping of products
SUMMED = st.one_of(arrays(REALS), arrays(COMPLEX, None, False))

CASES: dict[str, Case] = {
    "nansum": Case(np.nansum, reduced(arrays(ALL), dtype=ACCUMULATED)),
    "nansum[out]": Case(storing(np.nansum), stored()),
    "nanprod": Case(np.nanprod, reduced(MULTIPLIED)),
    # which of 0.0 and -0.0 is the extreme depends on the order of comparisons
    "nanmax": Case(np.nanmax, SKIPPING, zeros=False),
    "nanmax[complex]": Case(np.nanmax, reduced(arrays(COMPLEX), masked=False)),
    "nanmax[out]": Case(storing(np.nanmax), stored(), zeros=False),
    "nanmin": Case(np.nanmin, SKIPPING, zeros=False),
    "nanmin[complex]": Case(np.nanmin, reduced(arrays(COMPLEX), masked=False)),
    "nanmean": Case(np.nanmean, reduced(MEASURED, dtype=st.none() | st.sampled_from(("f8", "i4")))),
    "nanmean[out]": Case(storing(np.nanmean), stored()),
    "nanvar": Case(np.nanvar, reduced(MEASURED, ddof=FREEDOM)),
    "nanvar[correction]": Case(np.nanvar, reduced(MEASURED, correction=FREEDOM)),
    "nanstd": Case(np.nanstd, reduced(MEASURED, ddof=FREEDOM)),
    # deviations are rounded in float32, whatever the dtype of out
    "nanstd[out]": Case(storing(np.nanstd), stored(), rtol=3e-5),
    "nanargmax": Case(np.nanargmax, scanned(arrays(REALS), keepdims=st.booleans())),
    "nanargmin": Case(np.nanargmin, scanned(arrays(REALS), keepdims=st.booleans())),
    "cumsum": Case(np.cumsum, scanned(arrays(ALL), dtype=ACCUMULATED)),
    "cumsum[method]": Case(method("cumsum"), scanned(arrays(ALL), dtype=ACCUMULATED)),
    "cumsum[out]": Case(storing(np.cumsum), scanned_into()),
    "cumprod": Case(np.cumprod, scanned(MULTIPLIED, dtype=st.none())),
    "cumprod[method]": Case(method("cumprod"), scanned(MULTIPLIED)),
    "nancumsum": Case(np.nancumsum, scanned(arrays(ALL), dtype=ACCUMULATED)),
    "nancumprod": Case(np.nancumprod, scanned(MULTIPLIED, dtype=st.none())),
    "cumulative_sum": Case(
        np.cumulative_sum, scanned(arrays(ALL), dtype=ACCUMULATED, include_initial=st.booleans())
    ),
    "cumulative_sum[out]": Case(
        lambda a, axis, out: np.cumulative_sum(a, axis=axis, out=out), scanned_into()
    ),
    "cumulative_prod": Case(
        np.cumulative_prod,
        scanned(MULTIPLIED, dtype=st.none(), include_initial=st.none() | st.booleans()),
    ),
}

"""Extremes, their places, and the reductions to truth and counts."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.cases_sums import method, reduced, scanned, stored, storing
from tests.array.properties.strategies import ALL, REALS, Case, arrays

# which of 0.0 and -0.0 is the extreme depends on the order in which NumPy's vector units compare
INITIAL = st.none() | st.sampled_from((2, -3, 1.5))
# an axis along which there is nothing to choose from raises in NumPy as well
EXTREME = reduced(arrays(ALL), initial=INITIAL)
PLAIN = reduced(arrays(ALL), masked=False)
PLACES = scanned(arrays(REALS), keepdims=st.booleans())

CASES: dict[str, Case] = {
    "max": Case(np.max, EXTREME, zeros=False),
    "max[out]": Case(storing(np.max), stored(), zeros=False),
    "max[method]": Case(method("max"), EXTREME, zeros=False),
    "min": Case(np.min, EXTREME, zeros=False),
    "min[method]": Case(method("min"), EXTREME, zeros=False),
    "amax": Case(np.amax, EXTREME, zeros=False),
    "amin": Case(np.amin, EXTREME, zeros=False),
    "ptp": Case(np.ptp, PLAIN, zeros=False),
    "ptp[out]": Case(storing(np.ptp), stored(), zeros=False),
    "argmax": Case(np.argmax, PLACES),
    "argmax[method]": Case(method("argmax"), PLACES),
    "argmax[out]": Case(storing(np.argmax), stored()),
    "argmin": Case(np.argmin, PLACES),
    "argmin[method]": Case(method("argmin"), PLACES),
    "any": Case(np.any, reduced(arrays(ALL))),
    "any[out]": Case(storing(np.any), stored()),
    "any[method]": Case(method("any"), reduced(arrays(ALL))),
    "all": Case(np.all, reduced(arrays(ALL))),
    "all[out]": Case(storing(np.all), stored()),
    "all[method]": Case(method("all"), reduced(arrays(ALL))),
    "count_nonzero": Case(np.count_nonzero, PLAIN),
}

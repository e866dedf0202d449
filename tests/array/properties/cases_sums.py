"""Sums and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import REALS, Call, Case, arrays, axes


@st.composite
def reduced(draw: st.DrawFn, dtypes: Any = REALS, **options: st.SearchStrategy[Any]) -> Call:
    """Calls of a reduction: an array, ``axis=``, ``keepdims=`` and further options."""
    array = draw(arrays(dtypes))
    kwargs = {"axis": draw(axes(array.host.ndim)), "keepdims": draw(st.booleans())}
    return Call((array,), kwargs | {name: draw(option) for name, option in options.items()})


CASES: dict[str, Case] = {
    "sum": Case(np.sum, reduced()),
    "max": Case(np.max, reduced()),
}

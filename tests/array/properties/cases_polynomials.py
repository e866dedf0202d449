"""Polynomials by their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import Call, Case, Strided, arrays, shapes

KINDS = ("?", "i4", "i8", "u1", "f4", "f8", "c16")
# finite, since an infinite coefficient makes NaN by the order of operations
LINE = arrays(KINDS, shapes(1, 1, 1, 5), special=False)
PAIR = st.tuples(LINE, LINE)
FLOATING = arrays(("f4", "f8", "c16"), shapes(1, 1, 1, 5), special=False)


@st.composite
def orders(draw: st.DrawFn, constants: bool) -> Call:
    """Calls of polyder, and of polyint with constants."""
    kwargs: dict[str, Any] = {"m": draw(st.sampled_from((0, 1, 1, 2, 3, -1)))}
    if constants and draw(st.booleans()):
        kwargs["k"] = draw(st.sampled_from((2, [1.5], [1, 2], [1.0, 2, 3])))
    return Call((draw(LINE),), kwargs)


@st.composite
def divided(draw: st.DrawFn) -> Call:
    """Pairs whose second polynomial has a leading coefficient far from zero."""
    top, bottom = draw(FLOATING), draw(FLOATING)
    bottom = bottom._replace(base=bottom.base + np.where(bottom.base.real < 0, -2, 2))
    return Call((top, bottom._replace(base=bottom.base.astype(bottom.base.dtype))), {})


@st.composite
def fitted(draw: st.DrawFn) -> Call:
    """Calls of polyfit with more points than coefficients, or wrong ones."""
    count = draw(st.integers(4, 7))
    kinds = ("i4", "f4", "f8")
    x = np.linspace(-2, 2, count).astype(draw(st.sampled_from(("f4", "f8"))))
    shape = draw(st.sampled_from(((count,), (count, 2), (count + 1,))))
    y = draw(arrays(kinds, shape, special=False))
    kwargs: dict[str, Any] = {"full": draw(st.booleans())}
    if not kwargs["full"]:
        kwargs["cov"] = draw(st.sampled_from((False, True, "unscaled")))
    if draw(st.booleans()):
        kwargs["w"] = np.linspace(1, 2, count)
    return Call((from_base(x), y, draw(st.integers(-1, 3))), kwargs)


def from_base(array: Any) -> Any:
    """The array as an argument that goes to the card."""
    return Strided(array, (), ())


def in_order(function: Any) -> Any:
    """Roots, in NumPy's order of complex numbers, of rounded parts."""

    def call(coefficients: Any) -> Any:
        found = function(coefficients)
        return np.polyval(np.poly(found), np.array([0.5, -1.5, 2.0])).real + found.shape[0]

    return call


CASES: dict[str, Case] = {
    "poly": Case(np.poly, st.tuples(LINE)),
    "polyadd": Case(np.polyadd, PAIR),
    "polysub": Case(np.polysub, PAIR),
    # signs of zero sums in a convolution are in no order
    "polymul": Case(np.polymul, PAIR, zeros=False),
    "polyval": Case(np.polyval, st.tuples(LINE, arrays(KINDS, shapes(0, 2), special=False))),
    "polyder": Case(np.polyder, orders(False)),
    "polyint": Case(np.polyint, orders(True)),
    "polydiv": Case(np.polydiv, divided(), rtol=1e-4, atol=1e-4, zeros=False),
    # singular values squared: the covariance of float32 points has few digits
    "polyfit": Case(np.polyfit, fitted(), rtol=2e-3, atol=2e-3, zeros=False),
    "roots": Case(in_order(np.roots), st.tuples(LINE), rtol=1e-3, atol=1e-2, zeros=False),
    "vander": Case(np.vander, st.tuples(LINE, st.sampled_from((None, 0, 1, 4)), st.booleans())),
}

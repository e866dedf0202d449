"""Operands of ufuncs: arrays on the card next to everything that may stand beside them.

One operand is always an array on the card; the others are arrays there, NumPy arrays, NumPy
scalars, or Python scalars, which are weak (NEP 50).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import ALL, Strided, arrays, elements, shapes

# what does not fit every dtype is among them: NumPy raises OverflowError there
PYTHON: dict[type, tuple[Any, ...]] = {
    bool: (False, True),
    int: (0, 1, 2, 3, -1, -2, 7, 100, 127, 128, 300, -129, 2**31, -(2**40), 2**63, 2**64),
    float: (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 1e10, 1e300, np.inf, -np.inf, np.nan),
    complex: (0j, 1j, 1 + 0j, -2.5 + 1j, complex(np.nan, 1.0), complex(np.inf, 1.0)),
}


def python_scalars(kinds: Sequence[type] = tuple(PYTHON)) -> st.SearchStrategy[Any]:
    """Python scalars of one of `kinds`."""
    return st.sampled_from(kinds).flatmap(lambda kind: st.sampled_from(PYTHON[kind]))


def _suits(dtypes: Sequence[str], kind: type) -> bool:
    letters = {np.dtype(dtype).kind for dtype in dtypes}
    wanted = {bool: "b", int: "iufc", float: "fc", complex: "c"}[kind]
    return bool(letters & set(wanted))


@st.composite
def partners(
    draw: st.DrawFn, dtypes: Sequence[str], shape: tuple[int, ...], special: bool = True
) -> Any:
    """An operand of any form that broadcasts with `shape`."""
    form = draw(st.sampled_from(("card", "card", "card", "python", "python", "scalar", "host")))
    if form == "card":
        return draw(arrays(dtypes, shape, special=special))
    if form == "python":
        kinds = [kind for kind in PYTHON if _suits(dtypes, kind)]
        return draw(python_scalars(kinds))
    size = () if form == "scalar" else shape
    dtype, seed = draw(st.sampled_from(dtypes)), draw(st.integers(0, 2**20))
    host = elements(dtype, size, seed, special)
    if form == "scalar":
        return host[()]
    return host[..., ::-1] if host.ndim and draw(st.booleans()) else host


@st.composite
def operands(
    draw: st.DrawFn,
    n: int,
    dtypes: Sequence[str] = ALL,
    others: Sequence[str] | None = None,
    special: bool = True,
) -> tuple[Any, ...]:
    """Tuples of `n` operands that broadcast, one of them an array on the card."""
    full = draw(shapes())
    chosen = draw(st.integers(0, n - 1))
    found: list[Any] = []
    for number in range(n):
        allowed = dtypes if number == 0 or others is None else others
        dropped = draw(st.integers(0, len(full)))
        own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in full[dropped:])
        form = arrays if number == chosen else partners
        found.append(draw(form(allowed, own, special=special)))
    return tuple(found)


def is_card(value: Any) -> bool:
    """Whether an argument is an array that will be on the card."""
    return isinstance(value, Strided)

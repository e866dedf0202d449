"""Dtypes: casts between all of them, and the functions that answer questions about them.

Floating-point values that an integer dtype cannot hold (NaN and infinities among them) have no
defined integer in C, so only small ones are cast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.operands import python_scalars
from tests.array.properties.strategies import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    SIGNED,
    Call,
    Case,
    arrays,
    shapes,
)

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
INEXACT = FLOATS + COMPLEX
# pairs of dtypes between which every value has a defined cast
DEFINED = st.one_of(
    st.tuples(arrays(BOOL + INTEGERS), st.sampled_from(ALL)),
    st.tuples(arrays(ALL), st.sampled_from(BOOL + INEXACT)),
    st.tuples(arrays(ALL, special=False), st.sampled_from(BOOL + SIGNED + INEXACT)),
)


@st.composite
def method_casts(draw: st.DrawFn) -> Call:
    """Calls of the method ``astype``."""
    array, dtype = draw(DEFINED)
    kwargs: dict[str, Any] = {"copy": draw(st.booleans())}
    if draw(st.booleans()):
        kwargs["casting"] = draw(st.sampled_from(CASTINGS))
    return Call((array, dtype), kwargs)


def _astype(x: Any, dtype: str, **kwargs: Any) -> Any:
    return x.astype(dtype, **kwargs)


def _kind(x: Any) -> Any:
    return x.dtype.kind, x.itemsize, x.nbytes, x.shape, x.ndim, x.size


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[Any, ...]:
    """An array on the card with arrays, dtypes and Python scalars."""
    rest = draw(
        st.lists(
            st.one_of(
                arrays(ALL, shapes(0, 1)),
                st.sampled_from(ALL).map(np.dtype),
                python_scalars((float, complex)),
                st.integers(0, 100),
            ),
            max_size=3,
        )
    )
    return (draw(arrays(ALL, shapes(0, 1))), *rest)


def _one(dtypes: Any = ALL) -> st.SearchStrategy[Any]:
    return arrays(dtypes).map(lambda x: (x,))


def _dtype_of(function: Any) -> Any:
    def call(*args: Any) -> str:
        return np.dtype(function(*args)).str

    return call


def _promoted(x: Any, dtype: str) -> str:
    return np.promote_types(x.dtype, np.dtype(dtype)).str


CASES: dict[str, Case] = {
    "astype": Case(np.astype, DEFINED, exact=True),
    "astype[method]": Case(_astype, method_casts(), exact=True),
    "result_type": Case(_dtype_of(np.result_type), mixtures()),
    "promote_types": Case(_promoted, st.tuples(arrays(ALL), st.sampled_from(ALL))),
    "can_cast": Case(
        lambda x, dtype, casting: np.can_cast(x.dtype, dtype, casting),
        st.tuples(arrays(ALL), st.sampled_from(ALL), st.sampled_from(CASTINGS)),
    ),
    "min_scalar_type": Case(
        _dtype_of(np.min_scalar_type), _one(), host="the answer depends on the value"
    ),
    "common_type": Case(_dtype_of(np.common_type), st.tuples(arrays(ALL), arrays(INEXACT))),
    "iscomplexobj": Case(np.iscomplexobj, _one()),
    "isrealobj": Case(np.isrealobj, _one()),
    "ndim": Case(np.ndim, _one()),
    "shape": Case(np.shape, _one()),
    "size": Case(np.size, _one()),
    "real_if_close": Case(np.real_if_close, _one()),
    "isreal": Case(np.isreal, _one()),
    "iscomplex": Case(np.iscomplex, _one()),
    "real": Case(np.real, _one(), exact=True),
    "imag": Case(np.imag, _one(), exact=True),
    "angle": Case(np.angle, st.tuples(arrays(ALL), st.booleans())),
    "array[attributes]": Case(_kind, _one()),
}

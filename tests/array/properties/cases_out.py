"""Functions with ``out=`` of every dtype: stored where NumPy's casting rule lets it, else refused.

Reductions, which cast to any dtype, have their own cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.cases_sums import storing
from tests.array.properties.strategies import Call, Case, arrays

SOURCES = ("?", "i2", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "c16")
SIDE = 3

# functions of a square matrix; the shape of what they give is that of their result on float64
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "clip": lambda x, out: np.clip(x, 2, 7, out=out),
    "clip[method]": lambda x, out: x.clip(1, None, out=out),
    "round": lambda x, out: np.round(x, out=out),
    "round[places]": lambda x, out: np.round(x, 1, out=out),
    "fix": lambda x, out: np.fix(x, out=out),
    "matmul": lambda x, out: np.matmul(x, x, out=out),
    "dot": lambda x, out: np.dot(x, x, out=out),
    "vecdot": lambda x, out: np.vecdot(x, x, out=out),
    "outer": lambda x, out: np.outer(x[0], x[1], out=out),
    "einsum": lambda x, out: np.einsum("ij,jk->ik", x, x, out=out),
    "einsum[same_kind]": lambda x, out: np.einsum("ij->ji", x, out=out, casting="same_kind"),
    "quantile": lambda x, out: np.quantile(x, 0.3, axis=0, out=out),
    "quantile[picks]": lambda x, out: np.quantile(x, 0.3, axis=0, out=out, method="lower"),
    "percentile": lambda x, out: np.percentile(x, [20, 70], axis=1, out=out),
    "ptp": lambda x, out: np.ptp(x, axis=0, out=out),
    "take": lambda x, out: np.take(x, [0, 2], axis=0, out=out),
    "take[wrap]": lambda x, out: np.take(x, [0, 5], axis=1, out=out, mode="wrap"),
    "compress": lambda x, out: np.compress([True, False, True], x, axis=0, out=out),
    "concatenate": lambda x, out: np.concatenate([x, x], out=out),
    "stack": lambda x, out: np.stack([x, x], out=out),
    "isposinf": lambda x, out: np.isposinf(x, out=out),
    "argmax": lambda x, out: np.argmax(x, axis=0, out=out),
    "fft.fft": lambda x, out: np.fft.fft(x, out=out),
    "fft.irfft": lambda x, out: np.fft.irfft(x, SIDE, out=out),
    "fft.fft2": lambda x, out: np.fft.fft2(x, out=out),
    "linalg.multi_dot": lambda x, out: np.linalg.multi_dot([x, x, x], out=out),
    "add": lambda x, out: np.add(x, x, out=out),
    "sqrt": lambda x, out: np.sqrt(x, out=out),
    "greater": lambda x, out: np.greater(x, 2, out=out),
}
HOST = {"round[places]": "bools are rounded there"}


@st.composite
def stored(draw: st.DrawFn, function: Callable[..., Any]) -> Call:
    """Calls with a square matrix and an out of the right shape."""
    # no zeros and negative numbers: which of them an unsigned dtype or a root has is not asked here
    array = draw(arrays(SOURCES, (SIDE, SIDE), special=False))
    array = array._replace(
        base=np.abs(array.base).astype(array.base.dtype) + array.base.dtype.type(1)
    )
    shape = np.shape(function(np.ones((SIDE, SIDE)), None))
    return Call((array,), {"out": draw(arrays(SOURCES, shape, special=False, strided=False))})


CASES: dict[str, Case] = {
    f"{name}[any out]": Case(
        storing(function), stored(function), rtol=1e-2, zeros=False, host=HOST.get(name, "")
    )
    for name, function in FUNCTIONS.items()
}

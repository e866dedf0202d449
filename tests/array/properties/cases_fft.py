"""numpy.fft."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import Call, Case, arrays, shapes

REAL = ("?", "i4", "u1", "f4", "f8")
ANY = (*REAL, "c8", "c16")
NORMS = st.sampled_from((None, "backward", "ortho", "forward", "wrong"))
# finite: NaN and infinities spread by the order of butterflies


@st.composite
def one(draw: st.DrawFn, dtypes: Any) -> Call:
    """Transforms along one axis: length, axis and norm, wrong ones among them."""
    array = draw(arrays(dtypes, shapes(1, 3, 0, 5), special=False))
    ndim = array.host.ndim
    kwargs: dict[str, Any] = {}
    if draw(st.booleans()):
        kwargs["n"] = draw(st.sampled_from((1, 2, 3, 6, 7, 0, -1)))
    if draw(st.booleans()):
        kwargs["axis"] = draw(st.integers(-ndim, ndim))
    if draw(st.booleans()):
        kwargs["norm"] = draw(NORMS)
    return Call((array,), kwargs)


@st.composite
def several(draw: st.DrawFn, dtypes: Any, plane: bool = False) -> Call:
    """Transforms along several axes."""
    array = draw(arrays(dtypes, shapes(2, 3, 1, 4), special=False))
    ndim = array.host.ndim
    kwargs: dict[str, Any] = {}
    if draw(st.booleans()):
        chosen = draw(st.permutations(range(ndim)))[: 2 if plane else draw(st.integers(1, ndim))]
        kwargs["axes"] = tuple(i - ndim if draw(st.booleans()) else i for i in chosen)
    if draw(st.booleans()):
        count = len(kwargs["axes"]) if "axes" in kwargs else 2 if plane else ndim
        if plane or "axes" in kwargs:
            kwargs["s"] = tuple(draw(st.integers(1, 5)) for _ in range(count))
    if draw(st.booleans()):
        kwargs["norm"] = draw(NORMS)
    return Call((array,), kwargs)


@st.composite
def shifted(draw: st.DrawFn) -> Call:
    """Calls of the shifts."""
    array = draw(arrays(ANY, shapes(1, 3, 0, 4)))
    ndim = array.host.ndim
    axes = draw(st.none() | st.integers(-ndim, ndim) | st.just(tuple(range(ndim))))
    return Call((array,), {"axes": axes})


def on_out(function: Any) -> Any:
    """`function` with ``out=`` given as a copy of its result."""

    def call(array: Any) -> Any:
        out = function(array) * 0
        assert function(array, out=out) is out
        return out

    return call


NAMES = "fft ifft hfft ihfft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
FULL = st.tuples(arrays(("f8", "c16"), shapes(1, 2, 1, 4), special=False))


def _drawn(name: str) -> Any:
    dtypes = REAL if name in ("rfft", "ihfft", "rfft2", "rfftn") else ANY
    return several(dtypes, "2" in name) if name[-1] in "2n" else one(dtypes)


# zeros of a transform are what is left of cancelled terms
CASES: dict[str, Case] = {
    **{
        f"fft.{name}": Case(getattr(np.fft, name), _drawn(name), rtol=1e-4, atol=1e-4, zeros=False)
        for name in NAMES
    },
    # NumPy rounds the norm's factor to float16
    "fft.fft[half]": Case(np.fft.fft, one(("f2",)), rtol=1e-2, atol=1e-2, zeros=False),
    "fft.irfft[half]": Case(np.fft.irfft, one(("f2",)), rtol=1e-2, atol=1e-2, zeros=False),
    "fft.fft[out]": Case(on_out(np.fft.fft), FULL, zeros=False),
    "fft.ifft[out]": Case(on_out(np.fft.ifft), FULL, zeros=False),
    "fft.fftshift": Case(np.fft.fftshift, shifted()),
    "fft.ifftshift": Case(np.fft.ifftshift, shifted()),
}

"""Rounding, clipping, comparing, interpolating, packing: functions of elements and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.operands import partners, python_scalars
from tests.array.properties.strategies import (
    ALL,
    BOOL,
    COMMON,
    COMPLEX,
    FLOATS,
    INTEGERS,
    REALS,
    SIGNED,
    Call,
    Case,
    Strided,
    arrays,
    axis,
    broadcast_pairs,
    elements,
    shapes,
)


def one(dtypes: Any = REALS, **options: Any) -> st.SearchStrategy[Any]:
    """One array as the only argument."""
    return arrays(dtypes, **options).map(lambda x: (x,))


@st.composite
def clipped(draw: st.DrawFn) -> tuple[Any, ...]:
    """Calls of ``clip``: bounds are arrays, numbers or None."""
    array = draw(arrays(REALS))
    shape = array.host.shape
    bounds = [
        draw(st.one_of(st.none(), python_scalars((int, float)), partners(REALS, shape)))
        for _ in range(2)
    ]
    return (array, *bounds)


@st.composite
def numbered(draw: st.DrawFn) -> Call:
    """Calls of ``nan_to_num``."""
    kwargs: dict[str, Any] = {"copy": draw(st.booleans())}
    for name in ("nan", "posinf", "neginf"):
        if draw(st.booleans()):
            kwargs[name] = draw(st.sampled_from((0.0, 5, -2.5)))
    return Call((draw(arrays(ALL, reverse=False)),), kwargs)


@st.composite
def compared(draw: st.DrawFn, dtypes: Any = REALS + COMPLEX) -> Call:
    """Calls of ``isclose``: pairs of which some are nearly equal."""
    left, right = draw(broadcast_pairs(dtypes))
    if draw(st.booleans()):
        right = Strided(left.base + np.asarray(0, left.base.dtype), left.index, left.order)
    kwargs: dict[str, Any] = {"equal_nan": draw(st.booleans())}
    if draw(st.booleans()):
        kwargs |= {"rtol": draw(st.sampled_from((0.0, 0.1))), "atol": draw(st.sampled_from((0, 1)))}
    return Call((left, draw(st.sampled_from((right, right, 1, 2.5)))), kwargs)


@st.composite
def equals(draw: st.DrawFn, nan: bool = False) -> Call:
    """Two arrays, often the same."""
    left, right = draw(broadcast_pairs(ALL))
    if draw(st.integers(0, 2)):
        right = Strided(left.base.copy(), left.index, left.order)
    return Call((left, right), {"equal_nan": draw(st.booleans())} if nan else {})


@st.composite
def interpolated(draw: st.DrawFn) -> Call:
    """Calls of ``interp`` with growing abscissae, as it demands, and with a period."""
    count = draw(st.integers(1, 6))
    places = np.cumsum(np.abs(elements("f8", (count,), draw(st.integers(0, 999)), False)) + 0.1)
    values = draw(arrays(FLOATS[1:] + SIGNED + COMPLEX[1:], (count,)))
    kwargs: dict[str, Any] = {}
    if draw(st.integers(0, 3)) == 0:
        kwargs["period"] = draw(st.sampled_from((1.5, 7)))
    elif draw(st.booleans()):
        kwargs |= {"left": -1.0, "right": draw(st.sampled_from((99.0, np.nan)))}
    x = draw(arrays(("f4", "f8", "i4"), special=not kwargs.get("period")))
    return Call((x, Strided(places, (), ()), values), kwargs)


@st.composite
def binned(draw: st.DrawFn) -> Call:
    """Calls of ``digitize``: bins that grow, fall, or (refused) do neither."""
    x = draw(arrays(REALS))
    bins = elements(draw(st.sampled_from(COMMON)), (draw(st.integers(0, 5)),), 7, False)
    order = draw(st.integers(0, 8))
    bins = np.sort(bins) if order else bins
    bins = bins[::-1].copy() if order > 4 else bins
    return Call((x, Strided(bins, (), ())), {"right": draw(st.booleans())})


@st.composite
def counted(draw: st.DrawFn) -> Call:
    """Calls of ``bincount``: small integers, seldom a negative one or a wrong dtype."""
    count = draw(st.integers(0, 6))
    host = elements(draw(st.sampled_from(("i8", "u1", "i4", "?"))), (count,), count, False)
    host = host if draw(st.integers(0, 9)) == 0 else abs(host.astype("i2")).astype(host.dtype)
    kwargs: dict[str, Any] = {"minlength": draw(st.integers(0, 12))}
    if draw(st.booleans()):
        kwargs["weights"] = draw(arrays(("f4", "f8", "i4"), (count,), special=False))
    return Call((Strided(host, (), ()),), kwargs)


@st.composite
def bits(draw: st.DrawFn, packed: bool) -> Call:
    """Calls of ``packbits`` and ``unpackbits``."""
    array = draw(arrays(("u1",) if packed else (*BOOL, "u1", "i4"), shapes(0 + packed, 3)))
    kwargs: dict[str, Any] = {
        "axis": draw(axis(array.host.ndim)) if array.host.ndim else None,
        "bitorder": draw(st.sampled_from(("big", "little"))),
    }
    # NumPy fills what it adds to nothing with uninitialised memory
    if packed and array.host.size and draw(st.booleans()):
        kwargs["count"] = draw(st.integers(-8, 20))
    return Call((array,), kwargs)


@st.composite
def turned(draw: st.DrawFn) -> Call:
    """Calls of ``unwrap``."""
    array = draw(arrays((*FLOATS[1:], "i4", "i8"), shapes(1, 3), special=False))
    kwargs: dict[str, Any] = {"axis": draw(axis(array.host.ndim, none=False))}
    if draw(st.booleans()):
        kwargs["period"] = draw(st.sampled_from((4, 6.0, 2 * np.pi)))
    if draw(st.booleans()):
        kwargs["discont"] = draw(st.sampled_from((1, 3.5)))
    return Call((array,), kwargs)


@st.composite
def rounded(draw: st.DrawFn) -> tuple[Any, ...]:
    """Calls of ``round``."""
    return draw(arrays((*SIGNED, "u1", *FLOATS, *COMPLEX))), draw(st.integers(-2, 3))


@st.composite
def padded(draw: st.DrawFn) -> Call:
    """Calls of ``pad`` by every mode."""
    modes = "constant edge reflect symmetric wrap maximum minimum mean linear_ramp"
    mode = draw(st.sampled_from(modes.split()))
    array = draw(arrays(SIGNED + FLOATS, shapes(1, 2), special=mode != "linear_ramp"))
    pair = st.tuples(st.integers(0, 3), st.integers(0, 3))
    ndim = array.host.ndim
    width = draw(st.one_of(st.integers(0, 3), pair, st.tuples(*[pair] * ndim)))
    return Call((array, width, mode), {})


CASES: dict[str, Case] = {
    "clip": Case(np.clip, clipped()),
    "nan_to_num": Case(np.nan_to_num, numbered()),
    "isclose": Case(np.isclose, compared()),
    "allclose": Case(np.allclose, compared()),
    "array_equal": Case(np.array_equal, equals(True)),
    "array_equiv": Case(np.array_equiv, equals()),
    "interp": Case(np.interp, interpolated()),
    "digitize": Case(np.digitize, binned()),
    "bincount": Case(np.bincount, counted()),
    "packbits": Case(np.packbits, bits(False)),
    "unpackbits": Case(np.unpackbits, bits(True)),
    "unwrap": Case(np.unwrap, turned()),
    "round": Case(np.round, rounded()),
    "around": Case(np.around, rounded()),
    "fix": Case(np.fix, one()),
    "isposinf": Case(np.isposinf, one()),
    "isneginf": Case(np.isneginf, one()),
    # float32 results by two different Chebyshev expansions; i0 grows like exp
    "i0": Case(np.i0, one(FLOATS + BOOL + ("i1", "i4"), special=False), rtol=1e-5),
    "sinc": Case(np.sinc, one(FLOATS + INTEGERS + COMPLEX, special=False)),
    "pad": Case(np.pad, padded()),
}

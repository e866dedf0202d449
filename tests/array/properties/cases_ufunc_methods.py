"""Methods of ufuncs: reduce, accumulate, outer, reduceat and at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from daskasc import device
from tests.array.properties.strategies import (
    COMMON,
    INTEGERS,
    REALS,
    Call,
    Case,
    Strided,
    arrays,
    axes,
    axis,
    elements,
    shapes,
)

EXACT = """
maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
gcd lcm
""".split()
# of 0.0 and -0.0 either may be the maximum: NumPy's loops for short and long arrays differ
ORDERED = "subtract divide floor_divide".split()  # from left to right, one axis at a time
ALL_OF_THEM = ["add", "multiply", "hypot", "logaddexp", *EXACT, *ORDERED]
# without complex numbers: products of their infinities depend on how they are grouped, and the
# order of complex numbers has its own cases
OPERANDS = ("?", "i1", "i4", "i8", "u1", "u2", "u8", "f4", "f8")


# dtypes of ``out=``; NumPy's reduce keeps what it has gathered there or not, by the layout, hence
# it gets those that hold everything
WIDE = ("f8", "c16")
TARGETS = ("?", "i8", "f4", *WIDE)


def into(draw: st.DrawFn, kwargs: dict[str, Any], shape: Any, dtypes: Any = TARGETS) -> None:
    """Add ``out=`` of a shape and of one of the dtypes, to one call in three."""
    if draw(st.integers(0, 2)) == 0:
        kwargs["out"] = draw(arrays(dtypes, shape, special=False, strided=False))


def kept(shape: Any, kwargs: dict[str, Any]) -> tuple[int, ...]:
    """Shape of a reduction's result."""
    return tuple(np.sum(np.zeros(shape), kwargs.get("axis", 0), keepdims=kwargs["keepdims"]).shape)


@st.composite
def reduced(draw: st.DrawFn, several: bool = True) -> Call:
    """Calls of reduce."""
    array = draw(arrays(OPERANDS, special=False))
    ndim = array.host.ndim
    kwargs: dict[str, Any] = {"keepdims": draw(st.booleans())}
    if draw(st.integers(0, 3)):
        kwargs["axis"] = draw(axes(ndim) if several else axis(ndim, none=False))
    if draw(st.integers(0, 3)) == 0:
        kwargs["initial"] = draw(st.sampled_from((0, 1, 3)))
    if draw(st.integers(0, 5)) == 0:
        kwargs["dtype"] = draw(st.sampled_from(("i8", "f8")))
    elif ndim and "initial" not in kwargs:
        into(draw, kwargs, kept(array.host.shape, kwargs), WIDE)
    return Call((array,), kwargs)


@st.composite
def accumulated(draw: st.DrawFn) -> Call:
    """Calls of accumulate."""
    array = draw(arrays(OPERANDS, special=False))
    kwargs: dict[str, Any] = {"axis": draw(axis(array.host.ndim, none=False))}
    if draw(st.integers(0, 3)) == 0:
        kwargs["dtype"] = draw(st.sampled_from((*INTEGERS, "f8")))
    into(draw, kwargs, array.host.shape)
    return Call((array,), kwargs)


@st.composite
def segments(draw: st.DrawFn) -> Call:
    """Calls of reduceat; one in ten has an index out of bounds."""
    array = draw(arrays(OPERANDS, shapes(1, 2, 1, 5), special=False))
    number = draw(axis(array.host.ndim, none=False))
    length = array.host.shape[number] + (draw(st.integers(0, 9)) == 0)
    starts = draw(st.lists(st.integers(0, max(length - 1, 0)), max_size=4))
    kwargs: dict[str, Any] = {"axis": number}
    shape = list(array.host.shape)
    shape[number] = len(starts)
    into(draw, kwargs, tuple(shape))
    return Call((array, np.array(starts, int)), kwargs)


@st.composite
def pairs(draw: st.DrawFn) -> Call:
    """Calls of outer."""
    left, right = (draw(arrays(REALS, shapes(0, 2, 0, 3))) for _ in range(2))
    return Call((left, draw(st.sampled_from((right, right.host, 2, 1.5)))), {})


@st.composite
def updates(draw: st.DrawFn, n: int = 2) -> Call:
    """Calls of at, with indices that name elements several times."""
    array = draw(arrays((*COMMON, "i2", "u4"), shapes(1, 2, 1, 4), special=False, reverse=False))
    length, count = array.host.shape[0], draw(st.integers(0, 5))
    places = draw(st.lists(st.integers(-length, length - 1), min_size=count, max_size=count))
    index: Any = np.array(places, int)
    form = draw(st.integers(0, 3))
    if form == 0:
        index = slice(None, None, 2)
    elif form == 1:
        index = Strided(elements("?", array.host.shape, count, False), (), ())
    if n == 1:
        # what NaN becomes as an integer is the processor's own, which stand-ins share with NumPy
        negative = array.host.dtype.kind == "i" and bool((array.host < 0).any())
        assume(device.current().kind == "cpu" or not negative)
        return Call((array, index), {})
    shape = array.host[index.host if form == 1 else index].shape
    own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in shape)
    other = draw(arrays(COMMON, own, special=False))
    return Call((array, index, draw(st.sampled_from((other, other, 2, 1.5)))), {})


def at(ufunc: np.ufunc) -> Callable[..., Any]:
    """Call of at, whose result is what it wrote."""

    def function(array: Any, *args: Any) -> Any:
        ufunc.at(array, *args)
        return array

    return function


def _reduce(name: str) -> Case:
    return Case(getattr(np, name).reduce, reduced(name not in ORDERED), rtol=1e-5)


CASES: dict[str, Case] = {
    **{f"{name}[reduce]": _reduce(name) for name in ALL_OF_THEM},
    **{
        f"{name}[accumulate]": Case(getattr(np, name).accumulate, accumulated())
        for name in ALL_OF_THEM
    },
    **{f"{name}[reduceat]": Case(getattr(np, name).reduceat, segments()) for name in ALL_OF_THEM},
    **{
        f"{name}[outer]": Case(getattr(np, name).outer, pairs(), zeros=name != "maximum")
        for name in "add multiply subtract maximum power less arctan2 divmod".split()
    },
    **{
        f"{name}[at]": Case(at(getattr(np, name)), updates())
        for name in "add subtract multiply maximum floor_divide bitwise_or logical_and".split()
    },
    "negative[at]": Case(at(np.negative), updates(1)),
    "sqrt[at]": Case(at(np.sqrt), updates(1)),
}

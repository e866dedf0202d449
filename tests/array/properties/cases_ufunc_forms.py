"""ufuncs with ``out=``, ``where=``, ``dtype=`` and ``casting=``, as operators, and in place."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from tests.array.properties.operands import operands, python_scalars
from tests.array.properties.strategies import (
    ALL,
    BOOL,
    COMMON,
    FLOATS,
    INTEGERS,
    REALS,
    SIGNED,
    Call,
    Case,
    Strided,
    arrays,
    broadcast_pairs,
    shapes,
)

CASTINGS = ("no", "equiv", "safe", "same_kind")
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "divmod": divmod,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
IN_PLACE: dict[str, Callable[..., Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
    "floor_divide": operator.ifloordiv,
    "remainder": operator.imod,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
    "left_shift": operator.ilshift,
    "right_shift": operator.irshift,
}


def broadcast_shape(*values: Any) -> tuple[int, ...]:
    """Shape of the result of these operands."""
    hosts = [v.host if isinstance(v, Strided) else v for v in values]
    return np.broadcast_shapes(*(np.shape(host) for host in hosts))


@st.composite
def targets(draw: st.DrawFn, shape: tuple[int, ...], dtypes: Any = ALL) -> Strided:
    """Arrays to store a result in: mostly of its shape, sometimes too large or too small."""
    other = draw(st.integers(0, 9))
    if other == 0:
        shape = (2, *shape)
    elif other == 1 and shape:
        shape = shape[1:]
    return draw(arrays(dtypes, shape, reverse=False))


@st.composite
def with_out(draw: st.DrawFn, n: int, masked: bool = False) -> Call:
    """Calls with ``out=``, and with a mask that broadcasts."""
    args = draw(operands(n, ALL))
    shape = broadcast_shape(*args)
    kwargs: dict[str, Any] = {"out": draw(targets(shape))}
    if masked:
        own = tuple(1 if draw(st.booleans()) else side for side in shape)
        mask = draw(arrays(BOOL, own[draw(st.integers(0, len(own))) :]))
        kwargs["where"] = draw(st.sampled_from((mask, mask, mask, True, False)))
    if draw(st.integers(0, 3)) == 0:
        kwargs["casting"] = draw(st.sampled_from(CASTINGS))
    return Call(args, kwargs)


def stored(ufunc: np.ufunc) -> Callable[..., Any]:
    """Call whose result is what it stored, which has to be what it returned."""

    def function(*args: Any, out: Any, **kwargs: Any) -> Any:
        returned = ufunc(*args, out=out, **kwargs)
        assert returned is out
        return out

    return function


@st.composite
def overlapping(draw: st.DrawFn) -> Call:
    """An array, and whether results go forwards or backwards in its own memory."""
    array = draw(arrays(COMMON, shapes(1, 2, 1, 6), reverse=False))
    return Call((array, draw(st.booleans())), {})


def into_itself(x: Any, forwards: bool) -> Any:
    """Store a sum of neighbours over one of them."""
    target, other = (x[1:], x[:-1]) if forwards else (x[:-1], x[1:])
    np.add(target, other, out=target)
    np.maximum(other, target, out=target)
    return x


@st.composite
def with_dtype(draw: st.DrawFn) -> Call:
    """Calls with ``dtype=``; values that fit, as casts of others are undefined."""
    args = draw(operands(2, REALS, special=False))
    # where a number does not fit and the cast is refused as well, either error may come first
    assume(not any(type(arg) is int and not -128 <= arg < 128 for arg in args))
    kwargs: dict[str, Any] = {"dtype": draw(st.sampled_from(ALL))}
    if draw(st.booleans()):
        kwargs["casting"] = draw(st.sampled_from(CASTINGS))
    return Call(args, kwargs)


@st.composite
def cast_unsafely(draw: st.DrawFn) -> Call:
    """Calls with ``casting="unsafe"`` between dtypes and values where C defines the cast."""
    args = draw(broadcast_pairs(SIGNED + FLOATS, special=False))
    return Call(args, {"dtype": draw(st.sampled_from(SIGNED + FLOATS)), "casting": "unsafe"})


@st.composite
def with_casting(draw: st.DrawFn) -> Call:
    """Calls with ``casting=`` alone, which is about the operands."""
    return Call(draw(operands(2, ALL)), {"casting": draw(st.sampled_from(CASTINGS))})


@st.composite
def assigned(draw: st.DrawFn) -> Call:
    """An array and what is combined with it in place; the other one seldom does not broadcast."""
    target = draw(arrays(ALL, reverse=False))
    shape = target.host.shape
    kind = draw(st.integers(0, 5))
    if kind < 2:
        return Call((target, draw(python_scalars())), {})
    own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in shape)
    own = own[draw(st.integers(0, len(own))) :] if kind < 5 else (2, *own)
    other = draw(arrays(ALL, own))
    return Call((target, other.host if kind == 4 else other), {})


def _powers(x: Any, y: Any) -> Any:
    return x**y


FEW = "add divide maximum equal power bitwise_and".split()
# not power: where a negative integer power is refused and the cast of the result as well, either
# error may come first
STORED = [name for name in FEW if name != "power"]
# the least integers to the power of others: as in cases_ufuncs
_POWERS = operands(2, REALS)

CASES: dict[str, Case] = {
    **{f"{name}[out]": Case(stored(getattr(np, name)), with_out(2)) for name in STORED},
    **{f"{name}[where]": Case(stored(getattr(np, name)), with_out(2, True)) for name in STORED},
    **{f"{name}[dtype]": Case(getattr(np, name), with_dtype()) for name in FEW},
    **{f"{name}[casting]": Case(getattr(np, name), with_casting()) for name in FEW},
    **{f"{name}[operator]": Case(f, operands(2, ALL)) for name, f in OPERATORS.items()},
    **{f"{name}[in_place]": Case(f, assigned()) for name, f in IN_PLACE.items()},
    "sqrt[out]": Case(stored(np.sqrt), with_out(1)),
    "negative[where]": Case(stored(np.negative), with_out(1, True)),
    "negative[operator]": Case(operator.neg, operands(1)),
    "positive[operator]": Case(operator.pos, operands(1)),
    "absolute[operator]": Case(abs, operands(1)),
    "invert[operator]": Case(operator.invert, operands(1, BOOL + INTEGERS)),
    "power[operator]": Case(_powers, _POWERS),
    "add[overlapping]": Case(into_itself, overlapping()),
    "add[unsafe]": Case(np.add, cast_unsafely()),
    "multiply[unsafe]": Case(np.multiply, cast_unsafely()),
}

"""Every ufunc of NumPy's top level, called on operands of all dtypes and forms.

Operations that IEEE 754 rounds correctly, and those that only move bits, are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.operands import operands
from tests.array.properties.strategies import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    REALS,
    Call,
    Case,
    arrays,
    shapes,
)

EXACT_BINARY = """
add subtract multiply divide true_divide floor_divide remainder mod fmod divmod maximum minimum
fmax fmin copysign nextafter heaviside equal not_equal less less_equal greater greater_equal
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift
bitwise_left_shift right_shift bitwise_right_shift gcd lcm
""".split()
# of 0.0 and -0.0 either may be the larger: NumPy's loops for short and long arrays differ
EXTREMES = "maximum minimum fmax fmin".split()
BINARY = "float_power logaddexp logaddexp2 hypot arctan2 atan2".split()
EXACT_UNARY = """
negative positive fabs rint floor ceil trunc square reciprocal conjugate conj modf spacing
isfinite isinf isnan signbit logical_not invert bitwise_invert bitwise_not bitwise_count
""".split()
UNARY = """
absolute abs sign sqrt exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan arcsin arccos arctan
sinh cosh tanh arcsinh arccosh arctanh asin acos atan asinh acosh atanh
deg2rad rad2deg degrees radians
""".split()


def _frexp(x: Any) -> tuple[Any, Any]:
    """The exponent of what is not finite is unspecified in C."""
    mantissa, exponent = np.frexp(x)
    return mantissa, exponent * np.isfinite(x)


def _named(names: list[str], n: int, exact: bool) -> dict[str, Case]:
    return {
        name: Case(getattr(np, name), operands(n), exact=exact, zeros=name not in EXTREMES)
        for name in names
    }


@st.composite
def products(draw: st.DrawFn, first: str, second: str) -> Call:
    """Operands of a product of matrices or vectors, by the core axes of each (letters)."""
    sizes = {letter: draw(st.integers(0, 4)) for letter in "mnp"}
    if draw(st.integers(0, 9)) == 0:  # sizes that do not fit are refused
        sizes["x"] = sizes["n"] + 1
        second = second.replace("n", "x")
    outer = draw(shapes(0, 2, 0, 3))
    found = []
    for core in (first, second):
        dropped = draw(st.integers(0, len(outer)))
        own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in outer[dropped:])
        shape = own + tuple(sizes[letter] for letter in core)
        # sums of infinities depend on the order of the additions only in NaN, those of extreme
        # floats do in the value
        found.append(draw(arrays(ALL, shape, special=False)))
    return Call(tuple(found), {})


def _product(function: Callable[..., Any], first: str, second: str) -> Case:
    # products of float16 are accumulated in another order and width than NumPy's
    return Case(function, products(first, second), atol=1e-4, zeros=False)


def _power_operands() -> st.SearchStrategy[Any]:
    # complex powers of special values are documented in daskasc.array._complex
    return operands(2, REALS) | operands(2, COMPLEX, special=False)


CASES: dict[str, Case] = {
    **_named(EXACT_BINARY, 2, True),
    **_named(BINARY, 2, False),
    **_named(EXACT_UNARY, 1, True),
    **_named(UNARY, 1, False),
    "power": Case(np.power, _power_operands()),
    "pow": Case(np.pow, _power_operands()),
    "frexp": Case(_frexp, operands(1), exact=True),
    "ldexp": Case(np.ldexp, operands(2, ALL, BOOL + INTEGERS), exact=True),
    "isnat": Case(np.isnat, operands(1, REALS + FLOATS)),
    "matmul": _product(np.matmul, "mn", "np"),
    "matmul[vectors]": _product(np.matmul, "n", "n"),
    "vecdot": _product(np.vecdot, "n", "n"),
    "matvec": _product(np.matvec, "mn", "n"),
    "vecmat": _product(np.vecmat, "n", "np"),
}

"""Sums, products, means and spreads, by function and by method."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    Call,
    Case,
    Strided,
    arrays,
    axes,
    axis,
    shapes,
)

# without the extremes of 64-bit integers: their sums in float64 depend on the order of adding
MEASURED = st.one_of(
    arrays(FLOATS + COMPLEX), arrays((*BOOL, "i1", "i2", "u1", "u2")), arrays(INTEGERS, None, False)
)
# without halves and complex numbers at infinity: whether an intermediate overflows, and whether
# inf * (1 + 0j) is inf or NaN, depends on how the products are grouped
MULTIPLIED = st.one_of(
    arrays(("f4", "f8", *BOOL, *INTEGERS)),
    arrays(COMPLEX, None, False),
    arrays(("f2",), shapes(0, 2, 0, 2)),
)
ACCUMULATED = st.none() | st.sampled_from(("i8", "f4", "f8", "c16"))


def narrowed(draw: st.DrawFn, array: Strided, kwargs: dict[str, Any]) -> None:
    """Let a result be of any integer dtype; floats beyond one have no integer in C."""
    if array.base.dtype.kind in "biu" and draw(st.booleans()):
        kwargs["dtype"] = draw(st.sampled_from(INTEGERS))


@st.composite
def reduced(
    draw: st.DrawFn,
    values: st.SearchStrategy[Strided],
    masked: bool = True,
    wrong: bool = True,
    any_integer: bool = False,
    **options: st.SearchStrategy[Any],
) -> Call:
    """Calls of a reduction: an array, ``axis=``, ``keepdims=``, ``where=`` and further options.

    Options that are drawn as None are left out; `any_integer` lets integers have any integer
    dtype. One in eight axes is out of bounds or double,
    where `wrong`.
    """
    array = draw(values)
    shape = array.host.shape
    kwargs: dict[str, Any] = {"axis": draw(axes(len(shape))), "keepdims": draw(st.booleans())}
    if wrong and draw(st.integers(0, 7)) == 0:
        kwargs["axis"] = draw(st.sampled_from(((0, 0), (0, -len(shape)), len(shape), -5, (0, 9))))
    if masked and draw(st.integers(0, 2)) == 0:
        own = tuple(1 if draw(st.booleans()) else n for n in shape)
        kwargs["where"] = draw(arrays(BOOL, own))
    for name, option in options.items():
        value = draw(option)
        if value is not None:
            kwargs[name] = value
    if "dtype" in options and any_integer:
        narrowed(draw, array, kwargs)
    return Call((array,), kwargs)


@st.composite
def scanned(draw: st.DrawFn, values: Any, **options: Any) -> Call:
    """Calls of a scan: an array, one axis (one in eight out of bounds) and further options."""
    array = draw(values)
    ndim = array.host.ndim
    kwargs = {"axis": draw(axis(ndim)) if draw(st.integers(0, 7)) else ndim + 1}
    for key, option in options.items():
        value = draw(option)
        if value is not None:
            kwargs[key] = value
    if "dtype" in options:
        narrowed(draw, array, kwargs)
    return Call((array,), kwargs)


@st.composite
def weighted(draw: st.DrawFn) -> Call:
    """Calls of average: weights of the array's shape, of one axis, or of several."""
    array = draw(MEASURED)
    shape = array.host.shape
    chosen = draw(axes(len(shape)))
    kwargs: dict[str, Any] = {"axis": chosen, "returned": draw(st.booleans())}
    if draw(st.booleans()):
        kwargs["keepdims"] = draw(st.booleans())
    if draw(st.integers(0, 3)):
        own = shape
        if chosen is not None and draw(st.booleans()):
            several = (chosen,) if isinstance(chosen, int) else chosen
            own = tuple(shape[i] for i in several)
        kind = draw(st.sampled_from((("f4", "f8"), ("i4", "u1"))))
        # without inf and NaN, which a product with zero makes of either
        kwargs["weights"] = draw(arrays(kind, own, special=False))
    return Call((array,), kwargs)


@st.composite
def stored(draw: st.DrawFn, dtypes: Any = ("f4", "i4")) -> Call:
    """Calls with ``out=`` of the right or of a wrong shape and of several dtypes."""
    # without NaN and infinities, whose conversion to integers is the processor's business
    array = draw(arrays(dtypes, shapes(1, 3, 1, 3), special=False))
    shape = array.host.shape
    number = draw(st.integers(0, len(shape) - 1))
    kept = shape[:number] + shape[number + 1 :]
    out = draw(st.sampled_from((kept, kept, kept, (*kept, 2))))
    return Call(
        (array, number), {"out": draw(arrays(("f4", "f8", "i8", "i4"), out, strided=False))}
    )


def storing(function: Any) -> Any:
    """`function` that gives what it wrote into `out`."""

    def call(*args: Any, out: Any) -> Any:
        found = function(*args, out=out)
        assert found is out
        return out

    return call


def method(name: str) -> Any:
    """The method of either library's array."""
    return lambda array, *args, **kwargs: getattr(array, name)(*args, **kwargs)


FREEDOM = st.none() | st.sampled_from((0, 1, 2, 0.5))

CASES: dict[str, Case] = {
    "sum": Case(
        np.sum,
        # sums of infinities of either sign in one step of float16 are the dtype's business
        reduced(
            arrays(ALL),
            any_integer=True,
            dtype=ACCUMULATED,
            initial=st.none() | st.sampled_from((2, 1.5, -1, 300, 1j, np.nan)),
        ),
    ),
    "sum[out]": Case(storing(np.sum), stored()),
    "sum[method]": Case(method("sum"), reduced(arrays(ALL), dtype=ACCUMULATED)),
    "prod": Case(
        np.prod,
        reduced(
            MULTIPLIED,
            any_integer=True,
            initial=st.none() | st.just(2),
            dtype=st.none() | st.just("f8"),
        ),
    ),
    "prod[out]": Case(storing(np.prod), stored()),
    "prod[method]": Case(method("prod"), reduced(MULTIPLIED)),
    "mean": Case(np.mean, reduced(MEASURED, dtype=st.none() | st.sampled_from(("f4", "f8")))),
    "mean[method]": Case(method("mean"), reduced(MEASURED)),
    "mean[out]": Case(storing(np.mean), stored()),
    "var": Case(np.var, reduced(MEASURED, ddof=FREEDOM, correction=st.none())),
    "var[correction]": Case(np.var, reduced(MEASURED, correction=FREEDOM)),
    "var[method]": Case(method("var"), reduced(MEASURED, ddof=FREEDOM)),
    "std": Case(np.std, reduced(MEASURED, ddof=FREEDOM)),
    "std[dtype]": Case(
        np.std, reduced(MEASURED, dtype=st.sampled_from(("f4", "f8", "c16")), correction=FREEDOM)
    ),
    # deviations are rounded in float32, whatever the dtype of out
    "std[out]": Case(storing(np.std), stored(), rtol=3e-5),
    "average": Case(np.average, weighted()),
}

"""Arrays from a few numbers, and arrays like others.

NumPy's functions dispatch on arrays only; called with plain numbers, the card's namesakes in
``daskasc.array`` are compared with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import daskasc.array as da
from tests.array.properties.strategies import (
    ALL,
    COMMON,
    FLOATS,
    SIGNED,
    Call,
    Case,
    Strided,
    arrays,
    broadcast_pairs,
    shapes,
)

_ON_CARD = Strided(np.zeros(0), (), ())


def both(name: str) -> Callable[..., Any]:
    """NumPy's function or the card's, by where the first argument lies."""

    def function(where: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = np if isinstance(where, np.ndarray) else da
        return getattr(chosen, name)(*args, **kwargs)

    return function


def made(name: str, *strategies: st.SearchStrategy[Any], **options: Any) -> Case:
    """Case of a function of plain numbers; options that are drawn as None are left out."""
    wrong = options.pop("tolerance", 0.0)

    @st.composite
    def calls(draw: st.DrawFn) -> Call:
        args = tuple(draw(strategy) for strategy in strategies)
        drawn = {key: draw(option) for key, option in options.items()}
        return Call((_ON_CARD, *args), {k: v for k, v in drawn.items() if v is not None})

    return Case(both(name), calls(), rtol=wrong)


NUMBERS = st.integers(-5, 9) | st.sampled_from((0.5, -1.5, 2.25, 0.1, 1e-3, 7.0))
SIDES = st.integers(0, 5)
DIAGONALS = st.integers(-4, 4)
MAYBE = st.none() | st.sampled_from(COMMON)
COUNTS = st.integers(0, 9)
SIZES = st.integers(-1, 9)


@st.composite
def likenesses(draw: st.DrawFn, value: bool = False) -> Call:
    """Calls of ``zeros_like`` and its kin."""
    array = draw(arrays(ALL))
    kwargs: dict[str, Any] = {}
    if draw(st.booleans()):
        kwargs["dtype"] = draw(st.sampled_from(ALL))
    if draw(st.booleans()):
        kwargs["shape"] = draw(shapes() | st.integers(0, 3))
    if not value:
        return Call((array,), kwargs)
    kwargs["dtype"] = kwargs.get("dtype", draw(st.sampled_from(FLOATS)))
    return Call((array, draw(st.sampled_from((0, 1, True, 7)))), kwargs)


@st.composite
def ends(draw: st.DrawFn, positive: bool = False) -> Call:
    """Calls of ``linspace`` and its kin between arrays."""
    dtypes = FLOATS[1:] + SIGNED + ("u1",)
    first, last = draw(broadcast_pairs(dtypes, special=False))
    if positive:
        first, last = (
            Strided(np.abs(x.base) + np.ones((), x.base.dtype), x.index, x.order)
            for x in (first, last)
        )
    kwargs: dict[str, Any] = {"num": draw(COUNTS), "endpoint": draw(st.booleans())}
    if draw(st.booleans()):
        kwargs["axis"] = draw(st.sampled_from((0, -1)))
    return Call((first, draw(st.sampled_from((last, 3)))), kwargs)


@st.composite
def grids(draw: st.DrawFn) -> Call:
    """Calls of ``meshgrid``."""
    count = draw(st.integers(1, 3))
    axes_ = [draw(arrays(COMMON, shapes(0, 1))) for _ in range(count)]
    kwargs = {"indexing": draw(st.sampled_from(("xy", "ij", "yx"))), "sparse": draw(st.booleans())}
    return Call(tuple(axes_), kwargs)


def _as(name: str) -> Callable[..., Any]:
    """Conversions, which NumPy's functions do not hand to other libraries' arrays."""

    def function(x: Any, dtype: Any) -> Any:
        found = getattr(np if isinstance(x, np.ndarray) else da, name)(x, dtype)
        orders = {"ascontiguousarray": "C_CONTIGUOUS", "asfortranarray": "F_CONTIGUOUS"}
        assert found.flags[orders.get(name, "WRITEABLE")]
        return found

    return function


def _form(function: Callable[..., Any]) -> Callable[..., Any]:
    """Dtype and shape of new elements whose values are not set."""

    def call(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return found.dtype, found.shape

    return call


def _shared(x: Any) -> Any:
    parts = (x, x[:1], x[1:].T, x.copy())
    return [np.may_share_memory(x, part) for part in parts if part.size]


def _share_nothing(x: Any) -> Any:
    return np.shares_memory(x, x.copy()), np.shares_memory(x, x) if x.size else False


CONVERTED = st.tuples(
    arrays(ALL, special=False, reverse=False), st.sampled_from((None, "f4", "c16"))
)


@st.composite
def nested(draw: st.DrawFn) -> Call:
    """Lists of arrays and numbers as arguments of ``array``."""
    shape = draw(shapes(0, 2))
    rows = [draw(arrays(COMMON, shape)) for _ in range(draw(st.integers(1, 3)))]
    return Call((rows,), {"ndmin": draw(st.integers(0, 3))})


def _array(rows: Any, ndmin: int) -> Any:
    return (np if isinstance(rows[0], np.ndarray) else da).array(rows, ndmin=ndmin)


def _fromfunction(where: Any, shape: tuple[int, ...]) -> Any:
    library = np if isinstance(where, np.ndarray) else da
    return library.fromfunction(lambda *grids: sum(grids, 0 * grids[0]) + 1, shape)


CASES: dict[str, Case] = {
    "arange": made("arange", NUMBERS, NUMBERS, st.sampled_from((1, 2, -1, 0.5, 0.1)), dtype=MAYBE),
    "arange[stop]": made("arange", NUMBERS, dtype=MAYBE),
    "linspace": made("linspace", NUMBERS, NUMBERS, COUNTS, endpoint=st.booleans(), dtype=MAYBE),
    "linspace[arrays]": Case(np.linspace, ends()),
    "logspace": made("logspace", NUMBERS, NUMBERS, COUNTS, base=st.sampled_from((10.0, 2, 0.5))),
    "logspace[arrays]": Case(np.logspace, ends()),
    "geomspace": made("geomspace", st.integers(1, 9), st.sampled_from((0.5, 2.0, 100)), COUNTS),
    "geomspace[arrays]": Case(np.geomspace, ends(True)),
    "zeros": made("zeros", shapes() | COUNTS, dtype=MAYBE),
    "ones": made("ones", shapes() | COUNTS, dtype=MAYBE),
    "full": made("full", shapes() | COUNTS, st.sampled_from((1, True, 2.5, 1j, 0)), dtype=MAYBE),
    "full[array]": Case(
        lambda x: (np if isinstance(x, np.ndarray) else da).full((2, 3), x),
        arrays(ALL, ()).map(lambda x: (x,)),
    ),
    "eye": made("eye", SIDES, st.none() | SIDES, DIAGONALS, dtype=MAYBE),
    "identity": made("identity", SIDES, dtype=MAYBE),
    "tri": made("tri", SIDES, st.none() | SIDES, DIAGONALS, dtype=MAYBE),
    "indices": made("indices", shapes(0, 3, 0, 3), dtype=MAYBE, sparse=st.booleans()),
    "diag_indices": made("diag_indices", SIDES, st.integers(1, 3)),
    "tril_indices": made("tril_indices", SIDES, DIAGONALS, st.none() | SIDES),
    "triu_indices": made("triu_indices", SIDES, DIAGONALS, st.none() | SIDES),
    "mask_indices": made("mask_indices", SIDES, st.sampled_from((np.tril, np.triu)), DIAGONALS),
    "bartlett": made("bartlett", SIZES),
    "blackman": made("blackman", SIZES),
    "hamming": made("hamming", SIZES),
    "hanning": made("hanning", SIZES),
    "kaiser": made("kaiser", SIZES, st.sampled_from((0.0, 1.0, 8.6, 14))),
    "fromfunction": Case(_fromfunction, shapes(1, 3).map(lambda shape: (_ON_CARD, shape))),
    **{
        name: Case(_as(name), CONVERTED)
        for name in "asarray asanyarray ascontiguousarray asfortranarray asarray_chkfinite".split()
    },
    "asarray_chkfinite[special]": Case(
        _as("asarray_chkfinite"), arrays(ALL, reverse=False).map(lambda x: (x, None))
    ),
    "empty": Case(_form(both("empty")), st.tuples(st.just(_ON_CARD), shapes() | COUNTS)),
    "empty_like": Case(_form(np.empty_like), likenesses()),
    "may_share_memory": Case(_shared, arrays(COMMON, shapes(1, 3)).map(lambda x: (x,))),
    "shares_memory": Case(_share_nothing, arrays(COMMON, shapes(1, 3)).map(lambda x: (x,))),
    "meshgrid": Case(np.meshgrid, grids()),
    "array": Case(_array, nested()),
    "zeros_like": Case(np.zeros_like, likenesses()),
    "ones_like": Case(np.ones_like, likenesses()),
    "full_like": Case(np.full_like, likenesses(True)),
    "copy": Case(np.copy, arrays(ALL).map(lambda x: (x,)), exact=True),
    "tril_indices_from": Case(np.tril_indices_from, arrays(COMMON).map(lambda x: (x,))),
    "triu_indices_from": Case(np.triu_indices_from, arrays(COMMON).map(lambda x: (x,))),
    "diag_indices_from": Case(np.diag_indices_from, arrays(COMMON).map(lambda x: (x,))),
}

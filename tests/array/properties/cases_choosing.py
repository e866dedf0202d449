"""Choosing elements by masks and places, and writing them there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from tests.array.properties.operands import partners, python_scalars
from tests.array.properties.strategies import (
    ALL,
    BOOL,
    COMMON,
    FLOATS,
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

MODES = ("raise", "wrap", "clip")
HARDLY = 12  # one in so many calls is wrong
# values that do not fit every dtype: NumPy refuses them, alone and in lists
UNFIT: tuple[Any, ...] = (300, -1, 1.5, np.nan, np.inf, 1j, [300], [np.nan], [1j], [2**70])


def placed_numbers(draw: st.DrawFn, shape: tuple[int, ...], length: int, wrong: bool = True) -> Any:
    """An array of places in an axis; some lie outside."""
    extra = 1 if wrong and draw(st.integers(0, HARDLY)) == 0 else 0
    low, high = -length - extra, length + extra
    if low == high:
        shape = (0, *shape[1:]) if shape else (0,)
        high = 1
    random = np.random.default_rng(draw(st.integers(0, 2**20)))
    dtype = draw(st.sampled_from(("i8", "i8", "i4", "i1")))
    host = random.integers(low, high, shape).astype(dtype)
    return draw(st.sampled_from((Strided(host, (), ()), host)))


@st.composite
def wheres(draw: st.DrawFn) -> tuple[Any, ...]:
    """A condition and two values, arrays or scalars."""
    shape = draw(shapes())
    own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in shape)
    condition = draw(arrays((*BOOL, "i4", "f4"), own))
    values = [draw(partners(ALL, shape)) for _ in range(2)]
    # beyond int64 NumPy takes Python integers as unsigned, or as objects, which no card has
    assume(not any(type(value) is int and abs(value) >= 2**63 for value in values))
    return (condition, *values)


@st.composite
def selections(draw: st.DrawFn) -> Call:
    """Calls of ``select``."""
    count = draw(st.integers(1, 3))
    masks = [draw(arrays(BOOL, (2, 3))) for _ in range(count)]
    values = [draw(arrays(COMMON, draw(st.sampled_from(((2, 3), (3,), ()))))) for _ in range(count)]
    if draw(st.integers(0, HARDLY)) == 0:
        values.pop()
    return Call((masks, values), {"default": draw(st.sampled_from((0, 1.5, -1)))})


@st.composite
def taken(draw: st.DrawFn) -> Call:
    """Calls of ``take``."""
    array = draw(arrays(ALL))
    shape = array.host.shape
    along = draw(axis(len(shape)))
    length = array.host.size if along is None else (shape[along] if shape else 1)
    places = placed_numbers(draw, draw(shapes(0, 2, 0, 3)), length)
    kwargs = {"axis": along, "mode": draw(st.sampled_from(MODES))}
    return Call((array, draw(st.sampled_from((places, 0)))), kwargs)


@st.composite
def along(draw: st.DrawFn, write: bool = False) -> Call:
    """Calls of ``take_along_axis`` and ``put_along_axis``."""
    array = draw(arrays(COMMON, shapes(1, 3), reverse=not write))
    shape = list(array.host.shape)
    number = draw(st.integers(-len(shape), len(shape) - 1))
    length, shape[number] = shape[number], draw(st.integers(0, 3))
    # an axis of length 1 would be written to in an unspecified order
    places = placed_numbers(draw, tuple(shape), length)
    if length == 0:
        shape[number] = 0
        places = Strided(np.zeros(shape, int), (), ())
    if not write:
        return Call((array, places, number), {})
    value = draw(st.sampled_from((1, draw(arrays((array.base.dtype.str,), tuple(shape))))))
    return Call((array, places, value, number), {})


def written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Call whose result is its first argument, which it writes into."""

    def call(target: Any, *args: Any, **kwargs: Any) -> Any:
        function(target, *args, **kwargs)
        return target

    return call


@st.composite
def puts(draw: st.DrawFn) -> Call:
    """Calls of ``put``."""
    array = draw(arrays((*SIGNED, "u1", *FLOATS), reverse=False))
    places = placed_numbers(draw, draw(shapes(0, 2, 0, 3)), array.host.size)
    values = draw(arrays((array.base.dtype.str,), shapes(0, 1, 1, 4)))
    chosen = draw(st.sampled_from((values, 3, *UNFIT)))
    return Call((array, places, chosen), {"mode": draw(st.sampled_from(MODES))})


@st.composite
def masked(draw: st.DrawFn, least: int = 0) -> Call:
    """Calls of ``place`` and ``putmask``: an array, a mask of its shape, and values."""
    array = draw(arrays((*SIGNED, "u1", *FLOATS), reverse=False))
    mask = draw(arrays((*BOOL, "i4"), array.host.shape))
    values: Any = draw(arrays((array.base.dtype.str,), shapes(1, 1, least, 4)))
    if draw(st.integers(0, 3)) == 0:
        values = draw(st.sampled_from(UNFIT))
    return Call((array, mask, values), {})


@st.composite
def copies(draw: st.DrawFn) -> Call:
    """Calls of ``copyto``."""
    array = draw(arrays(ALL, reverse=False))
    shape = array.host.shape
    own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in shape)
    own = own[draw(st.integers(0, len(own))) :]
    source = draw(st.one_of(arrays(ALL, own), python_scalars((bool, float, complex))))
    kwargs: dict[str, Any] = {}
    if draw(st.booleans()):
        kwargs["where"] = draw(arrays(BOOL, own))
    if draw(st.booleans()):
        kwargs["casting"] = draw(st.sampled_from(("no", "safe", "same_kind")))
    return Call((array, source), kwargs)


@st.composite
def choices(draw: st.DrawFn) -> Call:
    """Calls of ``choose``."""
    count = draw(st.integers(1, 3))
    shape = draw(shapes(0, 2, 0, 3))
    places = elements("i8", shape, draw(st.integers(0, 2**20)), False) % (count + 1) - 1
    options = [draw(arrays(COMMON, draw(st.sampled_from((shape, ()))))) for _ in range(count)]
    mode = draw(st.sampled_from(MODES))
    if mode == "raise" and draw(st.integers(0, 2)):
        places = places % count
    return Call((Strided(places, (), ()), options), {"mode": mode})


@st.composite
def compressed(draw: st.DrawFn) -> Call:
    """Calls of ``compress``."""
    array = draw(arrays(ALL))
    shape = array.host.shape
    number = draw(axis(len(shape)))
    length = array.host.size if number is None else (shape[number] if shape else 1)
    short = draw(st.integers(0, length))
    mask = draw(st.sampled_from((elements("?", (short,), short, False),)))
    return Call((Strided(mask, (), ()), array), {"axis": number})


@st.composite
def flat_places(draw: st.DrawFn) -> Call:
    """Calls of ``unravel_index``."""
    shape = draw(shapes(1, 3, 1, 4))
    host = elements("u1", draw(shapes(0, 2, 0, 3)), draw(st.integers(0, 99)), False)
    size = int(np.prod(shape)) + (draw(st.integers(0, HARDLY)) == 0)
    return Call(
        (Strided(host.astype("i8") % size, (), ()), shape), {"order": draw(st.sampled_from("CF"))}
    )


@st.composite
def multi_places(draw: st.DrawFn) -> Call:
    """Calls of ``ravel_multi_index``."""
    shape = draw(shapes(1, 3, 1, 4))
    own = draw(shapes(0, 2, 0, 3))
    mode = draw(st.sampled_from(MODES))
    parts = []
    for side in shape:
        host = elements("i8", own, draw(st.integers(0, 2**20)), False)
        parts.append(Strided(host if mode != "raise" else host % (side + 1) // 2, (), ()))
    return Call((tuple(parts), shape), {"mode": mode, "order": draw(st.sampled_from("CF"))})


@st.composite
def diagonals(draw: st.DrawFn) -> Call:
    """Calls of ``fill_diagonal``."""
    equal = draw(st.integers(0, 3))
    shape = draw(st.sampled_from(((equal, equal, equal), (2, 3), (5, 2), (3, 3), (4, 1), (3,))))
    array = draw(arrays(COMMON, shape, reverse=False))
    values = draw(arrays((array.base.dtype.str,), shapes(0, 1, 1, 4)))
    return Call((array, draw(st.sampled_from((values, 1, *UNFIT)))), {"wrap": draw(st.booleans())})


def _pieces(x: Any, value: float) -> Any:
    return np.piecewise(x, [x < 0, x >= 1], [lambda part: -part, value, lambda part: part * 2])


def _pieces_alone(x: Any) -> Any:
    return np.piecewise(x, x > 0, [1, lambda part: part + 1])


@st.composite
def inserted(draw: st.DrawFn) -> Call:
    """Calls of ``insert``."""
    array = draw(arrays(COMMON, shapes(1, 2, 0, 4)))
    shape = array.host.shape
    number = draw(axis(len(shape)))
    length = array.host.size if number is None else shape[number]
    # NumPy checks a single place only
    place = st.integers(-length - (draw(st.integers(0, HARDLY)) == 0), length)
    several = st.lists(st.integers(-length, length), min_size=1, max_size=3)
    where = draw(st.one_of(place, several))
    return Call((array, where, draw(st.sampled_from((0, 1, *UNFIT)))), {"axis": number})


@st.composite
def deleted(draw: st.DrawFn) -> Call:
    """Calls of ``delete``."""
    array = draw(arrays(ALL, shapes(1, 2, 1, 4)))
    shape = array.host.shape
    number = draw(axis(len(shape)))
    length = array.host.size if number is None else shape[number]
    place = st.integers(-length - (draw(st.integers(0, HARDLY)) == 0), length - 1)
    where = draw(st.one_of(place, st.lists(place, max_size=3), st.just(slice(None, None, 2))))
    return Call((array, where), {"axis": number})


_MATRICES = st.tuples(arrays(ALL, shapes(1, 3)), st.integers(-3, 3))

CASES: dict[str, Case] = {
    "where": Case(np.where, wheres(), exact=True),
    "where[places]": Case(np.where, arrays(ALL, shapes(1, 3)).map(lambda x: (x,))),
    "select": Case(np.select, selections()),
    "choose": Case(np.choose, choices()),
    "take": Case(np.take, taken(), exact=True),
    "take_along_axis": Case(np.take_along_axis, along(), exact=True),
    "put_along_axis": Case(written(np.put_along_axis), along(True)),
    "put": Case(written(np.put), puts()),
    "place": Case(written(np.place), masked()),
    "putmask": Case(written(np.putmask), masked(1)),
    "copyto": Case(written(np.copyto), copies()),
    "fill_diagonal": Case(written(np.fill_diagonal), diagonals()),
    "compress": Case(np.compress, compressed()),
    "extract": Case(
        np.extract,
        broadcast_pairs(BOOL, n=1).flatmap(
            lambda m: arrays(ALL, m[0].host.shape).map(lambda x: (m[0], x))
        ),
    ),
    "insert": Case(np.insert, inserted()),
    "delete": Case(np.delete, deleted()),
    "unravel_index[bounds]": Case(np.unravel_index, flat_places()),
    "ravel_multi_index[modes]": Case(np.ravel_multi_index, multi_places()),
    "piecewise": Case(_pieces, st.tuples(arrays(SIGNED + FLOATS), st.sampled_from((1, 3)))),
    "piecewise[one condition]": Case(
        # NumPy itself fails for empty arrays
        _pieces_alone,
        arrays(REALS[1:], shapes(min_side=1)).map(lambda x: (x,)),
    ),
    "tril": Case(np.tril, _MATRICES),
    "triu": Case(np.triu, _MATRICES),
    "diag": Case(np.diag, st.tuples(arrays(ALL, shapes(0, 3)), st.integers(-3, 3))),
    "diagflat": Case(np.diagflat, st.tuples(arrays(ALL, shapes(0, 2)), st.integers(-3, 3))),
    "diagonal": Case(np.diagonal, st.tuples(arrays(ALL, shapes(0, 3)), st.integers(-3, 3))),
}

"""Reading and writing by index: basic, boolean, integer and mixed ones, and wrong ones.

The functions are methods of arrays, so the names are those of the function of NumPy's table that
makes the index (``ix_``, ``nonzero``) or, for lack of one, ``array``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.operands import python_scalars
from tests.array.properties.strategies import (
    ALL,
    BOOL,
    COMMON,
    FLOATS,
    INTEGERS,
    SIGNED,
    Call,
    Case,
    Strided,
    arrays,
    elements,
    shapes,
)

HARDLY = 12  # one in so many indices is wrong


def _numbers(draw: st.DrawFn, shape: tuple[int, ...], low: int, high: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(draw(st.integers(0, 2**20)))
    if high < low:
        shape = (0,)
        high = low
    dtype = draw(st.sampled_from(("i8", "i8", "i4", "u1" if low >= 0 else "i1")))
    return random.integers(low, high + 1, shape).astype(dtype)


@st.composite
def entries(draw: st.DrawFn, length: int, shape: tuple[int, ...], array: bool) -> Any:
    """An index of one axis: an integer, a slice, or an integer array of a shape."""
    extra = int(draw(st.integers(0, HARDLY)) == 0)
    low, high = -length - extra, length - 1 + extra
    kind = draw(st.integers(0, 3 if array else 1))
    if kind == 0 and (length or extra):
        return draw(st.sampled_from((int, np.int64)))(draw(st.integers(low, high)))
    if kind <= 1:
        edge = st.none() | st.integers(-length - 2, length + 2)
        return slice(draw(edge), draw(edge), draw(st.sampled_from((None, None, 1, 2, -1, -2))))
    own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in shape)
    own = own[draw(st.integers(0, len(own))) :]
    if not length and not extra:
        own = (0,)
    host = _numbers(draw, own, low if draw(st.booleans()) else 0, high)
    form = draw(st.integers(0, 2))
    if form == 0:
        return Strided(host, (), ())
    return host if form == 1 else host.tolist()


@st.composite
def indices(
    draw: st.DrawFn, shape: tuple[int, ...], array: bool = True, mask: bool = True
) -> tuple[Any, ...]:
    """A tuple that indexes an array of this shape."""
    found: list[Any] = []
    wanted = draw(shapes(0, 2, 0, 3))
    axis = 0
    last = draw(st.integers(0, len(shape)))
    while axis < last:
        if mask and array and draw(st.integers(0, 5)) == 0:
            width = draw(st.integers(1, min(2, len(shape) - axis)))
            own = list(shape[axis : axis + width])
            if draw(st.integers(0, HARDLY)) == 0:
                own[0] += 1
            host = elements("?", own, draw(st.integers(0, 99)), False)
            found.append(draw(st.sampled_from((host, Strided(host, (), ())))))
            axis += width
            continue
        if draw(st.integers(0, 6)) == 0:
            found.append(None)
        found.append(draw(entries(shape[axis], wanted, array)))
        axis += 1
    if draw(st.integers(0, HARDLY)) == 0:
        found.extend([0] * (len(shape) - axis + 1))
    if draw(st.integers(0, 2)) == 0:
        found.insert(draw(st.integers(0, len(found))), Ellipsis)
    if mask and draw(st.integers(0, 9)) == 0:
        found.insert(draw(st.integers(0, len(found))), draw(st.booleans()))
    if draw(st.integers(0, 3 * HARDLY)) == 0:
        found.append(draw(st.sampled_from((1.0, "a", Ellipsis, np.array([0.0])))))
    return tuple(found)


def read(x: Any, index: tuple[Any, ...]) -> Any:
    """Elements; NumPy's scalars as arrays."""
    return x[index]


def read_alone(x: Any, index: Any) -> Any:
    """Elements by an index that is no tuple."""
    return x[index]


@st.composite
def reads(draw: st.DrawFn, array: bool = True, single: bool = False) -> Call:
    """An array and an index."""
    x = draw(arrays(ALL))
    index = draw(indices(x.host.shape, array))
    return Call((x, index[0] if single and index else index), {})


def _placed(index: Any) -> Any:
    if isinstance(index, Strided):
        return index.host
    return tuple(map(_placed, index)) if isinstance(index, tuple) else index


@st.composite
def writes(draw: st.DrawFn, array: bool = True, single: bool = False) -> Call:
    """An array, an index, and a value that broadcasts to what it names; some do not."""
    x = draw(arrays(ALL, reverse=False))
    index: Any = draw(indices(x.host.shape, array))
    if single and index:
        index = index[0]
    try:
        shape = x.host[_placed(index)].shape
    except (IndexError, ValueError, TypeError):
        return Call((x, index, 0), {})
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return Call((x, index, draw(python_scalars())), {})
    own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in shape)
    own = own[draw(st.integers(0, len(own))) :]
    if draw(st.integers(0, HARDLY)) == 0:
        own = (draw(st.integers(1, 2)), *own)
    # NaN, infinities and what is out of range have no defined value in other dtypes
    dtype = x.base.dtype
    value = draw(st.one_of(arrays((dtype.str,), own), arrays(_castable(dtype), own, special=False)))
    return Call((x, index, value.host if kind == 1 else value), {})


def _castable(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """Dtypes whose ordinary values C converts to this one: no negative floats to unsigned."""
    return BOOL + INTEGERS if dtype.kind == "u" else ALL


def write(x: Any, index: Any, value: Any) -> Any:
    """The array after the assignment."""
    x[index] = value
    return x


def update(x: Any, index: Any, value: Any) -> Any:
    """The array after an assignment with an operator."""
    if np.ndim(x[index]) == 0:
        return None  # NumPy's scalars forget their dtype's casting rule
    x[index] += value
    return x


@st.composite
def updates(draw: st.DrawFn) -> Call:
    """Arrays and indices for ``x[index] += 1``."""
    x = draw(arrays(COMMON, reverse=False))
    return Call((x, draw(indices(x.host.shape)), draw(st.sampled_from((1, 2.5)))), {})


# -- aliasing


VIEWS: dict[str, Any] = {
    "x.T": lambda x: x.T,
    "x[1:]": lambda x: x[1:],
    "x[::2]": lambda x: x[::2],
    "x[0]": lambda x: x[:1],
    "x[None]": lambda x: x[None],
    "x[..., 0]": lambda x: x[..., :1],
    "reshape": lambda x: x.reshape(-1, 1) if x.size else x,
    "ravel": lambda x: x.ravel(),
    "transpose": lambda x: np.transpose(x),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "squeeze": lambda x: np.squeeze(x),
    "view": lambda x: x.view(),
    "split": lambda x: np.split(x, [1])[0],
    "atleast_3d": lambda x: np.atleast_3d(x),
    "real": lambda x: x.real,
    "copy": lambda x: x.copy(),
    "flatten": lambda x: x.flatten(),
    "fancy": lambda x: x[[0]] if x.shape[0] else x,
    "mask": lambda x: x[x == x],
}


@st.composite
def viewed(draw: st.DrawFn) -> Call:
    """A contiguous array and up to three steps from it to a view."""
    x = draw(arrays((*COMMON, "c8"), shapes(1, 3), strided=False, special=False))
    steps = draw(st.lists(st.sampled_from(sorted(VIEWS)), min_size=1, max_size=3))
    return Call((x, steps), {})


def written_through(x: Any, steps: list[str]) -> Any:
    """The array after a write through a view of it, and the view."""
    view = x
    for step in steps:
        view = VIEWS[step](view)
    view[...] = 1
    return x, view


def shifted(x: Any) -> Any:
    """Assignments between overlapping parts, and a swap."""
    x[1:] = x[:-1]
    x[:-1] = x[1:] + x[:-1]
    x[::2], x[1::2] = x[1::2][: len(x[::2])].copy(), x[::2][: len(x[1::2])].copy()
    if x.shape[0] > 1:
        x[0], x[1] = x[1], x[0]
    return x


def _even(draw_shape: tuple[int, ...]) -> tuple[int, ...]:
    return (draw_shape[0] // 2 * 2, *draw_shape[1:])


def crossed(x: Any, rows: Any, columns: Any) -> Any:
    """Read, then write, where rows and columns cross."""
    part = x[np.ix_(rows, columns)]
    x[np.ix_(rows, columns)] = part + part
    return part, x


@st.composite
def crossings(draw: st.DrawFn) -> Call:
    """A matrix, and rows and columns of it, as lists or masks."""
    x = draw(arrays(SIGNED + FLOATS, shapes(2, 2, 1, 4), reverse=False))
    chosen: list[Any] = []
    for side in x.host.shape:
        if draw(st.booleans()):
            chosen.append(Strided(elements("?", (side,), draw(st.integers(0, 99)), False), (), ()))
        else:
            chosen.append(draw(st.lists(st.integers(-side, side - 1), max_size=3)))
    return Call((x, *chosen), {})


CASES: dict[str, Case] = {
    "array[read]": Case(read, reads(), exact=True),
    "array[read basic]": Case(read, reads(False), exact=True),
    "array[read single]": Case(read_alone, reads(single=True), exact=True),
    "array[write]": Case(write, writes(), exact=True),
    "array[write basic]": Case(write, writes(False), exact=True),
    "array[write single]": Case(write, writes(single=True), exact=True),
    "array[update]": Case(update, updates()),
    "array[views]": Case(written_through, viewed()),
    "array[overlapping]": Case(
        shifted,
        arrays(COMMON, shapes(1, 2, 1, 6).map(_even), reverse=False).map(lambda x: (x,)),
    ),
    "ix_": Case(crossed, crossings()),
}

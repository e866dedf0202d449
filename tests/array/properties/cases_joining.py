"""Joins, splits, repeats, pads and functions along axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import ALL, COMMON, Call, Case, Strided, arrays, axis, shapes

ANY = arrays(ALL, shapes(0, 3, 0, 3))
AXED = arrays(ALL, shapes(1, 3, 0, 3))


@st.composite
def joined(draw: st.DrawFn, stacked: bool = False, options: bool = True) -> Call:
    """Lists of arrays that fit along an axis, mostly, with ``axis=``, ``dtype=``, ``casting=``."""
    shape = draw(shapes(0 if stacked else 1, 3, 0, 3))
    ndim = len(shape) + stacked
    number = draw(axis(ndim, none=not stacked)) if options else 0
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        own = list(shape)
        if not stacked and isinstance(number, int) and draw(st.booleans()):
            own[number] = draw(st.integers(0, 2))
        if draw(st.integers(0, 15)) == 0:
            own = [*own, 2]
        parts.append(draw(arrays(ALL, tuple(own))))
    kwargs: dict[str, Any] = {}
    if options:
        kwargs["axis"] = number if draw(st.integers(0, 9)) else ndim
        if draw(st.integers(0, 2)) == 0:
            kwargs["dtype"] = draw(st.sampled_from(("f4", "i8", "c16", "?")))
            kwargs["casting"] = draw(st.sampled_from(("same_kind", "safe", "unsafe", "no")))
    return Call((parts,), kwargs)


@st.composite
def into(draw: st.DrawFn) -> Call:
    """Calls of concatenate and stack with ``out=``."""
    shape = draw(shapes(1, 2, 1, 2))
    parts = [draw(arrays(("f4", "i4", "?"), shape, special=False)) for _ in range(2)]
    whole = (2 * shape[0], *shape[1:])
    own = draw(st.sampled_from((whole, whole, (*whole, 1))))
    return Call((parts,), {"out": draw(arrays(("f8", "f4", "i8"), own, strided=False))})


def written(function: Any) -> Any:
    """`function` that gives what it wrote into `out`."""

    def call(parts: Any, out: Any) -> Any:
        assert function(parts, out=out) is out
        return out

    return call


@st.composite
def nested(draw: st.DrawFn) -> Call:
    """Calls of block with one or two levels."""
    rows, columns = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    heights = [draw(st.integers(0, 2)) for _ in range(rows)]
    widths = [draw(st.integers(0, 2)) for _ in range(columns)]
    blocks = [[draw(arrays(COMMON, (h, w))) for w in widths] for h in heights]
    way = draw(st.integers(0, 3))
    if way == 0:
        return Call((blocks[0],), {})
    if way == 1:
        return Call((blocks[0][0],), {})
    if way == 2:
        return Call(([draw(ANY), 3],), {})
    return Call((blocks,), {})


@st.composite
def cut(draw: st.DrawFn, values: Any = AXED, along: bool = True) -> Call:
    """Calls of splits: numbers of parts, indices out of bounds, negative and unsorted ones."""
    array = draw(values)
    ndim = array.host.ndim
    indices = st.lists(st.integers(-4, 6), max_size=3)
    where = draw(st.sampled_from((1, 2, 3, 0, -1)) | indices | indices.map(tuple))
    kwargs = {"axis": draw(axis(ndim, none=False))} if along else {}
    return Call((array, where), kwargs)


@st.composite
def repeated(draw: st.DrawFn) -> Call:
    """Calls of repeat: a number, one number an element, or a list that does not fit."""
    array = draw(ANY)
    number = draw(axis(array.host.ndim)) if array.host.ndim else None
    length = array.host.size if number is None else array.host.shape[number]
    each = st.lists(st.integers(0, 3), min_size=length, max_size=length)
    counts = draw(st.integers(0, 3) | each | st.just([2]) | st.just([1, 2]) | st.just(-1))
    if isinstance(counts, list) and counts and draw(st.booleans()):
        counts = Strided(np.array(counts), (), ())
    return Call((array, counts), {"axis": number})


@st.composite
def padded(draw: st.DrawFn) -> Call:
    """Calls of pad with every mode and its parameters."""
    mode = draw(st.sampled_from(MODES))
    # a mean of integers is rounded: of extremes it is the processor's overflow
    array = draw(arrays(KINDS, shapes(1, 2, draw(st.integers(0, 1)), 4), special=False))
    ndim = array.host.ndim
    one = st.integers(0, 6)
    width: Any = draw(
        st.one_of(one, st.tuples(one, one), st.tuples(*(st.tuples(one, one) for _ in range(ndim))))
    )
    if draw(st.integers(0, 9)) == 0:
        width = draw(st.sampled_from((-1, 1.5, {0: 2}, {-1: (1, 2)})))
    kwargs: dict[str, Any] = {"mode": mode}
    option = {"constant": "constant_values", "linear_ramp": "end_values"}.get(mode)
    if option is not None and draw(st.booleans()):
        kwargs[option] = draw(st.sampled_from((3, (1, 2), ((1, 2),) * ndim)))
    if mode in ("maximum", "minimum", "mean", "median") and draw(st.booleans()):
        kwargs["stat_length"] = draw(st.sampled_from((1, 2, (2, 9), None)))
    if mode in ("reflect", "symmetric") and draw(st.booleans()):
        kwargs["reflect_type"] = draw(st.sampled_from(("even", "odd")))
    return Call((array, width), kwargs)


MODES = (
    "constant edge linear_ramp maximum mean median minimum reflect symmetric wrap nonsense"
).split()
KINDS = ("i4", "i8", "u1", "f4", "f8", "c16")


def sections(name: str) -> Any:
    """Splits along a fixed axis."""
    return Case(getattr(np, name), cut(ANY, along=False))


LISTS = joined(options=False)
LENGTHS = st.integers(0, 3) | shapes(0, 3, 0, 3)

CASES: dict[str, Case] = {
    "concatenate": Case(np.concatenate, joined()),
    "concatenate[out]": Case(written(np.concatenate), into()),
    "concat": Case(np.concat, joined()),
    "stack": Case(np.stack, joined(stacked=True)),
    "vstack": Case(np.vstack, LISTS),
    "hstack": Case(np.hstack, LISTS),
    "dstack": Case(np.dstack, LISTS),
    "column_stack": Case(np.column_stack, LISTS),
    "vstack[scalars]": Case(np.vstack, st.tuples(st.lists(ANY, min_size=1, max_size=2))),
    "hstack[scalars]": Case(np.hstack, st.tuples(st.lists(ANY, min_size=1, max_size=2))),
    "dstack[scalars]": Case(np.dstack, st.tuples(st.lists(ANY, min_size=1, max_size=2))),
    "column_stack[scalars]": Case(
        np.column_stack, st.tuples(st.lists(ANY, min_size=1, max_size=2))
    ),
    "block": Case(np.block, nested()),
    "append": Case(
        lambda parts, axis: np.append(*(parts * 2)[:2], axis=axis),
        joined().map(lambda call: Call(call.args, {"axis": call.kwargs["axis"]})),
    ),
    "array_split": Case(np.array_split, cut()),
    "split": Case(np.split, cut()),
    "hsplit": sections("hsplit"),
    "vsplit": sections("vsplit"),
    "dsplit": sections("dsplit"),
    "unstack": Case(lambda a, axis: np.unstack(a, axis=axis), st.tuples(ANY, st.integers(-3, 3))),
    "repeat": Case(np.repeat, repeated()),
    "tile": Case(np.tile, st.tuples(ANY, LENGTHS)),
    "resize": Case(np.resize, st.tuples(ANY, LENGTHS)),
    "pad[modes]": Case(np.pad, padded(), zeros=False),
    "trace": Case(
        np.trace,
        st.tuples(arrays(ALL, shapes(1, 3, 0, 3), False), st.integers(-2, 2)),
    ),
    "apply_along_axis": Case(
        lambda a, axis: np.apply_along_axis(np.sort, axis, a),
        st.tuples(arrays(("i4", "f8"), shapes(1, 3, 0, 3)), st.integers(-3, 2)),
        zeros=False,
    ),
    "apply_along_axis[scalar]": Case(
        lambda a, axis: np.apply_along_axis(np.max, axis, a),
        st.tuples(arrays(("i4", "f8"), shapes(1, 3, 1, 3)), st.integers(-1, 0)),
        zeros=False,
    ),
    "apply_over_axes": Case(
        lambda a, axes: np.apply_over_axes(np.sum, a, axes),
        st.tuples(
            arrays(("i4", "f8", "?"), shapes(2, 3, 0, 3), False),
            st.sampled_from(([0, 1], [-1], 0, [5])),
        ),
    ),
}

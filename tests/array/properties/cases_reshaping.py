"""Shapes and axes: reshapes, transposes, broadcasts, flips, rolls."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.cases_sums import method
from tests.array.properties.strategies import ALL, Call, Case, Strided, arrays, axes, shapes

ANY = arrays(ALL, shapes(0, 3, 0, 3))
AXED = arrays(ALL, shapes(1, 3, 0, 3))


@st.composite
def reshaped(draw: st.DrawFn, options: bool = True) -> Call:
    """Calls of reshape: shapes that fit, with -1, as a number, and some that do not fit."""
    array = draw(ANY)
    size = array.host.size
    divisors = [n for n in range(1, 9) if size % n == 0] or [1]
    first = draw(st.sampled_from(divisors))
    shape = draw(
        st.sampled_from(
            (
                size,
                -1,
                (-1,),
                (first, -1),
                (first, size // first),
                (size // first, first, 1),
                (-1, -1),
                (size + 1,),
                (0, -1),
                (1, size),
                [size, 1],
                (),
                (-2, size),
            )
        )
    )
    kwargs: dict[str, Any] = {}
    if options and draw(st.booleans()):
        kwargs["order"] = draw(st.sampled_from("CFA"))
    if options and draw(st.integers(0, 3)) == 0:
        kwargs["copy"] = True
    return Call((array, shape), kwargs)


@st.composite
def permuted(draw: st.DrawFn) -> Call:
    """Calls of transpose: an order in either counting, None, or a wrong one."""
    array = draw(ANY)
    ndim = array.host.ndim
    order = [i - ndim if draw(st.booleans()) else i for i in draw(st.permutations(range(ndim)))]
    wrong = ([0] * (ndim + 1), [0] * ndim, [ndim] * ndim)
    return Call((array, draw(st.sampled_from((None, order, order, tuple(order), *wrong)))), {})


@st.composite
def with_axes(draw: st.DrawFn, count: int, values: Any = ANY, spread: int = 0) -> Call:
    """Calls with `count` single axes, now and then out of bounds."""
    array = draw(values)
    ndim = array.host.ndim + spread
    return Call((array, *(draw(st.integers(-ndim - 1, ndim)) for _ in range(count))), {})


@st.composite
def moved(draw: st.DrawFn) -> Call:
    """Calls of moveaxis with one axis or several."""
    array = draw(ANY)
    ndim = array.host.ndim
    if draw(st.booleans()) or not ndim:
        return Call((array, draw(st.integers(-ndim, ndim)), draw(st.integers(-ndim, ndim))), {})
    count = draw(st.integers(0, ndim))
    source = draw(st.permutations(range(ndim)))[:count]
    target = draw(st.permutations(range(-ndim, 0)))[: count + (draw(st.integers(0, 9)) == 0)]
    if draw(st.integers(0, 9)) == 0 and count > 1:
        source[0] = source[1]
    return Call((array, tuple(source), target), {})


@st.composite
def some_axes(draw: st.DrawFn, spread: int = 0) -> Call:
    """Calls with ``axis=`` as None, a number or a tuple."""
    array = draw(ANY)
    ndim = array.host.ndim + spread
    chosen = draw(axes(ndim) if draw(st.integers(0, 7)) else st.sampled_from((5, (0, 0), (0, 9))))
    return Call((array,), {"axis": chosen if chosen is not None or not spread else 0})


@st.composite
def squeezed(draw: st.DrawFn) -> Call:
    """Calls of squeeze: axes of length one, or not."""
    array = draw(arrays(ALL, shapes(0, 3, 1, 2)))
    return Call((array,), {"axis": draw(axes(array.host.ndim))})


@st.composite
def broadcast(draw: st.DrawFn) -> Call:
    """Calls of broadcast_to with shapes that mostly fit."""
    array = draw(arrays(ALL, shapes(0, 2, 0, 3)))
    shape = tuple(draw(st.integers(0, 3)) if n == 1 else n for n in array.host.shape)
    before = draw(shapes(0, 2, 0, 2))
    wanted = draw(st.sampled_from(((*before, *shape), shape, (*shape, 2), (-1, *shape), 3)))
    return Call((array, wanted), {})


@st.composite
def several(draw: st.DrawFn) -> Call:
    """Arrays of a few shapes that may or may not broadcast."""
    count = draw(st.integers(0, 3))
    shape = draw(shapes(0, 2, 0, 3))
    choices = st.sampled_from((shape, shape[1:], tuple(1 for _ in shape), (2, *shape), (3,)))
    return Call(tuple(draw(arrays(ALL, draw(choices))) for _ in range(count)), {})


@st.composite
def rolled(draw: st.DrawFn) -> Call:
    """Calls of roll: numbers and tuples, repeated axes, large shifts."""
    array = draw(AXED)  # NumPy's loop over no axes fails to unpack
    ndim = array.host.ndim
    shift = st.integers(-7, 7)
    if draw(st.booleans()):
        number = draw(st.none() | st.integers(-ndim, ndim)) if ndim else None
        return Call(
            (array, draw(shift | st.lists(shift, min_size=1, max_size=2).map(tuple))),
            {"axis": number},
        )
    places = draw(st.lists(st.integers(-ndim, ndim - 1), max_size=3)) if ndim else []
    shifts = draw(st.sampled_from((2, tuple(range(1, len(places) + 1)), (1, 2))))
    return Call((array, shifts), {"axis": tuple(places)})


@st.composite
def rotated(draw: st.DrawFn) -> Call:
    """Calls of rot90 in any plane, wrong ones among them."""
    array = draw(arrays(ALL, shapes(1, 3, 0, 3)))
    ndim = array.host.ndim
    plane = tuple(draw(st.integers(-ndim, ndim - 1)) for _ in range(2))
    plane = draw(st.sampled_from((plane, plane, (0, 1), (0, 5), (0, 1, 2))))
    return Call((array, draw(st.integers(-5, 5)), plane), {})


@st.composite
def unraveled(draw: st.DrawFn) -> Call:
    """Calls of unravel_index, numbers out of bounds among them."""
    shape = draw(shapes(1, 3, 1, 3))
    bound = int(np.prod(shape)) - (draw(st.integers(0, 7)) != 0)
    values = draw(st.lists(st.integers(0, bound), min_size=1, max_size=4))
    array = np.array(values, draw(st.sampled_from(("i4", "i8", "u1"))))
    return Call((on_card(array), shape), {"order": draw(st.sampled_from("CF"))})


@st.composite
def raveled(draw: st.DrawFn) -> Call:
    """Calls of ravel_multi_index with every mode."""
    shape = draw(shapes(1, 3, 1, 4))
    rows = tuple(
        on_card(np.array([draw(st.integers(-6, 6)) for _ in range(2)], "i8")) for _ in shape
    )
    mode = st.sampled_from(("clip", "wrap", "raise"))
    kwargs: dict[str, Any] = {"order": draw(st.sampled_from("CF"))}
    kwargs["mode"] = draw(mode | st.tuples(*(mode for _ in shape)))
    return Call((rows, shape), kwargs)


def on_card(array: Any) -> Any:
    """The array as an argument that goes to the card."""
    return Strided(array, (), ())


CASES: dict[str, Case] = {
    "reshape": Case(np.reshape, reshaped()),
    "reshape[method]": Case(method("reshape"), reshaped(False)),
    "ravel": Case(np.ravel, st.tuples(ANY, st.sampled_from("CFA"))),
    "ravel[method]": Case(method("flatten"), st.tuples(ANY, st.sampled_from("CFA"))),
    "transpose": Case(np.transpose, permuted()),
    "transpose[method]": Case(method("transpose"), permuted()),
    "permute_dims": Case(np.permute_dims, permuted()),
    "matrix_transpose": Case(np.matrix_transpose, st.tuples(ANY)),
    "swapaxes": Case(np.swapaxes, with_axes(2)),
    "swapaxes[method]": Case(method("swapaxes"), with_axes(2)),
    "moveaxis": Case(np.moveaxis, moved()),
    "rollaxis": Case(np.rollaxis, with_axes(2)),
    "expand_dims": Case(np.expand_dims, some_axes(1)),
    "squeeze": Case(np.squeeze, squeezed()),
    "squeeze[method]": Case(method("squeeze"), squeezed()),
    "broadcast_to": Case(np.broadcast_to, broadcast()),
    "broadcast_arrays": Case(np.broadcast_arrays, several()),
    "atleast_1d": Case(np.atleast_1d, several()),
    "atleast_2d": Case(np.atleast_2d, several()),
    "atleast_3d": Case(np.atleast_3d, several()),
    "flip": Case(np.flip, some_axes()),
    "flipud": Case(np.flipud, st.tuples(ANY)),
    "fliplr": Case(np.fliplr, st.tuples(ANY)),
    "roll": Case(np.roll, rolled()),
    "rot90": Case(np.rot90, rotated()),
    "unravel_index[order]": Case(np.unravel_index, unraveled()),
    "ravel_multi_index[order]": Case(np.ravel_multi_index, raveled()),
}

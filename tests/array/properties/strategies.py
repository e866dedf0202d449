"""Random inputs for comparisons with NumPy: dtypes, shapes, strides and special values.

Hypothesis chooses dtype, shape, strides and a seed; the elements come from the seed, with NaN,
infinities, signed zeros and the extremes of integers among them. That keeps an example under a
millisecond, so that every function of the table gets its examples in a bounded time.

A :class:`Strided` is an array and what is done to it (transposed, stepped, reversed, broadcast):
NumPy's array and the card's are viewed in the same way, so the implementation under test gets the
strides and not a contiguous copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from daskasc.array import from_numpy

BOOL = ("?",)
SIGNED = ("i1", "i2", "i4", "i8")
UNSIGNED = ("u1", "u2", "u4", "u8")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f2", "f4", "f8")
COMPLEX = ("c8", "c16")
REALS = BOOL + INTEGERS + FLOATS
ALL = REALS + COMPLEX
# the dtypes that programs use, for functions where rarer ones would only test promotion again
COMMON = ("?", "i4", "i8", "u1", "f4", "f8")


class Case(NamedTuple):
    """One function of the table and how to call it.

    Attributes
    ----------
    function : callable
        Called with NumPy's arrays, and with the card's.
    arguments : SearchStrategy
        Tuples of positional arguments; a :class:`Call` also carries keyword arguments.
    rtol, atol : float
        Widen the tolerance of the dtype (see ``runner.TOLERANCE``), with a reason in a comment.
    zeros : bool
        Whether the signs of zeros are compared.
    exact : bool
        Whether real values must be equal to the last bit.
    host : str
        Why some calls on common dtypes may be computed on the host.
    """

    function: Callable[..., Any]
    arguments: st.SearchStrategy[Any]
    rtol: float = 0.0
    atol: float = 0.0
    zeros: bool = True
    exact: bool = False
    host: str = ""


class Call(NamedTuple):
    """Positional and keyword arguments."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Strided(NamedTuple):
    """An array's elements and the view of them that is meant."""

    base: np.ndarray[Any, Any]
    index: tuple[Any, ...]
    order: tuple[int, ...]

    def view(self, array: Any) -> Any:
        """Return the view of either library's array."""
        # an array without axes stays one: NumPy's x[()] is a scalar
        return array[self.index].transpose(self.order) if self.index else array

    @property
    def host(self) -> np.ndarray[Any, Any]:
        """NumPy's view."""
        return self.view(self.base.copy())

    @property
    def card(self) -> Any:
        """The same view of an array on the card."""
        return self.view(from_numpy(self.base))

    def __repr__(self) -> str:
        order = f".transpose{self.order}" if self.order else ""
        return f"np.{self.base!r}[{self.index}]{order}"


def elements(dtype: Any, shape: Sequence[int], seed: int, special: bool) -> np.ndarray[Any, Any]:
    """Random elements of a dtype; `special` mixes NaN, infinities, zeros and extremes in."""
    random = np.random.default_rng(seed)
    dtype, shape = np.dtype(dtype), tuple(shape)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -9
        found = random.integers(low, 10, shape).astype(dtype)
        awkward = [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1]
    elif dtype.kind == "c":
        found = np.asarray(random.normal(size=shape) * 3 + 1j * random.normal(size=shape), dtype)
        awkward = [complex(np.nan, 0), 0, complex(np.inf, 1), 1, -1, 1j]
    else:
        found = (random.normal(size=shape) * 3).astype(dtype)
        found = np.where(random.random(shape) < 0.3, np.rint(found), found).astype(dtype)
        awkward = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0]
    if special:
        chosen = random.random(shape) < 0.25
        found[chosen] = random.choice(np.array(awkward, dtype), int(chosen.sum()))
    return found


def shapes(
    min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 4
) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes with axes of length 0 and 1 among them."""
    side = st.integers(min_side, max_side)
    return st.lists(side, min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def arrays(
    draw: st.DrawFn,
    dtypes: Sequence[str] = REALS,
    shape: st.SearchStrategy[tuple[int, ...]] | tuple[int, ...] | None = None,
    special: bool = True,
    strided: bool = True,
    reverse: bool = True,
) -> Strided:
    """Arrays of one of `dtypes`; `shape` is the shape of the view, or a strategy of shapes.

    Without `reverse` no step is negative: the card has no such views to write through.
    """
    dtype = draw(st.sampled_from(dtypes))
    wanted = shape if isinstance(shape, tuple) else draw(shapes() if shape is None else shape)
    seed = draw(st.integers(0, 2**20))
    if not strided or draw(st.booleans()):
        return Strided(elements(dtype, wanted, seed, special), (), ())
    order = tuple(draw(st.permutations(range(len(wanted)))))
    # the base's axis i becomes the view's axis order.index(i)
    lengths = [wanted[order.index(i)] for i in range(len(wanted))]
    steps = [draw(st.sampled_from((1, 1, 2, -1 if reverse else 3))) for _ in lengths]
    base = [n * abs(step) for n, step in zip(lengths, steps, strict=True)]
    index = tuple(slice(None, None, step) for step in steps)
    return Strided(elements(dtype, base, seed, special), index, order)


@st.composite
def broadcast_pairs(
    draw: st.DrawFn,
    dtypes: Sequence[str] = REALS,
    others: Sequence[str] | None = None,
    n: int = 2,
    special: bool = True,
) -> tuple[Strided, ...]:
    """Tuples of `n` arrays whose shapes broadcast; axes of length 1 and missing axes among them."""
    full = draw(shapes())
    found = []
    for number in range(n):
        dropped = draw(st.integers(0, len(full)))
        own = tuple(1 if draw(st.integers(0, 3)) == 0 else side for side in full[dropped:])
        chosen = dtypes if number == 0 or others is None else others
        found.append(draw(arrays(chosen, own, special=special)))
    return tuple(found)


def axis(ndim: int, none: bool = True) -> st.SearchStrategy[Any]:
    """One axis in either counting, or None."""
    valid = st.integers(-ndim, ndim - 1) if ndim else st.just(-1)
    return st.none() | valid if none else valid


@st.composite
def axes(draw: st.DrawFn, ndim: int) -> Any:
    """None, one axis, or a tuple of different axes (the empty one among them)."""
    if not ndim or draw(st.booleans()):
        return draw(axis(ndim)) if ndim else None
    chosen = draw(st.permutations(range(ndim)))[: draw(st.integers(0, ndim))]
    return tuple(i - ndim if draw(st.booleans()) else i for i in chosen)

"""What a rule sees of a step, and what it tells: see :mod:`._rules`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tlz import curry

from daskasc.planner._reductions import COMPOSED
from daskasc.planner._sizes import Size

# functions that bring host arrays to the card
UPLOADS = ("_upload", "from_numpy", "to_device", "asarray")


@dataclass(frozen=True)
class Step:
    """What one call makes and needs; all but `out` in bytes.

    Attributes
    ----------
    out : Size
        The result.
    scratch : int
        Card memory besides arguments and result that the call is known to take.
    guess : int
        The same, where nothing is known.
    read : int
        Read from a store.
    uploaded : int
        Brought from the host to the card.
    view : int or None
        Number of the argument whose memory the result shares.
    doubtful : bool
        The result may be smaller than `out`: dask notes the chunks of a partial result before it
        is reduced.
    """

    out: Size
    scratch: int = 0
    guess: int = 0
    read: int = 0
    uploaded: int = 0
    view: int | None = None
    doubtful: bool = False


@dataclass(frozen=True)
class Call:
    """A step as a rule sees it: the parameters of :func:`step`; the function's name and package."""

    name: str
    arguments: Sequence[Any]
    inputs: Sequence[Size]
    known: Size | None
    keywords: dict[str, Any]
    package: str = ""

    @property
    def card(self) -> bool:
        """Whether the result lies on a card."""
        return on_card(self.known, self.inputs)

    @property
    def result(self) -> Size:
        """Size of the result as noted; unknown where nothing is noted of it."""
        return result_of(self.known, self.inputs)

    @property
    def largest(self) -> int:
        """Bytes of the largest input on a card."""
        return max((value.on_card for value in self.inputs), default=0)

    @property
    def first(self) -> Size | None:
        """The first argument, where it is another step's result."""
        first = self.arguments[0] if self.arguments else None
        return first if isinstance(first, Size) else None


Rule = Callable[[Call], Step]


def unwrap(function: Any) -> tuple[Any, dict[str, Any]]:
    """Function below partial application, and the keywords bound on the way."""
    bound: dict[str, Any] = {}
    while isinstance(function, (functools.partial, curry)):
        bound = {**function.keywords, **bound}
        function = function.func
    if "enforce_dtype_function" in bound:
        inner, more = unwrap(bound["enforce_dtype_function"])
        return inner, {**more, **bound}
    return function, bound


def name_of(function: Any) -> str:
    """Name by which rules know a function; of a composition, the last one's."""
    if isinstance(function, COMPOSED):
        return name_of(unwrap((function.first, *function.funcs)[-1])[0])
    return str(getattr(function, "__name__", "") or getattr(function, "method", ""))


def on_card(known: Size | None, inputs: Sequence[Size]) -> bool:
    """Whether a result lies on a card: it is noted so, or one of its inputs does."""
    return bool(known and known.card) or any(value.card for value in inputs)


def result_of(known: Size | None, inputs: Sequence[Size]) -> Size:
    """Size of a result as noted; unknown where nothing is noted of it."""
    card = on_card(known, inputs)
    if known is None:
        return Size(None, None, 0, card)
    return known if known.card == card else Size(known.nbytes, known.shape, known.itemsize, card)


def total(inputs: Sequence[Size]) -> int:
    """Bytes of several values."""
    return sum(value.nbytes or 0 for value in inputs)

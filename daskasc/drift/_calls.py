"""One call of an operator with its operands kept: it can be repeated, changed and written down.

Operands that were arrays on both sides are :class:`Operand` leaves. Repeating a call copies them,
for the card into fresh memory, so that a call is a pure function of its operands even where the
operator writes into one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daskasc.array import AscendArray, from_numpy
from daskasc.drift._differences import Failure, Measure, Tolerance, bound_of, measure
from daskasc.drift._tree import leaves, rebuild

# element-free operands of functions that give uninitialised memory
UNINITIALISED = frozenset(("numpy.empty", "numpy.empty_like"))


class Operand:
    """An array of a call that both sides get in their own form; compared by identity."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


@dataclass(frozen=True)
class Form:
    """How a call is written: as a function, method, operator, subscript or assignment.

    Attributes
    ----------
    kind : {"function", "method", "attribute", "binary", "unary", "index", "assign", "in place"}
    text : str
        Name or symbol.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Call:
    """An operator and its operands.

    Attributes
    ----------
    name : str
        As it is reported, for instance ``numpy.cumsum``.
    function : callable
        Takes NumPy arrays or arrays on the card.
    args, kwargs
        Nests with :class:`Operand` leaves.
    form : Form
    elementwise : bool
        Whether each element of the result depends on one element of each operand.
    target : Operand or None
        Array whose contents are the result, for functions that return nothing.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    form: Form
    elementwise: bool = False
    target: Operand | None = None

    def operands(self) -> list[Operand]:
        """Return the different operands in order."""
        found = (leaf for leaf in leaves((self.args, self.kwargs)) if isinstance(leaf, Operand))
        return list(dict.fromkeys(found))

    def with_arrays(self, arrays: list[Any]) -> Call:
        """Return the same call with other arrays in the place of its operands."""
        fresh = dict(zip(self.operands(), map(Operand, arrays), strict=True))

        def leaf(value: Any) -> Any:
            return fresh[value] if isinstance(value, Operand) else value

        target = None if self.target is None else fresh[self.target]
        args, kwargs = rebuild(self.args, leaf), rebuild(self.kwargs, leaf)
        return replace(self, args=args, kwargs=kwargs, target=target)

    def run(self, on_card: bool) -> Any:
        """Repeat the call on one side; an error is returned as :class:`Failure`."""
        made: dict[int, Any] = {}

        def leaf(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return value.copy()
            if not isinstance(value, Operand):
                return value
            if id(value) not in made:
                array = value.array.copy()
                made[id(value)] = from_numpy(array) if on_card else array
            return made[id(value)]

        args, kwargs = rebuild(self.args, leaf), rebuild(self.kwargs, leaf)
        result = attempt(self.function, args, kwargs)
        if self.target is None or isinstance(result, Failure):
            return result
        return made[id(self.target)]


@dataclass(frozen=True)
class Outcome:
    """Both results of a call, and how far they are apart."""

    host: Any
    card: Any
    measure: Measure


def attempt(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Result, or the error as :class:`Failure`."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return Failure(error)


def evaluate(call: Call, tolerance: Tolerance) -> Outcome:
    """Run a call on both sides from the same NumPy operands and compare."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        host, card = call.run(False), call.run(True)
        if call.name in UNINITIALISED:
            return Outcome(host, card, Measure(None))
        arrays = [operand.array for operand in call.operands()]
        found = measure(host, card, tolerance, bound_of(arrays, call.elementwise))
    return Outcome(host, card, found)


def to_host(value: Any) -> Any:
    """NumPy form of a result on the card, nested ones included."""
    return rebuild(value, lambda leaf: leaf.asnumpy() if isinstance(leaf, AscendArray) else leaf)

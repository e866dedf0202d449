"""Runs each operator on both sides and notes what it finds.

After an operator the results are compared. If they are not equal within the bound of a single
operator, the operator is repeated on the card from NumPy's operands, uploaded afresh: if that
drifts too, the drift is its *own*; if not, it was *inherited* from operands that differed already.
Operands that were equal bit by bit leave the operator no excuse either: then the memory layout of
its operands matters, which the repetition in fresh memory does not show.

A result of another type, shape or dtype, or an error on one side, would end the comparison; so the
card goes on with NumPy's result. Drifted values are kept, as a program on the card would have them.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from daskasc import _callers, device
from daskasc.array import AscendArray, from_numpy
from daskasc.drift import _calls
from daskasc.drift._calls import UNINITIALISED, Call, Form, Operand, attempt
from daskasc.drift._differences import (
    Bound,
    Difference,
    Failure,
    Measure,
    Tolerance,
    bound_of,
    measure,
)
from daskasc.drift._report import Operator
from daskasc.drift._tree import leaves, rebuild
from daskasc.errors import UnsupportedDTypeError

_RESET = ("error", "type", "shape", "dtype")


class Recorder:
    """Collects the operators of one run; makes arrays through `pair`, the class of both-sided ones.

    Attributes
    ----------
    operators : list of Operator
    first_call : Call or None
        The first operator that drifts on its own, ready to repeat.
    depends_on_layout : bool
        Whether that operator drifts only with the memory layout its operands had.
    raised, card_raised : Exception or None
        What the last operator raised on either side.
    """

    def __init__(self, pair: Any, tolerance: Tolerance) -> None:
        self._pair = pair
        self.tolerance = tolerance
        self.operators: list[Operator] = []
        self.first_call: Call | None = None
        self.depends_on_layout = False
        self.raised: Exception | None = None
        self.card_raised: Exception | None = None

    # -- arrays of both sides

    def pair(self, host: Any, card: Any, clean: bool = True) -> Any:
        """Array of both sides."""
        array: Any = object.__new__(self._pair)
        array._host, array._card, array._recorder, array._clean = host, card, self, clean
        return array

    def adopt(self, value: Any) -> Any:
        """Copy of an argument: arrays become both-sided, whatever torch has no dtype for stays."""
        if isinstance(value, AscendArray):
            return self.pair(value.asnumpy(), value.copy())
        if type(value) is np.ndarray:
            copied = value.copy(order="K")
            try:
                return self.pair(copied, from_numpy(copied))
            except UnsupportedDTypeError:
                return copied
        return value

    def host(self, value: Any) -> Any:
        """NumPy's side of a nest."""
        return rebuild(value, self._host_leaf)

    def card(self, value: Any) -> Any:
        """The card's side of a nest."""
        return rebuild(value, lambda v: v._card if type(v) is self._pair else v)

    def _host_leaf(self, value: Any) -> Any:
        if type(value) is self._pair:
            return value._host
        return value.asnumpy() if isinstance(value, AscendArray) else value

    # -- one operator

    def run(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        form: Form,
        *,
        elementwise: bool = False,
        writes: bool = False,
        target: Any = None,
    ) -> Any:
        """Run an operator on both sides, note it, and return both-sided results.

        Parameters
        ----------
        writes : bool
            Whether an operand is changed; its old contents are kept for the repetition.
        target : pair, optional
            Operand whose contents are the result.
        """
        pairs = [leaf for leaf in leaves((args, kwargs)) if type(leaf) is self._pair]
        described = ", ".join(_describe(one._host) for one in pairs)
        clean = all(one._clean for one in pairs)
        call = (
            self._freeze(name, function, args, kwargs, form, elementwise, target)
            if writes
            else None
        )
        host = attempt(function, self.host(args), self.host(kwargs))
        error = host.error if isinstance(host, Failure) else None
        self.raised, self.card_raised = error, None
        if isinstance(error, Warning | FloatingPointError):
            # the program asked for it (warnings as errors, np.errstate): no word about values
            raise error
        before = device.counters.fallbacks()
        card = attempt(function, self.card(args), self.card(kwargs))
        on_host = device.counters.fallbacks() != before
        self.card_raised = card.error if isinstance(card, Failure) else None
        seen, shown = host, card
        if target is not None and not isinstance(host, Failure):
            seen = target._host
            shown = card if isinstance(card, Failure) else target._card
        if name in UNINITIALISED and isinstance(host, np.ndarray):
            shown = seen if isinstance(card, Failure) else from_numpy(host)
            card = shown
        if call is None:
            compared_args = [one._host for one in pairs]
        else:
            compared_args = [operand.array for operand in call.operands()]
        bound = bound_of(compared_args, elementwise)
        total = measure(seen, shown, self.tolerance, replace(bound, own=False))
        own = None
        if not total.exact and measure(seen, shown, self.tolerance, bound).difference:
            call = call or self._freeze(name, function, args, kwargs, form, elementwise, target)
            own = self._own(call, bound, seen, shown, clean)
        where = _shown(_callers.caller())
        self.operators.append(
            Operator(
                len(self.operators) + 1,
                name,
                described,
                _describe(seen),
                where,
                total.ulps,
                own,
                total.difference,
                on_host,
            )
        )
        if error is not None:
            raise error
        return self._both_sided(host, card, total, pairs, target)

    def _own(
        self, call: Call, bound: Bound, host: Any, card: Any, clean: bool
    ) -> Difference | None:
        found = _calls.evaluate(call, self.tolerance).measure.difference
        layout = found is None and clean
        if layout:
            found = measure(host, card, self.tolerance, bound).difference
        if found is not None and self.first_call is None:
            self.first_call = call
            self.depends_on_layout = layout
        return found

    def _freeze(
        self,
        name: str,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        form: Form,
        elementwise: bool,
        target: Any,
    ) -> Call:
        kept: dict[int, Operand] = {}

        def leaf(value: Any) -> Any:
            if type(value) is not self._pair:
                return value.asnumpy() if isinstance(value, AscendArray) else value
            if id(value) not in kept:
                kept[id(value)] = Operand(value._host.copy())
            return kept[id(value)]

        args, kwargs = rebuild(args, leaf), rebuild(kwargs, leaf)
        aim = None if target is None else kept[id(target)]
        return Call(name, function, args, kwargs, form, elementwise, aim)

    def _both_sided(
        self, host: Any, card: Any, total: Measure, pairs: list[Any], target: Any
    ) -> Any:
        reset = total.difference is not None and total.difference.kind in _RESET
        if target is not None:
            target._clean = total.exact
            if reset:
                target._card = from_numpy(target._host)
            return host if not isinstance(host, np.ndarray) else self._join(host, card, True, pairs)
        return self._join(host, None if reset else card, total.exact, pairs)

    def _join(self, host: Any, card: Any, exact: bool, pairs: list[Any]) -> Any:
        if isinstance(host, np.ndarray | np.generic):
            for one in pairs:
                if host is one._host and card is one._card:
                    one._clean = exact
                    return one
            if isinstance(card, AscendArray):
                return self.pair(host, card, exact)
            if card is not None:
                return host
            try:
                return self.pair(host, from_numpy(host))
            except UnsupportedDTypeError:
                return host
        if isinstance(host, tuple | list):
            parts = card if card is not None else [None] * len(host)
            joined = [self._join(h, c, exact, pairs) for h, c in zip(host, parts, strict=True)]
            return type(host)(*joined) if hasattr(host, "_fields") else type(host)(joined)
        if isinstance(host, dict):
            return {
                key: self._join(value, None if card is None else card[key], exact, pairs)
                for key, value in host.items()
            }
        return host


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        shape = list(value.shape) if value.ndim else ""
        return f"{value.dtype}{shape}"
    if isinstance(value, Failure):
        return type(value.error).__name__
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_describe, value))})" if len(value) <= 4 else f"{len(value)} parts"
    return type(value).__name__


def where_raised(error: BaseException) -> str:
    """``file:line`` of the program's innermost frame in a traceback; empty where it has none."""
    return _shown(_callers.raised_at(error))


def raised_by_comparison(error: BaseException) -> bool:
    """Whether an error comes from this package's own code, for instance an unknown attribute."""
    frames = traceback.extract_tb(error.__traceback__)
    return len(frames) > 1 and frames[-1].filename.startswith(os.path.dirname(__file__) + os.sep)


def _shown(place: str) -> str:
    return place.removeprefix(os.getcwd() + os.sep)

"""Run a NumPy function on both sides, and shrink what drifts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import dask.config
import numpy as np

from daskasc import config
from daskasc.drift._calls import Call, Form, Operand, Outcome, evaluate
from daskasc.drift._differences import Measure, Tolerance
from daskasc.drift._pair import Pair
from daskasc.drift._recorder import Recorder, raised_by_comparison, where_raised
from daskasc.drift._report import Report, Reproduction, reproduction
from daskasc.drift._shrink import shrink
from daskasc.drift._tree import leaves, rebuild
from daskasc.drift._write import function_name


def compare(
    function: Callable[..., Any],
    *args: Any,
    tolerance: Tolerance | float | None = None,
    **kwargs: Any,
) -> Report:
    """Run a NumPy function with NumPy and on the card, and name the first operator that drifts.

    Parameters
    ----------
    function : callable
        Called once, with arrays that compute on both sides. To find the smallest input of rounding
        that no operator alone is to blame for, it is called again with smaller arguments.
    *args, **kwargs
        Its arguments: arrays, also in lists, tuples and dicts, are copied and never changed;
        everything else is passed on.
    tolerance : Tolerance or float, optional
        What counts as drift; a number is the allowed ulps of an elementwise operator.

    Returns
    -------
    Report
        Prints as a table; ``.drifted``, ``.first``, ``.operators``, ``.reproduction``, and what the
        function returned or raised.

    Raises
    ------
    TypeError
        `function` is not one, an argument is an array of Dask or Xarray, or the tolerance is no
        number.
    ValueError
        The tolerance is negative.

    Notes
    -----
    Operators are compared in the thread that calls them; each result is copied to the host for
    it, and the whole run takes several times as long as the function. Host fallbacks are not said
    (the table marks them), and forbidden ones (``daskasc.fallback: error``) are drift.
    """
    if not callable(function):
        raise TypeError(
            "the first argument must be a function, and its arguments follow: "
            f"compare(function, x, y); the first one is of type {_kind(function)}"
        )
    if not isinstance(tolerance, Tolerance):
        tolerance = Tolerance() if tolerance is None else Tolerance(ulps=tolerance)
    for leaf in leaves((args, kwargs)):
        _refuse_lazy(leaf)
    mode = config.fallback()
    with dask.config.set({"daskasc.fallback": "silent" if mode == "warn" else mode}):
        recorder, report = _run(function, args, kwargs, tolerance)
        found = _reproduce(function, args, kwargs, recorder, report)
    return replace(report, reproduction=found)


def _kind(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _refuse_lazy(value: Any) -> None:
    """Raise for arrays that are followed no further, with the way to get NumPy's from them."""
    if type(value).__module__.split(".")[0] == "xarray":
        remedy = "pass its .values (of a data set, those of its variables)"
    elif dask.is_dask_collection(value):
        remedy = "pass the NumPy array that its .compute() gives"
    else:
        return
    raise TypeError(f"compare follows NumPy arrays, an argument is a {_kind(value)}: {remedy}")


def _run(
    function: Callable[..., Any], args: Any, kwargs: Any, tolerance: Tolerance
) -> tuple[Recorder, Report]:
    recorder = Recorder(Pair, tolerance)
    report = Report(recorder.operators)
    own_args, own_kwargs = rebuild(args, recorder.adopt), rebuild(kwargs, recorder.adopt)
    try:
        result = function(*own_args, **own_kwargs)
    except Exception as error:
        report.error = error
        report.raised = _raised(error, recorder)
    else:
        report.result = recorder.host(result)
        report.card_result = rebuild(
            result, lambda leaf: leaf._card.asnumpy() if isinstance(leaf, Pair) else leaf
        )
    return recorder, report


def _raised(error: Exception, recorder: Recorder) -> str:
    """Side and place of what the function raised, in words."""
    side = "on both sides"
    if error is recorder.raised:
        if recorder.card_raised is None:
            side = "on NumPy's side"
    elif raised_by_comparison(error):
        side = "by compare itself, whose arrays follow no such use"
    place = where_raised(error)
    return f"{side} at {place}" if place else side


def _reproduce(
    function: Callable[..., Any], args: Any, kwargs: Any, recorder: Recorder, report: Report
) -> Reproduction | None:
    tolerance = recorder.tolerance
    call = recorder.first_call
    if call is not None:
        own = report.first_own
        assert own is not None
        assert own.own is not None
        kind = own.own.kind
        if recorder.depends_on_layout:
            return reproduction(call, evaluate(call, tolerance), own.own)

        def drifts(trial: Call) -> bool:
            found = evaluate(trial, tolerance).measure.difference
            return found is not None and found.kind == kind

        smallest = shrink(call, drifts)
        outcome = evaluate(smallest, tolerance)
        return reproduction(smallest, outcome, outcome.measure.difference or own.own)
    grown = report.first_accumulated
    if grown is None or grown.accumulated is None:
        return None
    wanted = grown.name
    whole = _whole(function, args, kwargs)

    def grows(trial: Call) -> bool:
        again = _quietly(trial, tolerance)
        first = again.first_accumulated
        return first is not None and first.name == wanted and again.first_own is None

    if not grows(whole):
        return None
    smallest = shrink(whole, grows)
    again = _quietly(smallest, tolerance)
    first = again.first_accumulated
    assert first is not None
    assert first.accumulated is not None
    outcome = Outcome(again.result, again.card_result, Measure(first.accumulated))
    return reproduction(smallest, outcome, first.accumulated)


def _whole(function: Callable[..., Any], args: Any, kwargs: Any) -> Call:
    def leaf(value: Any) -> Any:
        return Operand(value) if type(value) is np.ndarray else value

    name = function_name(function)
    return Call(name, function, rebuild(args, leaf), rebuild(kwargs, leaf), Form("function", name))


def _quietly(call: Call, tolerance: Tolerance) -> Report:
    def leaf(value: Any) -> Any:
        return value.array if isinstance(value, Operand) else value

    with np.errstate(all="ignore"):
        args, kwargs = rebuild(call.args, leaf), rebuild(call.kwargs, leaf)
        return _run(call.function, args, kwargs, tolerance)[1]

"""Calls written as Python that can be pasted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.drift._calls import Call, Operand

_LONG = 1000  # elements of an array that is still written out


def expression(call: Call) -> str:
    """One line that runs the call with NumPy, arrays written in it (assignments take more)."""
    if call.form.kind in ("assign", "in place") or call.target is not None:
        names = _names(call)
        lines = [f"{name} = {array(operand.array)}" for operand, name in names.items()]
        return "\n".join([*lines, body(call, lambda operand: names[operand])])
    return body(call, lambda operand: array(operand.array))


def script(call: Call) -> str:
    """Program that runs the call with NumPy and on the card and prints both results."""
    names = _names(call)
    statement = body(call, lambda operand: names[operand])
    silent = call.form.kind in ("assign", "in place") or call.target is not None
    if silent:
        operand = call.target or call.args[0]
        shown = names.get(operand, "None")
        lines = [statement, f"print(repr({shown}))"]
    else:
        lines = [f"print(repr({statement}))"]
    made = [f"{name} = place({array(operand.array)})" for operand, name in names.items()]
    imports, places = ["import numpy as np"], "for place in (np.asarray, from_numpy):"
    if call.form.text.startswith("scipy."):
        imports += [f"import {call.form.text.rpartition('.')[0]}", "import daskasc.scipy"]
        places = "for place, scipy in ((np.asarray, scipy), (from_numpy, daskasc.scipy)):"
    return "\n".join(
        [
            *imports,
            "from daskasc.array import from_numpy",
            "",
            places,
            *(f"    {line}" for line in (*made, *lines)),
        ]
    )


def body(call: Call, operand: Callable[[Operand], str]) -> str:
    """Write the call, its operands as `operand` writes them."""

    def text(value: Any) -> str:
        return _text(value, operand)

    kind, symbol = call.form.kind, call.form.text
    args = [text(value) for value in call.args]
    named = [f"{key}={text(value)}" for key, value in call.kwargs.items()]
    if kind == "binary" or kind == "in place":
        return f"{args[0]} {symbol} {args[1]}"
    if kind == "unary":
        return f"{symbol}{args[0]}"
    if kind == "index":
        return f"{args[0]}[{_index(call.args[1], text)}]"
    if kind == "assign":
        return f"{args[0]}{symbol}[{_index(call.args[1], text)}] = {args[2]}"
    if kind == "attribute":
        return f"{args[0]}.{symbol}"
    if kind == "method":
        return f"{args[0]}.{symbol}({', '.join(args[1:] + named)})"
    return f"{symbol}({', '.join(args + named)})"


def array(value: Any) -> str:
    """Write an array (or NumPy scalar) as a call of ``np.array``."""
    if value.size > _LONG:
        return f"np.zeros({value.shape}, dtype={_dtype(value.dtype)})  # {value.size} elements"
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({_number(value.item())})"
    if not value.size:
        return f"np.empty({value.shape}, dtype={_dtype(value.dtype)})"
    return f"np.array({_nested(value)}, dtype={_dtype(value.dtype)})"


def function_name(function: Any) -> str:
    """Write a function by its public name where it has one."""
    name = getattr(function, "__name__", None)
    if name is None:
        return repr(function)
    # not getattr: NumPy warns of names that it had once (np.str)
    if vars(np).get(name) is function:
        return f"np.{name}"
    if isinstance(function, np.ufunc):
        special = vars(sys.modules.get("scipy.special", np))
        return f"scipy.special.{name}" if special.get(name) is function else str(name)
    module = getattr(function, "__module__", "") or ""
    if module.startswith("numpy"):
        return f"np{module.removeprefix('numpy')}.{name}"
    return str(name)


def _names(call: Call) -> dict[Operand, str]:
    return {operand: f"x{i}" if i else "x" for i, operand in enumerate(call.operands())}


def _dtype(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "V":
        return f'"{dtype.name}"'
    return f'"{dtype.name}"' if dtype.kind not in "mM" else f'"{dtype.str[1:]}"'


def _nested(value: Any) -> str:
    if value.ndim:
        return f"[{', '.join(_nested(item) for item in value)}]"
    if value.dtype.kind in "mM":
        return repr(str(value))
    if value.dtype.kind == "V":
        return _number(float(value))
    # digits of the array's own precision, not of Python's float
    if value.dtype.kind == "f" and np.isfinite(value):
        return str(value)
    return _number(value.item())


def _number(value: Any) -> str:
    if isinstance(value, complex):
        real, imaginary = _number(value.real), _number(value.imag)
        special = "np" in real or "np" in imaginary
        return f"complex({real}, {imaginary})" if special else repr(value)
    if isinstance(value, float) and not np.isfinite(value):
        return "np.nan" if np.isnan(value) else ("np.inf" if value > 0 else "-np.inf")
    return repr(value)


def _index(value: Any, text: Callable[[Any], str]) -> str:
    if isinstance(value, tuple) and value:
        return ", ".join(_index(item, text) for item in value) + ("," if len(value) == 1 else "")
    if isinstance(value, slice):
        parts = ["" if part is None else text(part) for part in (value.start, value.stop)]
        step = "" if value.step is None else f":{text(value.step)}"
        return f"{parts[0]}:{parts[1]}{step}"
    return text(value)


def _text(value: Any, operand: Callable[[Operand], str]) -> str:
    if isinstance(value, Operand):
        return operand(value)
    if isinstance(value, np.ndarray | np.generic):
        return array(value)
    if isinstance(value, list):
        return f"[{', '.join(_text(item, operand) for item in value)}]"
    if isinstance(value, tuple):
        inner = ", ".join(_text(item, operand) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_text(v, operand)}' for key, v in value.items())}}}"
    if isinstance(value, np.dtype):
        return f"np.dtype({_dtype(value)})"
    if value is Ellipsis:
        return "..."
    if isinstance(value, float | complex):
        return _number(value)
    if callable(value):
        return function_name(value)
    return repr(value)

"""``out=`` and in-place operators without a temporary: torch writes where the result belongs.

Only where the result of torch's own function is NumPy's to the bit, without any conversion, and
where no operand shares memory with the target in another place. Everything else is computed first
and then copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _elementwise as rows
from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import NUMPY, device_policy, torch

_FLOAT_DTYPES = frozenset((torch.float32, torch.float64))
_INTEGER_DTYPES = frozenset((torch.int8, torch.int16, torch.int32, torch.int64))
_SCALAR = frozenset("add subtract multiply divide".split())


def _square(a: Any, *, out: Any) -> Any:
    return torch.mul(a, a, out=out)


# functions for real floating-point numbers; those of one row in ``_elementwise`` follow below
_FLOATS: dict[str, Callable[..., Any]] = {
    "absolute": torch.abs,
    "add": torch.add,
    "ceil": torch.ceil,
    "floor": torch.floor,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "negative": torch.neg,
    "rint": torch.round,
    "square": _square,
    "subtract": torch.sub,
    "trunc": torch.trunc,
}
_PLAIN = (
    "multiply divide fabs sqrt exp exp2 expm1 log log2 log10 log1p logaddexp hypot arctan2 "
    "copysign nextafter sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh"
).split()
_INTEGERS: dict[str, Callable[..., Any]] = {
    "add": torch.add,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "multiply": torch.mul,
    "negative": torch.neg,
    "square": _square,
    "subtract": torch.sub,
}
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "equal": torch.eq,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "less": torch.lt,
    "less_equal": torch.le,
    "not_equal": torch.ne,
}
# a row that is torch's function itself; repaired ones are not in the table
for _name in _PLAIN:
    if type(rows.ROWS[_name]) is type(torch.add):
        _FLOATS[_name] = rows.ROWS[_name]


def _rows() -> dict[tuple[np.ufunc, Any], tuple[Callable[..., Any], Any]]:
    found: dict[tuple[np.ufunc, Any], tuple[Callable[..., Any], Any]] = {}
    for dtypes, table in ((_FLOAT_DTYPES, _FLOATS), (_INTEGER_DTYPES, _INTEGERS)):
        for dtype in dtypes:
            for name, function in table.items():
                found[getattr(np, name), dtype] = function, dtype
            for name, function in _COMPARISONS.items():
                found[getattr(np, name), dtype] = function, torch.bool
    return found


# (ufunc, torch dtype of the operands) -> torch's function, and the dtype of its result
_ROWS = _rows()


def planned(ufunc: np.ufunc, operands: tuple[Any, ...], target: Any) -> tuple[Any, ...] | None:
    """What computes a ufunc straight into an array: arguments of :func:`run`, or None.

    Parameters
    ----------
    ufunc : numpy.ufunc
    operands : tuple
        Arrays on the card and Python scalars, as the ufunc was called.
    target : AscendArray
        A writable array.
    """
    out, first = getattr(target, "_t", None), getattr(operands[0], "_t", None)
    if out is None or first is None:
        return None
    dtype = first.dtype
    row = _ROWS.get((ufunc, dtype))
    if row is None or out.dtype is not row[1] or not _has_kernel(ufunc.__name__, dtype):
        return None
    if dtype is torch.float64 and device_policy():
        return None
    tensors = []
    for value in operands:
        tensor = getattr(value, "_t", None) if is_array(value) else value
        if tensor is not out and not _usable(tensor, ufunc.__name__, dtype, out):
            return None
        tensors.append(tensor)
    return (row[0], tensors, out) if _fits(tensors, out) else None


def run(function: Callable[..., Any], tensors: list[Any], out: Any) -> None:
    """Compute into `out`."""
    function(*tensors, out=out)


def written(ufunc: np.ufunc, operands: tuple[Any, ...], target: Any) -> bool:
    """Compute a ufunc straight into an array if that is possible; whether it was."""
    plan = planned(ufunc, operands, target)
    if plan is None:
        return False
    run(*plan)
    return True


def _has_kernel(name: str, dtype: Any) -> bool:
    backend = device.current()
    return not backend.restricts or backend.supports(name, NUMPY[dtype].name)


def _usable(value: Any, name: str, dtype: Any, out: Any) -> bool:
    """Whether an operand needs no conversion and lies apart from the target, or exactly on it."""
    if isinstance(value, torch.Tensor):
        if value.dtype is not dtype:
            return False
        apart = value.untyped_storage().data_ptr() != out.untyped_storage().data_ptr()
        return apart or (
            value.data_ptr() == out.data_ptr()
            and value.shape == out.shape
            and value.stride() == out.stride()
        )
    if type(value) is not float or name not in _SCALAR or dtype not in _FLOAT_DTYPES:
        return False
    return dtype is torch.float64 or not math.isfinite(value) or abs(value) < 3e38


def _fits(tensors: list[Any], out: Any) -> bool:
    """Whether the result has the target's shape, and the target's elements are all different."""
    shape = out.shape
    others = [t.shape for t in tensors if isinstance(t, torch.Tensor) and t.shape != shape]
    if others:
        shapes = [tuple(t.shape) for t in tensors if isinstance(t, torch.Tensor)]
        try:
            if np.broadcast_shapes(*shapes) != tuple(shape):
                return False
        except ValueError:
            return False
    if out.is_contiguous():
        return True
    return all(step or size < 2 for step, size in zip(out.stride(), shape, strict=True))

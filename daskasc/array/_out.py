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


def written(ufunc: np.ufunc, operands: tuple[Any, ...], target: Any) -> bool:
    """Compute a ufunc straight into an array if that is possible; whether it was.

    Parameters
    ----------
    ufunc : numpy.ufunc
    operands : tuple
        Arrays on the card and Python scalars, as the ufunc was called.
    target : AscendArray
        A writable array.
    """
    name = ufunc.__name__
    out = getattr(target, "_t", None)
    if out is None or rows.NAMES.get(ufunc) is None:
        return False
    tensors = [
        value._t if is_array(value) and hasattr(value, "_t") else value for value in operands
    ]
    first = tensors[0]
    if not isinstance(first, torch.Tensor):
        return False
    dtype = first.dtype
    if name in _COMPARISONS:
        wanted, function = torch.bool, _COMPARISONS[name]
        if dtype not in _FLOAT_DTYPES and dtype not in _INTEGER_DTYPES:
            return False
    else:
        table = _FLOATS if dtype in _FLOAT_DTYPES else _INTEGERS
        found = table.get(name)
        if found is None or (dtype not in _FLOAT_DTYPES and dtype not in _INTEGER_DTYPES):
            return False
        wanted, function = dtype, found
    if out.dtype is not wanted or not _has_kernel(name, dtype):
        return False
    if dtype is torch.float64 and device_policy():
        return False
    if not all(_usable(value, name, dtype, out) for value in tensors) or not _fits(tensors, out):
        return False
    function(*tensors, out=out)
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
    shape = tuple(out.shape)
    shapes = [tuple(t.shape) for t in tensors if isinstance(t, torch.Tensor)]
    if any(given != shape for given in shapes):
        try:
            if np.broadcast_shapes(*shapes) != shape:
                return False
        except ValueError:
            return False
    return all(step or size < 2 for step, size in zip(out.stride(), shape, strict=True))

"""Operators of the class: the fast path from ``x + y`` to a kernel.

Each operator has its own table keyed by the operands' torch dtypes, or by the Python type of a
scalar. A hit costs one dictionary lookup over bare torch. Misses build the kernel, upload host
operands, or decline (``NotImplemented``) so that Dask, xarray and others get their turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _kernels
from daskasc.array._dispatch import NeedsHost, into, is_array, name_of, on_host
from daskasc.array._dtypes import NUMPY, cast, torch
from daskasc.array._storage import from_numpy, wrap

Operator = Callable[[Any, Any], Any]
_SCALARS = _kernels.SCALARS
_HOST = (np.ndarray, np.generic, bool, list, tuple)
_IN_PLACE = {"add": "add_", "subtract": "sub_", "multiply": "mul_", "divide": "div_"}


def accepts(value: Any, cls: Any) -> bool:
    """Whether an operand is for this package to handle."""
    kind = type(value)
    if kind is cls or kind in _SCALARS or kind in (np.ndarray, bool, list, tuple):
        return True
    return isinstance(value, np.generic)


def apply(ufunc: np.ufunc, operands: tuple[Any, ...], dtype: Any = None) -> Any:
    """Result array(s) of a ufunc on operands that :func:`accepts` accepts."""
    tensors: list[Any] = []
    types: list[Any] = []
    for value in operands:
        kind = type(value)
        if kind in _SCALARS:
            tensors.append(value)
            types.append(kind)
            continue
        tensor = value._t if hasattr(value, "_t") else from_numpy(value)._t
        tensors.append(tensor)
        types.append(NUMPY[tensor.dtype])
    found = _kernels.kernel(ufunc, tuple(types), dtype)
    if found is not None:
        if all(isinstance(kind, type) for kind in types):
            tensors = [from_numpy(value)._t for value in tensors]
        try:
            result = found(*tensors)
        except NeedsHost:
            pass
        else:
            return tuple(map(wrap, result)) if isinstance(result, tuple) else wrap(result)
    kwargs = {} if dtype is None else {"dtype": dtype}
    return on_host(name_of(ufunc), ufunc, operands, kwargs)


def power() -> Operator:
    """Operator ``**``; squares and roots of floating-point arrays by their own ufuncs, as NumPy."""
    general, square, root = binary(np.power), unary(np.square), unary(np.sqrt)

    def operator(self: Any, other: Any) -> Any:
        if type(other) in (int, float) and self._t.dtype.is_floating_point:
            if other == 2:
                return square(self)
            if other == 0.5:
                return root(self)
        return general(self, other)

    return operator


def binary(ufunc: np.ufunc, reflected: bool = False) -> Operator:
    """Operator method of a two-operand ufunc; `reflected` for ``__radd__`` and the like."""
    table = _kernels.table()

    def operator(self: Any, other: Any) -> Any:
        kind = type(other)
        tensor = self._t
        if kind is type(self):
            operand = other._t
            found = table.get((tensor.dtype, operand.dtype))
        else:
            operand = other
            found = table.get((tensor.dtype, kind))
        if found is None:
            return miss(self, other)
        return wrap(found(operand, tensor) if reflected else found(tensor, operand))

    def miss(self: Any, other: Any) -> Any:
        if not accepts(other, type(self)):
            return NotImplemented
        kind = type(other)
        if ufunc.nout == 1 and (kind is type(self) or kind in _SCALARS):
            theirs = NUMPY[other._t.dtype] if kind is type(self) else kind
            ours = NUMPY[self._t.dtype]
            found = _kernels.kernel(ufunc, (theirs, ours) if reflected else (ours, theirs))
            # kernels that may still ask for the host stay on the slow way, which catches that
            if (
                found is not None
                and ufunc.__name__ in _FAST
                and not getattr(found, "may_need_host", False)
            ):
                table[(self._t.dtype, other._t.dtype if kind is type(self) else kind)] = found
        return apply(ufunc, (other, self) if reflected else (self, other))

    operator.__name__ = f"__{'r' if reflected else ''}{ufunc.__name__}__"
    return operator


def unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    """Operator method of a one-operand ufunc."""

    def operator(self: Any) -> Any:
        return apply(ufunc, (self,))

    return operator


def in_place(ufunc: np.ufunc) -> Operator:
    """Operator method that stores into the array itself, under NumPy's same-kind rule."""
    name = ufunc.__name__

    def operator(self: Any, other: Any) -> Any:
        if not accepts(other, type(self)):
            return NotImplemented
        self._check_writable()
        tensor = self._t
        method = _IN_PLACE.get(name)
        # in place without a temporary: same dtype, no broadcasting of self, no shared memory
        if (
            method is not None
            and type(other) is type(self)
            and other._t.dtype is tensor.dtype
            and tensor.dtype in (torch.float32, torch.float64)
            and other._t.shape == tensor.shape
            and other._t.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()
        ):
            getattr(tensor, method)(other._t)
            return self
        return store(ufunc, apply(ufunc, (self, other)), self)

    return operator


def store(ufunc: np.ufunc, result: Any, out: Any, casting: str = "same_kind") -> Any:
    """Copy a ufunc's result into `out` if the casting rule allows, and return `out`."""
    if not is_array(out):
        return into(out, result)
    if not can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {result.dtype!r} to "
            f"{out.dtype!r} with casting rule '{casting}'"
        )
    if np.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the "
            f"broadcast shape {np.broadcast_shapes(result.shape, out.shape)}"
        )
    return into(out, wrap(cast(result._t, out._t.dtype)))


def can_cast(source: np.dtype[Any], target: np.dtype[Any], casting: str) -> bool:
    """NumPy's can_cast, with bfloat16 as a float between float16 and float32."""
    if source == target:
        return True
    if "bfloat16" in (source.name, target.name):
        half = np.dtype("f2")
        source = half if source.name == "bfloat16" else source
        target = half if target.name == "bfloat16" else target
    return np.can_cast(source, target, casting=casting)  # type: ignore[arg-type]


_FAST = frozenset(
    "add subtract multiply divide equal not_equal less less_equal greater greater_equal "
    "bitwise_and bitwise_or bitwise_xor floor_divide remainder".split()
)

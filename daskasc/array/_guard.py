"""Keeps torch calls to the kernels that the card has.

A card that lacks kernels would compute on the CPU by itself, uncounted. On such a card, and only
there, implementations run under a torch function mode that looks each call up in the family's
table before torch sees it. Where another form of the same values exists the call is made in that
form; elsewhere :class:`NeedsHost` sends the whole function over the counted way. Calls nest; the
outermost one carries the mode.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any

from daskasc import device
from daskasc.device import capabilities

torch: Any = device.torch()
_NUMPY = device.numpy_dtypes()
_SIGNED: dict[Any, Any] = {
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
}
_BITS: dict[Any, Any] = {
    **_SIGNED,
    torch.float64: torch.int64,
    torch.complex64: torch.int64,
    torch.bfloat16: torch.int16,
}
# dtypes that move as values of a wider one
_AS_VALUES: dict[Any, Any] = {
    torch.int8: torch.int32,
    torch.uint8: torch.int32,
    torch.int16: torch.int32,
}
_BINARY = frozenset("add sub rsub mul div true_divide".split())
# functions whose own names say nothing of the kernel that they call
_KERNEL = {
    "__rsub__": "rsub",
    "__rdiv__": "div",
    "__rtruediv__": "div",
    "__rmatmul__": "matmul",
    "linalg_multi_dot": "matmul",
}
_MAKERS = frozenset("empty zeros ones full".split())
_FILLERS = frozenset("zeros_like ones_like full_like zero fill".split())
_inside = threading.local()


class NeedsHost(Exception):
    """Raised by an implementation that has no form on the card for these arguments."""


class MissingKernel(NeedsHost):
    """Raised where the family's table says that the card lacks a kernel.

    Parameters
    ----------
    operator : str
        torch's name.
    dtype : str
        NumPy's name of the dtype, or what else the kernel does not take.
    """

    def __init__(self, operator: str, dtype: str) -> None:
        super().__init__(f"this card has no kernel of {operator} for {dtype}")


def bare(reason: Exception) -> Any:
    """The exception without the frames that it passed.

    Kept in a variable of one of them it would keep all their arrays in memory, until the next
    search for cycles.
    """
    reason.__traceback__ = reason.__context__ = reason.__cause__ = None
    return reason


class _Mode(torch.overrides.TorchFunctionMode):
    """Looks calls up; `strict` allows no other form of a call."""

    def __init__(self, family: str, strict: bool) -> None:
        super().__init__()
        self._strict = strict
        self._table = capabilities.lacking(family)
        self._most_axes = capabilities.MOST_AXES.get(family, {})

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name not in self._table:
            name = _KERNEL.get(name) or name.rstrip("_")
        if name in _MAKERS and kwargs.get("dtype") in _SIGNED:
            return _made_signed(func, name, args, kwargs)
        if name in _FILLERS and kwargs.get("dtype", getattr(args[0], "dtype", None)) in _SIGNED:
            return _filled_signed(func, name, args, kwargs)
        rows = self._table.get(name)
        if rows is None:
            return func(*args, **kwargs)
        subject = _subject(name, args, kwargs)
        if subject is None:
            return func(*args, **kwargs)
        dtype, tensor = subject
        if name == "sum" and kwargs.get("dtype") is not None:
            # documented: the argument is not supported; sums of integers are int64 without it
            kwargs = dict(kwargs)
            dtype = kwargs.pop("dtype")
            converted = (args[0].to(dtype), *args[1:])
            return self.__torch_function__(func, types, converted, kwargs).to(dtype)
        if tensor.ndim > self._most_axes.get(name, tensor.ndim):
            raise MissingKernel(name, f"{tensor.ndim} axes")
        row = rows.get(_NUMPY[dtype].name)
        if row is None:
            return func(*args, **kwargs)
        if not row.remedy or self._strict or name != getattr(func, "__name__", ""):
            raise MissingKernel(name, _NUMPY[dtype].name)
        return _OTHERWISE[row.remedy](func, name, dtype, args, kwargs)


def _subject(name: str, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
    """Dtype that a call computes in, and its first tensor; None for calls without one."""
    tensors: list[Any] = []
    for value in (*args, *kwargs.values()):
        # einsum and multi_dot take their operands in a list
        listed = value if isinstance(value, list | tuple) else (value,)
        tensors += [item for item in listed if isinstance(item, torch.Tensor)]
    if not tensors:
        return None
    if name in _BINARY and len(args) > 1:
        return torch.result_type(args[0], args[1]), tensors[0]
    if name == "where":
        tensors = tensors[1:] or tensors
        common = tensors[0].dtype
        if len(tensors) > 1:
            common = torch.promote_types(common, tensors[1].dtype)
        return common, tensors[0]
    return tensors[0].dtype, tensors[0]


def _made_signed(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    dtype = kwargs["dtype"]
    if name == "full":
        value = args[1] if len(args) > 1 else kwargs.get("fill_value")
        args = (args[0] if args else kwargs["size"], _wrapped(value, dtype))
        kwargs = {k: v for k, v in kwargs.items() if k not in ("fill_value", "size")}
    return func(*args, **{**kwargs, "dtype": _SIGNED[dtype]}).view(dtype)


def _filled_signed(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Fill a tensor of unsigned integers, or one made like another, by its signed view."""
    tensor, *rest = args
    dtype = kwargs.get("dtype") or tensor.dtype
    signed = _SIGNED[dtype]
    if rest and not isinstance(rest[0], torch.Tensor):
        rest[0] = _wrapped(rest[0], dtype)
    elif rest:
        rest[0] = rest[0].to(dtype).view(signed)
    if name in ("zero", "fill"):
        func(tensor.view(signed), *rest, **kwargs)
        return tensor
    like = tensor.view(signed) if tensor.dtype is dtype else tensor
    return func(like, *rest, **{**kwargs, "dtype": signed}).view(dtype)


def _wrapped(value: Any, dtype: Any) -> int:
    """Signed integer of the same bits as an element of `dtype`."""
    bits = torch.iinfo(dtype).bits
    return (int(value) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _by_bits(func: Any, name: str, dtype: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("out") is not None:
        raise MissingKernel(name, _NUMPY[dtype].name)
    if name == "where":
        return _where(func, dtype, args, kwargs)
    tensor, *rest = args
    if dtype is torch.complex128:
        # parts of 8 bytes along one more axis; only a selection along one axis keeps its meaning
        if name != "index_select" or len(rest) != 2:
            raise MissingKernel(name, _NUMPY[dtype].name)
        axis, entry = rest
        parts = torch.view_as_real(tensor.resolve_conj()).view(torch.int64)
        found = func(parts, axis % max(tensor.ndim, 1), entry)
        return torch.view_as_complex(found.view(torch.float64))
    if dtype in _AS_VALUES:
        return func(tensor.to(_AS_VALUES[dtype]), *rest, **kwargs).to(dtype)
    bits = tensor.resolve_conj().resolve_neg().view(_BITS[dtype])
    if capabilities.limit(device.current().family, name, _NUMPY[bits.dtype].name):
        # the integers of these bytes do not move either
        moved = func(bits.to(_AS_VALUES[bits.dtype]), *rest, **kwargs).to(bits.dtype)
        return moved.view(dtype)
    return func(bits, *rest, **kwargs).view(dtype)


def _where(func: Any, dtype: Any, args: Any, kwargs: Any) -> Any:
    if len(args) != 3 or kwargs:
        raise MissingKernel("where", _NUMPY[dtype].name)
    mask, *sides = args
    place = mask.device
    sides = [
        side.to(dtype)
        if isinstance(side, torch.Tensor)
        else torch.tensor(side, dtype=dtype, device=place)
        for side in sides
    ]
    if dtype in _SIGNED:
        signed = _SIGNED[dtype]
        return func(mask, *(side.view(signed) for side in sides)).view(dtype)
    parts = [torch.view_as_real(side.resolve_conj()) for side in sides]
    return torch.view_as_complex(func(mask.unsqueeze(-1), *parts).contiguous())


def _wider(func: Any, name: str, dtype: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("out") is not None or sum(isinstance(a, torch.Tensor) for a in args) > 1:
        raise MissingKernel(name, _NUMPY[dtype].name)
    found = func(args[0].to(torch.int64), *args[1:], **kwargs)
    if isinstance(found, tuple):
        values, *rest = found
        return type(found)((values.to(dtype), *rest))
    return found.to(dtype)


def _negated(func: Any, name: str, dtype: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("out") is not None:
        raise MissingKernel(name, _NUMPY[dtype].name)
    opposite = getattr(torch, {"amin": "amax"}[name])
    return -opposite(-args[0], *args[1:], **kwargs)


_OTHERWISE = {"bits": _by_bits, "wider": _wider, "negated": _negated}


@functools.cache
def _mode(family: str, strict: bool) -> _Mode:
    return _Mode(family, strict)


def active() -> contextlib.AbstractContextManager[Any]:
    """Context in which torch calls are kept to the card's kernels; nothing on most cards."""
    backend = device.current()
    if not backend.restricts or getattr(_inside, "now", False):
        return contextlib.nullcontext()
    return _guarding(backend.family)


@contextlib.contextmanager
def _guarding(family: str) -> Any:
    _inside.now = True
    try:
        with _mode(family, False):
            yield
    finally:
        _inside.now = False


def strict() -> contextlib.AbstractContextManager[Any]:
    """Context in which a call without a kernel always raises; for trying what a table keeps."""
    backend = device.current()
    return _mode(backend.family, True) if backend.restricts else contextlib.nullcontext()


def run(
    implementation: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, written: Any = None
) -> Any:
    """Run an implementation under :func:`active`.

    `written` is the array it writes into, if any; it has its old elements again when
    :class:`NeedsHost` leaves this function.
    """
    if not device.current().restricts:
        return implementation(*args, **kwargs)
    kept = None if written is None else written._t.clone()
    try:
        with active():
            return implementation(*args, **kwargs)
    except NeedsHost:
        if kept is not None:
            written._t.copy_(kept)
        raise


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that calls torch outside the table of NumPy functions."""

    @functools.wraps(function)
    def within(*args: Any, **kwargs: Any) -> Any:
        if not device.current().restricts:
            return function(*args, **kwargs)
        with active():
            return function(*args, **kwargs)

    return within

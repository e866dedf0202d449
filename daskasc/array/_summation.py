"""Sums of floating-point elements: how exactly they are formed.

``native`` (the default) is at least as exact as NumPy's pairwise sum. Long axes are summed in
short blocks by torch; the sums of the blocks, a small part of the elements, are added in float64,
or in float32 pairs where the card has no fast float64 (along other axes than the fastest one
NumPy adds one by one, and torch's own sum is more exact already)::

    x[..., n]  --torch, float32-->  [..., n / 256]  --float64 or pairs-->  [...]

``compensated`` adds every element in pairs (see ``_compensated``), for sums that nearly cancel and
means over very many elements. float16 and bfloat16 are summed as float32 in both.

The mode is the configuration's ``daskasc.accumulate``, or the argument ``accumulate=`` of the
array's methods and of this package's functions, which holds for one call in one thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import dask.config

from daskasc import config, device
from daskasc.array._compensated import pair_sum
from daskasc.array._dtypes import COMPLEX, FLOATS, cast, torch

NAMES = frozenset("sum mean var std average nansum nanmean nanvar nanstd".split())
_BLOCKS = (64, 256)  # elements of a block of short and of long axes
_LONG = 1 << 14
SMALL = 1 << 15  # elements up to which a float64 copy of all of them is cheaper than blocks
_PIECE = 1 << 20  # elements of a float64 copy of rows that are too short for blocks
_HALVES = (torch.float16, torch.bfloat16)
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}

_asked: contextvars.ContextVar[str | None] = contextvars.ContextVar("accumulate", default=None)
NATIVE = "native"
asked = 0  # modes asked for now, by all threads
settings = dask.config.config
_lock = threading.Lock()


@contextlib.contextmanager
def accumulating(mode: str) -> Iterator[None]:
    """Form sums in a mode while the block runs, in this thread."""
    if mode not in config.ACCUMULATIONS:
        raise ValueError(f"accumulate is {mode!r}; allowed: {', '.join(config.ACCUMULATIONS)}")
    token = _asked.set(mode)
    _count(1)
    try:
        yield
    finally:
        _count(-1)
        _asked.reset(token)


def _count(change: int) -> None:
    global asked
    with _lock:
        asked += change


def with_accumulate(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the keyword ``accumulate``."""

    @functools.wraps(function)
    def wrapper(*args: Any, accumulate: str | None = None, **kwargs: Any) -> Any:
        if accumulate is None:
            return function(*args, **kwargs)
        with accumulating(accumulate):
            return function(*args, **kwargs)

    wrapper.__doc__ = (
        f"{function.__doc__}\n\n``accumulate`` is ``native`` or ``compensated`` (sums in pairs of "
        "numbers, as exact as in a dtype of twice the width); ``daskasc.accumulate`` by default."
    )
    return wrapper


def compensates() -> bool:
    """Whether sums are compensated now."""
    mode = _asked.get()
    if mode is None:
        # read at each sum, hence without dask.config.get's parsing
        if settings["daskasc"].get("accumulate") == NATIVE:
            return False
        mode = config.accumulate()
    return mode == "compensated"


def sum_floats(tensor: Any, axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Any:
    """Sum of a tensor over `axes` (at least one), in torch dtype `dtype`.

    Parameters
    ----------
    tensor : torch.Tensor
        Of any dtype; converted only where its own does not hold the sum.
    dtype : torch.dtype
        A floating-point or complex dtype: the result's.
    """
    if dtype is torch.float64 and tensor.dtype is torch.float32 and device.current().fast_float64:
        return torch.sum(tensor, dim=axes, keepdim=keepdims, dtype=dtype)
    if compensates() and (tensor.dtype in FLOATS or tensor.dtype in COMPLEX):
        return _by_parts(_compensated, tensor, axes, keepdims, dtype)
    tensor = cast(tensor, dtype)
    if dtype is torch.float32 and tensor.numel() <= SMALL and device.current().fast_float64:
        if len(axes) == tensor.ndim and not keepdims:
            return torch.sum(tensor, dtype=torch.float64).float()
        return torch.sum(tensor, dim=axes, keepdim=keepdims, dtype=torch.float64).float()
    if dtype is torch.float32 or dtype is torch.complex64:
        return _by_parts(_native, tensor, axes, keepdims, dtype)
    return torch.sum(tensor, dim=axes, keepdim=keepdims)


def _by_parts(function: Any, tensor: Any, axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Any:
    if tensor.dtype not in COMPLEX:
        return function(tensor, axes, keepdims, dtype)
    real = _REAL.get(dtype, dtype)
    parts = [function(part, axes, keepdims, real) for part in (tensor.real, tensor.imag)]
    return cast(torch.complex(*parts), dtype)


def _compensated(tensor: Any, axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Any:
    values = tensor.float() if tensor.dtype in _HALVES else tensor
    high, low = pair_sum(values, axes)
    wide = dtype in FLOATS and dtype.itemsize > high.dtype.itemsize
    total = high.to(dtype) + low.to(dtype) if wide else high + low
    return cast(_dropped(total, axes, keepdims), dtype)


def _dropped(tensor: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if keepdims:
        return tensor
    return tensor.reshape([n for i, n in enumerate(tensor.shape) if i not in axes])


def _native(tensor: Any, axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Any:
    """Sum of float32 elements; see the module's description."""
    wide = device.current().fast_float64
    if wide and tensor.numel() <= SMALL:
        return torch.sum(tensor, dim=axes, keepdim=keepdims, dtype=torch.float64).to(dtype)
    whole = len(axes) == tensor.ndim and tensor.is_contiguous()
    if whole and wide:
        total = _of_all(tensor.view(-1)).float()
        return total.view((1,) * tensor.ndim) if keepdims else total
    values = tensor.reshape(-1) if whole else tensor
    inner = (0,) if whole else axes
    axis = max(inner, key=lambda i: int(values.shape[i]))
    length = int(values.shape[axis])
    block = _BLOCKS[length >= _LONG]
    if _fastest(values) not in inner:
        total = torch.sum(values, dim=inner, keepdim=True)
    elif length >= 2 * block:
        total = _of_blocks(values, axis, block, inner, wide)
    elif wide:
        total = _of_rows(values, inner)
    else:
        total = torch.sum(values, dim=inner, keepdim=True)
    found = total.to(dtype)
    if whole:
        return found.reshape((1,) * tensor.ndim if keepdims else ())
    return _dropped(found, axes, keepdims)


def _of_all(values: Any) -> Any:
    """float64 sum of a 1-D tensor of at least one block, in few calls."""
    length = values.numel()
    block = _BLOCKS[length >= _LONG]
    even = length - length % block
    total = torch.sum(torch.sum(values[:even].view(-1, block), dim=1), dtype=torch.float64)
    if even < length:
        total = total + torch.sum(values[even:], dtype=torch.float64)
    return total


def _fastest(tensor: Any) -> int:
    """Axis along which neighbours are closest in memory."""
    longer = [i for i in range(tensor.ndim) if tensor.shape[i] > 1]
    return min(longer, key=lambda i: int(tensor.stride(i)), default=0)


def _of_blocks(values: Any, axis: int, block: int, axes: tuple[int, ...], wide: bool) -> Any:
    blocks, rest = divmod(int(values.shape[axis]), block)
    cut = values.narrow(axis, 0, blocks * block).unflatten(axis, (blocks, block))
    sums = torch.sum(cut, dim=axis + 1)
    if rest:
        last = torch.sum(values.narrow(axis, blocks * block, rest), dim=axis, keepdim=True)
        sums = torch.cat([sums, last], axis)
    if wide:
        return torch.sum(sums, dim=axes, keepdim=True, dtype=torch.float64)
    high, low = pair_sum(sums, axes)
    return high + low


def _of_rows(values: Any, axes: tuple[int, ...]) -> Any:
    """float64 sum over short axes, a part of the others at a time."""
    others = [i for i in range(values.ndim) if i not in axes]
    split = max(others, key=lambda i: int(values.shape[i])) if others else None
    if split is None or values.numel() <= _PIECE:
        return torch.sum(values, dim=axes, keepdim=True, dtype=torch.float64)
    length = int(values.shape[split])
    step = max(_PIECE * length // math.prod(values.shape), 1)
    parts = [
        torch.sum(part, dim=axes, keepdim=True, dtype=torch.float64).to(torch.float32)
        for part in torch.split(values, step, split)
    ]
    return torch.cat(parts, split)

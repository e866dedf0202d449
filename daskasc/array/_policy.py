"""The promotion policy ``device`` for NumPy's functions: no result is float64 unasked.

Every result of a computation that NumPy gives in float64 (complex128) is float32 (complex64).
Three things keep the wide dtype: a call that names it (``dtype=``) or its target (``out=``), a
function of ``MOVES`` over arrays that have it, and one of ``JOINS`` all of whose arrays have it.
Functions of ``NARROWS`` convert their operands before they compute, because a card has slow
kernels of float64 or none; of the others the result is converted. ufuncs do the same by their own
tables (``_kernels``).

Only the outermost function of a call is judged, so that composites compute as they would
otherwise.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from daskasc import config
from daskasc.array import _dispatch
from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import NUMPY, cast, device_policy, say_precision, torch
from daskasc.array._storage import wrap

Run = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

_NARROWER = {torch.float64: torch.float32, torch.complex128: torch.complex64}
_WIDE = (np.dtype("f8"), np.dtype("c16"))


def _named(names: str) -> frozenset[Any]:
    return frozenset(getattr(np, name) for name in names.split() if hasattr(np, name))


# results hold elements of the operands and nothing else
MOVES = _named(
    """
    array array_split asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray
    atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to compress copy delete diag
    diagflat diagonal dsplit empty_like expand_dims extract fill_diagonal flip fliplr flipud
    from_dlpack full_like hsplit imag insert ix_ matrix_transpose meshgrid moveaxis ones_like
    partition permute_dims ravel real real_if_close repeat require reshape resize roll rollaxis
    rot90 sort split squeeze swapaxes take take_along_axis tile transpose tril trim_zeros triu
    unique unique_all unique_counts unique_inverse unique_values unstack vsplit zeros_like
    """
) | {
    np.lib.stride_tricks.sliding_window_view,
    np.linalg.diagonal,
    np.linalg.matrix_transpose,
    np.fft.fftshift,
    np.fft.ifftshift,
}
# the same, of several arrays whose dtypes are promoted; the value: how many arguments come first
# that only choose
JOINS: dict[Any, int] = {
    **dict.fromkeys(
        _named(
            "append block column_stack concat concatenate dstack hstack intersect1d row_stack "
            "setdiff1d setxor1d stack union1d vstack"
        ),
        0,
    ),
    **dict.fromkeys((np.choose, np.select, np.where), 1),
}
# operands are converted before the computation
NARROWS = (
    _named(
        """
        amax amin average convolve correlate cumprod cumsum cumulative_prod cumulative_sum dot
        einsum inner kron matmul matvec max mean median min nancumprod nancumsum nanmax nanmean
        nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar outer percentile
        prod quantile std sum tensordot trace trapezoid var vdot vecdot vecmat
        """
    )
    | {getattr(np.fft, name) for name in np.fft.__all__ if "freq" not in name}
    - {np.fft.fftshift, np.fft.ifftshift}
    | {np.linalg.matmul, np.linalg.multi_dot, np.linalg.outer, np.linalg.tensordot}
    | {np.linalg.vecdot}
)
_inside = threading.local()


def apply(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Result of ``run(function, args, kwargs)`` under the policy.

    Parameters
    ----------
    run : callable
        What computes the function.
    function : callable
        A function of NumPy.
    args, kwargs : tuple, dict
        Its arguments.
    """
    if getattr(_inside, "running", False) or config.promotion() != "device":
        return run(function, args, kwargs)
    _inside.running = True
    try:
        if _asked(function, args, kwargs):
            return run(function, args, kwargs)
        if function in NARROWS:
            args, kwargs = _narrowed(args), {key: _narrowed(v) for key, v in kwargs.items()}
        found = run(function, args, kwargs)
    finally:
        _inside.running = False
    keeps: Any = ()
    if function in MOVES:
        keeps = set(_dtypes((args, kwargs)))
    elif function in JOINS:
        keeps = {x.dtype for x in _arrays((args[JOINS[function] :], kwargs))}
        keeps = keeps if len(keeps) == 1 else ()
    return _narrowed(found, keeps)


def of_method(name: str, run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Result of ``run(name, ufunc, method, inputs, **kwargs)``, for a method of a ufunc."""
    ufunc, method, inputs = args
    if method in ("reduce", "accumulate", "reduceat", "at"):
        # (array, [indices,] axis, dtype, out)
        late = inputs[3:] if method == "reduceat" else inputs[2:]
        if method == "at" or any(value is not None for value in late[:2]):
            return run(name, ufunc, method, inputs, **kwargs)

    def of(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return run(name, ufunc, method, given, **named)

    return apply(of, np.sum, inputs, kwargs)  # judged as a sum is


def _asked(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call names its dtype, or the array that takes the result."""
    if kwargs.get("dtype") is not None or kwargs.get("out") is not None:
        return True
    return any(i < len(args) and args[i] is not None for i in _places(function))


@functools.cache
def _places(function: Any) -> tuple[int, ...]:
    """Numbers of the positional parameters ``dtype`` and ``out``."""
    try:
        given = inspect.signature(_dispatch.TABLE.get(function, function)).parameters.values()
    except (TypeError, ValueError):
        return ()
    names = [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple(names.index(name) for name in ("dtype", "out") if name in names)


def narrowed(value: Any) -> Any:
    """A result of the host that named no dtype, as the card would have given it."""
    return _narrowed(value) if device_policy() else value


def _dtypes(value: Any) -> Iterator[np.dtype[Any]]:
    """Dtypes of everything that has one: arrays of any kind, NumPy's scalars, tensors."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _dtypes(item)
    elif isinstance(value, dict):
        yield from _dtypes(list(value.values()))
    else:
        dtype = getattr(value, "dtype", None)
        if isinstance(dtype, np.dtype):
            yield dtype
        elif isinstance(value, torch.Tensor) and dtype in NUMPY:
            yield NUMPY[dtype]


def _arrays(value: Any) -> Iterator[Any]:
    if is_array(value) or isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))


def _narrowed(value: Any, keeps: Any = ()) -> Any:
    """The value with arrays of the card of float64 and complex128 converted."""
    if is_array(value):
        if value.dtype not in _WIDE or value.dtype in keeps:
            return value
        say_precision()
        return wrap(cast(value._t, _NARROWER[value._t.dtype]))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_narrowed(item, keeps) for item in value))
    if type(value) in (list, tuple):
        return type(value)(_narrowed(item, keeps) for item in value)
    return value


_dispatch.by_policy = apply

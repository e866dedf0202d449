"""NumPy's promotion rules for arrays on a card, and the signed twins of unsigned dtypes.

Promotion asks NumPy itself (``ufunc.resolve_dtypes``) and remembers the answer, so NEP 50 holds
exactly: Python scalars are weak, 0-d arrays are not. NumPy knows too little about bfloat16; there
it stands in for float16 at lookups whose answer is translated back.

torch has few kernels for uint16, uint32 and uint64. Their *twin* is the signed dtype of the same
width: operations that only move elements, or wrap the same way, run on a view as the twin.

The promotion policy ``device`` turns results that would be float64 into float32 (and complex128
into complex64), and says so once.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from typing import Any

import dask.config
import numpy as np

from daskasc import _callers, config, device
from daskasc.array._dispatch import NO_NUMBERS, MeetsTimes
from daskasc.device import observer
from daskasc.errors import PrecisionWarning, UnsupportedDTypeError

torch: Any = device.torch()
NUMPY = device.numpy_dtypes()
BFLOAT16 = NUMPY[torch.bfloat16]

TWINS: dict[Any, Any] = {
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
}
WIDER: dict[Any, Any] = {torch.uint16: torch.int32, torch.uint32: torch.int64}
UNSIGNED = frozenset((torch.uint8, *TWINS))
FLOATS = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))
COMPLEX = frozenset((torch.complex64, torch.complex128))
SIGN_BIT = -(2**63)

_F64, _F32 = np.dtype("f8"), np.dtype("f4")
_NARROWER = {_F64: _F32, np.dtype("c16"): np.dtype("c8")}
_BF16_WITH: dict[np.dtype[Any], np.dtype[Any]] = {
    **{np.dtype(c): BFLOAT16 for c in ("?", "i1", "u1")},
    **{np.dtype(c): _F32 for c in ("i2", "u2", "f2", "f4")},
    **{np.dtype(c): _F64 for c in ("i4", "u4", "i8", "u8", "f8")},
    np.dtype("c8"): np.dtype("c8"),
    np.dtype("c16"): np.dtype("c16"),
}
_said_precision = False
_lock = threading.Lock()
_settings = dask.config.config


def torch_dtype(dtype: Any) -> Any:
    """Torch's dtype for a NumPy dtype of either byte order.

    Raises
    ------
    MeetsTimes
        It is a dtype of times: an UnsupportedDTypeError that :func:`_dispatch.call` acts on.
    UnsupportedDTypeError
        It has no representation on a card.
    """
    try:
        return device.torch_dtype(dtype)
    except UnsupportedDTypeError:
        if np.dtype(dtype).kind in "mM":
            raise MeetsTimes(f"dtype {np.dtype(dtype)} has no tensors: {NO_NUMBERS}") from None
        raise


def is_float(tensor: Any) -> bool:
    """Whether a tensor's elements are real floating-point numbers."""
    return tensor.dtype in FLOATS


def is_integer(tensor: Any) -> bool:
    """Whether a tensor's elements are integers; bool is none."""
    return not (tensor.dtype in FLOATS or tensor.dtype in COMPLEX or tensor.dtype is torch.bool)


def device_policy() -> bool:
    """Whether the promotion policy is ``device`` now."""
    # read at each call that would give float64, hence without dask.config.get's parsing
    value = _settings["daskasc"].get("promotion")
    return value != "numpy" and config.promotion() == "device"


def say_precision() -> None:
    """Warn, once a process, that float64 results become float32."""
    global _said_precision
    with _lock:
        if _said_precision:
            return
        _said_precision = True
    warnings.warn(
        "results that NumPy gives in float64 are computed in float32 (daskasc.promotion is "
        '"device"); set it to "numpy" for NumPy\'s dtypes',
        PrecisionWarning,
        stacklevel=_callers.stacklevel(),
    )


def result(dtype: np.dtype[Any], explicit: bool = False) -> np.dtype[Any]:
    """Dtype of a result under the promotion policy; an explicitly asked one stays."""
    if explicit or dtype not in _NARROWER or not device_policy():
        return dtype
    say_precision()
    return _NARROWER[dtype]


def promote(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """NumPy's common dtype, bfloat16 included."""
    current = dtypes[0]
    for other in dtypes[1:]:
        if current is other or current == other:
            continue
        if current == BFLOAT16:
            current = _BF16_WITH[other]
        elif other == BFLOAT16:
            current = _BF16_WITH[current]
        else:
            current = np.promote_types(current, other)
    return current


def resolve(
    ufunc: np.ufunc, types: tuple[Any, ...], dtype: Any = None, casting: str = "same_kind"
) -> tuple[np.dtype[Any], ...]:
    """Dtypes of the loop that NumPy takes for operands of these dtypes or Python scalar types.

    Returns the input dtypes, then the output dtypes. `dtype` and `casting` are the ufunc's
    arguments. Raises NumPy's TypeError where it has no loop, or may not cast the operands to it.
    """
    strong = [t for t in (*types, dtype) if isinstance(t, np.dtype)]
    if BFLOAT16 not in strong:
        return _loop(ufunc, types, dtype, casting)
    common = BFLOAT16 if dtype == BFLOAT16 else promote(*strong)
    if common != BFLOAT16:
        if casting in ("no", "equiv"):
            raise TypeError(
                f"Cannot cast ufunc '{ufunc.__name__}' input from {BFLOAT16!r} to {common!r} with "
                f"casting rule '{casting}'"
            )
        types = tuple(common if t == BFLOAT16 else t for t in types)
        return _loop(ufunc, types, dtype, casting)
    half = np.dtype("f2")
    stand_ins = tuple(half if isinstance(t, np.dtype) else t for t in types)
    found = _loop(ufunc, stand_ins, None if dtype is None else half, casting)
    return tuple(BFLOAT16 if t == half else t for t in found)


_COMPARISONS = frozenset("equal not_equal less less_equal greater greater_equal".split())


def safe_rule(casting: Any, types: Iterable[Any], ufunc: np.ufunc) -> Any:
    """A casting rule for ``ufunc.resolve_dtypes``, which crashes on "equiv" in NumPy 2.4.6.

    For native byte orders, which cards have alone, "no" is the same rule; but for Python scalars,
    which NumPy refuses under "equiv" alone, unless integers are compared.
    """
    if casting != "equiv":
        return casting
    types = tuple(types)
    compared = ufunc.__name__ in _COMPARISONS and int in types
    if compared and all(isinstance(t, type) or t.kind in "iu" for t in types):
        return "no"
    for kind in types:
        if isinstance(kind, type):  # by class: np.dtype("f8") == float is True
            raise TypeError(f"cannot cast Python {kind.__name__} under the casting rule 'equiv'")
    return "no"


def _loop(
    ufunc: np.ufunc, types: tuple[Any, ...], dtype: Any, casting: Any
) -> tuple[np.dtype[Any], ...]:
    unset = (None,) * ufunc.nout
    casting = safe_rule(casting, types, ufunc)
    if dtype is None:
        return tuple(ufunc.resolve_dtypes((*types, *unset), casting=casting))
    signature = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    return tuple(ufunc.resolve_dtypes((*types, *unset), signature=signature, casting=casting))


def reduction_loop(
    ufunc: np.ufunc, given: np.dtype[Any], dtype: Any = None, out: Any = None
) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Dtypes of what a ufunc's reduction has gathered, and of what it takes in.

    Parameters
    ----------
    ufunc : numpy.ufunc
    given : numpy.dtype
        Of the elements.
    dtype : numpy.dtype, optional
        What the caller asks for.
    out : numpy.dtype, optional
        Of ``out=``: without `dtype`, NumPy reduces in the common dtype of both.

    Raises
    ------
    TypeError
        NumPy's, where results cannot be operands again.
    """
    strong = [t for t in (given, dtype, out) if t is not None]
    common = promote(*strong) if BFLOAT16 in strong else None
    if common is not None:
        stand_in = np.dtype("f2") if common == BFLOAT16 else common
        given, dtype, out = (stand_in if t == BFLOAT16 else t for t in (given, dtype, out))
    first = dtype
    if dtype is None and out is None and ufunc in (np.add, np.multiply) and given.kind in "biu":
        first = np.dtype("u8" if given.kind == "u" else "i8")
    asked: Any = {} if first is None else {"signature": (first, None, None)}
    loop = ufunc.resolve_dtypes((out, given, None), casting="unsafe", reduction=True, **asked)
    if loop[0] != loop[2]:
        raise TypeError(
            f"the resolved dtypes are not compatible with a reduction by {ufunc.__name__}; they "
            f"are {loop}"
        )
    if common == BFLOAT16:
        loop = tuple(BFLOAT16 if t == np.dtype("f2") else t for t in loop)
    return loop[0], loop[1]


def narrow(dtypes: tuple[np.dtype[Any], ...]) -> tuple[np.dtype[Any], ...]:
    """A loop's dtypes under the policy ``device``."""
    return tuple(_NARROWER.get(dtype, dtype) for dtype in dtypes)


def twin(tensor: Any) -> Any:
    """The tensor, or its view as the signed twin."""
    signed = TWINS.get(tensor.dtype)
    return tensor if signed is None else tensor.view(signed)


def flip_order(tensor: Any) -> Any:
    """int64 tensor ordered like a uint64 tensor: the sign bit is flipped; its own inverse."""
    return torch.bitwise_xor(tensor.view(torch.int64), SIGN_BIT)


def sortable(tensor: Any) -> Any:
    """Tensor of the same order that has comparison kernels (bool and unsigned dtypes changed)."""
    if tensor.dtype is torch.uint64:
        return flip_order(tensor)
    if tensor.dtype is torch.bool:
        return tensor.to(torch.uint8)
    wider = WIDER.get(tensor.dtype)
    return tensor if wider is None else tensor.to(wider)


def unsortable(tensor: Any, dtype: Any) -> Any:
    """Undo :func:`sortable` for values of dtype `dtype`."""
    if dtype is torch.uint64:
        return flip_order(tensor).view(torch.uint64)
    return tensor if tensor.dtype is dtype else tensor.to(dtype)


def check_integer(value: int, dtype: np.dtype[Any]) -> None:
    """Raise NumPy's OverflowError for a Python integer that `dtype` cannot hold."""
    if dtype.kind not in "iu":
        return
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")


def cast(tensor: Any, dtype: Any) -> Any:
    """Tensor of torch dtype `dtype`, by NumPy's conversion; the same tensor where it fits."""
    if tensor.dtype is dtype:
        return tensor
    if (who := observer.active) is not None:
        who.converted("dtype", tensor.numel() * dtype.itemsize)
    if tensor.dtype in COMPLEX and dtype not in COMPLEX:
        if dtype is torch.bool:
            return tensor != 0
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=_callers.stacklevel(),
        )
        tensor = tensor.real
    if dtype is torch.float16 and tensor.dtype is torch.float64:
        return to_half(tensor)
    return tensor.to(dtype)


def to_half(tensor: Any) -> Any:
    """float16 of float64 numbers, rounded once; torch rounds them to float32 on the way.

    What float32 would drop is gathered in its last bit, so that it drops nothing.
    """
    low = (1 << 29) - 1
    bits = tensor.view(torch.int64)
    gathered = (bits & low).add_(low).bitwise_or_(bits).bitwise_and_(~low)
    return gathered.view(torch.float64).to(torch.float16)

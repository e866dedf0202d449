"""Where the array API standard asks of a namespace what NumPy's function of the name does not do.

``numpy.f(x)`` on an AscendArray is NumPy's in every respect; ``daskasc.array.f(x)`` is the same
function but for the names in ``STANDARD`` (the standard's arguments, types of results and special
values, beside NumPy's) and in ``CREATION`` (no array among the arguments, so nothing would
dispatch).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daskasc.array import _creation
from daskasc.array._dispatch import check_device, is_array
from daskasc.array._dtypes import torch
from daskasc.array._namespace import find
from daskasc.array._storage import wrap

VERSION = "2024.12"

CREATION: dict[str, Any] = {
    name: getattr(_creation, name)
    for name in ("asanyarray", "ascontiguousarray", "asfortranarray", "identity", "tri")
}


class NamespaceInfo:
    """What the namespace can do, by the standard's inspection interface.

    dtypes and capabilities are NumPy's; the one device is this process's card.
    """

    def __init__(self) -> None:
        self._numpy: Any = np.__array_namespace_info__()

    def capabilities(self) -> dict[str, Any]:
        """Return what array libraries may leave out, and whether it is there."""
        return dict(self._numpy.capabilities())

    def default_device(self) -> str:
        """Return the device that arrays are made on."""
        return device_name()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the default dtype of each kind."""
        check_device(device)
        return dict(self._numpy.default_dtypes())

    def devices(self) -> list[str]:
        """Return the devices of this process: one."""
        return [device_name()]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the dtypes of a kind, by the standard's names."""
        check_device(device)
        return dict(self._numpy.dtypes(kind=kind))


def _card(name: str) -> Any:
    """NumPy's function of a name, which also takes lists and NumPy arrays to the card."""
    return find("daskasc.array", name)


def device_name() -> str:
    """Name of this process's device, as ``array.device`` gives it."""
    return str(_creation.empty(0).device)


def namespace_info() -> NamespaceInfo:
    """Return the standard's ``__array_namespace_info__()``."""
    return NamespaceInfo()


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]

    def __getattr__(self, name: str) -> Any:
        # NumPy's further limits
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.finfo(self.dtype), name)


def _dtype_of(value: Any) -> Any:
    # dtype classes have an attribute of that name as well
    return value if isinstance(value, type) else getattr(value, "dtype", value)


def finfo(type: Any, /) -> FloatInfo:
    """Return the limits of a floating-point dtype or of an array's."""
    found: Any = np.finfo(_dtype_of(type))
    names = ("eps", "max", "min", "smallest_normal")
    limits = {name: float(getattr(found, name)) for name in names}
    return FloatInfo(bits=int(found.bits), dtype=np.dtype(found.dtype), **limits)


def iinfo(type: Any, /) -> Any:
    """Return the limits of an integer dtype or of an array's."""
    return np.iinfo(_dtype_of(type))


def meshgrid(
    *arrays: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Any]:
    """As :func:`numpy.meshgrid`, in a list."""
    return list(_card("meshgrid")(*arrays, copy=copy, sparse=sparse, indexing=indexing))


def broadcast_arrays(*arrays: Any, subok: bool = False) -> list[Any]:
    """As :func:`numpy.broadcast_arrays`, in a list."""
    return list(_card("broadcast_arrays")(*arrays, subok=subok))


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """As :func:`numpy.count_nonzero`, always an array."""
    found: Any = _card("count_nonzero")(x, axis=axis, keepdims=keepdims)
    return found if is_array(found) else _creation.asarray(found)


def clip(x: Any, /, min: Any = None, max: Any = None, **kwargs: Any) -> Any:
    """As :func:`numpy.clip`."""
    return _card("clip")(x, min, max, **kwargs)


def sort(
    x: Any, /, axis: Any = -1, *, descending: bool = False, stable: bool = True, **kwargs: Any
) -> Any:
    """As :func:`numpy.sort`; descending on demand, where NaNs come first."""
    found = _card("sort")(x, axis=axis, **kwargs)
    return np.flip(found, axis=axis) if descending else found


def argsort(
    x: Any, /, axis: Any = -1, *, descending: bool = False, stable: bool = True, **kwargs: Any
) -> Any:
    """As :func:`numpy.argsort`; descending on demand, equal elements in their order."""
    if not descending:
        return _card("argsort")(x, axis=axis, **(kwargs or {"stable": True}))
    turned = _card("flip")(x, axis=axis)
    places = np.flip(np.argsort(turned, axis=axis, stable=True), axis=axis)
    last = (turned.size if axis is None else turned.shape[axis]) - 1
    return last - places


def expm1(x: Any, /, **kwargs: Any) -> Any:
    """As :func:`numpy.expm1`, with the standard's special values of complex numbers."""
    found: Any = np.expm1(x, **kwargs)
    if not is_array(x) or x.dtype.kind != "c" or kwargs:
        return found
    x = x.astype(found.dtype, copy=False)  # which the promotion policy may have narrowed
    real, imag = x._t.real, x._t.imag
    out_real, out_imag = found._t.real.clone(), found._t.imag.clone()
    nothing = torch.zeros_like(real)
    on_axis = imag == 0
    out_imag = torch.where(on_axis, imag, out_imag)
    out_real = torch.where(on_axis, torch.expm1(real), out_real)
    out_real = torch.where(on_axis & (real == 0), nothing, out_real)
    unbounded = ~torch.isfinite(imag)
    low, high = unbounded & torch.isneginf(real), unbounded & torch.isposinf(real)
    out_real = torch.where(low, nothing - 1, torch.where(high, real, out_real))
    out_imag = torch.where(low, nothing, out_imag)
    return wrap(torch.complex(out_real, out_imag))


def tanh(x: Any, /, **kwargs: Any) -> Any:
    """As :func:`numpy.tanh`; 1 + 0j where the real part of a complex number is infinite."""
    found: Any = np.tanh(x, **kwargs)
    if not is_array(x) or x.dtype.kind != "c" or kwargs:
        return found
    x = x.astype(found.dtype, copy=False)  # which the promotion policy may have narrowed
    limit = torch.isinf(x._t.real) & torch.isfinite(x._t.imag)
    zero = torch.zeros_like(x._t.imag)
    zero = torch.where(torch.signbit(x._t.imag), -zero, zero)
    return wrap(torch.complex(found._t.real, torch.where(limit, zero, found._t.imag)))


def floor_divide(x1: Any, x2: Any, /, **kwargs: Any) -> Any:
    """As :func:`numpy.floor_divide`, with the standard's values for infinities.

    An infinity over a finite number stays one (NumPy: NaN), and a finite number over an infinity
    of the other sign is -0 (NumPy: -1).
    """
    found: Any = np.floor_divide(x1, x2, **kwargs)
    if kwargs or not is_array(found) or found.dtype.kind != "f":
        return found
    quotient = np.true_divide(x1, x2)
    infinite = np.isinf(x1) & np.isfinite(x2)
    vanishing = np.isfinite(x1) & np.isinf(x2)
    found = np.where(infinite, quotient, found)
    return np.where(vanishing, quotient, found).astype(found.dtype, copy=False)


STANDARD: dict[str, Any] = {
    function.__name__: function
    for function in (
        argsort,
        broadcast_arrays,
        clip,
        count_nonzero,
        expm1,
        finfo,
        floor_divide,
        iinfo,
        meshgrid,
        sort,
        tanh,
    )
}
NAMES = {**CREATION, **STANDARD}

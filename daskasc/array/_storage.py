"""Making arrays of tensors, and tensors of operands.

This module lies below the class so that every implementation can wrap its result without an
import circle; the class announces itself through :func:`bind`. :func:`wrap` is the hot path: an
object, two slots. Only on a stand-in card, which has no allocator to ask, does an array also carry
a lease whose finalizer gives the storage back to the accounts.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _dispatch, _masks
from daskasc.array._dtypes import NUMPY, cast, promote, torch, torch_dtype
from daskasc.device import observer

_new = object.__new__
array_class: Any = None
_times_class: Any = None
accounts: Any = None  # the backend that wants to hear of storages, or None
# a storage of fewer bytes is not accounted: its Python objects take as much, and the books of it
# would take longer than most operators on it
SMALL = 1024


class _Lease:
    """Holds one count of a tensor's storage in a backend's accounts."""

    __slots__ = ("_account", "_release", "_tensor")

    def __init__(self, backend: device.Backend, tensor: Any) -> None:
        self._tensor = tensor  # the account ends before its storage is freed
        self._release = backend.release
        self._account = 0
        self._account = backend.retain(tensor)

    def __del__(self) -> None:
        self._release(self._account)


def bind(cls: Any) -> None:
    """Announce the class of arrays."""
    global array_class
    array_class = cls
    _dispatch.from_host = from_numpy


def bind_times(cls: Any) -> None:
    """Announce the class of arrays of times."""
    global _times_class
    _times_class = cls


def _refresh() -> None:
    global accounts
    backend = device.current() if device.has_card() else None
    accounts = backend if backend is not None and backend.accounts else None


def wrap(tensor: Any) -> Any:
    """Array around a tensor, unchecked."""
    array = _new(array_class)
    array._t = tensor
    array._d = tensor.dtype
    if accounts is not None and tensor.untyped_storage().nbytes() >= SMALL:
        array._lease = _Lease(accounts, tensor)
    return array


def wrap_times(ticks: Any, dtype: np.dtype[Any]) -> Any:
    """Array of times around an int64 array, unchecked."""
    array = _new(_times_class)
    array._ticks = ticks
    array._dtype = dtype
    return array


def namespace() -> Any:
    """Return the package itself, the array API namespace of the class."""
    return sys.modules["daskasc.array"]


def account(array: Any) -> None:
    """Give an array made without :func:`wrap` its lease."""
    if accounts is not None:
        array._lease = _Lease(accounts, array._t)


def from_numpy(array: Any, *, blocking: bool = True) -> Any:
    """AscendArray with a copy of a NumPy array (or scalar) on this process's card.

    Parameters
    ----------
    array : array_like
        May be changed when this returns. An AscendArray is returned itself.
    blocking : bool, optional
        False: the copy runs behind the caller, out of pinned buffers. It is queued on the calling
        thread's current stream (``with torch.npu.stream(s)`` chooses another), ahead of whatever
        is computed from the array there.

    Raises
    ------
    UnsupportedDTypeError
        The dtype has no representation on a card, or elements are masked.
    TypeError
        A list or tuple holds arrays of the card.
    """
    kind = type(array)
    if kind is not np.ndarray:
        if _dispatch.is_array(array):
            return array
        if (kind is list or kind is tuple) and holds_array(array):
            raise TypeError(
                f"from_numpy takes host memory; the {kind.__name__} holds arrays on a card. Use "
                "daskasc.array.array(...), or np.stack(...) for arrays of one shape"
            )
        array = _masks.plain(array)
    host = np.asarray(array)
    if host.dtype.kind in "mM":
        # of the same byte order, which the upload turns
        ticks = host.view(np.dtype(np.int64).newbyteorder(host.dtype.byteorder))
        return wrap_times(from_numpy(ticks, blocking=blocking), host.dtype.newbyteorder("="))
    torch_dtype(host.dtype)
    return wrap(_send(host, blocking))


def tensor_of(value: Any, dtype: Any = None) -> Any:
    """Tensor of any operand: an array's own, host data uploaded; cast to a torch dtype if given."""
    kind = type(value)
    if kind is array_class:
        tensor = value._t
    elif kind is list or kind is tuple:
        tensor = _tensor_of_nested(value)
    else:
        tensor = _upload(value)
    return tensor if dtype is None else cast(tensor, dtype)


def _upload(value: Any) -> Any:
    if _dispatch.is_array(value):
        raise _dispatch.MeetsTimes(_dispatch.NO_NUMBERS)
    host = np.asarray(_masks.plain(value))
    torch_dtype(host.dtype)
    return _send(host)


@observer.observed("upload")
def _send(host: np.ndarray[Any, Any], blocking: bool = True) -> Any:
    if host.flags.c_contiguous or 0 in host.strides:
        return device.current().upload(host, blocking)
    # as NumPy's copies of order K: the axes lie in memory as they did, without gaps
    order = sorted(range(host.ndim), key=lambda axis: -abs(host.strides[axis]))
    tensor = device.current().upload(host.transpose(order), blocking)
    back = sorted(range(host.ndim), key=order.__getitem__)
    return tensor.permute(back).data  # with memory of its own, no view


def _tensor_of_nested(value: Any) -> Any:
    if not holds_array(value):
        return _upload(value)
    from_items = [tensor_of(item) for item in value]
    return stack(from_items)


def stack(tensors: list[Any]) -> Any:
    """Stack tensors of equal shape under NumPy's common dtype."""
    shapes = {tuple(t.shape) for t in tensors}
    if len(shapes) > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous "
            f"shape: its items have the shapes {', '.join(map(str, sorted(shapes)))}"
        )
    dtype = torch_dtype(promote(*(NUMPY[t.dtype] for t in tensors)))
    return torch.stack([cast(t, dtype) for t in tensors])


def holds_array(value: Any) -> bool:
    """Whether a list or tuple holds arrays of a card, at any depth."""
    return any(
        _dispatch.is_array(item) or (type(item) in (list, tuple) and holds_array(item))
        for item in value
    )


device.on_change(_refresh)
_refresh()

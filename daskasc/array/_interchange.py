"""In and out of arrays on the card: NumPy, torch, DLPack, files.

Copies between host and card run in the order of the calling thread's stream. What shows elements
to the host waits for its own copy and for what was queued before it, and for nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _indexing, _masks, _readonly
from daskasc.array._dispatch import check_device, implements, implements_for_times, is_array
from daskasc.array._dtypes import BFLOAT16, COMPLEX, NUMPY, torch
from daskasc.array._operators import can_cast
from daskasc.array._storage import wrap
from daskasc.device import observer

_HOST = (1, 0)  # DLPack's number of host memory


def synchronize() -> None:
    """Wait until the card has done what the calling thread queued on its current stream.

    Reading elements (``asnumpy``, ``item``, ``bool``, printing) waits by itself; this is for
    timing, and before memory is handed to a library that knows nothing of streams.
    """
    device.current().synchronize()


# -- to and from the host


@observer.observed("download")
def asnumpy(
    array: Any, out: np.ndarray[Any, Any] | None = None, blocking: bool = True
) -> np.ndarray[Any, Any] | device.Transfer:
    """Implement ``AscendArray.asnumpy``."""
    if out is not None:
        _check_out(out, array)
    backend = device.current()
    if blocking:
        return backend.download(array._t, out)
    return backend.start_download(array._t, out)


def _check_out(out: Any, array: Any) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is {type(out).__name__}; it has to be a NumPy array")
    if out.shape != array.shape or out.dtype.newbyteorder("=") != array.dtype:
        raise ValueError(
            f"out has shape {out.shape} and dtype {out.dtype}; the array has {array.shape} and "
            f"{array.dtype}. Pass an array of the same, or convert with astype first"
        )
    if not out.flags.writeable:
        raise ValueError("out is read-only; pass an array that can be written")


@observer.observed("copy_from")
def copy_from(target: Any, source: Any, casting: str = "same_kind") -> None:
    """Implement ``AscendArray.copy_from``."""
    target._check_writable()
    if is_array(source):
        source = source._t
    if isinstance(source, torch.Tensor):
        source = plain(source)
        if source.device.type == "cpu" != target._t.device.type:
            source = device.host_view(source)
    if isinstance(source, torch.Tensor):
        check_place(source)
        _check_cast(NUMPY[source.dtype], target, casting)
        _copy_on_card(target._t, source)
        return
    host = np.asarray(_masks.plain(source))
    device.torch_dtype(host.dtype)
    _check_cast(host.dtype.newbyteorder("="), target, casting)
    while host.ndim > target.ndim and host.shape[0] == 1:
        host = host[0]
    try:
        spread = np.broadcast_to(host, target.shape)
    except ValueError:
        raise ValueError(
            f"could not broadcast input array from shape {host.shape} into shape {target.shape}"
        ) from None
    device.current().fill(target._t, spread)


def _copy_on_card(target: Any, source: Any) -> None:
    shared = source.untyped_storage().data_ptr() == target.untyped_storage().data_ptr()
    # copy_ converts on the way; the general way makes a converted copy first
    plainly = not shared and (source.dtype not in COMPLEX or target.dtype in COMPLEX)
    if plainly and source.shape == target.shape:
        target.copy_(source)
    else:
        _indexing.store(target, source)


def _check_cast(source: np.dtype[Any], target: Any, casting: str) -> None:
    if not can_cast(source, target.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {source!r} to {target.dtype!r} according to the rule "
            f"'{casting}'"
        )


# -- torch


def plain(tensor: Any) -> Any:
    """The tensor without gradient and lazy conjugation; a copy only in the latter case."""
    if tensor.layout is not torch.strided:
        raise TypeError(f"the tensor's layout is {tensor.layout}; make it dense with .to_dense()")
    return tensor.detach().resolve_conj().resolve_neg()


def adopt(tensor: Any) -> Any:
    """Tensor for an array to keep: on this process's card, of a dtype that NumPy knows."""
    device.numpy_dtype(tensor.dtype)
    made = plain(tensor)
    check_place(made)
    return _readonly.like(made, tensor)


def check_place(tensor: Any) -> None:
    """Raise ValueError unless a tensor is in the memory of this process's card."""
    place = device.current().torch_device
    if tensor.device.type != place.type or (tensor.device.index or 0) != (place.index or 0):
        raise ValueError(
            f"the tensor is on {tensor.device}; this process's card is {place}. Move it first, "
            f'with tensor.to("{place}")'
        )


# -- DLPack


def to_dlpack(array: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """Implement ``AscendArray.__dlpack__``.

    Where torch has no DLPack for the kind of card only a copy on the host can be exported.
    """
    tensor = array._t
    to_host = dl_device is not None and tuple(dl_device) == _HOST
    own = tensor.device if to_host and not _has_dlpack() else tuple(dlpack_device(array))
    if dl_device is not None and tuple(dl_device) != own:
        if not to_host or copy is False:
            raise BufferError(
                f"DLPack device {tuple(dl_device)} was asked for; the array is on {own}, "
                "and only a copy to the host (1, 0) can be made"
            )
        host = device.current().download(tensor)
        bits = host.view(np.int16) if host.dtype == BFLOAT16 else host
        tensor = torch.from_numpy(bits).view(tensor.dtype)
        copy = None
    if stream is not None and tensor.device.type == "cpu":
        raise ValueError(f"stream is {stream!r}; host memory has no streams: pass None")
    return tensor.__dlpack__(stream=stream, max_version=max_version, copy=copy)


def dlpack_device(array: Any) -> Any:
    """Implement ``AscendArray.__dlpack_device__``."""
    if not _has_dlpack():
        raise BufferError(
            f"torch has no DLPack for {device.current().kind} cards, so memory of {_place()} "
            "cannot be shared; use .tensor for torch, or .asnumpy() for a copy on the host"
        )
    return array._t.__dlpack_device__()


def _has_dlpack() -> bool:
    return device.current().has_dlpack


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """AscendArray of anything with ``__dlpack__``, without a copy where memory allows.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
        A torch tensor and a NumPy array are taken as they are, without the protocol.
    device : str, optional
        This process's device, as ``array.device`` names it.
    copy : bool, optional
        True: always copy. False: never. None: where memory cannot be shared, which is host
        memory for a card, and memory that is read-only or has negative strides.

    Raises
    ------
    BufferError
        A copy is needed and `copy` is False; or the memory belongs to another device.
    ValueError
        `device` is not this process's.
    """
    check_device(device)
    place = _place()
    if is_array(x):
        if x.dtype.kind in "mM":
            raise BufferError(f"DLPack has no dtype for {x.dtype}; pass .view('int64')")
        tensor = x._t
    elif isinstance(x, torch.Tensor):
        if x.device.type == "cpu" != place.type:
            return _from_host_tensor(plain(x), copy)
        tensor = adopt(x)
    elif isinstance(x, np.ndarray):
        return _from_host(_masks.plain(x), copy)
    elif not hasattr(type(x), "__dlpack__"):
        raise TypeError(f"{type(x).__name__} has no __dlpack__; use daskasc.array.asarray")
    else:
        where = tuple(int(n) for n in x.__dlpack_device__())
        if where == _HOST and place.type != "cpu":
            return _from_host(np.from_dlpack(x), copy)
        _check_importable(where, place)
        tensor = torch.from_dlpack(x)
    return _shared(tensor, copy)


def _shared(tensor: Any, copy: bool | None) -> Any:
    device.numpy_dtype(tensor.dtype)
    return wrap(tensor.clone() if copy else tensor.view(tensor.shape))


def _from_host_tensor(tensor: Any, copy: bool | None) -> Any:
    device.numpy_dtype(tensor.dtype)
    return _from_host(device.host_view(tensor), copy)


def _place() -> Any:
    return device.current().torch_device


def _check_importable(where: tuple[int, ...], place: Any) -> None:
    if not _has_dlpack():
        raise BufferError(
            f"torch has no from_dlpack for {device.current().kind} cards; pass a torch tensor on "
            "this card, or host memory"
        )
    own = tuple(int(n) for n in torch.empty(0, device=place).__dlpack_device__())
    if where != own:
        raise BufferError(
            f"the memory is on DLPack device {where}; this process's card is {place} {own}. "
            "Copy it to the host first"
        )


def _from_host(host: np.ndarray[Any, Any], copy: bool | None) -> Any:
    """Array of host memory: shared where the card is host memory and torch can take it."""
    backend = device.current()
    can_share = backend.torch_device.type == "cpu" and device.shareable(host)
    if copy is False and not can_share:
        raise BufferError(
            f"a host array with strides {host.strides}, writeable={host.flags.writeable} and "
            f"dtype {host.dtype} cannot be shared with {backend.torch_device}; pass copy=None"
        )
    wanted = device.torch_dtype(host.dtype)
    if copy or not can_share:
        return wrap(backend.upload(host))
    # of two equal dtypes (``long`` and ``longlong``) torch knows one
    bits = host.view(np.int16 if host.dtype == BFLOAT16 else NUMPY[wanted])
    return wrap(torch.from_numpy(bits).view(wanted))


# -- files and text: the elements are copied down, which is what is asked for


# NumPy's format knows no bfloat16: files hold a field of that name, which our load recognises
_MARKED = np.dtype([("bfloat16", "V2")])


def marked(host: Any) -> Any:
    """Host array as it is written to a file of NumPy's format: bfloat16 in a field of that name."""
    return host.view(_MARKED) if host.dtype == BFLOAT16 else host


def unmarked(host: Any) -> Any:
    """Host array as it was before :func:`marked`."""
    return host.view(BFLOAT16) if host.dtype == _MARKED else host


def _marked_down(value: Any) -> Any:
    if is_array(value):
        return marked(value.asnumpy())
    return marked(value) if isinstance(value, np.ndarray) else _down(value)


def _down(value: Any) -> Any:
    if is_array(value):
        return value.asnumpy()
    if type(value) in (list, tuple):
        return type(value)(map(_down, value))
    return value


def _written(function: Any) -> Any:
    down = _marked_down if function in (np.save, np.savez, np.savez_compressed) else _down

    def write(*args: Any, **kwargs: Any) -> Any:
        return function(*map(down, args), **{key: down(kwargs[key]) for key in kwargs})

    write.__name__ = function.__name__
    write.__doc__ = f"As :func:`numpy.{function.__name__}`; copies the elements down."
    return write


_WRITERS: tuple[Any, ...] = (np.save, np.savez, np.savez_compressed, np.savetxt)
for _writer in (*_WRITERS, np.array2string, np.array_repr, np.array_str):
    implements_for_times(_writer)(implements(_writer)(_written(_writer)))

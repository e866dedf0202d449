"""Arrays on a card as frames for the network and the disk.

An array pickles to its bytes, in one buffer that pickle protocol 5 keeps apart, with dtype, shape
and the number of the card that it came from. Distributed sends such buffers as they are, inside
containers as well. It is pickle and not distributed's own ``dask_serialize``, because that puts the
class into each message: reading a result would make the client import the class, hence torch.

What the receiver makes of it is :func:`daskasc._handoff.rebuild`'s table. Bytes from another card
are counted as ``peer_bytes_received``.
"""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from daskasc import _handoff, device


def register(array_type: type) -> None:
    """Pickle arrays of this type by :func:`reduce_array`."""
    copyreg.pickle(array_type, reduce_array)


def reduce_array(array: Any) -> tuple[Any, ...]:
    """Reduce an array for pickle. On a stand-in card the buffer is the array's own memory."""
    card = device.current().card
    return restore_array, (_host_bytes(array), array.dtype, array.shape, card)


def restore_array(
    data: np.ndarray[Any, Any], dtype: np.dtype[Any], shape: tuple[int, ...], card: int | None
) -> Any:
    """Make of an array's bytes what this process can use.

    Parameters
    ----------
    data : ndarray of uint8
        The elements' bytes in C order.
    dtype, shape
        Of the array.
    card : int or None
        Card that it was on; None for a process without one.
    """
    host = data.view(dtype).reshape(shape)
    if card is not None and device.has_card() and device.current().card != card:
        device.counters.add("peer_bytes_received", host.nbytes)
    return _handoff.rebuild(host, card is not None)


def _host_bytes(array: Any) -> np.ndarray[Any, Any]:
    backend = device.current()
    if backend.kind != "cpu":
        return np.ascontiguousarray(array.asnumpy()).reshape(-1).view(np.uint8)
    tensor = array.tensor.resolve_conj().resolve_neg().contiguous().reshape(-1)
    # a real card would have copied
    device.counters.add("device_to_host_bytes", array.nbytes)
    return tensor.view(device.torch().uint8).numpy()

"""One Zarr array as something that dask slices: each slice is read straight into a card.

    file -> zarr decodes into a pooled host buffer -> upload -> unpacked on the card

The source is a small value (store, path, shape, dtype): it is what the graph carries, so unpickling
it on the scheduler opens nothing and imports no torch.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskasc.errors import InputError
from daskasc.io._packing import Packing
from daskasc.io._stores import StoreRef, cached_array, describe, named


@dataclass(frozen=True)
class ZarrSource:
    """A lazily read Zarr array whose slices are arrays on this process's card.

    Attributes
    ----------
    ref, path : StoreRef, str
        The store, and the array's path in it.
    shape : tuple of int
    stored : str
        Stored dtype in native byte order.
    chunks : tuple of int
        Smallest block worth reading: a chunk, or a shard where there are shards.
    token : str
        Changes with the array's metadata.
    packing : Packing or None
        How stored numbers become values.
    """

    ref: StoreRef
    path: str
    shape: tuple[int, ...]
    stored: str
    chunks: tuple[int, ...]
    token: str
    packing: Packing | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the slices."""
        return np.dtype(self.stored if self.packing is None else self.packing.dtype)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("daskasc-zarr-source", self.token, self.path, self.packing)

    def __getitem__(self, index: Any) -> Any:
        """Read a slice.

        Parameters
        ----------
        index : int, slice, Ellipsis or tuple of them
            Basic indexing; steps may be negative.

        Returns
        -------
        AscendArray
            On this process's card; CPU torch memory where the process has none.

        Raises
        ------
        InputError
            A chunk is truncated or corrupt, or the array is gone; the chunk is named.
        """
        from daskasc import device
        from daskasc.array import AscendArray

        selection, shape, post = _plan(index, self.shape)
        stored = np.dtype(self.stored)
        nbytes = math.prod(shape) * stored.itemsize
        with device.staging.take(nbytes) as buffer:
            host = buffer[:nbytes].view(stored).reshape(shape)
            self._read(selection, host)
            raw = host if self.packing is None else self.packing.raw(host)
            chunk = AscendArray(device.current().upload(raw[post]))
        return chunk if self.packing is None else self.packing.unpack(chunk)

    def _read(self, selection: tuple[slice, ...], out: np.ndarray[Any, Any]) -> None:
        """Decode a selection into `out`, an array of native byte order."""
        if out.size == 0:
            return
        with cached_array(self.ref, self.path, self.token) as array:
            try:
                array.get_basic_selection(selection, out=_nd_buffer(out))
            except MemoryError:
                raise
            except Exception as exc:
                where = named(self.ref, self.path)
                raise InputError(damage(where, array, selection, exc)) from exc


def damage(where: str, array: Any, selection: tuple[slice, ...], exc: Exception) -> str:
    """Find the chunk that cannot be read by reading the selection's chunks one by one."""
    remedy = "fetch or write that chunk again (a chunk that is absent reads as fill value)"
    blocks = [
        range(part.start // size, -(-part.stop // size))
        for part, size in zip(selection, array.chunks, strict=True)
    ]
    for coords in itertools.product(*blocks):
        one = tuple(
            slice(i * size, min((i + 1) * size, length))
            for i, size, length in zip(coords, array.chunks, array.shape, strict=True)
        )
        try:
            array.get_basic_selection(one)
        except Exception as cause:
            return (
                f"{where}: chunk {coords} ({_chunk_file(array, coords)}) is truncated or "
                f"corrupt: {describe(cause)}; {remedy}"
            )
    return f"{where}: elements {selection} cannot be read: {describe(exc)}; {remedy}"


def _nd_buffer(out: np.ndarray[Any, Any]) -> Any:
    try:
        from zarr.buffer import cpu
    except ImportError:  # zarr < 3.1.3 has the same class under its older name only
        from zarr.core.buffer import cpu
    return cpu.NDBuffer.from_numpy_array(out)


def _chunk_file(array: Any, coords: tuple[int, ...]) -> str:
    """Key of a chunk (of its shard where there are shards) in the store."""
    shards = getattr(array, "shards", None)
    if shards is not None:
        coords = tuple(
            i * chunk // shard for i, chunk, shard in zip(coords, array.chunks, shards, strict=True)
        )
    return str(array.metadata.encode_chunk_key(coords))


def _plan(
    index: Any, shape: tuple[int, ...]
) -> tuple[tuple[slice, ...], tuple[int, ...], tuple[Any, ...]]:
    """Turn basic indexing into a contiguous forward read and an index of what was read.

    Returns
    -------
    selection : tuple of slice
        Positive steps of 1, one a dimension.
    read_shape : tuple of int
    post : tuple
        Index that leaves what was asked for.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts[at : at + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    parts += [slice(None)] * (len(shape) - len(parts))
    selection: list[slice] = []
    read: list[int] = []
    post: list[Any] = []
    for part, length in zip(parts, shape, strict=True):
        if isinstance(part, slice):
            steps = range(*part.indices(length))
            if len(steps) == 0:
                first, stop, after = 0, 0, slice(None)
            elif steps.step > 0:
                first, stop, after = steps[0], steps[-1] + 1, slice(None, None, steps.step)
            else:
                first, stop, after = steps[-1], steps[0] + 1, slice(None, None, steps.step)
            selection.append(slice(first, stop))
            read.append(stop - first)
            post.append(after)
        else:
            position = int(part) + (length if part < 0 else 0)
            if not 0 <= position < length:
                raise IndexError(f"index {part} is out of bounds for axis of length {length}")
            selection.append(slice(position, position + 1))
            read.append(1)
            post.append(0)
    return tuple(selection), tuple(read), tuple(post)

"""``from_zarr``: a Zarr array as a dask array whose chunks are read straight into cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dask.base import tokenize

from daskasc.errors import InputError, UnsupportedDTypeError
from daskasc.io._packing import Packing
from daskasc.io._source import ZarrSource
from daskasc.io._stores import (
    StoreRef,
    check_complete,
    metadata_text,
    modified,
    named,
    open_array,
    split_component,
    store_ref,
)

if TYPE_CHECKING:
    import dask.array


def from_zarr(
    store: Any,
    component: str | None = None,
    chunks: Any = None,
    *,
    storage_options: dict[str, Any] | None = None,
) -> dask.array.Array:
    """Read a Zarr array (format 2 or 3) into chunks on the cards.

    Parameters
    ----------
    store : str, path, zarr store or zarr.Array
        A folder, a ``.zip`` archive, an address (``s3://...``), a store object of zarr.
    component : str, optional
        Path of the array inside the store, such as ``"group/temperature"``.
    chunks : optional
        Chunks of the dask array in any form that dask takes, ``"auto"`` included; along each axis
        multiples of the stored chunks (of the shards, where there are shards) or the whole axis.
        Default: the stored chunks, or shards.
    storage_options : dict, optional
        Options for the file system behind an address.

    Returns
    -------
    dask.array.Array
        Lazy. Equal stores give equal names, so dask recognises repeated reads; the time of the
        last change of the array's metadata is part of the name, changes of single chunks are not.

    Raises
    ------
    InputError
        No such store or array, an array that is not completely written, or chunks that cut stored
        chunks. When computing: a truncated or corrupt chunk.
    UnsupportedDTypeError
        The array holds strings, times, structures or objects.
    """
    import zarr

    path = split_component(component)
    if isinstance(store, zarr.Array):
        path = "/".join(part for part in (store.path, path) if part)
        store = store.store
    return source_array(zarr_source(store_ref(store, storage_options), path), chunks)


def zarr_source(ref: StoreRef, path: str, packing: Packing | None = None) -> ZarrSource:
    """Look at an array's metadata and describe how to read it."""
    with ref.open() as store:
        array = open_array(ref, path, store)
        check_complete(ref, path, array.attrs)
        dtype = np.dtype(array.dtype).newbyteorder("=")
        if dtype.kind not in "biufc":
            raise UnsupportedDTypeError(
                f"{named(ref, path)}: dtype {dtype} has no form on a card; arrays of booleans, "
                "integers, real and complex numbers have one"
            )
        return ZarrSource(
            ref=ref,
            path=path,
            shape=tuple(array.shape),
            stored=dtype.str,
            chunks=tuple(getattr(array, "shards", None) or array.chunks),
            token=tokenize(str(ref), path, metadata_text(array), modified(ref, path)),
            packing=packing,
        )


def source_array(source: ZarrSource, chunks: Any = None) -> dask.array.Array:
    """Make the dask array that reads a source."""
    import dask.array as da

    from daskasc import array as card_arrays

    planned = plan_chunks(source, chunks)
    meta = card_arrays.from_numpy(np.empty((0,) * source.ndim, source.dtype))
    return da.from_array(
        source,
        chunks=planned,
        name=f"from-zarr-{tokenize(source, planned)}",
        asarray=False,
        fancy=False,
        inline_array=True,
        meta=meta,
    )


def plan_chunks(source: ZarrSource, chunks: Any = None) -> tuple[tuple[int, ...], ...]:
    """Dask chunks of a source: as asked for, and never cutting a stored chunk."""
    from dask.array.core import normalize_chunks

    if source.ndim == 0:
        return ()
    if chunks is None or chunks == {}:
        chunks = source.chunks
    elif isinstance(chunks, dict):
        chunks = {axis: source.chunks[axis] for axis in range(source.ndim)} | chunks
    # an empty axis has stored chunks of its own size or 1, which normalize_chunks does not divide
    stored = tuple(max(1, size) for size in source.chunks)
    try:
        planned = normalize_chunks(chunks, source.shape, dtype=source.dtype, previous_chunks=stored)
    except (ValueError, TypeError) as exc:
        raise InputError(
            f"{named(source.ref, source.path)}: chunks={chunks!r} do not fit shape "
            f"{source.shape}: {exc}"
        ) from exc
    for axis, (sizes, step) in enumerate(zip(planned, stored, strict=True)):
        wrong = [size for size in sizes[:-1] if size % step]
        if wrong:
            below = max(step, wrong[0] // step * step)
            raise InputError(
                f"{named(source.ref, source.path)}: chunks of {wrong[0]} along axis {axis} cut the "
                f"stored chunks of {step}, which would be read several times; take a multiple: "
                f"{below} or {below + step}, or -1 for the whole axis"
            )
    return tuple(tuple(int(size) for size in sizes) for sizes in planned)

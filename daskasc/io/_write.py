"""``to_zarr``: a dask array of card (or NumPy) chunks into a Zarr array.

The array is created first, with the attribute ``daskasc_complete: false``; then each task downloads
its chunk and writes whole Zarr chunks, so no two tasks touch one file; last, when all chunks are
there, one task takes the attribute away. Readers refuse an array that still has it, so that a
writer that died leaves nothing that looks like data.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.base import tokenize

from daskasc.errors import InputError, UnsupportedDTypeError
from daskasc.io._stores import (
    COMPLETE,
    StoreRef,
    cached_array,
    describe,
    named,
    split_component,
    store_ref,
)

if TYPE_CHECKING:
    import dask.array


@dataclass(frozen=True)
class ZarrSink:
    """Writes one dask chunk into an array that exists.

    Attributes
    ----------
    ref, path : StoreRef, str
    starts : tuple of tuple of int
        First element of each dask chunk along each axis.
    token : str
        Names this act of writing.
    """

    ref: StoreRef
    path: str
    starts: tuple[tuple[int, ...], ...]
    token: str

    def __dask_tokenize__(self) -> tuple[str, str]:
        return ("daskasc-zarr-sink", self.token)

    def __call__(self, chunk: Any, block_id: tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
        """Download and write; the answer has one element, so that nothing big travels on."""
        from daskasc.array import asnumpy

        if block_id is None:
            return np.empty((0,) * len(self.starts), bool)
        region = tuple(
            slice(starts[i], starts[i] + length)
            for starts, i, length in zip(self.starts, block_id, chunk.shape, strict=True)
        )
        with cached_array(self.ref, self.path, self.token, "r+") as array:
            try:
                array[region if region else ...] = asnumpy(chunk)
            except OSError as exc:
                raise InputError(
                    f"{named(self.ref, self.path)}: block {block_id} cannot be written "
                    f"({describe(exc)}); the array stays marked as incomplete"
                ) from exc
        return np.ones((1,) * len(self.starts), bool)


def to_zarr(
    x: dask.array.Array,
    store: Any,
    component: str | None = None,
    *,
    overwrite: bool = False,
    chunks: Any = None,
    shards: Any = None,
    zarr_format: int = 3,
    compute: bool = True,
    attributes: Mapping[str, Any] | None = None,
    dimension_names: Sequence[str] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> dask.array.Array | None:
    """Write a dask array as a Zarr array.

    Parameters
    ----------
    x : dask.array.Array
        Chunks on cards, or NumPy.
    store, component
        Where to; see :func:`daskasc.from_zarr`. Missing folders are made.
    overwrite : bool
        Replace an array (or group) that is already there.
    chunks, shards : int or tuple of int, optional
        Zarr chunks (and shards); each boundary of `x`'s chunks must be one of theirs. Default:
        the chunks of `x`, which must then be regular.
    zarr_format : {2, 3}
    compute : bool
        False gives a lazy array without dimensions; computing it writes. The (empty, incomplete)
        array is made at once.
    attributes : mapping, optional
        Attributes of the array; must be JSON.
    dimension_names : sequence of str, optional
        Names of the axes, as xarray reads them.
    storage_options : dict, optional
        Options for the file system behind an address.

    Raises
    ------
    InputError
        The target exists, cannot be written, or would have chunks that two dask chunks share
        (nothing has been written then).
    """
    ref, path = store_ref(store, storage_options), split_component(component)
    zarr_chunks, zarr_shards = plan_storage(x, chunks, shards, named(ref, path))
    create_array(
        ref,
        path,
        x,
        zarr_chunks,
        zarr_shards,
        overwrite=overwrite,
        zarr_format=zarr_format,
        attributes=attributes or {},
        dimension_names=dimension_names,
    )
    done = write_all([(path, x)], ref)
    if not compute:
        return done
    done.compute()
    return None


def plan_storage(
    x: dask.array.Array, chunks: Any, shards: Any, where: str
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Zarr chunks and shards for `x`, after checking that every task writes whole ones."""
    if x.dtype.kind not in "biufc":
        raise UnsupportedDTypeError(
            f"{where}: dtype {x.dtype} cannot be written from cards; allowed are booleans, "
            "integers, real and complex numbers"
        )
    if any(math.isnan(size) for sizes in x.chunks for size in sizes):
        raise InputError(f"{where}: the chunk sizes of x are unknown; call x.compute_chunk_sizes()")
    inner = _per_axis(chunks, x, "chunks", where)
    outer = _per_axis(shards, x, "shards", where)
    if outer is not None:
        if inner is None:
            inner = outer
        for axis, (big, small) in enumerate(zip(outer, inner, strict=True)):
            if big % small:
                raise InputError(
                    f"{where}: shards of {big} along axis {axis} are no multiple of the chunks of "
                    f"{small}"
                )
    planned = []
    for axis, sizes in enumerate(x.chunks):
        whole = outer or inner
        planned.append(_check_axis(axis, sizes, whole[axis] if whole else None, where))
    return (inner if inner is not None else tuple(planned)), outer


def _per_axis(value: Any, x: dask.array.Array, what: str, where: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    sizes = (value,) * x.ndim if isinstance(value, int) else tuple(value)
    if len(sizes) != x.ndim or not all(
        isinstance(size, (int, np.integer)) and (size > 0 or size == -1) for size in sizes
    ):
        raise InputError(
            f"{where}: {what}={value!r}; give {x.ndim} positive integers (-1: the whole axis)"
        )
    return tuple(
        max(1, length) if size == -1 else int(size)
        for size, length in zip(sizes, x.shape, strict=True)
    )


def _check_axis(axis: int, sizes: tuple[int, ...], step: int | None, where: str) -> int:
    """Step along one axis such that every inner boundary of `sizes` is a multiple of it."""
    boundaries = [int(end) for end in np.cumsum(sizes)[:-1]]
    common = math.gcd(*boundaries) if boundaries else max(1, sum(sizes))
    if step is None:
        step = max(1, sizes[0])
        if any(end % step for end in boundaries):
            raise InputError(
                f"{where}: the chunks of x along axis {axis} are {_short(sizes)}, Zarr chunks are "
                f"all equal; rechunk first (x.rechunk({{{axis}: {step}}})), or give chunks= with "
                f"{common} along that axis"
            )
        return step
    cut = next((end for end in boundaries if end % step), None)
    if cut is not None:
        near = max(step, round(cut / step) * step)
        raise InputError(
            f"{where}: a boundary of x's chunks along axis {axis} (at {cut}) lies inside a Zarr "
            f"chunk of {step}, two tasks would write one file; rechunk first (x.rechunk({{{axis}: "
            f"{near}}})), or take Zarr chunks of {common} along that axis"
        )
    return step


def _short(sizes: tuple[int, ...]) -> str:
    return str(sizes) if len(sizes) <= 6 else f"({', '.join(map(str, sizes[:5]))}, ...)"


def create_array(
    ref: StoreRef,
    path: str,
    x: dask.array.Array,
    chunks: tuple[int, ...],
    shards: tuple[int, ...] | None,
    *,
    overwrite: bool,
    zarr_format: int,
    attributes: Mapping[str, Any],
    dimension_names: Sequence[str] | None,
) -> None:
    """Make the array's metadata, marked as incomplete."""
    import zarr
    from zarr.errors import ContainsArrayError, ContainsGroupError

    where = named(ref, path)
    if zarr_format not in (2, 3):
        raise InputError(f"{where}: zarr_format is {zarr_format!r}; allowed: 2, 3")
    if zarr_format == 2 and shards is not None:
        raise InputError(f"{where}: shards need zarr_format=3, not 2")
    if ref.kind == "zip":
        raise InputError(f"{where}: workers cannot share an archive; write a folder and zip it")
    attributes = {**attributes, COMPLETE: False}
    if zarr_format == 2 and dimension_names is not None:
        attributes["_ARRAY_DIMENSIONS"] = list(dimension_names)
    # NaN is what a float chunk that was skipped as empty must read as; format 2 readers take an
    # integer fill value for "missing", so there it is left out
    floating = x.dtype.kind in "fc"
    fill = x.dtype.type(np.nan) if floating else (None if zarr_format == 2 else x.dtype.type(0))
    try:
        with ref.open("a") as store:
            zarr.create_array(
                store=store,
                name=path or None,
                shape=x.shape,
                chunks=chunks,
                shards=shards,
                dtype=x.dtype,
                fill_value=fill,
                zarr_format=zarr_format,
                attributes=attributes,
                dimension_names=dimension_names if zarr_format == 3 else None,
                overwrite=overwrite,
            )
    except (ContainsArrayError, ContainsGroupError, FileExistsError) as exc:
        raise InputError(
            f"{where}: there is data already; give overwrite=True to replace it"
        ) from exc
    except (OSError, TypeError, ValueError) as exc:
        raise InputError(f"{where}: cannot be created ({describe(exc)})") from exc


def write_all(
    arrays: Sequence[tuple[str, dask.array.Array]],
    ref: StoreRef,
    *,
    group: str | None = None,
) -> dask.array.Array:
    """Write arrays into their created targets, then mark them (and a group) as complete.

    Returns
    -------
    dask.array.Array
        No dimensions, true; it is a dask array, not a Delayed, so that it is optimised together
        with the arrays that it writes.
    """
    import dask.array as da
    from dask._task_spec import Task, TaskRef
    from dask.core import flatten
    from dask.highlevelgraph import HighLevelGraph

    tokens = []
    for path, x in arrays:
        # writing is an effect: doing it again must not be taken for a result that is there already
        token = f"{tokenize(str(ref), path, x.name)}-{uuid.uuid4().hex[:8]}"
        starts = tuple(
            tuple(int(end - size) for end, size in zip(np.cumsum(sizes), sizes, strict=True))
            for sizes in x.chunks
        )
        written = da.map_blocks(
            ZarrSink(ref, path, starts, token),
            x,
            dtype=bool,
            chunks=tuple((1,) * count for count in x.numblocks),
            name=f"to-zarr-{token}",
            meta=np.empty((0,) * x.ndim, bool),
        )
        tokens.append(written)
    name = f"to-zarr-finish-{tokenize(str(ref), group, [t.name for t in tokens])}"
    keys = [key for t in tokens for key in flatten(t.__dask_keys__())]
    paths = tuple(path for path, _ in arrays)
    task = Task((name,), _finish, ref, paths, group, *(TaskRef(key) for key in keys))
    graph = HighLevelGraph.from_collections(name, {(name,): task}, dependencies=tokens)
    return da.Array(graph, name, (), meta=np.empty((), bool))


def _finish(
    ref: StoreRef, paths: Sequence[str], group: str | None, *_: Any
) -> np.ndarray[Any, Any]:
    """Take the marks away: arrays first, the group that holds them last."""
    import zarr

    try:
        with ref.open("a") as store:
            for path in paths:
                attrs = zarr.open_array(store=store, path=path, mode="r+").attrs
                attrs.pop(COMPLETE, None)
            if group is not None:
                opened = zarr.open_group(store=store, path=group, mode="r+")
                opened.attrs.pop(COMPLETE, None)
                if opened.metadata.zarr_format == 2:
                    zarr.consolidate_metadata(store, path=group or None, zarr_format=2)
    except OSError as exc:
        raise InputError(
            f"store {ref}: all chunks are written, but the store cannot be marked as complete "
            f"({describe(exc)})"
        ) from exc
    return np.array(True)

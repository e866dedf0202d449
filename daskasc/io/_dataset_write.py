"""Writing a Dataset whose variables may be on cards: coordinates by xarray, the rest by chunks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from daskasc.errors import InputError
from daskasc.io._dataset import import_xarray
from daskasc.io._stores import COMPLETE, describe, named, split_component, store_ref
from daskasc.io._write import create_array, plan_storage, write_all

if TYPE_CHECKING:
    import dask.array
    import xarray

# what describes the place that data came from, not the data
_STORAGE_KEYS = frozenset(
    "chunks preferred_chunks shards compressors compressor filters serializer source "
    "original_shape chunksizes zlib szip zstd bzip2 blosc shuffle complevel fletcher32 contiguous "
    "dtype_str szip_params quantize_mode significant_digits".split()
)


def write_dataset(
    ds: xarray.Dataset,
    store: Any,
    group: str | None = None,
    *,
    overwrite: bool = False,
    zarr_format: int = 3,
    compute: bool = True,
    storage_options: dict[str, Any] | None = None,
) -> dask.array.Array | None:
    """Write a Dataset as a Zarr group.

    Dask variables are written chunk by chunk, each by the card that has it, under the chunks that
    they have; everything else goes through xarray. The group is marked as incomplete until all is
    written.

    Parameters
    ----------
    ds : xarray.Dataset
    store, group
        Where to; see :func:`daskasc.open_zarr`.
    overwrite : bool
        Replace a group that is there.
    zarr_format : {2, 3}
    compute : bool
        False gives a lazy array without dimensions that writes when it is computed; host
        variables are written at once.
    storage_options : dict, optional
        Options for the file system behind an address.

    Raises
    ------
    InputError
        The target exists or cannot be written, or a variable has irregular chunks (checked before
        anything is written).
    """
    import_xarray()
    ref, path = store_ref(store, storage_options), split_component(group)
    where = f"store {ref}" + (f", group {path}" if path else "")
    if ref.kind == "zip":
        raise InputError(f"{where}: workers cannot share an archive; write a folder and zip it")
    lazy = {
        str(name): variable
        for name, variable in ds.variables.items()
        if variable.chunks is not None and variable.dtype.kind in "biufc" and variable.ndim
    }
    plans = {
        name: plan_storage(v.data, None, None, named(ref, f"{path}/{name}".strip("/")))
        for name, v in lazy.items()
    }
    _write_host(ds.drop_vars(list(lazy)), ref, path, where, overwrite, zarr_format)
    arrays = []
    for name, variable in lazy.items():
        target = f"{path}/{name}".strip("/")
        chunks, shards = plans[name]
        create_array(
            ref,
            target,
            variable.data,
            chunks,
            shards,
            overwrite=overwrite,
            zarr_format=zarr_format,
            attributes=_attributes(variable),
            dimension_names=[str(dim) for dim in variable.dims],
        )
        arrays.append((target, variable.data))
    done = write_all(arrays, ref, group=path)
    if not compute:
        return done
    done.compute()
    return None


def _write_host(
    host: Any, ref: Any, path: str, where: str, overwrite: bool, zarr_format: int
) -> None:
    """Start the group: host variables, attributes, the mark."""
    host = host.copy()
    host.attrs = {**host.attrs, COMPLETE: False}
    for variable in host.variables.values():
        variable.encoding = {
            key: value for key, value in variable.encoding.items() if key not in _STORAGE_KEYS
        }
    try:
        with ref.open("a") as store, warnings.catch_warnings():
            # zarr says of each string array that its form in format 3 is young
            warnings.filterwarnings("ignore", module="zarr")
            warnings.filterwarnings("ignore", message=".*Zarr (format )?[vV]?3.*")
            host.to_zarr(
                store,
                group=path or None,
                mode="w" if overwrite else "w-",
                consolidated=False,
                zarr_format=zarr_format,
            )
    except FileExistsError as exc:
        raise InputError(
            f"{where}: there is data already; give overwrite=True to replace it"
        ) from exc
    except Exception as exc:
        if "already exists" in str(exc) or type(exc).__name__.startswith("Contains"):
            raise InputError(
                f"{where}: there is data already; give overwrite=True to replace it"
            ) from exc
        raise InputError(f"{where}: cannot be written ({describe(exc)})") from exc


def _attributes(variable: Any) -> dict[str, Any]:
    """Attributes as JSON: NumPy scalars and arrays become Python's."""
    plain: dict[str, Any] = {}
    for key, value in variable.attrs.items():
        plain[str(key)] = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    for key in ("coordinates", "grid_mapping"):
        if key in variable.encoding and key not in plain:
            plain[key] = variable.encoding[key]
    return plain

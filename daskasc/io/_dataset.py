"""``open_zarr``: an xarray Dataset with its data variables on the cards.

xarray opens and decodes the store; what it finds decides what stays where:

========================================  =====================================================
coordinates, indexes                      host, decoded by xarray (cftime calendars included)
numeric data variables with dimensions    dask arrays of card chunks, CF packing undone on the card
times, strings, objects, scalars          host, read lazily by xarray
========================================  =====================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from daskasc.errors import InputError
from daskasc.io._packing import packing_of
from daskasc.io._read import source_array, zarr_source
from daskasc.io._source import damage
from daskasc.io._stores import (
    COMPLETE,
    StoreRef,
    check_complete,
    describe,
    named,
    no_group,
    split_component,
    store_ref,
)

if TYPE_CHECKING:
    import xarray

# elements of an array that may be read in search of a damaged coordinate
_MOST_READ = 1 << 24


def import_xarray() -> Any:
    """Import xarray, with the command that installs it where it is missing."""
    try:
        import xarray
    except ImportError as exc:
        raise ImportError(
            'this needs xarray, which is not installed: pip install "daskasc[xarray]"'
        ) from exc
    return xarray


def open_zarr(
    store: Any,
    group: str | None = None,
    chunks: Any = None,
    *,
    variables: Iterable[str] | None = None,
    consolidated: bool | None = None,
    storage_options: dict[str, Any] | None = None,
) -> xarray.Dataset:
    """Open a Zarr group (format 2 or 3) as a Dataset with card chunks.

    Parameters
    ----------
    store
        See :func:`daskasc.from_zarr`.
    group : str, optional
        Path of the group inside the store.
    chunks : int, "auto" or mapping of dimension to int, optional
        Chunks of the data variables; multiples of the stored ones, -1 for a whole dimension.
        Default, and for dimensions that are not named: the stored chunks.
    variables : iterable of str, optional
        Data variables to keep; default all.
    consolidated : bool, optional
        Whether to use consolidated metadata; default: where there are any.
    storage_options : dict, optional
        Options for the file system behind an address.

    Returns
    -------
    xarray.Dataset
        Attributes are kept. Packed variables are float32, or float64 where float32 does not
        resolve the packing step.

    Raises
    ------
    ImportError
        xarray is not installed.
    InputError
        No such store, group or variable; a calendar that cannot be decoded; a coordinate that is
        corrupt; a store that is not completely written.
    """
    xr = import_xarray()
    ref, path = store_ref(store, storage_options), split_component(group)
    raw, decoded = _open_both(xr, ref, path, consolidated)
    check_complete(ref, path, raw.attrs)
    decoded.attrs.pop(COMPLETE, None)
    if variables is not None:
        decoded = _keep(decoded, list(variables), ref)
    _check_dimensions(decoded, chunks, ref)
    replaced = {}
    for name, variable in decoded.data_vars.items():
        stored = raw.variables[name]
        numeric = stored.dtype.kind in "biufc" and variable.dtype.kind in "biufc"
        if not numeric or variable.ndim == 0 or "dtype" in stored.attrs:
            check_complete(ref, f"{path}/{name}".strip("/"), stored.attrs)
            continue
        replaced[name] = _card_variable(xr, ref, path, str(name), stored, variable, chunks)
    return decoded.assign(replaced)


def _card_variable(
    xr: Any, ref: StoreRef, group: str, name: str, stored: Any, variable: Any, chunks: Any
) -> Any:
    """One data variable with card chunks, attributes and encoding as xarray decoded them."""
    path = f"{group}/{name}".strip("/")
    dtype = np.dtype(stored.dtype).newbyteorder("=")
    try:
        packing = packing_of(dtype, stored.attrs)
    except (TypeError, ValueError) as exc:
        raise InputError(
            f"{named(ref, path)}: its packing attributes (scale_factor, add_offset, _FillValue, "
            f"missing_value) are not numbers: {exc}"
        ) from exc
    source = zarr_source(ref, path, packing)
    if isinstance(chunks, Mapping):
        chunks = {
            variable.dims.index(dim): size for dim, size in chunks.items() if dim in variable.dims
        }
    return xr.Variable(
        variable.dims, source_array(source, chunks), variable.attrs, variable.encoding
    )


def _open_both(xr: Any, ref: StoreRef, path: str, consolidated: bool | None) -> tuple[Any, Any]:
    """Open a group twice: as stored, and as xarray decodes it (coordinates read at once)."""
    import zarr
    from zarr.errors import ContainsArrayError, NodeNotFoundError, NodeTypeValidationError

    local = ref.local_path
    if local is not None and not local.exists():
        raise InputError(f"no such store: {ref}; check the path")
    where = f"store {ref}" + (f", group {path}" if path else "")
    with ref.open() as store:
        try:
            opened = zarr.open_group(store=store, path=path, mode="r")
        except (
            NodeNotFoundError,
            NodeTypeValidationError,
            ContainsArrayError,
            FileNotFoundError,
        ) as exc:
            raise InputError(no_group(ref, where)) from exc
        except Exception as exc:
            raise InputError(f"{where}: cannot be opened as Zarr ({describe(exc)})") from exc
        if consolidated is None:
            consolidated = opened.metadata.consolidated_metadata is not None
        options = {"group": path or None, "chunks": None, "consolidated": consolidated}
        try:
            with warnings.catch_warnings():
                # the dtype of times that NumPy cannot hold is said once by xarray; it is expected
                warnings.filterwarnings("ignore", category=xr.SerializationWarning)
                raw = xr.open_zarr(store, decode_cf=False, **options)
                decoded = xr.open_zarr(store, **options)
                for coordinate in decoded.coords.values():
                    coordinate.load()
                if ref.kind == "zip":
                    # what stays on the host cannot be read once the archive is closed
                    _load_host(decoded)
        except Exception as exc:
            raise InputError(_undecoded(ref, path, where, opened, exc)) from exc
    return raw, decoded


def _undecoded(ref: StoreRef, path: str, where: str, group: Any, exc: Exception) -> str:
    """Name the array that xarray could not read or decode, where it can be told."""
    cause = _cause(exc)
    try:
        arrays = [array for _, array in group.arrays()]
    except Exception:  # metadata of an array are damaged; xarray's message says so
        arrays = []
    for array in arrays:
        place = named(ref, f"{path}/{array.basename}".strip("/"))
        units = array.attrs.get("units")
        if units and " since " in str(units) and repr(units) in cause:
            return f"{place}: xarray cannot decode it: {cause}"
        # what xarray reads on opening: coordinates, which are small
        if 1 <= array.ndim <= 2 and array.size <= _MOST_READ:
            whole = tuple(slice(0, length) for length in array.shape)
            try:
                array.get_basic_selection(whole)
            except Exception as damaged:
                return damage(place, array, whole, damaged)
    return f"{where}: xarray cannot decode it: {cause}"


def _load_host(decoded: Any) -> None:
    for variable in decoded.variables.values():
        if variable.dtype.kind not in "biufc" or variable.ndim == 0:
            variable.load()


def _cause(exc: BaseException) -> str:
    """Say the last reason that xarray gives, without its advice about its own options."""
    return describe(exc).split(" Consider manually specifying")[0].split(" Try opening")[0]


def _keep(decoded: Any, variables: list[str], ref: StoreRef) -> Any:
    missing = [name for name in variables if name not in decoded.variables]
    if missing:
        raise InputError(
            f"store {ref}: no such variable: {', '.join(map(str, missing))}; it has "
            f"{', '.join(sorted(map(str, decoded.data_vars))) or 'no data variables'}"
        )
    return decoded[variables]


def _check_dimensions(decoded: Any, chunks: Any, ref: StoreRef) -> None:
    if isinstance(chunks, Mapping):
        unknown = [dim for dim in chunks if dim not in decoded.sizes]
        if unknown:
            raise InputError(
                f"store {ref}: chunks name {unknown[0]!r}, which is no dimension; it has "
                f"{', '.join(map(str, decoded.sizes))}"
            )

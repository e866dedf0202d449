"""``.npu``: move xarray objects between host and cards, lazily, and write them from there.

Only data variables move; coordinates and indexes stay on the host, where xarray aligns them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from daskasc.io._dataset import import_xarray
from daskasc.io._dataset_write import write_dataset
from daskasc.planner import Plan, place, plan

if TYPE_CHECKING:
    import dask.array
    import xarray

xr = import_xarray()
T = TypeVar("T")


def _upload(block: Any) -> Any:
    """Chunk on this process's card."""
    from daskasc.array import from_numpy

    return from_numpy(block)


def _download(block: Any) -> Any:
    """Chunk in host memory."""
    from daskasc.array import asnumpy

    return asnumpy(block)


def _is_lazy(data: Any) -> bool:
    import dask.array as da

    return isinstance(data, da.Array)


def _on_device(data: Any) -> bool:
    from daskasc.array import AscendArray

    return isinstance(data._meta if _is_lazy(data) else data, AscendArray)


def _to_device(variable: Any) -> Any:
    """Move one variable; what has no form on a card stays."""
    if variable.dtype.kind not in "biufc" or _on_device(variable.data):
        return variable
    data = variable.data
    if _is_lazy(data):
        meta = _upload(np.empty((0,) * data.ndim, data.dtype))
        moved = data.map_blocks(_upload, dtype=data.dtype, meta=meta)
    else:
        moved = _upload(data)
    return variable.copy(data=moved)


def _to_host(variable: Any) -> Any:
    data = variable.data
    if not _on_device(data):
        return variable
    if _is_lazy(data):
        meta = np.empty((0,) * data.ndim, data.dtype)
        moved = data.map_blocks(_download, dtype=data.dtype, meta=meta)
    else:
        moved = _download(data)
    return variable.copy(data=moved)


class _Accessor(Generic[T]):
    """What both kinds of objects have, and do as a whole."""

    def __init__(self, object: T) -> None:
        self._object = object

    def place(self, how: Any = "block", axis: int | str | None = None) -> T:
        """Choose the card that owns each chunk; see :func:`daskasc.place`."""
        placed: T = place(self._object, how, axis)
        return placed

    def plan(
        self,
        *,
        cards: int | None = None,
        memory: float | str | None = None,
        persist: bool = False,
    ) -> Plan:
        """Tell what computing would do and need; see :func:`daskasc.plan`."""
        return plan(self._object, cards=cards, memory=memory, persist=persist)


@xr.register_dataset_accessor("npu")
class DatasetAccessor(_Accessor["xarray.Dataset"]):
    """Cards as seen from a Dataset."""

    @property
    def is_on_device(self) -> bool:
        """Whether all numeric data variables are (chunks) on cards."""
        numeric = [v for v in self._object.data_vars.values() if v.dtype.kind in "biufc"]
        return bool(numeric) and all(_on_device(v.variable._data) for v in numeric)

    def to_device(self) -> xarray.Dataset:
        """Move the numeric data variables to the cards; dask ones lazily, chunk by chunk."""
        moved = {name: _to_device(v.variable) for name, v in self._object.data_vars.items()}
        return self._object.assign(moved)

    def to_host(self) -> xarray.Dataset:
        """Move the data variables to host memory; dask ones lazily, chunk by chunk."""
        moved = {name: _to_host(v.variable) for name, v in self._object.data_vars.items()}
        return self._object.assign(moved)

    def to_zarr(self, store: Any, group: str | None = None, **kwargs: Any) -> Any:
        """Write as a Zarr group, each chunk by the card that has it.

        Parameters
        ----------
        store, group
            Where to; see :func:`daskasc.open_zarr`.
        **kwargs
            ``overwrite``, ``zarr_format``, ``compute``, ``storage_options`` as for
            :func:`daskasc.io.write_dataset`.
        """
        host = {
            name: _to_host(v.variable)
            for name, v in self._object.data_vars.items()
            if not _is_lazy(v.variable._data)
        }
        return write_dataset(self._object.assign(host), store, group, **kwargs)


@xr.register_dataarray_accessor("npu")
class DataArrayAccessor(_Accessor["xarray.DataArray"]):
    """Cards as seen from a DataArray."""

    @property
    def is_on_device(self) -> bool:
        """Whether the values (or their chunks) are on cards."""
        return _on_device(self._object.variable._data)

    def to_device(self) -> xarray.DataArray:
        """Move the values to the cards; dask ones lazily, chunk by chunk."""
        return self._object.copy(data=_to_device(self._object.variable).data)

    def to_host(self) -> xarray.DataArray:
        """Move the values to host memory; dask ones lazily, chunk by chunk."""
        return self._object.copy(data=_to_host(self._object.variable).data)

    def to_zarr(self, store: Any, group: str | None = None, **kwargs: Any) -> dask.array.Array:
        """Write as a Zarr group with this one variable; see :meth:`DatasetAccessor.to_zarr`."""
        name = self._object.name or "data"
        return DatasetAccessor(self._object.to_dataset(name=name)).to_zarr(store, group, **kwargs)

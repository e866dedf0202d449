"""The ``.npu`` accessor of xarray objects; importing this module registers it."""

from daskasc.io import open_zarr
from daskasc.xr._accessor import DataArrayAccessor, DatasetAccessor

__all__ = ["DataArrayAccessor", "DatasetAccessor", "open_zarr"]

"""What to do instead of an implicit conversion, for whoever asked for it."""

from __future__ import annotations

from daskasc import _callers

_FIRST = (
    "an array on a card is not converted to NumPy implicitly: call .asnumpy(), or .item() for one "
    "element"
)
_XARRAY = (
    "import daskasc.xr, then write xarray objects with .npu.to_zarr(...), or bring them down with "
    ".npu.to_host()"
)
# library between the program and the conversion, nearest to the program's intention first; files
# are written for xarray, in threads of their own too
_OF_LIBRARY = {
    **dict.fromkeys(("xarray", "zarr", "h5netcdf", "netCDF4"), _XARRAY),
    "scipy": "daskasc.scipy has SciPy's functions for arrays on cards",
    "dask": "for a Dask array call .compute().asnumpy(); on a cluster compute() gives NumPy's",
}
_OF_MASKED = (
    "numpy.ma computes on the host, and a card knows no masks: fill the masked array first, for "
    "instance with .filled(np.nan), or give it the other one by .asnumpy()"
)
_OF_PROGRAM = "for a list of arrays use daskasc.array.array or np.stack"
_LAST = "daskasc.host-conversion can permit it, see docs/semantics.md"


def on_conversion() -> str:
    """Text of the error for a conversion that the calling function was asked for."""
    if _callers.in_module("numpy.ma"):
        return f"{_FIRST}; {_OF_MASKED}. {_LAST}"
    between = _callers.libraries()
    named = next((text for name, text in _OF_LIBRARY.items() if name in between), _OF_PROGRAM)
    return f"{_FIRST}; {named}. {_LAST}"

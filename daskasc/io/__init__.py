"""Reading Zarr (and what xarray makes of it) into card chunks, and writing card chunks back.

Storage -> pooled host buffer -> card, one task a chunk; the graph holds only small picklable
descriptions of arrays (no open files, no device objects). Importing this package imports neither
torch nor zarr nor xarray.
"""

from daskasc.io._dataset import open_zarr
from daskasc.io._dataset_write import write_dataset
from daskasc.io._read import from_zarr
from daskasc.io._write import to_zarr

__all__ = ["from_zarr", "open_zarr", "to_zarr", "write_dataset"]

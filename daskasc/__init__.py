"""Dask arrays whose chunks live in the memory of several Ascend NPUs.

Importing this package imports neither torch nor torch_npu and touches no card; public names are
resolved on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from daskasc import config as config  # loads the defaults into dask.config
from daskasc import registration as _registration

__version__ = "0.1.0"

_PUBLIC = {
    "LocalNPUCluster": "daskasc.cluster",
    "Plan": "daskasc.planner",
    "Planner": "daskasc.planner",
    "SchedulerPlanner": "daskasc.planner",
    "from_zarr": "daskasc.io",
    "open_zarr": "daskasc.xr",
    "place": "daskasc.planner",
    "plan": "daskasc.planner",
    "profile": "daskasc.profiling",
    "to_zarr": "daskasc.io",
}
# dask looks for it in the package of a bit generator, to shuffle an index
_FOR_DASK = {"arange": "daskasc.array"}
_SUBMODULES = (
    "array",
    "cluster",
    "collectives",
    "device",
    "drift",
    "errors",
    "io",
    "planner",
    "profiling",
    "random",
    "scipy",
    "xr",
)

__all__ = ["__version__", "config", *_PUBLIC]


_registration.register()


def __getattr__(name: str) -> Any:
    home = _PUBLIC.get(name) or _FOR_DASK.get(name)
    if home is not None:
        return getattr(importlib.import_module(home), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"daskasc.{name}")
    raise AttributeError(f"module 'daskasc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC, *_SUBMODULES})

"""Clusters of one worker process a card, their options, memory store and report."""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "ClusterOptions": "daskasc.cluster._options",
    "DeviceStore": "daskasc.cluster._store",
    "LocalNPUCluster": "daskasc.cluster._local",
    "RunReport": "daskasc.cluster._report",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    # lazy: worker processes unpickle names from here before their environment is set
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'daskasc.cluster' has no attribute {name!r}")

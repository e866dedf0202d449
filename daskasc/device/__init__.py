"""One card a process: discovery, attachment, memory, copies between host and card.

Nothing here imports torch until a tensor is really needed, so clients, nannies and the scheduler
can ask for kinds, counts and environments. ``npu`` is the real backend; ``cuda`` and ``cpu``
(stand-in cards in plain processes) run the same code above this package.
"""

from __future__ import annotations

from daskasc.device import _capabilities as capabilities
from daskasc.device import _collectives as collectives
from daskasc.device import _observer as observer
from daskasc.device._backend import Backend, MemoryInfo, host_view, shareable
from daskasc.device._counters import Counters, counters
from daskasc.device._discovery import (
    allocation_padding,
    count,
    is_asynchronous,
    resolve,
    visibility_env,
)
from daskasc.device._dtypes import numpy_dtype, numpy_dtypes, torch_dtype
from daskasc.device._selftest import selftest
from daskasc.device._staging import StagingPool, staging
from daskasc.device._state import attach, current, detach, has_card, on_change
from daskasc.device._torch import torch
from daskasc.device._transfer import Transfer

__all__ = [
    "Backend",
    "Counters",
    "MemoryInfo",
    "StagingPool",
    "Transfer",
    "allocation_padding",
    "attach",
    "capabilities",
    "collectives",
    "count",
    "counters",
    "current",
    "detach",
    "has_card",
    "host_view",
    "is_asynchronous",
    "numpy_dtype",
    "numpy_dtypes",
    "observer",
    "on_change",
    "resolve",
    "selftest",
    "shareable",
    "staging",
    "torch",
    "torch_dtype",
    "visibility_env",
]

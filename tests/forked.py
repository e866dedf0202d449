"""What the fork server imports before it forks workers; importing takes no card."""

from __future__ import annotations

import faulthandler
import os

if os.environ.get("DASK_DASKASC__DEVICE") != "npu":
    # as in the workers of such cards: an installed torch_npu would look for CANN
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import distributed  # noqa: F401
import torch  # noqa: F401
import zarr  # noqa: F401

import daskasc.array
import daskasc.registration  # noqa: F401
from tests.forking import SIGNAL

faulthandler.register(SIGNAL, all_threads=True)

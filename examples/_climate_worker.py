"""Loaded by each worker: Ctrl-C is for the main process, which then closes the workers.

A terminal sends the interrupt to all processes; without this each worker would say so at length.
"""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave interrupts to the main process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

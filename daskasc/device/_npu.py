"""Ascend NPUs through torch_npu. The only module that touches torch_npu.

What the vendor documents as missing on Atlas A2 (``_capabilities``) is computed on the host by us,
counted and said, instead of by torch_npu's own fallback to the CPU, which warns once a process and
is not counted. No NPU has been at hand when this was written.
"""

from __future__ import annotations

import importlib
from typing import Any

from daskasc.device._accelerator import AcceleratorBackend
from daskasc.device._backend import Backend
from daskasc.device._torch import explain, torch
from daskasc.errors import DeviceUnavailableError


class NpuBackend(AcceleratorBackend):
    """One Ascend NPU."""

    kind = "npu"
    family = "ascend-a2"
    collective_backend = "hccl"
    restricts = True
    fast_float64 = False
    visibility = "ASCEND_RT_VISIBLE_DEVICES"

    def __init__(
        self, card: int, driver: Any, memory_limit: int | None, threads: int | None
    ) -> None:
        super().__init__(card, driver, memory_limit, threads)
        # documented for Atlas A2: internal formats make kernels compile again and again
        driver.config.allow_internal_format = False


def make(card: int | None, *, memory_limit: int | None, threads: int | None) -> Backend:
    """Take device 0 of this process as card `card`.

    Raises
    ------
    DeviceUnavailableError
        torch_npu or CANN cannot be loaded, or the driver shows no device.
    """
    if card is None:
        raise DeviceUnavailableError("an npu backend needs a card number; got None")
    module = torch()
    try:
        # a no-op where torch loaded the extension by itself
        importlib.import_module("torch_npu")
    except (ImportError, OSError, RuntimeError) as error:
        raise DeviceUnavailableError(explain(error, "torch_npu")) from error
    try:
        return NpuBackend(card, module.npu, memory_limit, threads)
    except RuntimeError as error:
        if isinstance(error, DeviceUnavailableError):
            raise
        raise DeviceUnavailableError(
            f"npu card {card} cannot be used: {error}. Check npu-smi info and that CANN's version "
            "fits torch_npu's"
        ) from error

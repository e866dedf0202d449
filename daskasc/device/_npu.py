"""Ascend NPUs through torch_npu. The only module that touches torch_npu.

What the vendor documents as missing on Atlas A2 (``_capabilities``) is computed on the host by us,
counted and said, instead of by torch_npu's own fallback to the CPU, which warns once a process and
is not counted. No NPU has been at hand when this was written.
"""

from __future__ import annotations

import importlib
import warnings
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
    has_dlpack = False
    visibility = "ASCEND_RT_VISIBLE_DEVICES"

    def __init__(
        self, card: int, driver: Any, memory_limit: int | None, threads: int | None
    ) -> None:
        super().__init__(card, driver, memory_limit, threads)
        # documented for Atlas A2: internal formats make kernels compile again and again
        driver.config.allow_internal_format = False
        self._say_once()

    def _say_once(self) -> None:
        """Let torch_npu give its one warning about that setting here, where nobody reads it.

        It warns at the first new tensor with a memory format, whatever its format, also on real
        cards. The next caller would otherwise get the warning, as an error where warnings are.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Cannot create tensor with internal format")
            module = torch()
            module.empty(1, device=self.torch_device).clone(memory_format=module.contiguous_format)


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

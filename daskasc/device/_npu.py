"""Ascend NPUs through torch_npu. The only module that touches torch_npu.

The table of missing kernels is what the vendor documents for Atlas A2. An operator that is
missing there is computed on the host by us, counted and said, instead of by torch_npu's own
fallback to the CPU, which warns once a process and is not counted. No NPU has been at hand when
this was written.
"""

from __future__ import annotations

import importlib
from typing import Any

from daskasc.device._accelerator import AcceleratorBackend
from daskasc.device._backend import Backend
from daskasc.device._torch import explain, torch
from daskasc.errors import DeviceUnavailableError

_UNSIGNED = ("uint16", "uint32", "uint64")
_COMPLEX = ("complex64", "complex128")
_WIDE = ("float64",)
_INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8")

# documented for Atlas A2: operator -> dtypes without a kernel
_MISSING: dict[str, tuple[str, ...]] = {
    "add": (*_COMPLEX, *_UNSIGNED),
    "subtract": (*_COMPLEX, *_UNSIGNED, "bool"),
    "multiply": (*_WIDE, *_UNSIGNED),
    "divide": (*_WIDE, *_COMPLEX, *_UNSIGNED),
    "sum": (*_COMPLEX, *_UNSIGNED),
    "mean": (*_WIDE, *_INTEGERS, *_UNSIGNED),
    "var": (*_WIDE, *_COMPLEX),
    "maximum.reduce": (*_COMPLEX, *_UNSIGNED, "int8", "int16", "int32", "uint8"),
    "minimum.reduce": (*_WIDE, *_COMPLEX, *_UNSIGNED, "int8", "int16", "int32", "uint8"),
    "sort": (*_WIDE, *_COMPLEX, *_UNSIGNED, "bool", "bfloat16"),
    "argsort": (*_WIDE, *_COMPLEX, *_UNSIGNED, "bool", "bfloat16"),
    "matmul": (*_WIDE, *_COMPLEX, *_INTEGERS, *_UNSIGNED),
    "where": (*_COMPLEX, *_UNSIGNED),
    "take": (*_WIDE, *_COMPLEX, *_UNSIGNED, "int8", "uint8", "bfloat16"),
    "cumsum": (*_WIDE, *_UNSIGNED),
    "roll": (*_WIDE, *_COMPLEX, *_UNSIGNED, "int8", "uint8", "int16", "bfloat16"),
    # documented as computed on the CPU by torch_npu itself, whatever the dtype
    "arccosh": ("float16", "bfloat16", "float32", "float64", *_COMPLEX),
    "copysign": ("float16", "bfloat16", "float32", "float64"),
    "trunc": ("float16", "bfloat16", "float32", "float64"),
    "heaviside": ("float16", "bfloat16", "float32", "float64"),
}


class NpuBackend(AcceleratorBackend):
    """One Ascend NPU."""

    kind = "npu"
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

    def supports(self, operator: str, dtype: str) -> bool:
        """Whether Atlas A2 is documented to have the kernel."""
        return dtype not in _MISSING.get(operator, ())


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

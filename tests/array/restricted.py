"""A stand-in card with the gaps of Atlas A2: its table, and kernels that fail where it has none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from daskasc import device
from daskasc.device import _state, capabilities
from daskasc.device._cpu import CpuBackend

FAMILY = "ascend-a2"
# torch's functions whose kernels have other names, or several
KERNELS = {
    "matmul": "mm bmm mv dot vdot addmm baddbmm addmv",
    "linalg_eigh": "_linalg_eigh",
    "linalg_inv_ex": "linalg_inv_ex",
    "linalg_solve_ex": "_linalg_solve_ex",
    "linalg_lu_factor_ex": "linalg_lu_factor_ex",
    "linalg_det": "_linalg_det",
    "linalg_slogdet": "_linalg_slogdet",
    "scatter_reduce": "scatter_reduce",
}
# which fill tensors of unsigned integers, or new ones: noted beside the table
FILLERS = "zeros ones full zeros_like ones_like full_like zero fill".split()


class MissingKernel(AssertionError):
    """A kernel that the table says is missing was called."""


class RestrictedBackend(CpuBackend):
    """Host memory as an Atlas A2."""

    family = FAMILY
    restricts = True
    fast_float64 = False


def _kernels() -> dict[str, frozenset[str]]:
    missing: dict[str, set[str]] = {}
    for operator, rows in capabilities.lacking(FAMILY).items():
        names = [operator]
        for named, kernels in KERNELS.items():
            if operator in named.split():
                names += kernels.split()
        for name in names:
            missing.setdefault(name, set()).update(rows)
    for name in FILLERS:
        missing.setdefault(name, set()).update(capabilities.UNSIGNED)
    return {name: frozenset(dtypes) for name, dtypes in missing.items()}


class Kernels(TorchDispatchMode):
    """Fails at every kernel that the card lacks."""

    def __init__(self) -> None:
        super().__init__()
        self._missing = _kernels()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = func.overloadpacket.__name__.rstrip("_")
        missing = self._missing.get(name)
        if missing is not None:
            tensors = [value for value in args if isinstance(value, torch.Tensor)]
            made = (kwargs or {}).get("dtype")
            if name in FILLERS and made is not None:
                tensors = [torch.empty(0, dtype=made)]
            if name == "where":
                tensors = tensors[1:]
            if tensors:
                dtype = tensors[0].dtype
                if name in ("add", "sub", "rsub", "mul", "div"):
                    dtype = torch.result_type(args[0], args[1])
                if device.numpy_dtype(dtype).name in missing:
                    raise MissingKernel(f"{func} for {dtype}")
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def restricted_card() -> Iterator[device.Backend]:
    """This process's card has Atlas A2's gaps: a stand-in, unless the card's own table says so."""
    own = device.current()
    if own.family == FAMILY:
        yield own
        return
    backend = RestrictedBackend(0, None, None)
    assert _state._attached is None
    with _state._lock:
        _state._attached = backend
        _state._changed()
    try:
        with Kernels():
            yield backend
    finally:
        device.detach()

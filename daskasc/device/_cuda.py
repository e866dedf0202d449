"""CUDA cards: the same code as npu on hardware that is easier to come by."""

from __future__ import annotations

from daskasc.device._accelerator import AcceleratorBackend
from daskasc.device._backend import Backend
from daskasc.device._torch import torch
from daskasc.errors import DeviceUnavailableError


class CudaBackend(AcceleratorBackend):
    """One CUDA device."""

    kind = "cuda"
    family = "cuda"
    collective_backend = "nccl"
    visibility = "CUDA_VISIBLE_DEVICES"


def make(card: int | None, *, memory_limit: int | None, threads: int | None) -> Backend:
    """Take device 0 of this process as card `card`."""
    if card is None:
        raise DeviceUnavailableError("a cuda backend needs a card number; got None")
    return CudaBackend(card, torch().cuda, memory_limit, threads)

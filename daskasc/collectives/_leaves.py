"""Leaves of partials as bytes on the card, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from daskasc.collectives import _manifest as manifest_of

if TYPE_CHECKING:
    import torch

    from daskasc.collectives._group import Group


def bytes_of(leaf: Any) -> torch.Tensor:
    """Bytes of a leaf, in one piece: a view of its memory where that is possible."""
    torch = torch_of()
    if manifest_of.is_device_array(leaf):
        tensor = leaf.tensor.resolve_conj().resolve_neg().contiguous().reshape(-1)
        return tensor.view(torch.uint8)
    raw = np.ascontiguousarray(leaf).reshape(-1).view(np.uint8)
    return torch.from_numpy(raw if raw.flags.writeable else raw.copy())


def rebuild(
    manifest: Mapping[str, Any],
    buffer: torch.Tensor | None,
    start: int,
    places: Sequence[tuple[int, int]],
    group: Group,
) -> Any:
    """Value of a partial out of received bytes, of which its arrays on the card are views.

    Parameters
    ----------
    manifest : mapping
        What the partial looks like.
    buffer : torch.Tensor or None
        Received bytes; None where none were.
    start : int
        Where the partial's part begins.
    places : sequence of (int, int)
        Offset from there and length of each leaf.
    group : Group
        Whose backend says where arrays lie.
    """

    def make(index: int, leaf: Sequence[Any]) -> Any:
        kind, dtype, shape, _ = leaf
        offset, length = places[index]
        raw = buffer[start + offset : start + offset + length] if buffer is not None else None
        if kind == "device":
            return array_of(raw if length else None, dtype, shape, group.backend.torch_device)
        host = b"" if raw is None else raw.cpu().numpy().tobytes()
        array = np.frombuffer(bytearray(host), dtype=dtype).reshape(shape)
        return array[()] if kind == "scalar" else array

    return manifest_of.rebuild(manifest, make)


def array_of(raw: torch.Tensor | None, name: str, shape: Sequence[int], place: Any) -> Any:
    """Array on a card that is a view of bytes; a new one, of no elements, where there are none.

    Parameters
    ----------
    raw : torch.Tensor or None
        The elements' bytes.
    name : str
        Name of the dtype, as manifests have it.
    shape : sequence of int
        Shape of the array.
    place : torch.device
        The card.
    """
    torch = torch_of()
    times = name if name.startswith(("datetime64", "timedelta64")) else None
    dtype = torch.int64 if times else getattr(torch, name)
    if raw is None:
        return on_card(torch.empty(tuple(shape), dtype=dtype, device=place), times)
    return on_card(raw.view(dtype).reshape(tuple(shape)), times)


def on_card(tensor: torch.Tensor, times: str | None = None) -> Any:
    """Array around a tensor; of ticks if `times` is a dtype."""
    from daskasc.array import AscendArray, TimeArray

    return TimeArray(tensor, times) if times else AscendArray(tensor)


def torch_of() -> Any:
    """The module torch, as the device layer loads it."""
    from daskasc import device

    return device.torch()

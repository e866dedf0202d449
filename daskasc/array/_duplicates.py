"""Writing at indices that name an element several times."""

from __future__ import annotations

import math
from typing import Any

from daskasc import device
from daskasc.array._dtypes import torch, twin


def last_wins(view: Any, advanced: list[Any], source: Any) -> Any:
    """Values of the index's shape; places that it names several times all have the last one's.

    torch writes duplicates in any order; NumPy's last one stays. Where an element is named again,
    its value is replaced by the last one's, so that the order does not matter.
    """
    axes = [axis for axis, entry in enumerate(advanced) if entry is not None]
    entries = torch.broadcast_tensors(*(advanced[axis] for axis in axes))
    count = entries[0].numel()
    if count < 2:
        return source
    places = torch.zeros((), dtype=torch.int64, device=view.device)
    for axis, entry in zip(axes, entries, strict=True):
        places = places * view.shape[axis] + entry
    last = _last_of_each(places.reshape(-1), math.prod(view.shape[axis] for axis in axes))
    if last is None:
        return source
    width = entries[0].ndim
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    start = axes[0] if adjacent else 0
    full = source.movedim(tuple(range(start, start + width)), tuple(range(width)))
    signed = twin(full)
    flat = signed.reshape(count, *signed.shape[width:]).index_select(0, last)
    moved_back = flat.reshape(signed.shape).movedim(
        tuple(range(width)), tuple(range(start, start + width))
    )
    return moved_back.view(full.dtype) if signed is not full else moved_back


def _last_of_each(places: Any, space: int) -> Any:
    """For each entry the number of the last entry with the same place; None if all differ."""
    count = places.shape[0]
    # scatter_reduce is documented as missing on Atlas A2
    if space <= 8 * count + 4096 and not device.current().restricts:
        numbers = torch.arange(count, device=places.device)
        winner = torch.zeros(space, dtype=torch.int64, device=places.device)
        return winner.scatter_reduce_(0, places, numbers, "amax").index_select(0, places)
    ordered, order = torch.sort(places, stable=True)
    if not bool((ordered[1:] == ordered[:-1]).any()):
        return None
    last = torch.empty_like(order)
    last[order] = order[torch.searchsorted(ordered, ordered, right=True) - 1]
    return last

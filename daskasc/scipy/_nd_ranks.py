"""The filters of ``scipy.ndimage`` that select by order: minimum, maximum, ranks.

Each function has the arguments of SciPy's compiled function of its name and writes into `output`.
SciPy compares in float64, without a rule for NaN: what comes out depends on the order in which
it meets the elements. An array with a NaN therefore goes to the host.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from daskasc.array._dispatch import NeedsHost
from daskasc.array._dtypes import torch
from daskasc.scipy._nd_boundary import computed, extended, refuse_nan, store
from daskasc.scipy._nd_linear import padded_by, window

_SLAB = 2**22  # elements of all windows that are sorted at a time


def min_or_max_filter1d(
    input: Any, size: int, axis: int, output: Any, mode: int, cval: float, origin: int, minimum: int
) -> None:
    """Minimum or maximum of `size` elements along an axis.

    Windows of 1, 2, 4, ... elements are made of two of half the length, the last of two that
    overlap.
    """
    tensor = computed(input, output)
    if not tensor.numel():
        return
    before = size // 2 + origin
    line = extended(tensor, axis, before, size - 1 - before, mode, float(cval))
    refuse_nan(line)
    extreme = torch.minimum if minimum else torch.maximum
    covered = 1
    while covered < size:
        step = min(covered, size - covered)
        kept = line.shape[axis] - step
        line = extreme(line.narrow(axis, 0, kept), line.narrow(axis, step, kept))
        covered += step
    store(output, line)


def min_or_max_filter(
    input: Any,
    footprint: Any,
    structure: Any,
    output: Any,
    mode: int,
    cval: float,
    origins: Any,
    minimum: int,
) -> None:
    """Minimum or maximum over a footprint; `structure` is subtracted or added before."""
    tensor = computed(input, output)
    if not tensor.numel():
        return
    if structure is not None and not input._t.is_floating_point():
        raise NeedsHost("integers that wrap around a structure")
    padded = padded_by(tensor, footprint.shape, origins, mode, cval)
    refuse_nan(padded)
    extreme = torch.minimum if minimum else torch.maximum
    found = None
    for at in _members(footprint):
        part = window(padded, at, tensor.shape)
        if structure is not None:
            height = float(structure[at])
            part = part - height if minimum else part + height
        found = part if found is None else extreme(found, part)
    store(output, found)


def _members(footprint: Any) -> list[tuple[int, ...]]:
    return [at for at in itertools.product(*(range(n) for n in footprint.shape)) if footprint[at]]


def rank_filter(
    input: Any, rank: int, footprint: Any, output: Any, mode: int, cval: float, origins: Any
) -> None:
    """Element number `rank` in the order of each window's elements."""
    tensor = computed(input, output)
    if not tensor.numel():
        return
    padded = padded_by(tensor, footprint.shape, origins, mode, cval)
    refuse_nan(padded)
    store(output, _ranked(padded, _members(footprint), tensor.shape, rank))


def _ranked(padded: Any, members: list[tuple[int, ...]], shape: Any, rank: int) -> Any:
    rows = max(1, _SLAB * shape[0] // max(1, len(members) * int(np.prod(shape))))
    parts = []
    for start in range(0, shape[0], rows):
        count = min(rows, shape[0] - start)
        slab = (count, *shape[1:])
        views = [window(padded, (start + at[0], *at[1:]), slab) for at in members]
        parts.append(torch.stack(views, -1).kthvalue(rank + 1, dim=-1).values)
    return torch.cat(parts)


def rank_filter_1d(
    input: Any, rank: int, size: int, output: Any, mode: int, cval: Any, origin: int
) -> None:
    """Element number `rank` of each window of `size` elements of a line, in the line's dtype."""
    tensor = input._t
    if tensor.dtype is torch.int64 and bool((tensor.abs() > 2**53).any()):
        raise NeedsHost("integers that float64 does not hold")
    footprint = np.ones(size, dtype=bool)
    rank_filter(input, rank, footprint, output, mode, float(cval), [origin])

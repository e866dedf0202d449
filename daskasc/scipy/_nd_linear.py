"""The linear filters of ``scipy.ndimage`` as sums over shifted views.

Each function has the arguments of SciPy's compiled function of its name and writes into `output`.
A filter of n weights costs n passes over the array, without further memory; a NaN reaches exactly
the windows that hold it. ``uniform_filter1d`` is SciPy's running sum, where a NaN (and the leaving
of an infinity) spoils the rest of its line. Sums that will be truncated to integers are
added in SciPy's order, with the same roundings.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from daskasc.array._dispatch import MissingKernel
from daskasc.array._dtypes import torch
from daskasc.scipy._nd_boundary import computed, extended, refuse_bool, store

_EPSILON = float(np.finfo(np.float64).eps)


def correlate1d(
    input: Any,
    weights: Any,
    axis: int,
    output: Any,
    mode: int,
    cval: float,
    origin: int,
) -> None:
    """Correlate along one axis."""
    tensor = computed(input, output)
    refuse_bool(input, output)
    if not tensor.numel():
        return
    count = len(weights)
    before = count // 2 + origin
    line = extended(tensor, axis, before, count - 1 - before, mode, float(cval))
    length = tensor.shape[axis]
    values = [float(w) for w in weights]
    half = count // 2
    sign = _symmetry(values)
    if not sign:
        total = line.narrow(axis, 0, length) * values[0]
        for place in range(1, count):
            _add(total, line.narrow(axis, place, length), values[place], output)
    else:
        total = line.narrow(axis, half, length) * values[half]
        for place in range(half):
            other = line.narrow(axis, count - 1 - place, length)
            pair = torch.add(line.narrow(axis, place, length), other, alpha=sign)
            _add(total, pair, values[place], output)
    store(output, total)


def _add(total: Any, part: Any, weight: float, output: Any) -> None:
    """Add a weighted part; rounded as SciPy does where the sum will be truncated to integers."""
    if output._t.is_floating_point():
        total.add_(part, alpha=weight)
    else:
        total.add_(part * weight)  # alpha may round once instead of twice


def _symmetry(values: list[float]) -> int:
    """1 or -1 where SciPy takes weights for symmetric or antisymmetric (within epsilon), else 0."""
    half = len(values) // 2
    if len(values) % 2:
        pairs = [(values[half + i], values[half - i]) for i in range(1, half + 1)]
        for sign in (1, -1):
            if all(abs(right - sign * left) <= _EPSILON for right, left in pairs):
                return sign
    return 0


def correlate(input: Any, weights: Any, output: Any, mode: int, cval: float, origins: Any) -> None:
    """Correlate with weights of as many axes as the array; weights of size epsilon are left out."""
    tensor = computed(input, output)
    if not tensor.numel():
        return
    padded = padded_by(tensor, weights.shape, origins, mode, cval)
    total = torch.zeros_like(tensor)
    for at in itertools.product(*(range(n) for n in weights.shape)):
        weight = float(weights[at])
        if abs(weight) > _EPSILON:
            _add(total, window(padded, at, tensor.shape), weight, output)
    store(output, total)


def padded_by(tensor: Any, sizes: Any, origins: Any, mode: int, cval: float) -> Any:
    """Tensor with what a window of these sizes sees beyond its edges."""
    for axis, (count, origin) in enumerate(zip(sizes, origins, strict=True)):
        before = count // 2 + int(origin)
        tensor = extended(tensor, axis, before, count - 1 - before, mode, float(cval))
    return tensor


def window(padded: Any, at: Any, shape: Any) -> Any:
    """View of the elements that stand at one place of every window."""
    for axis, (start, length) in enumerate(zip(at, shape, strict=True)):
        padded = padded.narrow(axis, start, length)
    return padded


def uniform_filter1d(
    input: Any, size: int, axis: int, output: Any, mode: int, cval: float, origin: int
) -> None:
    """Mean of `size` elements along an axis, as a running sum."""
    tensor = computed(input, output)
    refuse_bool(input, output)
    if not tensor.numel():
        return
    length = tensor.shape[axis]
    before = size // 2 + origin
    line = extended(tensor, axis, before, size - 1 - before, mode, float(cval))
    first = line.narrow(axis, 0, 1).clone()
    for place in range(1, size):
        first += line.narrow(axis, place, 1)
    if tensor.dtype is torch.float64:
        steps = line.narrow(axis, size, length - 1) - line.narrow(axis, 0, length - 1)
        store(output, torch.cat([first, steps], axis).cumsum(axis) / size)
        return
    # float32 would drift; sums of each window do not, but do not spoil lines either
    if not bool(torch.isfinite(line).all()):
        raise MissingKernel("mul", "float64")
    total = torch.zeros_like(tensor)
    for place in range(size):
        total += line.narrow(axis, place, length)
    store(output, total / size)

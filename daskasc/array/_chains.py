"""Products of several matrices, in the order that takes the fewest multiplications.

The order is NumPy's, ties included: it decides where integers and halves of mixed dtypes wrap,
overflow and round.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from daskasc.array import _linalg as products
from daskasc.array._dispatch import implements
from daskasc.array._storage import tensor_of, wrap


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """As :func:`numpy.linalg.multi_dot`."""
    tensors = [tensor_of(a) for a in arrays]
    if len(tensors) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(tensors) == 2:
        return products.dot(wrap(tensors[0]), wrap(tensors[1]), out)
    last = len(tensors) - 1
    for place, tensor in enumerate(tensors):
        if tensor.ndim != 2 and not (tensor.ndim == 1 and place in (0, last)):
            raise np.linalg.LinAlgError(
                f"{tensor.ndim}-dimensional array given. Array must be two-dimensional"
            )
    ends = itertools.pairwise(tensors)
    if any(left.shape[-1] != right.shape[0] for left, right in ends):
        raise ValueError(f"shapes {[tuple(t.shape) for t in tensors]} not aligned")
    lengths = [
        1 if tensors[0].ndim == 1 else tensors[0].shape[0],
        *(t.shape[0] for t in tensors[1:]),
        1 if tensors[last].ndim == 1 else tensors[last].shape[1],
    ]

    @functools.cache
    def cheapest(first: int, last: int) -> tuple[int, int]:
        """Fewest multiplications of a part of the chain, and the last factor of its left half."""
        if first == last:
            return 0, first
        edges = lengths[first] * lengths[last + 1]
        return min(
            (cheapest(first, k)[0] + cheapest(k + 1, last)[0] + edges * lengths[k + 1], k)
            for k in range(first, last)
        )

    def product(first: int, last: int) -> Any:
        if first == last:
            return wrap(tensors[first])
        split = cheapest(first, last)[1]
        return products.dot(product(first, split), product(split + 1, last))

    return products.exactly(product(0, last), out)

"""Integers without bias, for ranges of any size.

A range of m numbers takes Lemire's multiplication: the upper half of ``m * x`` for a 32-bit word
x, refused where the lower half is below ``2**32 mod m``. Ranges beyond 2**32, and ranges that
differ from element to element, take the lower bits of a word and refuse what lies beyond.
A range that is a power of two refuses nothing and does not wait for the card.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import SIGN_BIT, torch
from daskasc.random._arguments import NUMPYS, extremes, scalar_types
from daskasc.random._rejection import rejection
from daskasc.random._words import Source, shape_of, signed

Shape = tuple[int, ...]
_UPPER = 0xFFFFFFFF


def integers(source: Source, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> Any:
    """As :meth:`numpy.random.Generator.integers`."""
    wanted = np.dtype(dtype)
    if high is None:
        low, high = 0, low
    low, high = (x if scalar_types(x) or is_array(x) else np.asarray(x) for x in (low, high))
    common = np.broadcast_shapes(np.shape(low), np.shape(high))
    shape = common if size is None else shape_of(size)
    _check(source, low, high, shape, wanted, endpoint)
    if common and np.broadcast_shapes(common, shape) != shape:
        raise ValueError(
            f"Output size {shape} is not compatible with broadcast dimensions of inputs {common}."
        )
    if not common:
        low, high = (int(x) for x in (low, high))
        drawn = below(source, shape, high - low + bool(endpoint)).add_(signed(low))
    else:
        first, last = _bits(source, low), _bits(source, high)
        drawn = _ranges(source, shape, first, last if endpoint else last - 1)
    return source.array(drawn, wanted)


def _check(
    source: Source, low: Any, high: Any, shape: Shape, dtype: np.dtype[Any], endpoint: bool
) -> None:
    """NumPy's own checks; of bounds on the card by their extremes and their order."""
    if not is_array(low) and not is_array(high):
        # NumPy asks less of bounds that nothing is drawn from
        size = None if math.prod(shape) else 0
        NUMPYS.integers(low, high, size=size, dtype=dtype, endpoint=endpoint)
        return
    NUMPYS.integers(0, 1, dtype=dtype)
    for bound in (low, high):
        kind = bound.dtype.kind if is_array(bound) else np.asarray(bound).dtype.kind
        if kind not in "biu":
            raise TypeError(f"bounds of integers() on the card are integers; got kind {kind!r}")
    if not math.prod(shape):
        return
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    lowest, highest = (0, 1) if limits is None else (int(limits.min), int(limits.max))
    least, most = (np.asarray(extremes(source, x)).reshape(-1) for x in (low, high))
    if int(least.min()) < lowest:
        raise ValueError(f"low is out of bounds for {dtype.name}")
    if int(most.max()) - (not endpoint) > highest:
        raise ValueError(f"high is out of bounds for {dtype.name}")
    first, last = _bits(source, low), _bits(source, high)
    empty = torch.zeros((), dtype=torch.bool, device=source.place)
    if not endpoint:
        # the number before the lowest one would wrap
        empty = last == signed(lowest)
        last = last - 1
    flip = SIGN_BIT if dtype == np.uint64 else 0
    if bool((empty | (first.bitwise_xor(flip) > last.bitwise_xor(flip))).any()):
        raise ValueError("low > high" if endpoint else "low >= high")


def _bits(source: Source, value: Any) -> Any:
    """Bound as int64, of the same bits for uint64."""
    if isinstance(value, int):
        return source.tensor(signed(value), torch.int64)
    if not is_array(value):
        host = np.asarray(value)
        value = np.array([signed(int(x)) for x in host.flat], np.int64).reshape(host.shape)
    tensor = source.tensor(value)
    return tensor.view(torch.int64) if tensor.dtype is torch.uint64 else tensor.to(torch.int64)


def below(source: Source, shape: Shape, span: int) -> Any:
    """Draw int64 in [0, span); of the same bits for spans above 2**63."""
    count = math.prod(shape)
    if span & (span - 1) == 0:
        return _masked(source, count, span - 1).reshape(shape)
    if span > 2**32:
        most = span - 1
        mask = (1 << most.bit_length()) - 1

        def beyond(n: int) -> tuple[Any, Any]:
            x = _masked(source, n, mask)
            return x, torch.bitwise_xor(x, SIGN_BIT) <= signed(most ^ (1 << 63))

        return rejection(beyond, count).reshape(shape)
    threshold = 2**32 % span

    def lemire(n: int) -> tuple[Any, Any]:
        drawn = torch.empty(n, dtype=torch.int64, device=source.place)
        accepted = torch.empty(n, dtype=torch.bool, device=source.place)
        for a, b in source.blocks(n):
            # below 2**64, so the product's bits are whole; the mask makes the shift logical
            product = source.raw32((b - a,)).mul_(span)
            torch.bitwise_right_shift(product, 32, out=drawn[a:b]).bitwise_and_(_UPPER)
            torch.ge(product.bitwise_and_(_UPPER), threshold, out=accepted[a:b])
        return drawn, accepted

    return rejection(lemire, count).reshape(shape)


def _masked(source: Source, count: int, mask: int) -> Any:
    """Lower bits of words, of half words where those have enough."""
    drawn = source.raw32((count,)) if mask <= _UPPER else source.raw((count,))
    return drawn.bitwise_and_(signed(mask))


def _ranges(source: Source, shape: Shape, first: Any, last: Any) -> Any:
    """Draw int64 from ranges that differ; both ends included, uint64 by their bits."""
    most = (last - first).expand(shape).reshape(-1)
    mask = most
    for shift in (1, 2, 4, 8, 16, 32):
        # logical shift, then fill every bit below the highest one
        shifted = torch.bitwise_right_shift(mask, shift).bitwise_and_((1 << (64 - shift)) - 1)
        mask = torch.bitwise_or(mask, shifted)

    def propose(n: int, most: Any, mask: Any) -> tuple[Any, Any]:
        x = torch.bitwise_and(source.raw((n,)), mask)
        return x, torch.bitwise_xor(x, SIGN_BIT) <= torch.bitwise_xor(most, SIGN_BIT)

    drawn = rejection(propose, math.prod(shape), most, mask).reshape(shape)
    return drawn.add_(first)

"""Drawing on the card: words of a stream, and the four kinds of numbers that all else is made of.

A :class:`Source` is a bit generator and a place. Word ``i`` gives value ``i`` of a float64 draw,
or values ``2 i`` and ``2 i + 1`` of a float32 draw (its lower half first). Work goes in blocks,
which bounds temporary memory; the numbers do not depend on them.

=============  ==================================================================================
half-open      the upper 53 (24) bits, times 2**-53 (2**-24): [0, 1), as NumPy's
open           the upper 52 (23) bits and a half, times 2**-52 (2**-23): (0, 1)
exponential    -log u, u the upper 53 (31) bits and a half, rounded
normal         Box and Muller's transformation of two words (of bits of one word for float32)
=============  ==================================================================================
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from daskasc import device
from daskasc.array._dispatch import MissingKernel
from daskasc.array._dtypes import torch, torch_dtype
from daskasc.array._storage import tensor_of, wrap
from daskasc.random._mix import MASK, STEPS, mixed

if TYPE_CHECKING:
    from daskasc.random._bits import SplitMix64

# words computed at a time: on the host they stay in its caches, a card is kept busy
_HOST_BLOCK = 1 << 16
_CARD_BLOCK = 1 << 22
# so many words take less time in Python than in the 15 operators
_FEW = 16


def signed(number: int) -> int:
    """The int64 of the same bits."""
    number &= MASK
    return number - 2**64 if number >= 2**63 else number


def shape_of(size: Any) -> tuple[int, ...]:
    """Shape that a size argument means."""
    if size is None:
        return ()
    if hasattr(size, "__index__"):
        shape: tuple[int, ...] = (operator.index(size),)
    else:
        shape = tuple(operator.index(n) for n in size)
    if any(n < 0 for n in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


class Source:
    """Numbers of one bit generator, made on this process's card or on the host.

    Parameters
    ----------
    bits : SplitMix64
    host : bool
        Make tensors on the host and arrays of NumPy's: for what the card lacks.
    again : sequence of tuple of int
        The `taken` of a source that gave up: its words are drawn again, before new ones.

    Attributes
    ----------
    taken : list of tuple of int
        Position and number of the words of each draw so far.
    """

    def __init__(
        self, bits: SplitMix64, host: bool = False, again: Sequence[tuple[int, int]] = ()
    ) -> None:
        self.bits = bits
        self.host = host
        self.taken: list[tuple[int, int]] = []
        self._again = iter(again)
        self.place = torch.device("cpu") if host else device.current().torch_device
        self._block = _HOST_BLOCK if self.place.type == "cpu" else _CARD_BLOCK

    # -- between arrays and tensors of this place

    def tensor(self, value: Any, dtype: Any = None) -> Any:
        """Tensor of an array or a number, cast to a torch dtype."""
        if isinstance(value, torch.Tensor):
            made = value
        elif dtype is not None and isinstance(value, bool | int | float):
            return torch.full((), value, dtype=dtype, device=self.place)
        elif self.host:
            made = torch.from_numpy(np.array(value))
        else:
            made = tensor_of(value)
        return made if dtype is None else made.to(dtype)

    def array(self, tensor: Any, dtype: Any = None) -> Any:
        """Array of a result; `dtype` is a NumPy integer dtype of the same or fewer bits."""
        if dtype is not None:
            wanted = torch_dtype(dtype)
            if wanted is torch.uint64:
                tensor = tensor.view(wanted)
            elif tensor.dtype is not wanted:
                tensor = tensor.to(wanted)
        return tensor.numpy() if self.host else wrap(tensor)

    def floats(self, dtype: Any) -> Any:
        """Torch dtype of float draws; raises NeedsHost where the card cannot compute in it."""
        wanted = np.dtype(dtype)
        backend = device.current()
        if not self.host and not backend.supports("multiply", wanted.name):
            raise MissingKernel("mul", wanted.name)
        return torch_dtype(wanted)

    # -- words

    def take(self, count: int) -> int:
        """Reserve the next `count` words and return the position of the first."""
        first, reserved = next(self._again, (0, None))
        if reserved != count:
            self._again = iter(())
            first = self.bits.take(count)
        self.taken.append((first, count))
        return first

    def words(self, first: int, count: int, step: int = 1) -> Any:
        """Words `first`, `first` + `step`, ... as int64 of the same bits."""
        if count <= _FEW:
            start, gamma = self.bits.start, self.bits.gamma
            numbers = range(first, first + step * count, step)
            few = [signed(mixed((start + i * gamma) & MASK)) for i in numbers]
            return torch.tensor(few, dtype=torch.int64, device=self.place)
        z = torch.arange(count, dtype=torch.int64, device=self.place)
        z.mul_(signed(step * self.bits.gamma))
        z.add_(signed(self.bits.start + first * self.bits.gamma))
        rest = torch.empty_like(z)
        for shift, multiplier in STEPS:
            # the shift copies the sign; the mask makes it logical
            torch.bitwise_right_shift(z, shift, out=rest)
            rest.bitwise_and_((1 << (64 - shift)) - 1)
            z.bitwise_xor_(rest)
            if multiplier != 1:
                z.mul_(signed(multiplier))
        return z

    def raw(self, shape: tuple[int, ...]) -> Any:
        """Draw words, int64."""
        count = math.prod(shape)
        first = self.take(count)
        out = torch.empty(count, dtype=torch.int64, device=self.place)
        for a, b in self.blocks(count):
            out[a:b] = self.words(first + a, b - a)
        return out.reshape(shape)

    def raw32(self, shape: tuple[int, ...]) -> Any:
        """Draw halves of words: int64 in [0, 2**32)."""
        count = math.prod(shape)
        halves = self.raw((-(-count // 2),)).view(torch.int32)[:count]
        return halves.to(torch.int64).bitwise_and_(0xFFFFFFFF).reshape(shape)

    def blocks(self, count: int) -> Iterator[tuple[int, int]]:
        for a in range(0, count, self._block):
            yield a, min(a + self._block, count)

    # -- floats

    def _fill(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        wide: Callable[..., Any],
        narrow: Callable[..., Any],
    ) -> Any:
        """Draw floats that are a function of one word (float64) or of its halves (float32)."""
        count = math.prod(shape)
        out = torch.empty(count, dtype=dtype, device=self.place)
        per = 1 if dtype is torch.float64 else 2
        function = wide if per == 1 else narrow
        total = -(-count // per)
        first = self.take(total)
        for a, b in self.blocks(total):
            words = self.words(first + a, b - a)
            part = out[per * a : per * b]
            part.copy_(function(words if per == 1 else words.view(torch.int32))[: len(part)])
        return out.reshape(shape)

    def random(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Uniform on [0, 1)."""
        return self._fill(
            shape,
            dtype,
            lambda x: _upper(x, 53).mul_(2.0**-53),
            lambda x: _upper(x, 24).mul_(2.0**-24),
        )

    def open(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Uniform on (0, 1)."""
        return self._fill(
            shape,
            dtype,
            lambda x: _upper(x, 52).add_(0.5).mul_(2.0**-52),
            lambda x: _upper(x, 23).add_(0.5).mul_(2.0**-23),
        )

    def exponential(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Exponential with mean 1."""
        return self._fill(shape, dtype, lambda x: _minus_log(x, 53), lambda x: _minus_log(x, 31))

    def normal(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Normal with mean 0 and variance 1."""
        count = math.prod(shape)
        pairs = -(-count // 2)
        out = torch.empty((pairs, 2), dtype=dtype, device=self.place)
        wide = dtype is torch.float64
        first = self.take(2 * pairs if wide else pairs)
        for a, b in self.blocks(pairs):
            if wide:
                u = self.words(first + 2 * a, b - a, 2)
                v = _upper(self.words(first + 2 * a + 1, b - a, 2), 53).mul_(math.tau * 2.0**-53)
                radius = _minus_log(u, 53)
            else:
                u = self.words(first + a, b - a)
                v = torch.bitwise_and(u, 0xFFFFFF).to(dtype).mul_(math.tau * 2.0**-24)
                radius = _minus_log(u, 31, dtype)
            radius.mul_(2.0).sqrt_()
            torch.mul(radius, torch.cos(v), out=out[a:b, 0])
            torch.mul(radius, torch.sin(v), out=out[a:b, 1])
        return out.reshape(-1)[:count].reshape(shape)


def _upper(x: Any, kept: int, dtype: Any = None) -> Any:
    """Upper bits of int64 or int32, as the float of that size or of a dtype."""
    bits = 8 * x.dtype.itemsize
    shifted = torch.bitwise_right_shift(x, bits - kept).bitwise_and_((1 << kept) - 1)
    return shifted.to(dtype or (torch.float64 if bits == 64 else torch.float32))


def _minus_log(x: Any, kept: int, dtype: Any = None) -> Any:
    """-log of the upper bits and a half, as a share of all; never below 0 and never -0."""
    return _upper(x, kept, dtype).add_(0.5).mul_(2.0**-kept).log_().abs_()

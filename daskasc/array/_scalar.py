"""The array as a scalar: Python's numbers, truth, rounding and text of arrays of one element.

NumPy's reductions give scalars where these give 0-d arrays, which therefore do what scalars do.
Each of these waits for the card.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from daskasc import device
from daskasc.array import _indexing
from daskasc.device import observer


@observer.observed("item")
def _element(tensor: Any) -> Any:
    """One element for the host, which waits for the card."""
    device.counters.add("device_to_host_bytes", tensor.element_size())
    return tensor.item()


class Scalar:
    """Methods of arrays that concern one element."""

    __slots__ = ()

    if TYPE_CHECKING:  # what the class of arrays gives
        _t: Any

        @property
        def ndim(self) -> int: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        def asnumpy(self) -> Any: ...
        def round(self, decimals: int = 0, out: Any = None) -> Any: ...

    def item(self, *index: Any) -> Any:
        """Return one element as a Python scalar."""
        tensor = self._t
        if len(index) == 1 and isinstance(index[0], tuple):
            index = index[0]
        if len(index) == 1:
            number = operator.index(index[0])
            if not -tensor.numel() <= number < tensor.numel():
                raise IndexError(f"index {number} is out of bounds for size {tensor.numel()}")
            tensor = tensor.reshape(-1)[number]
        elif index:
            if len(index) != tensor.ndim:
                raise ValueError("incorrect number of indices for array")
            tensor = _indexing.getitem(tensor, tuple(map(operator.index, index)))
        if tensor.numel() != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return _element(tensor)

    def __bool__(self) -> bool:
        if self._t.numel() != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()"
                if self._t.numel()
                else "The truth value of an empty array is ambiguous. Use `array.size > 0`"
            )
        return bool(_element(self._t))

    def _scalar(self) -> Any:
        if self._t.ndim or self._t.numel() != 1:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return _element(self._t)

    def __float__(self) -> float:
        return float(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self._t.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(_element(self._t))

    def __round__(self, ndigits: Any = None) -> Any:
        """Rounded 0-d array; a Python integer without `ndigits`, as NumPy's scalars."""
        if self.ndim:
            raise TypeError(
                f"an array of {self.ndim} axes is not rounded by round(x, n); call x.round(n)"
            )
        if ndigits is None or self.dtype.kind not in "iuf":
            return round(self.asnumpy()[()], *(() if ndigits is None else (ndigits,)))
        return self.round(ndigits)

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __format__(self, spec: str) -> str:
        return format(_element(self._t), spec) if not self._t.ndim else str(self)

"""``ndarray.flat``: the elements of an array as if it had one axis, in C order.

Reading copies, as NumPy's flat iterator does; writing goes to the array, also where it is not
contiguous. Values are repeated where there are fewer than places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from daskasc.array import _dispatch


class Flat:
    """Elements of an array in C order, for indexing, assignment and iteration.

    Iterating gives 0-d arrays on the card; each waits for nothing.
    """

    __slots__ = ("_next", "base")

    def __init__(self, array: Any) -> None:
        self.base = array
        self._next = 0

    def __len__(self) -> int:
        return int(self.base.size)

    @property
    def index(self) -> int:
        """Number of the next element."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """Index of the next element in the array."""
        steps = np.cumprod((1, *self.base.shape[:0:-1]))[::-1] if self.base.ndim else ()
        rest, found = self._next, []
        for step in steps:
            found.append(rest // int(step))
            rest %= int(step)
        return tuple(found)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self.base.reshape(-1)[self._next - 1]

    def __getitem__(self, index: Any) -> Any:
        found = self.base.reshape(-1)[_checked(index)]
        # slices of a contiguous array would be views
        return found.copy() if found.ndim else found

    def __setitem__(self, index: Any, value: Any) -> None:
        places = np.arange(len(self))[_on_host(_checked(index))]
        if not isinstance(places, np.ndarray):
            self._set_one(int(places), value)
            return
        _dispatch.call(np.put, (self.base, np.ravel(places), value), {})

    def _set_one(self, place: int, value: Any) -> None:
        """Set one element; NumPy raises ValueError here, whatever does not fit."""
        if np.ndim(value):
            raise ValueError(
                f"flat[{place}] is one element; the value has {np.ndim(value)} axes. Give a "
                "number, or take a slice"
            )
        if not isinstance(self.base.dtype, np.dtypes.DateTime64DType | np.dtypes.TimeDelta64DType):
            if isinstance(value, np.datetime64 | np.timedelta64):
                raise ValueError(
                    f"flat[{place}] is a number and {value!r} a time; assign .astype('int64')"
                )
        try:
            _dispatch.call(np.put, (self.base, place, value), {})
        except (OverflowError, TypeError) as error:
            raise ValueError(f"flat[{place}] cannot be set to {value!r}: {error}") from error

    def copy(self) -> Any:
        """Return the elements as a new array with one axis."""
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.base.reshape(-1).__array__(dtype, copy)

    def __eq__(self, other: object) -> Any:
        return self.base.reshape(-1) == other

    def __ne__(self, other: object) -> Any:
        return self.base.reshape(-1) != other

    __hash__ = None  # type: ignore[assignment]


def _checked(index: Any) -> Any:
    if isinstance(index, tuple):
        if len(index) == 1:
            return index[0]
        raise IndexError(
            f"too many indices for flat iterator: flat iterator is 1-dimensional, but "
            f"{len(index)} were indexed"
        )
    if type(index) is bool or (
        getattr(index, "dtype", None) == np.dtype(bool)
        and index.shape == ()
        and type(index) is not np.bool_
    ):
        return 0 if index else slice(0, 0)  # the first element or none, as in NumPy
    return index


def _on_host(index: Any) -> Any:
    return index.asnumpy() if _dispatch.is_array(index) else index

"""Methods and attributes of ``numpy.ndarray`` beside the everyday ones.

A base of the class of arrays, so that both it and its subclasses have them. What needs an address
in host memory (``data``, ``ctypes``) is refused by name.
"""

from __future__ import annotations

import pickle
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from daskasc.array import _dispatch, _layout, _readonly, _storage
from daskasc.array._dtypes import cast, torch, torch_dtype
from daskasc.array._flat import Flat
from daskasc.array._operators import can_cast
from daskasc.array._values import whole_numbers


class NumPyMethods:
    """The rarer methods of ``numpy.ndarray``."""

    __slots__ = ()

    __class_getitem__: Any = classmethod(types.GenericAlias)

    if TYPE_CHECKING:  # what the class of arrays gives
        _t: Any

        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        def asnumpy(self) -> Any: ...
        def _write(self, tensor: Any) -> None: ...
        def _check_writable(self) -> None: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __matmul__(self, other: Any) -> Any: ...

    @property
    def flags(self) -> _layout.Flags:
        """Layout of the elements; see :class:`numpy.ndarray.flags`."""
        return _layout.Flags(self)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """As ``ndarray.setflags``; raises ValueError for what a card cannot do."""
        flags = _layout.Flags(self)
        for name, value in (("WRITEABLE", write), ("ALIGNED", align), ("WRITEBACKIFCOPY", uic)):
            if value is not None:
                flags[name] = value

    @property
    def base(self) -> Any:
        """The array that owns the memory of a view; None for an array that owns its own."""
        owner = self._t._base
        return None if owner is None else _storage.wrap(owner)

    @property
    def data(self) -> Any:
        """Refused: there is no buffer in host memory."""
        raise AttributeError(
            "an array on a card has no buffer in host memory; use .asnumpy().data for a copy, or "
            ".tensor.data_ptr() for the address on the card"
        )

    @property
    def ctypes(self) -> Any:
        """Refused: there is no address in host memory."""
        raise AttributeError(
            "an array on a card has no address in host memory; use .asnumpy().ctypes for a copy, "
            "or .tensor.data_ptr() for the address on the card"
        )

    @property
    def flat(self) -> Flat:
        """The elements in C order, for indexing, assignment and iteration."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[...] = value

    # -- choosing

    def choose(self, *choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Return elements of the choices whose numbers are this array's elements.

        The choices are one sequence or several arguments, as ``ndarray.choose`` takes them.
        """
        options = choices[0] if len(choices) == 1 else choices
        return _dispatch.call(np.choose, (self, options, out, mode), {})

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Return the elements, or slices of an axis, where a condition holds."""
        return _dispatch.call(np.compress, (condition, self, axis, out), {})

    # -- writing

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Set elements by their numbers in C order, as :func:`numpy.put`."""
        _dispatch.call(np.put, (self, indices, values), {"mode": mode})

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """Partition in place, as ``ndarray.partition``."""
        found = _dispatch.call(np.partition, (self, kth, axis, kind, order), {})
        self[...] = found

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Change the shape in place; new elements are 0.

        Raises ValueError for a view, as NumPy does. Views made before keep the old memory.
        """
        shape = new_shape[0] if len(new_shape) == 1 else new_shape
        wanted = whole_numbers(shape)
        old = self._t
        if old._is_view() or _readonly.is_read_only(old) or not old.is_contiguous():
            raise ValueError("cannot resize this array: it does not own its data")
        if any(n < 0 for n in wanted):
            raise ValueError("negative dimensions are not allowed")
        made = torch.zeros(wanted, dtype=old.dtype, device=old.device)
        kept = min(made.numel(), old.numel())
        made.view(-1)[:kept].copy_(old.view(-1)[:kept])
        self._t = made
        _storage.account(self)

    def __imatmul__(self, other: Any) -> Any:
        found = self.__matmul__(other)
        if found is NotImplemented:
            return found
        target = self._t
        if not can_cast(found.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc 'matmul' output from {found.dtype!r} to "
                f"{self.dtype!r} with casting rule 'same_kind'"
            )
        if found.shape != tuple(target.shape):
            raise ValueError(f"the product has shape {found.shape}, not {tuple(target.shape)}")
        self._write(cast(found._t, target.dtype))
        return self

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")

    # -- bytes

    def byteswap(self, inplace: bool = False) -> Any:
        """Return the elements with their bytes reversed, as ``ndarray.byteswap``."""
        tensor = self._t
        parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        width = parts.dtype.itemsize
        raw = parts.contiguous().unsqueeze(-1).view(torch.uint8)
        swapped = raw.flip(-1).contiguous().view(parts.dtype).squeeze(-1) if width > 1 else parts
        made = torch.view_as_complex(swapped.contiguous()) if tensor.is_complex() else swapped
        if not inplace:
            return _storage.wrap(made.clone() if made is tensor else made)
        self._write(made)
        return self

    def getfield(self, dtype: Any, offset: int = 0) -> Any:
        """View of a part of each element's bytes, as ``ndarray.getfield``.

        The part's size has to divide the element's and `offset` (torch has no other strides).
        """
        target = torch_dtype(dtype)
        old, new = self._t.dtype.itemsize, target.itemsize
        if not 0 <= offset <= old - new:
            raise ValueError("new type plus offset is larger than original type")
        if old % new or offset % new:
            raise ValueError(
                f"a field of {new} bytes at byte {offset} of {old} has no strides on the card; "
                "allowed: sizes that divide both"
            )
        bytes_of = _readonly.like(self._t.unsqueeze(-1).view(target), self._t)
        return _storage.wrap(bytes_of[..., offset // new])

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        """Write a part of each element's bytes, as ``ndarray.setfield``."""
        self._check_writable()
        self.getfield(dtype, offset)[...] = val

    def tobytes(self, order: Any = "C") -> bytes:
        """Return the elements as bytes in order C or F; A is F for an F-contiguous array."""
        letter = _layout.order_of(order)
        in_f = letter == "F" or (letter == "A" and _layout.is_f(self._t))
        return self.asnumpy().tobytes("F" if in_f else "C")

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file, as ``ndarray.tofile``; copies them down."""
        self.asnumpy().tofile(fid, sep, format)

    def dumps(self) -> bytes:
        """Return the pickled array."""
        return pickle.dumps(self)

    def dump(self, file: Any) -> None:
        """Pickle the array to a file, given as a path or an open file."""
        if hasattr(file, "write"):
            file.write(self.dumps())
            return
        with open(file, "wb") as opened:
            opened.write(self.dumps())

"""TimeArray: datetime64 and timedelta64 on a card.

An array of times is an int64 array on the card, its *ticks*, and NumPy's dtype. It is an
AscendArray for whatever asks for a shape or the host form only, and has no tensor of numbers:
``_t`` raises :class:`MeetsTimes`, and so does all that turns an operand into a tensor. A function
that knows nothing of times therefore cannot take the ticks for numbers by mistake; the dispatch
asks the table ``TIMES`` instead (``_times_functions``, ``_times_reductions``, ``_times_creation``,
``_times_ufuncs``), and NumPy on the host for what is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _dispatch, _masks, _storage, _times_convert, _times_methods
from daskasc.array._array import AscendArray
from daskasc.array._dispatch import NO_NUMBERS, MeetsTimes
from daskasc.array._storage import wrap_times
from daskasc.array._times_ufuncs import binary, comparison, in_place, unary
from daskasc.array._views import NO_DTYPE

_INT64 = np.dtype(np.int64)


class TimeArray(AscendArray):
    """Array of datetime64 or timedelta64 in the memory of this process's card.

    Made by ``from_numpy``, ``asarray``, ``astype`` or ``view``; the constructor is for libraries
    that copy an array's type.

    Parameters
    ----------
    ticks : AscendArray of int64, torch.Tensor, or tuple or list of int
        Counts of the dtype's unit; kept, not copied. A shape makes uninitialised elements.
    dtype : dtype_like
        ``datetime64[unit]`` or ``timedelta64[unit]``.
    """

    __slots__ = ("_dtype", "_ticks")

    _ticks: Any
    _dtype: np.dtype[Any]

    def __init__(self, ticks: Any, dtype: Any) -> None:
        wanted = np.dtype(dtype).newbyteorder("=")
        if wanted.kind not in "mM":
            raise TypeError(f"a TimeArray is of datetime64 or timedelta64; got {wanted}")
        made = ticks if type(ticks) is AscendArray else AscendArray(ticks, _INT64)
        if made.dtype != _INT64:
            raise TypeError(f"ticks are int64; got {made.dtype}. Use .astype({str(wanted)!r})")
        self._ticks, self._dtype = made, wanted

    @property
    def _t(self) -> Any:
        raise MeetsTimes(NO_NUMBERS)

    @_t.setter
    def _t(self, tensor: Any) -> None:
        raise MeetsTimes(NO_NUMBERS)

    @property
    def _d(self) -> Any:
        raise MeetsTimes(NO_NUMBERS)

    # -- attributes

    @property
    def tensor(self) -> Any:
        """The torch tensor of the ticks, int64; NaT is the least integer."""
        return self._ticks._t

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the elements."""
        return self._dtype

    @dtype.setter
    def dtype(self, value: Any) -> None:
        raise AttributeError(NO_DTYPE)

    def _like(self, ticks: Any) -> Any:
        return wrap_times(ticks, self._dtype)

    @property
    def T(self) -> Any:
        """The array with its axes reversed, a view."""
        return self._like(self._ticks.T)

    @property
    def mT(self) -> Any:
        """The array with its last two axes swapped, a view."""
        return self._like(self._ticks.mT)

    @property
    def real(self) -> Any:
        """The array itself."""
        return self

    @real.setter
    def real(self, value: Any) -> None:
        self[...] = value

    @property
    def imag(self) -> Any:
        """Zeros, as NumPy gives them."""
        return self._like(self._ticks.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        raise TypeError("array does not have imaginary part to set")

    # -- to the host

    def asnumpy(self, out: Any = None, blocking: bool = True) -> Any:
        """Copy the elements into a NumPy array; see :meth:`AscendArray.asnumpy`."""
        if out is None:
            out = np.empty(self.shape, self._dtype)
        elif not isinstance(out, np.ndarray) or out.dtype.newbyteorder("=") != self._dtype:
            raise TypeError(
                f"out is {getattr(out, 'dtype', type(out).__name__)}; it has to be a NumPy array "
                f"of {self._dtype}"
            )
        ticks = out.view(_INT64.newbyteorder(out.dtype.byteorder))
        copied = self._ticks.asnumpy(ticks, blocking)
        return out if blocking else device.Transfer(out, _Behind(copied))

    get = asnumpy

    def copy_from(self, source: Any, casting: str = "same_kind") -> None:
        """Fill the array with other elements; see :meth:`AscendArray.copy_from`."""
        self._check_writable()
        given = source.dtype if hasattr(source, "dtype") else np.asarray(source).dtype
        _times_convert.check_cast(np.dtype(given), self._dtype, casting)
        self._ticks.copy_from(_times_convert.of_any(source, self._dtype), casting)

    def item(self, *index: Any) -> Any:
        """Return one element as ``ndarray.item`` does: ``datetime`` object, int or None."""
        return np.asarray(self._ticks.item(*index), _INT64).view(self._dtype).item()

    def __bool__(self) -> bool:
        return bool(self._ticks)

    def _scalar(self) -> Any:
        if self.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self.item()

    def __index__(self) -> int:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")

    def __repr__(self) -> str:
        text = np.array2string(self.asnumpy(), separator=", ", prefix="TimeArray(")
        return f"TimeArray({text}, dtype={self._dtype})"

    def __format__(self, spec: str) -> str:
        return format(str(self) if self.ndim else self.asnumpy(), spec)

    def __copy__(self) -> Any:
        return self._like(self._ticks.copy())

    def __deepcopy__(self, memo: Any) -> Any:
        return self._like(self._ticks.copy())

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError(f"DLPack has no dtype for {self._dtype}; pass .view('int64')")

    def __dlpack_device__(self) -> Any:
        return self._ticks.__dlpack_device__()

    # -- protocols

    __array_ufunc__ = _times_methods.array_ufunc

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known = (AscendArray, np.ma.MaskedArray)
        if not all(issubclass(kind, known) or kind is np.ndarray for kind in types):
            return NotImplemented
        if any(issubclass(kind, np.ma.MaskedArray) for kind in types):
            args, kwargs = _masks.plain_call(args, kwargs)
        return _dispatch.with_times(func, args, kwargs)

    # -- containers

    def __len__(self) -> int:
        return len(self._ticks)

    def __iter__(self) -> Iterator[Any]:
        return map(self._like, self._ticks)

    def __getitem__(self, index: Any) -> Any:
        return self._like(self._ticks[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check_writable()
        self._ticks[index] = _times_convert.of_any(value, self._dtype)

    def _check_writable(self) -> None:
        self._ticks._check_writable()

    def _accept(self, result: Any) -> None:
        self[...] = result

    # -- methods with an own form

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """Array of another dtype: other units, or the ticks as numbers (NaT is the least int64)."""
        return _times_convert.to_dtype(self, dtype, casting, copy)

    def copy(self, order: str = "C") -> Any:
        """Return a copy in own memory."""
        return self._like(self._ticks.copy())

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Return a view, also of the ticks as int64, or as another dtype."""
        if dtype is None or dtype is AscendArray or dtype is TimeArray:
            return self._like(self._ticks.view())
        return self._ticks.view(dtype)

    def sort(
        self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> None:
        """Sort in place, NaT last."""
        options = {"axis": axis, "kind": kind, "order": order, "stable": stable}
        self[...] = _dispatch.with_times(np.sort, (self,), options)

    @property
    def base(self) -> Any:
        """The array that owns the memory of a view; None for an array that owns its own."""
        owner = self._ticks.base
        return None if owner is None else self._like(owner)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """As ``ndarray.setflags``."""
        self._ticks.setflags(write, align, uic)

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Change the shape in place; new elements are 0 (the beginning of 1970)."""
        self._ticks.resize(*new_shape, refcheck=refcheck)

    def byteswap(self, inplace: bool = False) -> Any:
        """Return the elements with their bytes reversed, as ``ndarray.byteswap``."""
        swapped = self._ticks.byteswap(inplace)
        return self if inplace else self._like(swapped)

    def getfield(self, dtype: Any, offset: int = 0) -> Any:
        """View of a part of each element's bytes, as ``ndarray.getfield``."""
        if np.dtype(dtype).kind in "mM" and not offset:
            return self.view(dtype)
        return self._ticks.getfield(dtype, offset)

    def conj(self) -> Any:
        """Raise TypeError, as NumPy."""
        return _dispatch.with_times(np.conjugate, (self,), {})

    conjugate = conj


class _Behind:
    """A transfer of the ticks as the event of a transfer of times."""

    def __init__(self, transfer: Any) -> None:
        self._transfer = transfer

    def record(self) -> None:
        """Nothing: the transfer is under way."""

    def query(self) -> bool:
        return bool(self._transfer.done())

    def synchronize(self) -> None:
        self._transfer.synchronize()


def _of_ticks(name: str) -> property:
    def get(self: Any) -> Any:
        return getattr(self._ticks, name)

    def put(self: Any, value: Any) -> None:
        ticks = _storage.wrap(self._ticks._t)  # the old ones may be another array's, too
        setattr(ticks, name, value)
        self._ticks = ticks

    return property(get, put, doc=f"``{name}`` of the ticks.")


for _name in "shape ndim size nbytes strides flags device".split():
    setattr(TimeArray, _name, _of_ticks(_name))


def _operators(make: Callable[..., Any], prefix: str, names: dict[str, np.ufunc]) -> None:
    for name, ufunc in names.items():
        method = make(ufunc)
        method.__doc__ = getattr(AscendArray, f"__{prefix}{name}__").__doc__
        setattr(TimeArray, f"__{prefix}{name}__", method)


_ARITHMETIC: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
_operators(binary, "", {**_ARITHMETIC, "divmod": np.divmod})
_operators(lambda ufunc: binary(ufunc, True), "r", {**_ARITHMETIC, "divmod": np.divmod})
_operators(in_place, "i", _ARITHMETIC)
_operators(
    comparison,
    "",
    {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    },
)
_operators(
    unary, "", {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
)
TimeArray.__hash__ = None  # type: ignore[assignment,method-assign]

_storage.bind_times(TimeArray)

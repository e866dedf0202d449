"""AscendArray: one chunk in a card's memory, with NumPy's semantics.

An array is a torch tensor and, in a slot that is faster to ask, the tensor's dtype. Shapes, views
and memory are torch's; dtypes, promotion, indexing and results are NumPy's. Methods go through the
same table as NumPy's functions, so ``x.sum()`` and ``np.sum(x)`` are one implementation.

Where torch cannot do what NumPy does, the array refuses instead of differing: torch has no
negative strides, so ``x[::-1]`` is a copy, and writing through it raises.

Arrays are not locked: like NumPy's, they may be read by many threads and written by one.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from daskasc import _callers, _handoff, config, device
from daskasc.array import (
    _advice,
    _dispatch,
    _guard,
    _indexing,
    _interchange,
    _layout,
    _masks,
    _operators,
    _quick,
    _readonly,
    _storage,
)
from daskasc.array._dtypes import NUMPY, cast, promote, torch, torch_dtype
from daskasc.array._methods import NumPyMethods
from daskasc.array._nesting import check_element
from daskasc.array._operators import binary, can_cast, in_place, multiply, power, unary
from daskasc.array._quick import QUICK as _QUICK
from daskasc.array._scalar import Scalar
from daskasc.array._storage import wrap
from daskasc.array._summation import NAMES as SUMS
from daskasc.array._summation import with_accumulate
from daskasc.array._times_convert import from_numbers
from daskasc.array._ufuncs import array_ufunc
from daskasc.array._views import NO_DTYPE, NO_STRIDES, as_dtype, reshaped_in_place
from daskasc.device import observer
from daskasc.errors import HostConversionError, HostCopyWarning


class AscendArray(NumPyMethods, Scalar):
    """Array in the memory of this process's card.

    Made of host memory by ``daskasc.array.from_numpy`` (or ``asarray``, ``zeros``, ...), brought
    back by :meth:`asnumpy`; the constructor is for torch's tensors::

        x = daskasc.array.from_numpy(np.arange(6.0))
        mean = (x[1:] * 2).mean()  # on the card
        host, number = x.asnumpy(), mean.item()

    Parameters
    ----------
    tensor : torch.Tensor, or tuple or list of int
        The elements, on this process's card; kept, not copied, without gradient. A shape makes
        uninitialised elements of `dtype`, as ``numpy.ndarray(shape, dtype)`` does; libraries that
        copy an array's type rely on it.
    dtype : dtype_like, optional
        Only with a shape.
    """

    __slots__ = ("__weakref__", "_d", "_lease", "_t")
    __ascend_array__ = True
    __array_priority__ = 100.0
    __hash__ = None  # type: ignore[assignment]

    _t: Any
    _d: Any
    _lease: Any

    def __init__(self, tensor: Any, dtype: Any = np.float64) -> None:
        if isinstance(tensor, tuple | list):
            place = device.current().torch_device
            tensor = torch.empty(tuple(tensor), dtype=torch_dtype(dtype), device=place)
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"AscendArray takes a torch tensor; got {type(tensor).__name__}. "
                "Use daskasc.array.asarray for other things"
            )
        self._t = _interchange.adopt(tensor)
        self._d = self._t.dtype
        _storage.account(self)

    # -- attributes

    @property
    def tensor(self) -> Any:
        """The torch tensor."""
        return self._t

    @property
    def backend(self) -> device.Backend:
        """Backend of this process's card."""
        return device.current()

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the elements."""
        return NUMPY[self._d]

    @dtype.setter
    def dtype(self, value: Any) -> None:
        raise AttributeError(NO_DTYPE)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return tuple(self._t.shape)

    @shape.setter
    def shape(self, value: Any) -> None:
        self._t = reshaped_in_place(self._t, value)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self._t.ndim)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self._t.numel())

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return int(self._t.numel()) * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return tuple(step * self.itemsize for step in self._t.stride())

    @strides.setter
    def strides(self, value: Any) -> None:
        raise AttributeError(NO_STRIDES)

    @property
    def device(self) -> str:
        """Where the elements are, by the array API standard's property."""
        return str(self._t.device)

    @property
    def T(self) -> Any:
        """The array with its axes reversed, a view."""
        return wrap(self._t.permute(tuple(reversed(range(self._t.ndim)))))

    @property
    def mT(self) -> Any:
        """The array with its last two axes swapped, a view."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return wrap(self._t.transpose(-2, -1))

    @property
    def real(self) -> Any:
        """Real parts, a view."""
        return wrap(self._t.real) if self._t.is_complex() else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """Imaginary parts, a view; for real dtypes zeros that cannot be written, as NumPy's."""
        if self._t.is_complex():
            return wrap(self._t.imag)
        with _guard.active():
            return wrap(_readonly.freeze(torch.zeros_like(self._t)))

    @imag.setter
    def imag(self, value: Any) -> None:
        if not self._t.is_complex():
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    # -- to the host, explicitly and not

    def asnumpy(self, out: Any = None, blocking: bool = True) -> Any:
        """Copy the elements into a NumPy array.

        Parameters
        ----------
        out : ndarray, optional
            Takes the elements; of the same shape and dtype, any strides.
        blocking : bool, optional
            False: return at once, with the copy queued behind the work so far.

        Returns
        -------
        ndarray, or daskasc.device.Transfer
            With `blocking` False an object with ``synchronize()``, ``done()`` and ``result()``,
            which wait for this copy only. `out` must not be read before that.
        """
        return _interchange.asnumpy(self, out, blocking)

    get = asnumpy

    def copy_from(self, source: Any, casting: str = "same_kind") -> None:
        """Fill the array with other elements, without new memory on the card.

        Parameters
        ----------
        source : array_like, AscendArray or torch.Tensor
            Broadcasts to the array's shape. Host memory goes through pinned buffers in pieces
            and may be changed when this returns.
        casting : str, optional
            NumPy's casting rule.

        Raises
        ------
        TypeError
            The casting rule forbids the conversion.
        ValueError
            The shape does not broadcast, or the tensor is on another device.
        """
        _interchange.copy_from(self, source, casting)

    def tolist(self) -> Any:
        """Return the elements as nested lists."""
        return self.asnumpy().tolist()

    @observer.observed("__array__")
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        mode = config.host_conversion()
        if mode == "error":
            raise HostConversionError(_advice.on_conversion())
        if copy is False:
            raise ValueError("elements on a card cannot become a NumPy array without a copy")
        device.counters.add("host_copies", 1)
        if mode == "warn":
            warnings.warn(
                f"copied {self.nbytes} bytes from a card to NumPy implicitly "
                '(daskasc.host-conversion is "warn"); call .asnumpy() where the copy is meant',
                HostCopyWarning,
                stacklevel=_callers.stacklevel(),
            )
        host = self.asnumpy()
        return host if dtype is None else host.astype(dtype)

    def __repr__(self) -> str:
        text = np.array2string(self.asnumpy(), separator=", ", prefix="AscendArray(")
        return f"AscendArray({text}, dtype={self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _handoff.rebuild, (self.asnumpy(), device.has_card())

    def __copy__(self) -> Any:
        return wrap(self._t.clone())

    def __deepcopy__(self, memo: Any) -> Any:
        return wrap(self._t.clone())

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        return _interchange.to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> Any:
        return _interchange.dlpack_device(self)

    # -- protocols

    __array_ufunc__ = array_ufunc

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _QUICK:
            found = _QUICK[func](*args, **kwargs) if kwargs else _QUICK[func](*args)
            if found is not None:
                return found
        for kind in types:
            if kind is not AscendArray and kind is not np.ndarray:
                if not issubclass(kind, np.ma.MaskedArray):
                    return NotImplemented
                args, kwargs = _masks.plain_call(args, kwargs)
        return _dispatch.call(func, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return _storage.namespace()

    # -- containers

    def __len__(self) -> int:
        if not self._t.ndim:
            raise TypeError("len() of unsized object")
        return int(self._t.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self._t.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self._t.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __getitem__(self, index: Any) -> Any:
        if (who := observer.active) is not None:
            return who.run("getitem", AscendArray._item, (self, index), {})
        return wrap(_indexing.getitem(self._t, index))

    def _item(self, index: Any) -> Any:
        return wrap(_indexing.getitem(self._t, index))

    @observer.observed("setitem")
    def __setitem__(self, index: Any, value: Any) -> None:
        self._check_writable()
        _indexing.setitem(self._t, index, value)

    def _check_writable(self) -> None:
        if _readonly.is_read_only(self._t):
            raise ValueError(
                "assignment destination is read-only: this array is, or is a view of, a copy made "
                "by a negative step or a flip (torch has no such strides; NumPy would write into "
                "the original), or a view that is read-only in NumPy too (broadcast_to, diagonal, "
                "windows). Write into .copy() of it, or into the original"
            )

    def _accept(self, result: Any) -> None:
        """Store an array that is a result; ``out=`` is this array."""
        self._write(result._t)

    @observer.observed("store")
    def _write(self, tensor: Any) -> None:
        """Store a tensor that broadcasts to this shape, safe where both share memory."""
        self._check_writable()
        _indexing.store(self._t, tensor)

    # -- operators

    __add__, __radd__ = binary(np.add), binary(np.add, True)
    __sub__, __rsub__ = binary(np.subtract), binary(np.subtract, True)
    __mul__, __rmul__ = multiply(), multiply(True)
    __truediv__, __rtruediv__ = binary(np.true_divide), binary(np.true_divide, True)
    __floordiv__, __rfloordiv__ = binary(np.floor_divide), binary(np.floor_divide, True)
    __mod__, __rmod__ = binary(np.remainder), binary(np.remainder, True)
    __divmod__, __rdivmod__ = binary(np.divmod), binary(np.divmod, True)
    __pow__, __rpow__ = power(), binary(np.power, True)
    __and__, __rand__ = binary(np.bitwise_and), binary(np.bitwise_and, True)
    __or__, __ror__ = binary(np.bitwise_or), binary(np.bitwise_or, True)
    __xor__, __rxor__ = binary(np.bitwise_xor), binary(np.bitwise_xor, True)
    __lshift__, __rlshift__ = binary(np.left_shift), binary(np.left_shift, True)
    __rshift__, __rrshift__ = binary(np.right_shift), binary(np.right_shift, True)
    __eq__, __ne__ = binary(np.equal), binary(np.not_equal)
    __lt__, __le__ = binary(np.less), binary(np.less_equal)
    __gt__, __ge__ = binary(np.greater), binary(np.greater_equal)
    __neg__, __pos__ = unary(np.negative), unary(np.positive)
    __abs__, __invert__ = unary(np.absolute), unary(np.invert)
    __iadd__, __isub__ = in_place(np.add), in_place(np.subtract)
    __imul__, __itruediv__ = in_place(np.multiply), in_place(np.true_divide)
    __ifloordiv__, __imod__ = in_place(np.floor_divide), in_place(np.remainder)
    __ipow__, __iand__ = in_place(np.power, __pow__), in_place(np.bitwise_and)
    __ior__, __ixor__ = in_place(np.bitwise_or), in_place(np.bitwise_xor)
    __ilshift__, __irshift__ = in_place(np.left_shift), in_place(np.right_shift)

    def __matmul__(self, other: Any) -> Any:
        if not _operators.accepts(other, AscendArray):
            return NotImplemented
        return _dispatch.call(np.matmul, (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        if not _operators.accepts(other, AscendArray):
            return NotImplemented
        return _dispatch.call(np.matmul, (other, self), {})

    # -- methods with an own form

    @observer.observed("astype")
    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """Array of another dtype; the array itself where nothing changes and `copy` is False."""
        wanted = np.dtype(dtype)
        if wanted.kind in "mM":
            return from_numbers(self, wanted, casting)
        target = torch_dtype(wanted)
        if casting != "unsafe" and not can_cast(self.dtype, wanted, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {wanted!r} according to the "
                f"rule '{casting}'"
            )
        if target is self._t.dtype:
            if copy:
                return wrap(_layout.clone(self._t, order))
            tensor = _layout.arranged(self._t, order)
            return self if tensor is self._t else wrap(tensor)
        return wrap(_layout.arranged(cast(self._t, target), order))

    @observer.observed("copy")
    def copy(self, order: str = "C") -> Any:
        """Return a copy in own memory."""
        return wrap(_layout.clone(self._t, order))

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Return a view, also of the bytes as another dtype (as ``ndarray.view``)."""
        for asked in (dtype, type):
            if isinstance(asked, builtins.type) and issubclass(asked, np.ndarray):
                raise TypeError(
                    f"elements on a card have no view as {asked.__name__}, which is in host "
                    "memory; use .asnumpy() for a copy"
                )
        if type not in (None, AscendArray):
            raise TypeError(f"type is {type!r}; a view of an array on a card is an AscendArray")
        if dtype is None or dtype is AscendArray:
            return wrap(self._t.view(self._t.shape))
        return as_dtype(self, dtype)

    def fill(self, value: Any) -> None:
        """Set all elements to a scalar."""
        check_element(value, self.dtype)
        self[...] = value

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Return the elements under another shape; a view where strides allow."""
        if not (shape or kwargs):
            raise TypeError("reshape() takes exactly 1 argument (0 given)")
        given = (self, shape[0] if len(shape) == 1 and type(shape[0]) is not int else shape)
        found = _QUICK[np.reshape](*given, **kwargs)
        return _dispatch.call(np.reshape, given, kwargs) if found is None else found

    def transpose(self, *axes: Any) -> Any:
        """Return the array with permuted axes, a view."""
        wanted = axes[0] if len(axes) == 1 else (axes or None)
        return _dispatch.call(np.transpose, (self, wanted), {})

    def flatten(self, order: str = "C") -> Any:
        """Return a 1-D copy."""
        return _dispatch.call(np.ravel, (self,), {"order": _layout.order_of(order)}).copy()

    def sort(
        self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> None:
        """Sort in place."""
        options = {"axis": axis, "kind": kind, "order": order, "stable": stable}
        self._write(_dispatch.call(np.sort, (self,), options)._t)

    def dot(self, other: Any, out: Any = None) -> Any:
        """Dot product, as :func:`numpy.dot`."""
        return _dispatch.call(np.dot, (self, other), {"out": out})

    def conj(self) -> Any:
        """Complex conjugate; the array itself where it is real."""
        return _operators.apply(np.conjugate, (self,)) if self._t.is_complex() else self

    conjugate = conj

    def to_device(self, where: str, /, *, stream: Any = None) -> Any:
        """Return the array itself: a process owns one card (array API standard)."""
        _dispatch.check_device(where)
        return self


def _method(name: str, function: Any) -> Any:
    """Method that calls a NumPy function's implementation with the array as first argument."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _dispatch.call(function, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"AscendArray.{name}"
    method.__doc__ = f"As :func:`numpy.{function.__name__}` with this array as first argument."
    return method


for _name in (
    "all any argmax argmin argpartition argsort clip cumprod cumsum diagonal max "
    "mean min nonzero prod ravel repeat round searchsorted squeeze std sum swapaxes take trace var"
).split():
    _function = _method(_name, getattr(np, _name))
    _function = with_accumulate(_function) if _name in SUMS else _function
    setattr(AscendArray, _name, _quick.method(getattr(np, _name), _function))

_storage.bind(AscendArray)

__all__ = ["AscendArray", "promote"]

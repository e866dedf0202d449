"""Operators of the class: the fast path from ``x + y`` to a kernel.

Each operator has its own table keyed by the operands' torch dtypes, or by the Python type of a
scalar. A hit costs one dictionary lookup over bare torch. Misses build the kernel, upload host
operands, or decline (``NotImplemented``) so that Dask, xarray and others get their turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import (
    _guard,
    _indexing,
    _kernels,
    _masks,
    _objects,
    _policy,
    _readonly,
    _storage,
)
from daskasc.array._dispatch import (
    MeetsTimes,
    NeedsHost,
    into,
    is_array,
    name_of,
    on_host,
    raise_numpys,
    target_of,
    with_times,
)
from daskasc.array._dtypes import COMPLEX, FLOATS, NUMPY, cast, torch
from daskasc.array._elementwise import COMPLEX_OPERATOR, ROOT_OPERATOR
from daskasc.array._out import written
from daskasc.array._storage import from_numpy, wrap
from daskasc.device import observer

Operator = Callable[[Any, Any], Any]
_SCALARS = _kernels.SCALARS
_SMALL = _storage.SMALL
_new = object.__new__
_HOST = (np.ndarray, np.generic, bool, list, tuple)
# torch computes 2 * x as x * 2 itself
_COMMUTE = (np.add, np.multiply)


def accepts(value: Any, cls: Any) -> bool:
    """Whether an operand is for this package to handle."""
    kind = type(value)
    if kind is cls or kind in _SCALARS or kind in (np.ndarray, bool, list, tuple):
        return True
    if _masks.is_masked(value):
        _masks.plain(value)  # names the remedy, which NumPy's "no implementation" would not
        return True
    if isinstance(value, np.ndarray) and kind.__array_ufunc__ is np.ndarray.__array_ufunc__:
        raise TypeError(
            f"a {kind.__name__} beside an array on a card: only plain NumPy arrays go to the card; "
            "pass numpy.asarray(...) of it"
        )
    return isinstance(value, np.generic)


def apply(
    ufunc: np.ufunc, operands: tuple[Any, ...], dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Result array(s) of a ufunc on operands that :func:`accepts` accepts."""
    if (who := observer.active) is not None:
        return who.run(name_of(ufunc), _apply, (ufunc, operands, dtype, casting), {})
    return _apply(ufunc, operands, dtype, casting)


def _apply(ufunc: np.ufunc, operands: tuple[Any, ...], dtype: Any, casting: str) -> Any:
    tensors: list[Any] = []
    types: list[Any] = []
    try:
        for value in operands:
            kind = type(value)
            if kind in _SCALARS:
                tensors.append(value)
                types.append(kind)
                continue
            tensor = value._t if hasattr(value, "_t") else from_numpy(value)._t
            tensors.append(tensor)
            types.append(NUMPY[tensor.dtype])
    except MeetsTimes:
        kwargs = {} if dtype is None else {"dtype": dtype}
        return with_times(ufunc, operands, {**kwargs, "casting": casting})
    found = _kernels.kernel(ufunc, tuple(types), dtype, casting)
    why: NeedsHost | None = None
    if found is None:
        why = _kernels.missing(ufunc, tuple(types), dtype, casting)
    else:
        if all(isinstance(kind, type) for kind in types):
            tensors = [from_numpy(value)._t for value in tensors]
        try:
            result = found(*tensors)
        except NeedsHost as reason:
            why = _guard.bare(reason)
        except RuntimeError as error:
            raise_numpys(error, tensors)
            raise
        else:
            return tuple(map(wrap, result)) if isinstance(result, tuple) else wrap(result)
    kwargs = {} if dtype is None else {"dtype": dtype}
    if casting != "same_kind":
        kwargs["casting"] = casting
    result = on_host(name_of(ufunc), ufunc, operands, kwargs, why)
    return result if dtype is not None else _policy.narrowed(result)


def power() -> Operator:
    """Operator ``**``; squares and roots of floating-point arrays by their own ufuncs, as NumPy."""
    general, square, root = binary(np.power), unary(np.square), unary(np.sqrt)
    own = {2: square, 0.5: root, -1: unary(np.reciprocal), 1: unary(np.positive)}
    squares = _kernels.table()

    def operator(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is int or kind is float:
            dtype = self._d
            if other == 2:
                if dtype in squares:
                    tensor = self._t
                    array = _new(_storage.array_class)
                    array._d = dtype
                    array._t = tensor = squares[dtype](tensor, tensor)
                    if _storage.accounts is not None and tensor.nbytes >= _SMALL:
                        _storage.account(array)
                    return array
                if dtype in FLOATS or (dtype is torch.bool and kind is int):
                    return first_square(self)  # of bool int8, as in NumPy
            elif other == 0.5 and dtype in ROOT_OPERATOR:
                return root(self)
            if dtype in COMPLEX and (kind, other) in COMPLEX_OPERATOR:
                return own[other](self)
        return general(self, other)

    def first_square(self: Any) -> Any:
        """Square by the ufunc; the next ones by torch itself, where that is all there is to it."""
        product = _kernels.kernel(np.multiply, (self.dtype, self.dtype))
        if product is torch.mul and self._d in FLOATS:
            _kernels.remember(squares, self._d, product, product)
        return square(self)

    operator.__doc__ = general.__doc__
    return operator


def multiply(reflected: bool = False) -> Operator:
    """Operator ``*``: an integer without axes repeats lists and tuples, as NumPy's scalars do."""
    return binary(np.multiply, reflected, repeats=True)


def binary(ufunc: np.ufunc, reflected: bool = False, repeats: bool = False) -> Operator:
    """Operator method of a two-operand ufunc; `reflected` for ``__radd__`` and the like.

    `repeats` leaves lists and tuples beside an integer without axes to Python.
    """
    table = _kernels.table()
    compares = ufunc in _objects.COMPARISONS

    # the way of a hit, and storage.wrap, written out: calls and lookups are what it costs
    def operator(self: Any, other: Any) -> Any:
        cls = type(self)
        try:
            if type(other) is cls:
                found, dtype = table[self._d][other._d]
                array = _new(_storage.array_class)
                array._t = made = found(self._t, other._t)
            else:
                found, dtype = table[self._d][type(other)]
                array = _new(_storage.array_class)
                array._t = made = found(self._t, other)
        except KeyError:
            return miss(self, other)
        except RuntimeError as error:
            raise_numpys(error, (other, self) if reflected else (self, other))
            raise
        array._d = dtype or made.dtype
        if _storage.accounts is not None and made.nbytes >= _SMALL:
            _storage.account(array)
        return array

    def miss(self: Any, other: Any) -> Any:
        if repeats and type(other) in (list, tuple) and not self._t.ndim:
            if self.dtype.kind in "iu":
                return NotImplemented  # Python then asks for __index__
        if not accepts(other, type(self)):
            return _objects.compare(ufunc, self, other, reflected) if compares else NotImplemented
        operands = (other, self) if reflected else (self, other)
        if compares and isinstance(other, np.ndarray | np.generic):
            return _objects.compare_host(ufunc, other, operands, apply)
        result = apply(ufunc, operands)
        kind = type(other)
        if ufunc.nout == 1 and (kind is type(self) or kind in _SCALARS):
            learn(self, other, kind, result)
        return result

    def learn(self: Any, other: Any, kind: Any, result: Any) -> None:
        """Remember the kernel, and the dtype of what it gives."""
        theirs, key = (NUMPY[other._d], other._d) if kind is type(self) else (kind, kind)
        ours = NUMPY[self._d]
        swaps = reflected and not (kind in _SCALARS and ufunc in _COMMUTE)
        found = _kernels.kernel(ufunc, (theirs, ours) if swaps else (ours, theirs))
        if found is not None:
            row = table.setdefault(self._d, {})
            entry = (_swapped(found) if swaps else found, _kernels.dtype_of(found, result._t))
            _kernels.remember(row, key, entry, found)

    operator.table = table  # type: ignore[attr-defined]
    operator.__name__ = f"__{'r' if reflected else ''}{ufunc.__name__}__"
    turned = ", the operands in the other order" if reflected else ""
    operator.__doc__ = f"As :data:`numpy.{ufunc.__name__}`{turned}."
    return operator


def _swapped(kernel: Callable[..., Any]) -> Operator:
    return lambda tensor, operand: kernel(operand, tensor)


def unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    """Operator method of a one-operand ufunc."""
    table = _kernels.table()

    def operator(self: Any) -> Any:
        try:
            found, dtype = table[self._d]
        except KeyError:
            return miss(self)
        array = _new(_storage.array_class)
        array._t = made = found(self._t)
        array._d = dtype or made.dtype
        if _storage.accounts is not None and made.nbytes >= _SMALL:
            _storage.account(array)
        return array

    def miss(self: Any) -> Any:
        result = apply(ufunc, (self,))
        found = _kernels.kernel(ufunc, (NUMPY[self._d],))
        if found is not None and ufunc.nout == 1:
            entry = (found, _kernels.dtype_of(found, result._t))
            _kernels.remember(table, self._d, entry, found)
        return result

    operator.table = table  # type: ignore[attr-defined]
    operator.__name__ = f"__{ufunc.__name__}__"
    operator.__doc__ = f"As :data:`numpy.{ufunc.__name__}`."
    return operator


def in_place(ufunc: np.ufunc, plain: Operator | None = None) -> Operator:
    """Operator method that stores into the array itself, under NumPy's same-kind rule.

    `plain` is the operator that computes what is stored, where that is not the ufunc alone.
    """

    @observer.observed(f"{name_of(ufunc)} in place")
    def operator(self: Any, other: Any) -> Any:
        # times are for the loop's casting rule to refuse
        numbers = accepts(other, type(self))
        if not numbers and not is_array(other):
            return NotImplemented
        origin = _readonly.origin(self._t)
        if origin is not None:
            return through(self, other, numbers, *origin)
        self._check_writable()
        if numbers and written(ufunc, (self, other), self):
            return self
        return store(ufunc, result(self, other, numbers), self)

    def result(array: Any, other: Any, numbers: bool) -> Any:
        return plain(array, other) if plain and numbers else apply(ufunc, (array, other))

    def through(self: Any, other: Any, numbers: bool, view: Any, axes: tuple[int, ...]) -> Any:
        """Operate on what a reversed copy stands for, and renew the copy; ``x[::-1] += 1``."""
        array = wrap(_indexing.flip(view, axes))
        store(ufunc, result(array, array if other is self else other, numbers), array)
        view.copy_(_indexing.flip(array._t, axes))
        self._t.copy_(array._t)
        return self

    operator.__doc__ = f"As :data:`numpy.{ufunc.__name__}`, stored into the array itself."
    return operator


def store(ufunc: np.ufunc, result: Any, out: Any, casting: str = "same_kind") -> Any:
    """Copy a ufunc's result into `out` if the casting rule allows, and return `out`."""
    if not is_array(out):
        return into(out, result)
    check_output(ufunc.__name__, result.dtype, out.dtype, casting)
    if np.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the "
            f"broadcast shape {np.broadcast_shapes(result.shape, out.shape)}"
        )
    if "M" in (kinds := result.dtype.kind + out.dtype.kind) or "m" in kinds:
        return into(out, result.astype(out.dtype, copy=False))
    return into(out, wrap(cast(result._t, out._t.dtype)))


def check_output(name: str, result: Any, out: Any, casting: str = "same_kind") -> None:
    """Raise NumPy's TypeError where a result's dtype may not be cast to that of ``out=``."""
    if not can_cast(result, out, casting):
        raise TypeError(
            f"Cannot cast ufunc '{name}' output from {result!r} to {out!r} with casting rule "
            f"'{casting}'"
        )


def stored(name: str, result: Any, out: Any, casting: str = "same_kind") -> Any:
    """What a function with ``out=`` gives: the result, or `out`, if the casting rule allows."""
    if out is None:
        return result
    target = target_of(out)
    check_output(name, result.dtype, target.dtype, casting)
    return into(target, result)


def can_cast(source: np.dtype[Any], target: np.dtype[Any], casting: str) -> bool:
    """NumPy's can_cast, with bfloat16 as a float between float16 and float32."""
    if source == target:
        return True
    if "bfloat16" in (source.name, target.name):
        half = np.dtype("f2")
        source = half if source.name == "bfloat16" else source
        target = half if target.name == "bfloat16" else target
    return np.can_cast(source, target, casting=casting)  # type: ignore[arg-type]

"""ufuncs on times: NumPy's loops for datetime64 and timedelta64, on int64 tensors.

``ufunc.resolve_dtypes`` knows NumPy's rules: which combinations have a loop, in which units the
operands meet, and the dtype of the result. A row of ``ROWS`` computes one loop on the operands'
ticks, which arrive in those units. It is found by the ufunc's name and the kinds of the loop's
operands (``t`` times, ``q`` integers, ``d`` floating point, ``?`` bool), or by the name alone.

NaT is the least integer. Hence ``min``, ``fmax`` and the test whether both sides are NaT at once
come out right on the bare integers; the rest asks for NaT where NumPy does. For the other extremes
``ticks - 1`` wraps NaT to the greatest integer and keeps every other order.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _dispatch, _objects, _operators
from daskasc.array._dispatch import NeedsHost, implements_for_times, is_array
from daskasc.array._dtypes import cast, result, safe_rule, torch, torch_dtype
from daskasc.array._storage import wrap, wrap_times
from daskasc.array._times_convert import host, operand, truncated
from daskasc.array._times_units import NAT, is_nat

Row = Callable[..., Any]
_SCALARS = (int, float, complex)


def _keep(found: Any, *times: Any) -> Any:
    """NaT where one of the operands is; `found` is new and written into."""
    nat = functools.reduce(operator.or_, map(is_nat, times))
    return found.masked_fill_(nat, NAT)


def last(ticks: Any) -> Any:
    """Keys in whose order NaT is last; :func:`unlast` undoes it."""
    return ticks - 1


def unlast(keys: Any) -> Any:
    """Ticks of keys."""
    return keys + 1


def _kept(function: Row) -> Row:
    def row(a: Any, b: Any) -> Any:
        return _keep(function(a, b), a, b)

    return row


def _multiply_number(a: Any, b: Any) -> Any:
    return _keep(truncated(a.to(b.dtype) * b), a)


def _divide_number(a: Any, b: Any) -> Any:
    return _keep(truncated(a.to(b.dtype) / b), a)


def _divide_integer(a: Any, b: Any) -> Any:
    # towards zero for // as well, as in NumPy; NaT / -1 would trap
    safe = a.masked_fill(is_nat(a), 0)
    found = torch.div(safe, b.masked_fill(b == 0, 1), rounding_mode="trunc")
    return _keep(found.masked_fill(b == 0, NAT), a)


def _ratio(a: Any, b: Any) -> Any:
    working = torch_dtype(result(np.dtype("f8")))
    return (a.to(working) / b.to(working)).masked_fill(is_nat(a) | is_nat(b), math.nan)


def _divisible(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Operands without what has no quotient, and where that was."""
    without = is_nat(a) | is_nat(b) | (b == 0)
    return a.masked_fill(is_nat(a), 0), b.masked_fill(without, 1), without


def _floor_ratio(a: Any, b: Any) -> Any:
    a, b, without = _divisible(a, b)
    return torch.div(a, b, rounding_mode="floor").masked_fill(without, 0)


def _remainder(a: Any, b: Any) -> Any:
    a, b, without = _divisible(a, b)
    return torch.remainder(a, b.masked_fill(b == -1, 1)).masked_fill(without, NAT)


def _compare(function: Row, first: bool) -> Row:
    """A comparison that is False where the operand that could win it as NaT is NaT."""

    def row(a: Any, b: Any) -> Any:
        return function(a, b) & ~is_nat(a if first else b)

    return row


ROWS: dict[str, Row] = {
    "add": _kept(torch.add),
    "subtract": _kept(torch.sub),
    "multiply:tq": lambda a, b: _keep(a * b, a),
    "multiply:qt": lambda a, b: _keep(a * b, b),
    "multiply:td": _multiply_number,
    "multiply:dt": lambda a, b: _multiply_number(b, a),
    "divide:tq": _divide_integer,
    "divide:td": _divide_number,
    "divide:tt": _ratio,
    "floor_divide:tq": _divide_integer,
    "floor_divide:td": _divide_number,
    "floor_divide:tt": _floor_ratio,
    "remainder:tt": _remainder,
    "divmod:tt": lambda a, b: (_floor_ratio(a, b), _remainder(a, b)),
    "negative": torch.neg,
    "positive": torch.clone,
    "absolute": torch.abs,
    "sign": torch.sign,
    "isnat": is_nat,
    "isnan": is_nat,
    "isfinite": lambda a: ~is_nat(a),
    "isinf": lambda a: torch.zeros_like(a, dtype=torch.bool),
    "equal": _compare(torch.eq, True),
    "not_equal": lambda a, b: torch.ne(a, b) | is_nat(a),
    "less": _compare(torch.lt, True),
    "less_equal": _compare(torch.le, True),
    "greater": _compare(torch.gt, False),
    "greater_equal": _compare(torch.ge, False),
    "minimum": torch.minimum,
    "maximum": lambda a, b: unlast(torch.maximum(last(a), last(b))),
    "fmin": lambda a, b: unlast(torch.minimum(last(a), last(b))),
    "fmax": torch.maximum,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
_LETTERS = {"m": "t", "M": "t", "b": "?", "f": "d"}


@functools.lru_cache(maxsize=4096)
def _loop(
    ufunc: np.ufunc, types: tuple[Any, ...], casting: Any
) -> tuple[Row | None, tuple[np.dtype[Any], ...]]:
    """Row and dtypes of NumPy's loop; raises NumPy's TypeError where it has none."""
    unset = (None,) * ufunc.nout
    dtypes = tuple(ufunc.resolve_dtypes((*types, *unset), casting=safe_rule(casting, types, ufunc)))
    letters = "".join(_LETTERS.get(dtype.kind, "q") for dtype in dtypes[: ufunc.nin])
    name = ufunc.__name__
    return ROWS.get(f"{name}:{letters}") or ROWS.get(name), dtypes


def _type(value: Any) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return kind
    return value.dtype if is_array(value) else np.asarray(value).dtype.newbyteorder("=")


def apply(
    ufunc: np.ufunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    **kwargs: Any,
) -> Any:
    """Result of a ufunc some of whose operands are times."""
    if kwargs:  # dtype, signature, axis, ...
        if where is not True:
            raise TypeError(f"where= next to {', '.join(kwargs)}= is not supported for times")
        raise NeedsHost(ufunc.__name__)
    types = tuple(map(_type, inputs))
    if not any(isinstance(kind, np.dtype) and kind.kind in "mM" for kind in types):
        found = _operators.apply(ufunc, inputs, casting=casting)  # only `out` is of times
        arrays = found if isinstance(found, tuple) else (found,)
    else:
        arrays = _computed(ufunc, inputs, types, casting)
    if out is not None:
        targets = out if isinstance(out, tuple) else (out,)
        arrays = tuple(
            part if target is None else _store(ufunc, part, target, where, casting)
            for part, target in zip(arrays, targets, strict=True)
        )
    return arrays if ufunc.nout > 1 else arrays[0]


def _computed(
    ufunc: np.ufunc, inputs: tuple[Any, ...], types: tuple[Any, ...], casting: str
) -> tuple[Any, ...]:
    row, dtypes = _loop(ufunc, types, casting)
    if row is None:
        raise NeedsHost(ufunc.__name__)
    tensors = [operand(value, dtype) for value, dtype in zip(inputs, dtypes, strict=False)]
    try:
        found = row(*tensors)
    except RuntimeError as error:
        _dispatch.raise_numpys(error, tensors)
        raise
    parts = found if isinstance(found, tuple) else (found,)
    return tuple(
        _wrapped(part, dtype) for part, dtype in zip(parts, dtypes[ufunc.nin :], strict=True)
    )


def _wrapped(tensor: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "mM":
        return wrap_times(wrap(tensor), dtype)
    return wrap(cast(tensor, torch_dtype(result(dtype))))


def _store(ufunc: np.ufunc, part: Any, target: Any, where: Any, casting: str) -> Any:
    if where is not True and is_array(target):
        if not _operators.can_cast(part.dtype, target.dtype, casting):
            return _operators.store(ufunc, part, target, casting)
        part = np.where(where, part.astype(target.dtype), target)
    return _operators.store(ufunc, part, target, casting)


for _ufunc in {value for value in vars(np).values() if isinstance(value, np.ufunc)}:
    implements_for_times(_ufunc)(functools.partial(apply, _ufunc))


# -- operators


def binary(ufunc: np.ufunc, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Operator method of a two-operand ufunc for arrays of times."""

    def method(self: Any, other: Any) -> Any:
        if not _accepts(other):
            given = _objects.as_scalar_time(other)
            # pandas floors quotients to floats
            if given is None or ufunc in (np.floor_divide, np.divmod):
                return NotImplemented
            other = given
        return _dispatch.with_times(ufunc, (other, self) if reflected else (self, other), {})

    method.__name__ = f"__{'r' if reflected else ''}{ufunc.__name__}__"
    return method


def comparison(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """Operator method of a comparison; Python's ``datetime`` objects take part, as in NumPy."""
    equality = {"equal": operator.eq, "not_equal": operator.ne}.get(ufunc.__name__)

    def method(self: Any, other: Any) -> Any:
        if not _accepts(other):
            given = _objects.comparable_time(other, self.dtype)
            if given is None:
                return _objects.compare(ufunc, self, other)
            other = given
        if not is_array(other) and type(other) not in _SCALARS:
            other = host(other)
            if other.dtype.kind == "O":
                return _objects.compare_host(ufunc, other, (self, other), _dispatch.with_times)
        try:
            return _dispatch.with_times(ufunc, (self, other), {})
        except TypeError:
            if equality is None:
                raise
            theirs = other.dtype if is_array(other) else np.asarray(other).dtype
            # False or True where the two never compare, an error where NumPy raises one
            answer = equality(np.zeros(1, self.dtype), np.zeros(1, theirs))[0]
            shape = np.broadcast_shapes(self.shape, np.shape(other))
            return wrap(self._ticks._t.new_full(shape, bool(answer), dtype=torch.bool))

    method.__name__ = f"__{ufunc.__name__}__"
    return method


def _accepts(value: Any) -> bool:
    return is_array(value) or _operators.accepts(value, np.ndarray)


def in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """Operator method that stores into the array itself, under NumPy's same-kind rule."""
    plain = binary(ufunc)

    def method(self: Any, other: Any) -> Any:
        self._check_writable()
        if _objects.is_scalar_time(other):
            return NotImplemented  # x = x + other, in the units of the two, as in NumPy
        found = plain(self, other)
        if found is NotImplemented:
            return found
        return _operators.store(ufunc, found, self)

    return method


def unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    """Operator method of a one-operand ufunc."""

    def method(self: Any) -> Any:
        return _dispatch.with_times(ufunc, (self,), {})

    return method

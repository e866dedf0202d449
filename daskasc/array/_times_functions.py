"""What NumPy's functions do with times: rows of data over the functions of numbers.

Most functions only move elements, or compare them. They run on the ticks, and a :class:`Row` says
how operands become ticks and what the results are:

=============  ===================================================================================
``operands``   parameters that hold times; together they meet in NumPy's common dtype
``values``     parameters that are assigned to elements of the first operand, hence take its dtype
``order``      run on ``ticks - 1``, in whose order NaT is last
``result``     ``times``; ``first`` (of a tuple, the rest are numbers); ``numbers``; ``None``
``nats``       how many NaT the ticks may hold for the result to be right, as integers are equal to
               themselves; None: any number
=============  ===================================================================================

Functions of several arrays that do not meet (``atleast_1d``, ``meshgrid``) take the ticks of each.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from daskasc.array import _dispatch
from daskasc.array._dispatch import (
    TABLE,
    NeedsHost,
    implements_for_times,
    into,
    is_array,
)
from daskasc.array._reductions import NO
from daskasc.array._storage import from_numpy, wrap, wrap_times
from daskasc.array._times_convert import check_cast, holds_array, host, is_times, of_any
from daskasc.array._times_ufuncs import last, unlast
from daskasc.array._times_units import is_nat


class Row(NamedTuple):
    """How one function treats times; see the module's table."""

    operands: tuple[str, ...]
    values: tuple[str, ...] = ()
    order: bool = False
    result: str | None = "times"
    nats: int | None = None
    casting: str = "same_kind"


def _rows() -> dict[str, Row]:
    moving = """
    a: amax reshape ravel transpose permute_dims swapaxes moveaxis rollaxis squeeze expand_dims
    a: repeat roll resize take diagonal copy
    x: matrix_transpose unstack astype nan_to_num
    m: flip fliplr flipud rot90 tril triu
    v: diag diagflat
    A: tile
    ary: array_split split hsplit vsplit dsplit
    array: broadcast_to
    arr: take_along_axis delete extract
    filt: trim_zeros
    """
    rows: dict[str, Row] = {}
    for line in moving.strip().splitlines():
        parameter, _, names = line.partition(":")
        rows.update({name: Row((parameter.strip(),)) for name in names.split()})
    del rows["amax"], rows["astype"]
    rows["compress"] = Row(("a",))
    numbers = """
    a: shape ndim size nonzero flatnonzero argwhere count_nonzero any all isfortran
    x: isreal iscomplex isrealobj iscomplexobj
    """
    for line in numbers.strip().splitlines():
        parameter, _, names = line.partition(":")
        rows.update({n: Row((parameter.strip(),), result="numbers") for n in names.split()})
    for names, operands in (
        ("concatenate concat stack", ("arrays",)),
        ("vstack hstack dstack column_stack", ("tup",)),
        ("block", ("arrays",)),
        ("append", ("arr", "values")),
        ("where", ("x", "y")),
        ("select", ("choicelist", "default")),
        ("choose", ("choices",)),
    ):
        rows.update(
            {
                name: Row(operands, casting="unsafe" if name == "where" else "same_kind")
                for name in names.split()
            }
        )
    rows["insert"] = Row(("arr",), ("values",))
    for name, target, value in (
        ("put", "a", "v"),
        ("place", "arr", "vals"),
        ("putmask", "a", "values"),
        ("put_along_axis", "arr", "values"),
        ("fill_diagonal", "a", "val"),
    ):
        casting = "safe" if name == "putmask" else "same_kind"
        rows[name] = Row((target,), (value,), result=None, casting=casting)
    rows.update(
        sort=Row(("a",), order=True),
        partition=Row(("a",), order=True),
        argsort=Row(("a",), order=True, result="numbers"),
        argpartition=Row(("a",), order=True, result="numbers"),
        searchsorted=Row(("a", "v"), order=True, result="numbers"),
        union1d=Row(("ar1", "ar2"), order=True),
        unique=Row(("ar",), order=True, result="first"),
        unique_values=Row(("x",), order=True, nats=1),
        unique_all=Row(("x",), order=True, result="first", nats=1),
        unique_counts=Row(("x",), order=True, result="first", nats=1),
        unique_inverse=Row(("x",), order=True, result="first", nats=1),
    )
    return rows


ROWS = _rows()


@functools.cache
def _signature(function: Any) -> inspect.Signature:
    return inspect.signature(TABLE[function])


def run(function: Any, row: Row, *args: Any, **kwargs: Any) -> Any:
    """Run a function of numbers on the ticks of times."""
    signature = _signature(function)
    bound = signature.bind(*args, **kwargs)
    given = bound.arguments
    for name in row.operands:  # the default of select takes part in the common dtype
        if name not in given and signature.parameters[name].default not in (None, NO):
            given[name] = signature.parameters[name].default
    out = given.pop("out", None)
    operands = {name: given[name] for name in row.operands if name in given}
    if row.values:
        dtype = _target(next(iter(operands.values())))
    elif given.get("dtype") is not None:
        dtype = np.dtype(given.pop("dtype"))
        if dtype.kind not in "mM":
            raise NeedsHost("times as another dtype")
    else:
        dtype = joint(operands.values())
    casting = given.pop("casting", None) or row.casting
    for name, value in operands.items():
        ticks = _lowered(value, dtype, casting)
        if row.nats is not None and int(is_nat(ticks._t).sum()) > row.nats:
            raise NeedsHost("NaT among distinct values")
        given[name] = _mapped(lambda t: wrap(last(t._t)), ticks) if row.order else ticks
    for name in row.values:
        if name in given:
            given[name] = _assigned(given[name], dtype, row.casting)
    found = _dispatch.call(function, bound.args, bound.kwargs)
    if row.result in ("times", "first"):
        raised = functools.partial(_raised, dtype=dtype, order=row.order)
        if row.result == "times" or not isinstance(found, tuple):
            found = _mapped(raised, found)
        else:
            parts = (raised(found[0]), *found[1:])
            found = type(found)(*parts) if hasattr(found, "_fields") else parts
    return into(out, found)


def _assigned(value: Any, dtype: np.dtype[Any], casting: str) -> Any:
    given = getattr(value, "dtype", dtype)
    if casting == "safe" and given.kind in "mM":
        check_cast(given, dtype, casting)
    return of_any(value, dtype)


def _target(value: Any) -> np.dtype[Any]:
    """Dtype of the array that a function writes into or inserts into."""
    if not is_times(value):
        raise NeedsHost("times into an array of numbers")
    return value.dtype


def _raised(value: Any, dtype: np.dtype[Any], order: bool) -> Any:
    return wrap_times(wrap(unlast(value._t)) if order else value, dtype)


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to the arrays in nested tuples and lists."""
    if is_array(value):
        return function(value)
    if isinstance(value, list | tuple):
        return type(value)([_mapped(function, item) for item in value])
    return value


def joint(values: Any) -> np.dtype[Any]:
    """NumPy's common dtype of operands, which is one of times.

    Raises
    ------
    TypeError
        NumPy has none, or may not cast an operand to it.
    """
    types: list[Any] = []

    def visit(value: Any) -> None:
        if is_array(value):
            types.append(value.dtype)
        elif isinstance(value, list | tuple) and (holds_array(value) or _ragged(value)):
            for item in value:
                visit(item)
        elif type(value) in (int, float, complex):
            types.append(value)
        elif value is not None:
            types.append(np.asarray(value).dtype)

    for value in values:
        visit(value)
    dtype: np.dtype[Any] = np.result_type(*types) if types else np.dtype(bool)
    if dtype.kind not in "mM":
        raise NeedsHost("times among other arguments")
    return dtype


def _ragged(value: Any) -> bool:
    """Whether a list holds NumPy arrays, which need not be of one shape."""
    return any(isinstance(item, np.ndarray | list | tuple) for item in value)


def _lowered(value: Any, dtype: np.dtype[Any], casting: str) -> Any:
    """Ticks of an operand, or of the operands in nested lists."""
    if isinstance(value, list | tuple) and (holds_array(value) or _ragged(value)):
        return [_lowered(item, dtype, casting) for item in value]
    if value is None or type(value) is int:
        return value
    given = value if is_array(value) else host(value)
    check_cast(given.dtype, dtype, casting)
    return of_any(given if is_array(given) else given.astype(dtype), dtype)


for _name, _row in ROWS.items():
    _function = getattr(np, _name)
    implements_for_times(_function)(functools.partial(run, _function, _row))
for _function in (
    np.linalg.diagonal,
    np.linalg.matrix_transpose,
    np.lib.stride_tricks.sliding_window_view,
):
    implements_for_times(_function)(functools.partial(run, _function, Row(("x",))))


# -- each array on its own


def _ticks(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "mM":
        value = from_numpy(value)
    return value._ticks if is_times(value) else value


def _each(function: Any, *arrays: Any, **kwargs: Any) -> Any:
    found = _dispatch.call(function, tuple(map(_ticks, arrays)), kwargs)
    if len(arrays) == 1 and is_array(found):
        return _like(found, arrays[0])
    return tuple(map(_like, found, arrays))


def _like(found: Any, source: Any) -> Any:
    dtype = getattr(source, "dtype", np.dtype(bool))
    return wrap_times(found, dtype.newbyteorder("=")) if dtype.kind in "mM" else found


for _function in (
    np.atleast_1d,
    np.atleast_2d,
    np.atleast_3d,
    np.broadcast_arrays,
    np.meshgrid,
):
    implements_for_times(_function)(functools.partial(_each, _function))


@implements_for_times(np.may_share_memory)
def may_share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """As :func:`numpy.may_share_memory`."""
    return bool(_dispatch.call(np.may_share_memory, (_ticks(a), _ticks(b), max_work), {}))


@implements_for_times(np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """As :func:`numpy.shares_memory`."""
    return bool(_dispatch.call(np.shares_memory, (_ticks(a), _ticks(b), max_work), {}))


@implements_for_times(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """As :func:`numpy.lexsort`; each key in its own order, NaT last."""
    keys = [_ticks_in_order(key) for key in keys]
    return _dispatch.call(np.lexsort, (keys, axis), {})


def _ticks_in_order(key: Any) -> Any:
    ticks = _ticks(key)
    return ticks if ticks is key else wrap(last(ticks._t))


@implements_for_times(np.real)
def real(val: Any) -> Any:
    """As :func:`numpy.real`."""
    return val


@implements_for_times(np.imag)
def imag(val: Any) -> Any:
    """As :func:`numpy.imag`: zeros."""
    return val.imag


@implements_for_times(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """As :func:`numpy.astype`."""
    array = x if is_array(x) else _dispatch.call(np.asarray, (x,), {})
    return array.astype(dtype, copy=copy)


@implements_for_times(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """As :func:`numpy.result_type`."""
    return np.result_type(*(x.dtype if is_array(x) else x for x in arrays_and_dtypes))


@implements_for_times(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """As :func:`numpy.can_cast`."""
    return bool(np.can_cast(from_.dtype if is_array(from_) else from_, to, casting))


@implements_for_times(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> Any:
    """As :func:`numpy.min_scalar_type`: the dtype of times."""
    return a.dtype


# -- equality and membership


@implements_for_times(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """As :func:`numpy.array_equal`; waits for the card."""
    try:
        left, right = (x if is_array(x) else np.asarray(x) for x in (a1, a2))
    except ValueError:  # nested lists of no shape
        return False
    if left.shape != right.shape:
        return False
    same = left == right
    if equal_nan and left.dtype.kind in "mM" and right.dtype.kind in "mM":
        same = same | (np.isnat(left) & np.isnat(right))
    return bool(same.all())


@implements_for_times(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    """As :func:`numpy.array_equiv`; waits for the card."""
    try:
        left, right = (x if is_array(x) else np.asarray(x) for x in (a1, a2))
        np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        return False
    return bool((left == right).all())


@implements_for_times(np.isin)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    """As :func:`numpy.isin`; NaT is in nothing."""
    left, right = (x if is_array(x) else np.asarray(x) for x in (element, test_elements))
    try:
        dtype = joint((left, right))
    except TypeError:
        raise NeedsHost("isin of what never compares") from None
    if left.dtype.kind != right.dtype.kind and "M" in left.dtype.kind + right.dtype.kind:
        raise NeedsHost("isin of dates and differences")
    ticks = of_any(left, dtype)
    found = np.isin(ticks, of_any(right, dtype))
    found = found & wrap(~is_nat(ticks._t))
    return ~found if invert else found


# -- writing


@implements_for_times(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """As :func:`numpy.copyto`."""
    dtype = _target(dst)
    given = src if is_array(src) else np.asarray(src)
    check_cast(given.dtype, dtype, casting)
    _dispatch.call(np.copyto, (dst._ticks, of_any(src, dtype)), {"where": where})


_PADS = frozenset("constant edge empty reflect symmetric wrap".split())


@implements_for_times(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """As :func:`numpy.pad`; modes that compute go to the host."""
    if not isinstance(mode, str) or mode not in _PADS or not is_times(array):
        raise NeedsHost("pad mode")
    if "constant_values" in kwargs:
        values = kwargs["constant_values"]
        if (isinstance(values, list | tuple) and holds_array(values)) or is_array(values):
            ticks = of_any(values, array.dtype).asnumpy()
        else:
            ticks = np.asarray(values).astype(array.dtype).view(np.int64)
        kwargs["constant_values"] = ticks.tolist()
    return wrap_times(_dispatch.call(np.pad, (array._ticks, pad_width, mode), kwargs), array.dtype)

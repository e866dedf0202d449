"""Kernels: for one ufunc and the dtypes of its operands, one function of tensors.

Building a kernel joins NumPy's loop (promotion), the row of ``_elementwise`` and the dtypes that
torch has a kernel for; it is done once and remembered. Where torch lacks a dtype, the row runs

* on a view as the signed twin, where the bits come out the same (``WRAPPING``),
* on order-preserving int64 (``ORDERED``, for uint64),
* widened (uint16 to int32, uint32 to int64, bool to uint8, halves to float32) and cast back,

and where none of these is right there is no kernel: the caller goes to the host. Tables are
forgotten when the process takes or leaves a card, because cards differ in what they support.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _elementwise as rows
from daskasc.array import _guard, _numbers, _special, _unsigned
from daskasc.array._dispatch import MissingKernel, NeedsHost
from daskasc.array._division import BY_LARGE
from daskasc.array._dtypes import (
    COMPLEX,
    FLOATS,
    TWINS,
    WIDER,
    cast,
    check_integer,
    device_policy,
    flip_order,
    narrow,
    resolve,
    say_precision,
    torch,
    torch_dtype,
)
from daskasc.device import observer
from daskasc.errors import UnsupportedDTypeError

Kernel = Callable[..., Any]
SCALARS = (int, float, complex)

_cache: dict[Any, Kernel | None] = {}
_tables: list[dict[Any, Any]] = []
_lock = threading.RLock()
_trial = threading.local()
_WIDENED = {
    **WIDER,
    torch.bool: torch.uint8,
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
}
_HALVES = (torch.float16, torch.bfloat16)


def table() -> dict[Any, Any]:
    """Return a new kernel table that is emptied when the process's card changes."""
    fresh: dict[Any, Any] = {}
    with _lock:
        _tables.append(fresh)
    return fresh


def remember(known: dict[Any, Any], key: Any, entry: Any, kernel: Kernel) -> None:
    """Put `entry`, made of `kernel`, into a table, unless calls have to be seen on the slow way.

    The slow way catches kernels that ask for the host, and tells an observer of each call.
    """
    if getattr(kernel, "may_need_host", False):
        return
    with _lock:
        if observer.active is None:
            known[key] = entry


def dtype_of(kernel: Kernel, result: Any) -> Any:
    """Torch dtype of all that a kernel gives, as of `result`; None: by the policy at each call."""
    return None if getattr(kernel, "asks_policy", False) else result.dtype


def _empty_tables() -> None:
    with _lock:
        for known in _tables:
            known.clear()


def _forget() -> None:
    with _lock:
        _cache.clear()
        for known in _tables:
            known.clear()


device.on_change(_forget)
observer.on_install(_empty_tables)


def kernel(
    ufunc: np.ufunc, types: tuple[Any, ...], dtype: Any = None, casting: str = "same_kind"
) -> Kernel | None:
    """Kernel of a ufunc for operands of these NumPy dtypes or Python scalar types.

    Parameters
    ----------
    ufunc : numpy.ufunc
    types : tuple
        A dtype for an array operand; ``int``, ``float`` or ``complex`` for a Python scalar.
    dtype : numpy.dtype, optional
        The ufunc's ``dtype=`` argument.
    casting : str
        The ufunc's ``casting=`` argument, here for the operands.

    Returns
    -------
    callable or None
        Takes tensors and Python scalars, returns a tensor (or a tuple); None: only on the host.

    Raises
    ------
    TypeError
        NumPy has no loop for these operands, or does not cast them to it.
    """
    key = (ufunc, types, dtype, casting)
    try:
        return _cache[key]
    except KeyError:
        pass
    with _lock:
        _cache[key] = found = _with_policy(ufunc, types, dtype, casting)
    return found


def missing(
    ufunc: np.ufunc, types: tuple[Any, ...], dtype: Any, casting: str
) -> MissingKernel | None:
    """Kernel for want of which :func:`kernel` found nothing, by the table of the card."""
    if not device.current().restricts:
        return None
    _trial.missing = None
    _build(ufunc, types, resolve(ufunc, types, dtype, casting))
    reason: MissingKernel | None = _trial.missing
    return reason


def _with_policy(
    ufunc: np.ufunc, types: tuple[Any, ...], dtype: Any, casting: str
) -> Kernel | None:
    loop = resolve(ufunc, types, dtype, casting)
    exact = _build(ufunc, types, loop)
    if exact is not None and device.current().restricts and ufunc.__name__ in BY_LARGE:
        exact = _in_need_of_the_host(exact)
    narrowed = narrow(loop)
    if dtype is not None or narrowed[ufunc.nin :] == loop[ufunc.nin :]:
        return exact
    low = _build(ufunc, types, narrowed)

    def by_policy(*operands: Any) -> Any:
        if device_policy() and low is not None:
            say_precision()
            return low(*operands)
        if exact is None:
            raise missing(ufunc, types, dtype, casting) or NeedsHost(ufunc.__name__)
        return exact(*operands)

    by_policy.may_need_host = getattr(exact, "may_need_host", exact is None)  # type: ignore[attr-defined]
    by_policy.asks_policy = True  # type: ignore[attr-defined]
    return by_policy


def _in_need_of_the_host(kernel: Kernel) -> Kernel:
    """Mark a kernel that the card may turn out to lack a part of, by the elements that it meets."""

    def marked(*operands: Any) -> Any:
        return kernel(*operands)

    marked.may_need_host = True  # type: ignore[attr-defined]
    return marked


def _build(ufunc: np.ufunc, types: tuple[Any, ...], loop: tuple[Any, ...]) -> Kernel | None:
    found = _row(ufunc)
    if found is None:
        return None
    name, row = found
    try:
        ins = tuple(torch_dtype(d) for d in loop[: ufunc.nin])
        outs = tuple(torch_dtype(d) for d in loop[ufunc.nin :])
    except UnsupportedDTypeError:
        return None
    backend = device.current()
    for kind in loop[: ufunc.nin]:
        if not backend.supports(name, kind.name):
            _trial.missing = MissingKernel(name, kind.name)
            return None
    if ins[0] not in COMPLEX:
        row = (rows.FLOAT_ROWS if ins[0] in FLOATS else rows.REAL_ROWS).get(name, row)
    if name == "power" and ins[0] in rows.ROOT_POWER:
        row = rows.root_or_power
    core = _core(name, row, ins, outs)
    if core is None:
        return None
    # by class: np.dtype('f8') == float is True
    places = [i for i, kind in enumerate(types) if isinstance(kind, type)]
    if places:
        return _with_scalars(name, core, ins, outs, places, types, loop)
    if all(given == wanted for given, wanted in zip(types, loop, strict=False)):
        return core
    if len(ins) == 1:
        only = ins[0]
        return lambda a: core(cast(a, only))
    if len(ins) == 2:
        first, second = ins
        return lambda a, b: core(cast(a, first), cast(b, second))
    return lambda *operands: core(*(cast(t, d) for t, d in zip(operands, ins, strict=True)))


def _row(ufunc: np.ufunc) -> tuple[str, Kernel] | None:
    name = rows.NAMES.get(ufunc)
    return _special.find(ufunc) if name is None else (name, rows.ROWS[name])


def _core(name: str, row: Kernel, ins: tuple[Any, ...], outs: tuple[Any, ...]) -> Kernel | None:
    """Return a row for tensors of exactly the loop's dtypes, or None."""
    if any(d in TWINS for d in ins):
        if len(set(ins)) > 1 and name != "ldexp":
            mixed = _unsigned.MIXED.get(name)  # NumPy's own loops for int64 against uint64
            return None if mixed is None else _checked(mixed, ins, outs)
        dtype = ins[0]
        if name in rows.WRAPPING:
            return _checked(_on_twins(row, TWINS[dtype]), ins, outs)
        if dtype is torch.uint64 and name in _unsigned.ROWS:
            return _checked(_unsigned.ROWS[name], ins, outs)
        if dtype is torch.uint64 and name in rows.ORDERED | rows.ORDERED_VALUES:
            return _checked(_on_flipped(row), ins, outs)
        if dtype in WIDER:
            return _checked(_on_wider(row, ins), ins, outs)
    found = _checked(row, ins, outs)
    if found is None and name not in rows.OWN_GRID and any(d in _WIDENED for d in ins):
        found = _checked(_on_wider(row, ins), ins, outs)
    return found


def _checked(row: Kernel, ins: tuple[Any, ...], outs: tuple[Any, ...]) -> Kernel | None:
    """Try a row on one element; add casts where its result has another dtype than NumPy's."""
    place = device.current().torch_device
    samples = [torch.ones(1, dtype=torch.bool, device=place).to(d) for d in ins]
    try:
        with _guard.strict():
            result = row(*samples)
    except MissingKernel as reason:
        _trial.missing = _guard.bare(reason)
        return None
    except (RuntimeError, NotImplementedError, NeedsHost):
        return None
    if len(outs) == 1:
        only = outs[0]
        return row if result.dtype is only else lambda *x: _as_output(row(*x), only)
    if all(part.dtype is wanted for part, wanted in zip(result, outs, strict=True)):
        return row
    return lambda *x: tuple(_as_output(p, d) for p, d in zip(row(*x), outs, strict=True))


def _as_output(tensor: Any, dtype: Any) -> Any:
    if dtype in TWINS and tensor.dtype is TWINS[dtype]:
        return tensor.view(dtype)
    return cast(tensor, dtype)


def _on_twins(row: Kernel, signed: Any) -> Kernel:
    return lambda *x: row(*(t.view(signed) for t in x))


def _on_flipped(row: Kernel) -> Kernel:
    def flipped(*operands: Any) -> Any:
        result = row(*(flip_order(t) for t in operands))
        return result if result.dtype is torch.bool else flip_order(result).view(torch.uint64)

    return flipped


def _on_wider(row: Kernel, ins: tuple[Any, ...]) -> Kernel:
    wide = tuple(_WIDENED.get(d, d) for d in ins)
    return lambda *x: row(*(t.to(d) for t, d in zip(x, wide, strict=True)))


# -- Python scalars


def _with_scalars(
    name: str,
    core: Kernel,
    ins: tuple[Any, ...],
    outs: tuple[Any, ...],
    places: list[int],
    types: tuple[Any, ...],
    loop: tuple[Any, ...],
) -> Kernel:
    """Kernel whose operands at `places` are Python scalars, converted as NumPy does."""
    if len(ins) == 2 and len(places) == 1:
        direct = _direct(name, ins, places[0], types, loop)
        if direct is not None:
            return direct

    def with_scalars(*operands: Any) -> Any:
        like = next(x for x in operands if isinstance(x, torch.Tensor))
        tensors = [
            scalar_tensor(x, loop[i], like.device) if i in places else cast(x, ins[i])
            for i, x in enumerate(operands)
        ]
        return core(*tensors)

    if name == "power" and ins[0] in rows.ROOT_POWER and places == [1]:

        def power_of(tensor: Any, exponent: Any) -> Any:
            if exponent == 0.5:
                return torch.sqrt(cast(tensor, ins[0]))
            # with an axis it is known not to be one half
            known = scalar_tensor(exponent, loop[1], tensor.device).view(1)
            return core(cast(tensor, ins[0]), known).reshape(tensor.shape)

        return power_of

    if name in BY_LARGE and ins[0] in FLOATS and places == [1]:
        by_large = _core(name, BY_LARGE[name], ins, outs) or core

        def divided_by(tensor: Any, divisor: Any) -> Any:
            chosen = by_large if abs(divisor) >= 1 else core
            known = scalar_tensor(divisor, loop[1], tensor.device)
            return chosen(cast(tensor, ins[0]), known)

        return divided_by

    # next to a bool array a Python integer has to fit int64, as in NumPy
    if name in rows.COMPARISONS and loop[0].kind in "iu" and not _beside_bool(types):
        return _integer_comparison(name, with_scalars, places[0], loop[0])
    return with_scalars


def _beside_bool(types: tuple[Any, ...]) -> bool:
    return any(isinstance(kind, np.dtype) and kind.kind == "b" for kind in types)


def _direct(
    name: str, ins: tuple[Any, ...], place: int, types: tuple[Any, ...], loop: tuple[Any, ...]
) -> Kernel | None:
    """Hand the scalar to torch as it is, where that gives NumPy's bits."""
    row = rows.SCALAR_ROWS.get(name)
    dtype = ins[0]
    if row is None or dtype in TWINS or dtype in _HALVES or dtype is torch.bool:
        return None
    # complex sums are formed with a multiplication that makes NaN of infinities
    if loop[0].kind == "c" and (name in ("add", "subtract") or name in rows.ORDERED):
        return None
    numpy_dtype = loop[0]
    restricts = device.current().restricts
    if types[1 - place] == numpy_dtype and numpy_dtype.kind in "iuf" and not restricts:
        chosen = _beside(row, _numbers.keeper(numpy_dtype), place)
        if name in rows.COMPARISONS and numpy_dtype.kind != "f":
            return _integer_comparison(name, chosen, place, numpy_dtype)
        return chosen
    # torch computes number / tensor as number * (1 / tensor)
    if name == "divide" and place == 0:
        return None
    convert: Any = {"f": float, "c": complex}.get(numpy_dtype.kind, int)

    def left(scalar: Any, tensor: Any) -> Any:
        if convert is int:
            check_integer(scalar, numpy_dtype)
        return row(convert(scalar), cast(tensor, dtype))

    def right(tensor: Any, scalar: Any) -> Any:
        if convert is int:
            check_integer(scalar, numpy_dtype)
        return row(cast(tensor, dtype), convert(scalar))

    chosen = left if place == 0 else right
    if name in rows.COMPARISONS and convert is int and not _beside_bool(types):
        return _integer_comparison(name, chosen, place, numpy_dtype)
    return chosen


def _beside(row: Kernel, number: Callable[[Any], Any], place: int) -> Kernel:
    """Row of a tensor and a Python number at `place`, as the tensor that stands for it."""
    if place == 0:
        return lambda scalar, tensor: row(number(scalar), tensor)
    return lambda tensor, scalar: row(tensor, number(scalar))


def _integer_comparison(name: str, inner: Kernel, place: int, dtype: np.dtype[Any]) -> Kernel:
    """Compare with Python integers of any size, also those that the dtype cannot hold."""
    limits = np.iinfo(dtype)

    def compare(*operands: Any) -> Any:
        scalar = operands[place]
        if limits.min <= scalar <= limits.max:
            return inner(*operands)
        tensor = operands[1 - place]
        # whatever the elements, they lie on one side of the scalar
        sides = (scalar, 0) if place == 0 else (0, scalar)
        answer = bool(rows.SCALAR_ROWS[name](*sides))
        return torch.full(tensor.shape, answer, dtype=torch.bool, device=tensor.device)

    return compare


def scalar_tensor(value: Any, dtype: np.dtype[Any], place: Any) -> Any:
    """0-d tensor of a Python scalar, converted by NumPy's rules for weak scalars."""
    if dtype.kind in "iu":
        check_integer(value, dtype)
    elif dtype.kind == "b" and type(value) is int:
        check_integer(value, np.dtype("i8"))  # as NumPy does before it asks for the truth
    elif dtype.kind in "fcV":
        # by way of the widest dtype: what is too large for a narrower one is an infinity
        wide = complex(value) if dtype.kind == "c" else float(value)
        widest = torch.complex128 if dtype.kind == "c" else torch.float64
        return cast(torch.tensor(wide, dtype=widest), torch_dtype(dtype)).to(place)
    if dtype.name in ("uint16", "uint32", "uint64"):
        return torch.from_numpy(np.asarray(value, dtype.name)).to(place)
    return torch.full((), value, dtype=torch_dtype(dtype), device=place)

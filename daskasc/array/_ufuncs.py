"""``__array_ufunc__``: calls with ``out=``, ``where=`` and ``dtype=``, and ufunc methods.

``outer`` is a broadcast call; the other methods are in ``_ufunc_methods``.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from daskasc.array import _dispatch, _guard, _layout, _operators, _out, _policy, _storage
from daskasc.array._dispatch import NeedsHost
from daskasc.array._dtypes import cast, device_policy, safe_rule, torch, torch_dtype
from daskasc.array._elementwise import NAMES
from daskasc.array._kernels import SCALARS
from daskasc.array._readonly import is_read_only
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._ufunc_methods import METHODS
from daskasc.device import observer

# ufunc -> its operator methods (reflected last), which have the fast path; empty: none
_fast: dict[np.ufunc, tuple[Any, ...]] = {}
# ufunc -> table of the first of them, from dtypes to a kernel and the dtype of what it gives
_known: dict[np.ufunc, dict[Any, Any]] = {}
_lock = threading.Lock()
_new = object.__new__
_SMALL = _storage.SMALL
_NONE = object()


# the way of a hit is written out, as in _operators
def array_ufunc(
    self: Any,
    ufunc: np.ufunc,
    method: str,
    first: Any,
    second: Any = _NONE,
    *more: Any,
    **kwargs: Any,
) -> Any:
    """Implement ``__array_ufunc__`` of the class."""
    if method == "__call__" and not kwargs:
        try:
            if second is _NONE:
                found, dtype = _known[ufunc][first._d]
                array = _new(_storage.array_class)
                array._t = made = found(first._t)
            elif type(second) is type(first):  # hence that of self, which is one of them
                found, dtype = _known[ufunc][first._d][second._d]
                array = _new(_storage.array_class)
                array._t = made = found(first._t, second._t)
            else:
                return _general(self, ufunc, method, (first, second, *more), kwargs)
        except KeyError:
            pass
        except RuntimeError as error:
            _dispatch.raise_numpys(error, (first, second))
            raise
        else:
            array._d = dtype or made.dtype
            if _storage.accounts is not None and made.nbytes >= _SMALL:
                _storage.account(array)
            return array
    inputs = (first, *more) if second is _NONE else (first, second, *more)
    return _general(self, ufunc, method, inputs, kwargs)


def _general(
    self: Any, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    cls = type(self)
    if method == "__call__" and not kwargs:
        operators = _fast.get(ufunc)
        if operators is None:
            operators = _operators_of(ufunc)
        if operators:
            if len(inputs) == 1:
                return operators[0](self)
            left, right = inputs
            return operators[0](left, right) if type(left) is cls else operators[1](right, left)
    out = kwargs.get("out") or ()
    operands = inputs if method != "at" else (inputs[0], *inputs[2:])  # the second is an index
    for value in (*operands, *(x for x in out if x is not None)):
        if not _operators.accepts(value, cls):
            return NotImplemented
    if kwargs.get("out") is None:
        kwargs.pop("out", None)
    if method == "__call__":
        if ufunc in _dispatch.TABLE:
            return _dispatch.call(ufunc, inputs, kwargs)
        return _call(ufunc, inputs, **kwargs) if kwargs else _operators.apply(ufunc, inputs)
    if out:
        kwargs["out"] = out[0] if len(out) == 1 else out
    if method == "outer" and len(inputs) == 2 and not kwargs:
        left, right = (wrap(tensor_of(value)) for value in inputs)
        spread = (Ellipsis, *(None,) * right.ndim)
        return _operators.apply(ufunc, (left[spread], right))
    name = f"{_dispatch.name_of(ufunc)}.{method}"
    if (who := observer.active) is not None:
        return who.run(name, _policy.of_method, (name, _method, ufunc, method, inputs), kwargs)
    if device_policy():
        return _policy.of_method(name, _method, ufunc, method, inputs, **kwargs)
    return _method(name, ufunc, method, inputs, **kwargs)


def _method(name: str, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], **kwargs: Any) -> Any:
    found = METHODS.get(method)
    why: NeedsHost | None = None
    if found is not None:
        try:
            written = inputs[0] if method == "at" else None
            return _guard.run(found, (ufunc, *inputs), kwargs, written)
        except NeedsHost as reason:
            why = _guard.bare(reason)
    if method == "at":
        return _at_on_host(ufunc, name, inputs, why)
    return _dispatch.on_host(name, getattr(ufunc, method), inputs, kwargs, why)


def _operators_of(ufunc: np.ufunc) -> tuple[Any, ...]:
    if ufunc not in NAMES or ufunc in _dispatch.TABLE or ufunc.nout != 1 or ufunc.nin > 2:
        return ()
    with _lock:
        if ufunc not in _fast:
            if ufunc.nin == 1:
                _fast[ufunc] = (_operators.unary(ufunc),)
            else:
                _fast[ufunc] = (_operators.binary(ufunc), _operators.binary(ufunc, True))
            _known[ufunc] = _fast[ufunc][0].table
        return _fast[ufunc]


def _at_on_host(
    ufunc: np.ufunc, name: str, inputs: tuple[Any, ...], why: NeedsHost | None = None
) -> None:
    target, *rest = inputs

    def unbuffered(host: Any, *host_rest: Any) -> Any:
        ufunc.at(host, *host_rest)
        return host

    target._accept(_dispatch.on_host(name, unbuffered, (target, *rest), {}, why))


@_guard.guarded
def _call(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    *,
    out: tuple[Any, ...] = (),
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    signature: Any = None,
    sig: Any = None,
) -> Any:
    if signature is not None or sig is not None:
        if dtype is not None or (signature is not None and sig is not None):
            raise TypeError("cannot specify more than one of 'signature', 'sig' and 'dtype'")
        result = _of_loop(ufunc, inputs, signature if sig is None else sig, casting)
    else:
        if (
            len(out) == 1
            and where is True
            and order == "K"
            and (dtype is None or out[0].dtype == dtype)
        ):
            target = out[0]
            if _dispatch.is_array(target) and not is_read_only(target.tensor):
                plan = _out.planned(ufunc, inputs, target)
                if plan is not None:
                    if (who := observer.active) is not None:
                        who.run(_dispatch.name_of(ufunc), _out.run, plan, {})
                    else:
                        _out.run(*plan)
                    return target
        wanted = None if dtype is None else np.dtype(dtype)
        if ufunc is np.power and where is not True:
            inputs = _exponents_under(where, *inputs)
        result = _operators.apply(ufunc, inputs, wanted, casting)
    results = result if isinstance(result, tuple) else (result,)
    targets = out or (None,) * len(results)
    mask = None if where is True else _mask(where)
    if mask is not None:
        results = _spread(results, mask, targets)
    letter = _order(inputs, order)
    stored = tuple(
        wrap(_layout.arranged(part._t, letter))
        if target is None
        else _store(ufunc, part, target, mask, casting)
        for part, target in zip(results, targets, strict=True)
    )
    return stored if isinstance(result, tuple) else stored[0]


def _exponents_under(where: Any, base: Any, exponent: Any) -> tuple[Any, Any]:
    """Operands of a power whose exponents outside the mask are 1: integers refuse negative ones."""
    dtype = getattr(exponent, "dtype", None)
    if type(exponent) is int and exponent < 0:
        dtype = getattr(base, "dtype", None)
    if dtype is None or dtype.kind != "i":
        return base, exponent
    mask = where if _dispatch.is_array(where) else _dispatch.from_host(where)
    return base, np.where(mask, exponent, np.asarray(1, dtype))


def _of_loop(ufunc: np.ufunc, inputs: tuple[Any, ...], signature: Any, casting: str) -> Any:
    """Result of the loop that a signature names, on operands converted to its dtypes."""
    types: list[Any] = []
    for value in inputs:
        if _dispatch.is_array(value):
            types.append(value.dtype)
        else:
            types.append(type(value) if type(value) in SCALARS else np.asarray(value).dtype)
    unset = (None,) * ufunc.nout
    # raises NumPy's TypeError where there is no such loop, or the casting rule forbids it
    casting = safe_rule(casting, types, ufunc)
    loop = ufunc.resolve_dtypes((*types, *unset), signature=signature, casting=casting)  # type: ignore[arg-type]
    operands = tuple(
        wrap(tensor_of(value, torch_dtype(dtype)))
        for value, dtype in zip(inputs, loop, strict=False)
    )
    result = _operators.apply(ufunc, operands)
    results = result if isinstance(result, tuple) else (result,)
    if any(part.dtype != dtype for part, dtype in zip(results, loop[ufunc.nin :], strict=True)):
        name = _dispatch.name_of(ufunc)
        return _dispatch.on_host(name, ufunc, operands, {"signature": signature})
    return result


def _order(inputs: tuple[Any, ...], order: Any) -> str:
    """Order of new results: C, F or K; A is F where all operands are and not all are C."""
    letter = _layout.order_of("K" if order is None else order)
    if letter != "A":
        return letter
    tensors = [value._t for value in inputs if hasattr(value, "_t")]
    in_f = all(map(_layout.is_f, tensors)) and not all(t.is_contiguous() for t in tensors)
    return "F" if in_f else "C"


def _mask(where: Any) -> Any:
    """Boolean tensor of ``where=``; arrays have to be boolean."""
    given = where.dtype if hasattr(where, "dtype") else np.dtype(bool)
    if given.kind != "b":
        raise TypeError(
            f"Cannot cast array data from {given!r} to dtype('bool') according to the rule "
            "'safe', as where= needs"
        )
    return tensor_of(where if hasattr(where, "dtype") else np.asarray(where, dtype=bool))


def _spread(results: tuple[Any, ...], mask: Any, targets: tuple[Any, ...]) -> tuple[Any, ...]:
    """Results in the shape that they and the mask broadcast to; elements outside are any."""
    shape = np.broadcast_shapes(results[0].shape, tuple(mask.shape))
    return tuple(
        part
        if part.shape == shape or target is not None
        else wrap(part._t.expand(shape).contiguous())
        for part, target in zip(results, targets, strict=True)
    )


def _store(ufunc: np.ufunc, part: Any, target: Any, mask: Any, casting: str) -> Any:
    if mask is None:
        return _operators.store(ufunc, part, target, casting)
    if not _dispatch.is_array(target):
        return _dispatch.into(target, part)
    if not _operators.can_cast(part.dtype, target.dtype, casting):
        return _operators.store(ufunc, part, target, casting)  # raises; NumPy looks at it first
    shape = np.broadcast_shapes(part.shape, tuple(mask.shape), target.shape)
    if shape != target.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {target.shape} doesn't match the "
            f"broadcast shape {shape}"
        )
    kept = torch.where(mask, cast(part._t, target._t.dtype), target._t)
    return _dispatch.into(target, wrap(kept))

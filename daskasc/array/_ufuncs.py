"""``__array_ufunc__``: calls with ``out=``, ``where=`` and ``dtype=``, and ufunc methods.

``outer`` is a broadcast call; the other methods are in ``_ufunc_methods``.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from daskasc.array import _dispatch, _operators
from daskasc.array._dispatch import NeedsHost
from daskasc.array._dtypes import torch
from daskasc.array._elementwise import NAMES
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._ufunc_methods import METHODS
from daskasc.device import observer

# ufunc -> its operator methods (reflected last), which have the fast path; empty: none
_fast: dict[np.ufunc, tuple[Any, ...]] = {}
_lock = threading.Lock()


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Implement ``__array_ufunc__`` of the class."""
    cls = type(self)
    if not kwargs and method == "__call__":
        operators = _fast.get(ufunc)
        if operators is None:
            operators = _operators_of(ufunc)
        if operators:
            if type(inputs[0]) is cls:
                return operators[0](*inputs)
            return operators[-1](inputs[1], inputs[0])
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
        return who.run(name, _method, (name, ufunc, method, inputs), kwargs)
    return _method(name, ufunc, method, inputs, **kwargs)


def _method(
    name: str, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], **kwargs: Any
) -> Any:
    found = METHODS.get(method)
    if found is not None:
        try:
            return found(ufunc, *inputs, **kwargs)
        except NeedsHost:
            pass
    if method == "at":
        return _at_on_host(ufunc, name, inputs)
    return _dispatch.on_host(name, getattr(ufunc, method), inputs, kwargs)


def _operators_of(ufunc: np.ufunc) -> tuple[Any, ...]:
    if ufunc not in NAMES or ufunc in _dispatch.TABLE or ufunc.nout != 1 or ufunc.nin > 2:
        return ()
    with _lock:
        if ufunc not in _fast:
            if ufunc.nin == 1:
                _fast[ufunc] = (_operators.unary(ufunc),)
            else:
                _fast[ufunc] = (_operators.binary(ufunc), _operators.binary(ufunc, True))
        return _fast[ufunc]


def _at_on_host(ufunc: np.ufunc, name: str, inputs: tuple[Any, ...]) -> None:
    target, *rest = inputs

    def unbuffered(host: Any, *host_rest: Any) -> Any:
        ufunc.at(host, *host_rest)
        return host

    target._accept(_dispatch.on_host(name, unbuffered, (target, *rest), {}))


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
        return _dispatch.on_host(
            _dispatch.name_of(ufunc), ufunc, inputs, {"signature": signature or sig}
        )
    wanted = None if dtype is None else np.dtype(dtype)
    result = _operators.apply(ufunc, inputs, wanted, casting)
    results = result if isinstance(result, tuple) else (result,)
    targets = out or (None,) * len(results)
    stored = tuple(
        part if target is None else _store(ufunc, part, target, where, casting)
        for part, target in zip(results, targets, strict=True)
    )
    return stored if isinstance(result, tuple) else stored[0]


def _store(ufunc: np.ufunc, part: Any, target: Any, where: Any, casting: str) -> Any:
    if where is True:
        return _operators.store(ufunc, part, target, casting)
    if not _dispatch.is_array(target):
        return _dispatch.into(target, part)
    mask = tensor_of(where)
    kept = torch.where(mask, part._t.to(target._t.dtype), target._t)
    if not _operators.can_cast(part.dtype, target.dtype, casting):
        return _operators.store(ufunc, part, target, casting)
    return _dispatch.into(target, wrap(kept))

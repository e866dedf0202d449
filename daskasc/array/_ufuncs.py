"""``__array_ufunc__``: calls with ``out=``, ``where=`` and ``dtype=``, and ufunc methods.

``reduce`` and ``accumulate`` of the ufuncs in ``REDUCE`` and ``ACCUMULATE`` are the corresponding
NumPy functions; ``outer`` is a broadcast call. Other methods (``at``, ``reduceat``) go to the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array import _dispatch, _operators
from daskasc.array._dtypes import torch
from daskasc.array._storage import tensor_of, wrap

REDUCE: dict[np.ufunc, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.minimum: np.min,
    np.maximum: np.max,
    np.logical_and: np.all,
    np.logical_or: np.any,
    np.fmin: np.nanmin,
    np.fmax: np.nanmax,
}
ACCUMULATE: dict[np.ufunc, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Implement ``__array_ufunc__`` of the class."""
    cls = type(self)
    out = kwargs.get("out") or ()
    for value in (*inputs, *(x for x in out if x is not None)):
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
    if method == "reduce" and ufunc in REDUCE:
        kwargs.setdefault("axis", 0)
        if len(inputs) > 1:
            kwargs["axis"] = inputs[1]
        return _dispatch.call(REDUCE[ufunc], inputs[:1], _defaults_dropped(kwargs))
    if method == "accumulate" and ufunc in ACCUMULATE:
        kwargs.setdefault("axis", 0)
        if len(inputs) > 1:
            kwargs["axis"] = inputs[1]
        return _dispatch.call(ACCUMULATE[ufunc], inputs[:1], _defaults_dropped(kwargs))
    if method == "outer" and len(inputs) == 2 and not kwargs:
        left, right = (wrap(tensor_of(value)) for value in inputs)
        spread = (Ellipsis, *(None,) * right.ndim)
        return _operators.apply(ufunc, (left[spread], right))
    name = f"{_dispatch.name_of(ufunc)}.{method}"
    if method == "at":
        return _at(ufunc, name, inputs)
    return _dispatch.on_host(name, getattr(ufunc, method), inputs, kwargs)


def _defaults_dropped(kwargs: dict[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in kwargs.items() if not (k == "where" and v is True)}
    if kept.get("initial", 0) is np._NoValue:
        del kept["initial"]
    return kept


def _at(ufunc: np.ufunc, name: str, inputs: tuple[Any, ...]) -> None:
    target, *rest = inputs

    def unbuffered(host: Any, *host_rest: Any) -> Any:
        ufunc.at(host, *host_rest)
        return host

    target._write(_dispatch.on_host(name, unbuffered, (target, *rest), {})._t)


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
    result = _operators.apply(ufunc, inputs, None if dtype is None else np.dtype(dtype))
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

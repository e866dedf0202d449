"""Functions of ``scipy.special`` that are no ufuncs, on the card."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import daskasc.array as namespace
from daskasc.array._storage import tensor_of, wrap
from daskasc.scipy._library import At, Overlay, library, rebuilt


def functions() -> dict[str, Callable[..., Any]]:
    """Return the functions by name."""
    module = library("special._logsumexp")
    ours = {"array_namespace": lambda *_, **__: namespace}
    helpers = rebuilt(library("_lib._array_api"), ours)
    used = {name: helpers[name] for name in vars(module) if name.startswith("xp_")}
    extra = Overlay(getattr(module, "xpx", None), at=At)
    sums = rebuilt(module, {**used, **ours, "xpx": extra})
    basic = rebuilt(library("special._basic"), {"asarray": namespace.asarray})
    return {
        **{name: _uploading(sums[name]) for name in ("logsumexp", "softmax", "log_softmax")},
        "polygamma": basic["polygamma"],
        "zeta": _uploading(basic["zeta"]),
        "sinc": namespace.sinc,
        "multigammaln": multigammaln,
    }


def _uploading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take the first argument to the card."""

    def on_card(first: Any, *args: Any, **kwargs: Any) -> Any:
        return function(wrap(tensor_of(first)), *args, **kwargs)

    return on_card


def multigammaln(a: Any, d: Any) -> Any:
    """As :func:`scipy.special.multigammaln`, by the same sum of ``gammaln``."""
    array = wrap(tensor_of(a))
    dimension = float(d)
    if math.floor(dimension) != dimension:
        raise ValueError("d should be a positive integer (dimension)")
    low = 0.5 * (dimension - 1)
    if np.any(array <= low):
        raise ValueError(f"condition a > 0.5 * (d-1) ({low}) not met")
    gammaln = library("special").gammaln
    total = sum(gammaln(array - (j - 1.0) / 2) for j in range(1, int(dimension) + 1))
    return total + dimension * (dimension - 1) * 0.25 * math.log(math.pi)

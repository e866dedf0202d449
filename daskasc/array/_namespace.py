"""The package's functions by NumPy's names.

``numpy.f`` dispatches on its arguments; ``daskasc.array.f`` goes to the card whatever they are, so
that lists, NumPy arrays and plain numbers work and functions without an array argument
(``indices``, ``hanning``) make arrays on the card. ufuncs are NumPy's own objects: they have
methods and dispatch on arrays.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _dispatch
from daskasc.array._dispatch import TABLE, is_array
from daskasc.array._masks import is_masked, plain_call
from daskasc.array._summation import NAMES as SUMS
from daskasc.array._summation import accumulating

_MODULES: dict[str, Any] = {
    "daskasc.array": np,
    "daskasc.array.linalg": np.linalg,
    "daskasc.array.fft": np.fft,
}


@functools.cache
def find(module: str, name: str) -> Any:
    """Return what a module of this package offers under one of NumPy's names.

    Raises
    ------
    AttributeError
        NumPy has no such name.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    try:
        found = getattr(_MODULES[module], name)
    except AttributeError:
        raise AttributeError(f"module {module!r} has no attribute {name!r}") from None
    plain = callable(found) and not isinstance(found, np.ufunc | type)
    return _on_card(found, module, name) if plain and found in TABLE else found


def offered() -> list[str]:
    """Names of what :func:`find` finds for the package itself, NumPy's modules apart."""
    return [
        name
        for name in np.__all__
        if not name.startswith("_") and not isinstance(getattr(np, name), types.ModuleType)
    ]


def _on_card(function: Callable[..., Any], module: str, name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def on_card(*args: Any, **kwargs: Any) -> Any:
        # a Dask array, an xarray object and the like dispatch NumPy's function themselves
        if any(map(_is_foreign, args)):
            if not any(map(is_masked, args)):
                return function(*args, **kwargs)
            args, kwargs = plain_call(args, kwargs)
        return implementation(function, args, kwargs)

    implementation = _summed if name in SUMS and module == "daskasc.array" else _dispatch.call

    # pickled by reference, as NumPy's functions are
    on_card.__module__, on_card.__name__, on_card.__qualname__ = module, name, name
    return on_card


def _summed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call of a function that forms sums, which takes ``accumulate`` besides NumPy's arguments."""
    mode = kwargs.pop("accumulate", None)
    if mode is None:
        return _dispatch.call(function, args, kwargs)
    with accumulating(mode):
        return _dispatch.call(function, args, kwargs)


def _is_foreign(value: Any) -> bool:
    return (
        hasattr(type(value), "__array_function__")
        and not is_array(value)
        and type(value) is not np.ndarray
    )

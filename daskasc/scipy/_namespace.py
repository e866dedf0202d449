"""The names of one of SciPy's modules, each on the card or, counted, on the host.

A name is looked up in the installed SciPy. A ufunc is SciPy's own object, which dispatches on
arrays (``daskasc.array`` knows its kernel). A function becomes one that computes on the card where
this package has a form of it, and otherwise on the host. Functions that compute on the host only
are SciPy's wherever no array of a card is among the arguments (filter designs). Classes and
constants are SciPy's, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from daskasc.array import _dispatch, _guard
from daskasc.array._dispatch import NeedsHost
from daskasc.device import observer
from daskasc.errors import HostConversionError
from daskasc.scipy._library import library

Function = Callable[..., Any]


class Namespace:
    """Names of one module of SciPy.

    Parameters
    ----------
    name : str
        Name below ``scipy``.
    functions : callable
        Gives this package's functions by name; called once, when SciPy is needed.
    fall_back : callable, optional
        Computes on the host: ``fall_back(name, SciPy's function, args, kwargs)``.
    """

    def __init__(
        self,
        name: str,
        functions: Callable[[], Mapping[str, Function]],
        fall_back: Function = _dispatch.on_host,
    ) -> None:
        self.name = name
        self._functions = functions
        self._fall_back = fall_back

    @functools.cached_property
    def functions(self) -> Mapping[str, Function]:
        """Functions on the card, by name."""
        return self._functions()

    @functools.cache  # noqa: B019 - one object a module, for the life of the process
    def find(self, name: str) -> Any:
        """Return what the module offers under a name.

        Raises
        ------
        AttributeError
            The installed SciPy has no such name.
        MissingLibraryError
            SciPy is not installed.
        """
        if name.startswith("_"):
            raise AttributeError(f"module 'daskasc.scipy.{self.name}' has no attribute {name!r}")
        try:
            found = getattr(library(self.name), name)
        except AttributeError:
            raise AttributeError(
                f"module 'daskasc.scipy.{self.name}' has no attribute {name!r}, nor has the "
                "installed SciPy"
            ) from None
        plain = getattr(found, "__wrapped__", found)
        if isinstance(plain, np.ufunc):
            return plain
        if not callable(found) or isinstance(found, type):
            return found
        return self._wrapped(name, self.functions.get(name), found)

    def dir(self) -> list[str]:
        """Return the public names of the installed SciPy's module."""
        return list(library(self.name).__all__)

    def _wrapped(self, name: str, on_card: Function | None, scipys: Function) -> Function:
        full = f"scipy.{self.name}.{name}"

        @functools.wraps(scipys)
        def function(*args: Any, **kwargs: Any) -> Any:
            other = _other_kind((args, kwargs))
            if other is not None:
                return other.__daskasc_scipy__(full, function, scipys, args, kwargs)
            why: Exception | None = None
            if on_card is not None:
                try:
                    return _guard.run(on_card, args, kwargs)
                except (NeedsHost, HostConversionError) as reason:
                    why = _guard.bare(reason)
                except NotImplementedError as error:
                    if not _dispatch.lacks_kernel(error):
                        raise
            elif not _holds_array((args, kwargs)):
                return scipys(*args, **kwargs)
            return self._fall_back(full, scipys, args, kwargs, why)

        # pickled by reference, as SciPy's functions are
        function.__module__ = f"daskasc.scipy.{self.name}"
        function.__name__ = function.__qualname__ = name
        return observer.observed(full)(function)


def _other_kind(value: Any) -> Any:
    """First array that runs these functions in its own way (``daskasc.drift``), or None."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return value if hasattr(type(value), "__daskasc_scipy__") else None
    return next((one for one in map(_other_kind, value) if one is not None), None)


def _holds_array(value: Any) -> bool:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return _dispatch.is_array(value)
    return any(map(_holds_array, value))

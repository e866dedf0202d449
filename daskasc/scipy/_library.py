"""The installed SciPy, imported when first needed, and its own Python code over other kernels.

Much of SciPy is Python that checks arguments, then hands arrays to a compiled function. That
Python works on arrays of a card once the compiled function and the conversions to NumPy are
replaced: :func:`rebuilt` makes second functions from the same code with other globals. SciPy's
own functions stay as they are. Arguments, errors and results are then SciPy's in every version.
The code may meet a compiled function that nobody replaced: this converts an array to NumPy, which
an AscendArray refuses, and the call goes to the host (see ``_namespace``).
"""

from __future__ import annotations

import importlib
import inspect
from types import FunctionType, ModuleType
from typing import Any

from daskasc.errors import MissingLibraryError


def library(name: str) -> ModuleType:
    """Module of SciPy by its name below ``scipy`` (``"special"``, ``"ndimage._filters"``).

    Raises
    ------
    MissingLibraryError
        SciPy is not installed.
    """
    try:
        importlib.import_module("scipy")
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            "daskasc.scipy needs SciPy 1.13 or later, which is not installed; install it with "
            'pip install "daskasc[scipy]"'
        ) from error
    return importlib.import_module(f"scipy.{name}")


def rebuilt(module: ModuleType, replacements: dict[str, Any]) -> dict[str, Any]:
    """Functions of a module of SciPy over other globals.

    Parameters
    ----------
    module : module
    replacements : dict
        Global names of the module and what they stand for in the second functions.

    Returns
    -------
    dict
        The globals of the second functions, themselves among them by name.
    """
    original = vars(module)
    space = dict(original)
    for name, value in original.items():
        plain = inspect.unwrap(value) if callable(value) else value
        if not isinstance(plain, FunctionType) or plain.__globals__ is not original:
            continue
        second = FunctionType(
            plain.__code__, space, plain.__name__, plain.__defaults__, plain.__closure__
        )
        second.__kwdefaults__ = plain.__kwdefaults__
        second.__doc__ = plain.__doc__
        space[name] = second
    space.update(replacements)
    return space


class Overlay:
    """A module with some names replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class At:
    """SciPy's ``xpx.at(x, index).set(value)``: its own asks for NumPy's namespace."""

    def __init__(self, array: Any, index: Any = None) -> None:
        self._array = array
        self._index = index

    def __getitem__(self, index: Any) -> At:
        return At(self._array, index)

    def set(self, value: Any, copy: bool | None = None, xp: Any = None) -> Any:
        """Write elements, into a copy if asked, and return the array."""
        array = self._array.copy() if copy else self._array
        array[self._index] = value
        return array

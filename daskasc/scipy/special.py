"""``scipy.special`` for arrays on a card.

The elementwise functions are SciPy's own ufuncs, which reach the card through
``__array_ufunc__``; so ``scipy.special.erf(x)`` and ``daskasc.scipy.special.erf(x)`` are the same.
"""

from __future__ import annotations

from typing import Any

from daskasc.scipy._namespace import Namespace
from daskasc.scipy._special import functions

_names = Namespace("special", functions)


def __getattr__(name: str) -> Any:
    """Return the function of that name."""
    return _names.find(name)


def __dir__() -> list[str]:
    return _names.dir()

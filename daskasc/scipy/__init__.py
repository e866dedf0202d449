"""SciPy's functions for arrays on a card, under SciPy's names.

``daskasc.scipy.special``, ``daskasc.scipy.ndimage`` and ``daskasc.scipy.signal`` offer the
functions of SciPy's modules. What each computes on the card, and what goes to the host, is the
table in :mod:`daskasc.scipy.coverage`. SciPy is needed (``pip install "daskasc[scipy]"``) and
imported at the first use of a name.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["ndimage", "signal", "special"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"daskasc.scipy.{name}")
    raise AttributeError(f"module 'daskasc.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

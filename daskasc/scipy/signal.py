"""``scipy.signal`` for arrays on a card; results are arrays on the card."""

from __future__ import annotations

from typing import Any

from daskasc.scipy._namespace import Namespace
from daskasc.scipy._sg_functions import functions

_names = Namespace("signal", functions)


def __getattr__(name: str) -> Any:
    """Return the function of that name."""
    return _names.find(name)


def __dir__() -> list[str]:
    return _names.dir()

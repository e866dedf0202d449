"""``numpy.fft`` on the card, by the same names."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._fft import fftfreq, rfftfreq  # noqa: F401 - with the standard's dtype
from daskasc.array._namespace import find

__all__ = sorted(np.fft.__all__)


def __getattr__(name: str) -> Any:
    """Return the function of that name."""
    return find(__name__, name)


def __dir__() -> list[str]:
    return __all__

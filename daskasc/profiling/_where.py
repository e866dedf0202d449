"""Which line of the user's program a call comes from."""

from __future__ import annotations

import functools
import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import FrameType

# libraries that call on behalf of the program
_LIBRARIES = ("daskasc", "dask", "distributed", "numpy", "scipy", "tlz", "toolz", "xarray", "torch")


@functools.cache
def _folders() -> tuple[str, ...]:
    found = []
    for name in _LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(str(Path(spec.origin).parent) + "/")
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _is_library(filename: str) -> bool:
    if filename.startswith(("<frozen ", "<__array_function__ ", *_folders())):
        return True
    standard = sysconfig.get_path("stdlib")
    return filename.startswith(standard + "/") and "-packages" not in filename


def caller() -> str:
    """``file:line`` of the innermost frame outside the libraries; empty where there is none.

    Tasks of a scheduler run in its own threads: below them there is no line of the program.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not _is_library(filename):
            return f"{filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""

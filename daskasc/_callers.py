"""Which line of the user's program a call comes from, and which libraries stand between.

A frame is a library's if its file lies in the folder of one that calls on behalf of programs, or
in Python's own. Tasks of a scheduler run in its own threads: below them is no line of the program.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType

# libraries that call on behalf of the program
_LIBRARIES = (
    *("daskasc", "dask", "distributed", "numpy", "scipy", "tlz", "toolz", "torch"),
    *("xarray", "zarr", "numcodecs", "h5netcdf", "h5py", "netCDF4", "pandas", "matplotlib"),
)
_PYTHON = "python"


@functools.cache
def _folders() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            found[str(Path(spec.origin).parent) + "/"] = name
    return found


@functools.lru_cache(maxsize=4096)
def _library(filename: str) -> str:
    """Name of the library that a file belongs to; empty for the program's own files."""
    if filename.startswith("<__array_function__ "):
        return "numpy"
    for folder, name in _folders().items():
        if filename.startswith(folder):
            return name
    standard = sysconfig.get_path("stdlib")
    own = filename.startswith(standard + "/") and "-packages" not in filename
    return _PYTHON if own or filename.startswith("<frozen ") else ""


def caller() -> str:
    """``file:line`` of the innermost frame outside the libraries; empty where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not _library(filename):
            return f"{filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def raised_at(error: BaseException) -> str:
    """``file:line`` of the program's innermost frame in a traceback; empty where it has none."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if not _library(frame.filename)]
    return f"{ours[-1].filename}:{ours[-1].lineno}" if ours else ""


def stacklevel() -> int:
    """``stacklevel`` with which the calling function warns at the program's innermost line.

    2, the calling function's own caller, where no line of the program is above it.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None:
        if not _library(frame.f_code.co_filename):
            return level
        frame, level = frame.f_back, level + 1
    return 2


def libraries() -> set[str]:
    """Names of the libraries between the calling function and the program's innermost line."""
    frame: FrameType | None = sys._getframe(1)
    found = set()
    while frame is not None and (name := _library(frame.f_code.co_filename)):
        found.add(name)
        frame = frame.f_back
    return found


def in_module(package: str) -> bool:
    """Whether a module of a package stands between the calling function and the program's line."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _library(frame.f_code.co_filename):
        if f"{frame.f_globals.get('__name__', '')}.".startswith(f"{package}."):
            return True
        frame = frame.f_back
    return False

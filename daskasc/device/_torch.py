"""The one import of torch, with one clear message when it fails.

torch loads installed device extensions while it is imported. A torch_npu without the CANN
libraries therefore breaks ``import torch`` itself, with a traceback that names neither the cause
nor a way out; :func:`torch` turns that into a :class:`~daskasc.errors.DeviceUnavailableError`.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from daskasc.errors import DeviceUnavailableError

_module: Any = None
# torch asks for huge pages only if told to, NumPy always does: large results on the host would
# otherwise take twice as long, in first touches of their pages. Read at torch's first allocation
_HUGE_PAGES = ("THP_MEM_ALLOC_ENABLE", "1")


def torch() -> Any:
    """Return the torch module, imported on the first call.

    Raises
    ------
    DeviceUnavailableError
        torch is missing, or a device extension (torch_npu without CANN) broke its import.
    """
    global _module
    if _module is None:
        os.environ.setdefault(*_HUGE_PAGES)
        try:
            _module = importlib.import_module("torch")
        except (ImportError, OSError, RuntimeError) as error:
            raise DeviceUnavailableError(explain(error)) from error
    return _module


def explain(error: BaseException, package: str = "torch") -> str:
    """One message for a failed import of torch or torch_npu: what was found, what to do."""
    causes: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < 5:
        causes.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__ or cause.__context__
    found = " <- ".join(causes)
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return f"torch is not installed for {sys.executable}; pip install torch ({found})"
    if package == "torch_npu" or "torch_npu" in found or "backend extension" in found:
        return (
            "torch_npu is installed, but it could not be loaded; most often the CANN libraries are "
            "missing from this process's environment. On a machine with NPUs: source CANN's "
            "set_env.sh before starting Python. On a machine without: set "
            "TORCH_DEVICE_BACKEND_AUTOLOAD=0, or pip uninstall torch-npu. "
            f"Found: {found}"
        )
    return f"import torch failed; repair the installation of torch. Found: {found}"

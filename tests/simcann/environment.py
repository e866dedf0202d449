"""A virtual environment with the genuine torch_npu, and the variables of a simulated process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.simcann.build import build

ROOT = Path(__file__).parents[2]
# one pair is tested: the operator kernels are compiled against this torch
PINNED = ("torch==2.13.0", "torch-npu==2.13.0")


def prepare(place: Path) -> Path:
    """Make the virtual environment and the libraries in `place`, or bring them up to date.

    Returns
    -------
    pathlib.Path
        The environment's Python.
    """
    python = place / "env" / "bin" / "python"
    finished = place / "env" / "finished"
    if not finished.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", place / "env"], check=True)
        install = [python, "-m", "pip", "install", "--quiet", *PINNED, f"{ROOT}[test]"]
        subprocess.run(install, check=True)
        finished.touch()
    build(python, place / "lib")
    return python


def variables(
    place: Path,
    *,
    cards: int = 8,
    memory: int | None = None,
    delay_us: int = 500,
    seed: int = 0,
    strict: bool = True,
    asynchronous: bool = True,
) -> dict[str, str]:
    """Environment variables of a process that has simulated cards.

    Parameters
    ----------
    place : pathlib.Path
        Where :func:`prepare` put the libraries.
    cards : int
        Cards that the process, and those that it starts, can see.
    memory : int, optional
        Bytes of each card.
    delay_us : int
        Longest random delay before queued work, in microseconds; `seed` chooses the delays.
    strict : bool
        Whether operators and dtypes outside the documented table fail.
    asynchronous : bool
        Whether queued work runs on threads of its own.
    """
    library = str(place / "lib")
    paths = [str(Path(__file__).with_name("activation")), str(ROOT)]
    found = {
        "SIMCANN_LIBRARIES": library,
        "SIMCANN_DEVICES": str(max(cards, 8)),
        "SIMCANN_DELAY_US": str(delay_us),
        "SIMCANN_SEED": str(seed),
        "SIMCANN_STRICT": str(int(strict)),
        "SIMCANN_ASYNC": str(int(asynchronous)),
        "LD_LIBRARY_PATH": _joined([library], "LD_LIBRARY_PATH"),
        "PYTHONPATH": _joined(paths, "PYTHONPATH"),
        "PATH": _joined([str(place / "env" / "bin")], "PATH"),
        "ASCEND_RT_VISIBLE_DEVICES": ",".join(map(str, range(cards))),
        # torch_npu's own way to the host is an error: ours is counted
        "TORCH_NPU_FALLBACK_CPU_DISABLE": "1",
    }
    if memory is not None:
        found["SIMCANN_MEM"] = str(memory)
    return found


def _joined(first: list[str], name: str) -> str:
    rest = os.environ.get(name, "")
    return os.pathsep.join([*first, rest] if rest else first)

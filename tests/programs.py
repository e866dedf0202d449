"""Programs that tests start: their environment, and what they say without the card's software."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
# what torch_npu writes by itself
_FOREIGN = re.compile(r"(\[rank\d+\]:)?\[[WE]\d{4} |Warning: ASCEND_HOME_PATH|\[(ERROR|WARN)\] ")


def environment() -> dict[str, str]:
    """This process's environment, and this checkout on Python's path."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def own(text: str) -> str:
    """Lines of a program's output that are not the card's software's."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not _FOREIGN.match(line))

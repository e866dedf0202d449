"""The part of the coverage page that sets other packages beside this one.

The data are ``docs/peers.json`` of the source tree, written by ``tools/peer_names.py`` from the
packages' sources. The rule is the same for all: a callable of that name exists in the package's
top-level namespace. Whether it takes all of NumPy's arguments and dtypes, or computes on the
device, is not counted; for this package the kinds of the coverage table say it.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "docs" / "peers.json"
_TITLES = {"cupy": "CuPy", "cupynumeric": "cuPyNumeric", "asnumpy": "asnumpy"}


def load() -> dict[str, dict[str, set[str]]]:
    """Names that each package offers, by package and NumPy module; empty outside a source tree."""
    if not DATA.exists():
        return {}
    peers = json.loads(DATA.read_text())
    modules = ("numpy", "numpy.linalg", "numpy.fft")
    return {peer: {m: set(entry[m].split()) for m in modules} for peer, entry in peers.items()}


def section(own: Mapping[str, str], callables: Mapping[str, list[str]]) -> list[str]:
    """Lines of the page.

    Parameters
    ----------
    own : mapping
        Kind of each function of NumPy's top level in this package.
    callables : mapping
        Counted names of ``numpy``, ``numpy.linalg`` and ``numpy.fft``; of the latter two this
        package offers all but ``test``, which runs NumPy's own tests.
    """
    peers = load()
    if not peers:
        return []
    raw: dict[str, Any] = json.loads(DATA.read_text())
    versions = [
        f"{_TITLES[peer]} {entry['version']} ({entry['source']})" for peer, entry in raw.items()
    ]
    told = (
        "The same count for other packages. The rule: a callable of that name exists in the "
        "package's top-level namespace, read from its sources, whatever it can do. Read were "
        f"{'; '.join(versions)}. `tools/peer_names.py` writes the data anew from checkouts."
    )
    offered = [name for name in callables["numpy"] if own[name] != "excluded"]
    ours = {m: len(set(names) - {"test"}) for m, names in callables.items()}
    ours["numpy"] = len(offered)
    lines = ["## Beside other packages", "", *textwrap.wrap(told, 100, break_on_hyphens=False), ""]
    lines += ["| module | callables | daskasc | " + " | ".join(_TITLES[p] for p in peers) + " |"]
    lines += ["|---" * (3 + len(peers)) + "|"]
    for module, names in callables.items():
        counts = [str(len(found[module] & set(names))) for found in peers.values()]
        cells = [f"`{module}`", str(len(names)), str(ours[module]), *counts]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| function | daskasc | " + " | ".join(_TITLES[p] for p in peers) + " |"]
    lines += ["|---" * (2 + len(peers)) + "|"]
    for name in callables["numpy"]:
        marks = ["yes" if name in found["numpy"] else "" for found in peers.values()]
        lines.append(f"| {' | '.join([f'`{name}`', own[name], *marks])} |")
    return [*lines, ""]

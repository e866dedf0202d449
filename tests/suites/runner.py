"""Running a suite in a process of its own, and comparing its outcome with the known failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODES = {"fallback": "silent", "no-fallback": "error"}


@dataclass(frozen=True)
class Results:
    """Outcome of each test of a suite.

    Parameters
    ----------
    outcomes, messages : dict
        By the test's name, from its file on.
    """

    outcomes: dict[str, str]
    messages: dict[str, str]

    @property
    def failed(self) -> set[str]:
        return {name for name, outcome in self.outcomes.items() if outcome == "failed"}

    def count(self) -> Counter[str]:
        return Counter(self.outcomes.values())


def run(
    arguments: list[str],
    mode: str,
    results: Path,
    *,
    path: list[Path] = [],  # noqa: B006 - read only
    plugins: list[str] = [],  # noqa: B006
    environment: dict[str, str] | None = None,
    directory: Path = ROOT,
    timeout: float,
) -> Results:
    """Run pytest with `arguments` in a new process.

    Parameters
    ----------
    mode : str
        ``fallback`` or ``no-fallback``.
    results : Path
        Where the recorder writes.
    path : list of Path
        Searched for modules before everything else.
    plugins : list of str
        Plug-ins of the suite, beside the recorder.
    timeout : float
        Seconds for the whole suite; it fails beyond.
    """
    named = [option for name in ("tests.suites.recorder", *plugins) for option in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named, *arguments]
    done = subprocess.run(
        command,
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, [*path, ROOT])),
            "DASK_DASKASC__FALLBACK": MODES[mode],
            # plug-ins of other packages look for CuPy too
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "SUITE_RESULTS": str(results),
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise AssertionError(f"the suite did not run:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    found = json.loads(results.read_text())
    return Results(
        {name: entry["outcome"] for name, entry in found.items()},
        {name: entry["message"] for name, entry in found.items()},
    )


def known_failures(file: Path) -> dict[str, str]:
    """Read a list of known failures: a line ``test  # reason`` each."""
    known: dict[str, str] = {}
    for line in file.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, separator, reason = line.partition("  # ")
        if not separator or not reason.strip():
            raise AssertionError(f"{file.name}: no reason for {name!r}")
        if name.strip() in known:
            raise AssertionError(f"{file.name}: {name!r} stands twice")
        known[name.strip()] = reason.strip()
    return known


def compare(results: Results, known: dict[str, str]) -> None:
    """Fail unless exactly the known failures fail."""
    new = sorted(results.failed - known.keys())
    gone = sorted(known.keys() - results.failed)
    lines = [f"fails: {name}: {results.messages[name][:300]}" for name in new]
    lines += [
        f"listed as failing, but {results.outcomes.get(name, 'not in the suite')}: {name}"
        for name in gone
    ]
    assert not lines, "\n".join([str(dict(results.count())), *lines])

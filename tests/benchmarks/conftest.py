"""The benchmarks' modules, importable as they are when a script runs; one script run in here."""

from __future__ import annotations

import gc
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
NAMES = {path.stem for path in FOLDER.glob("*.py")}


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a script by name; workers that start meanwhile find it as well."""
    monkeypatch.syspath_prepend(FOLDER)
    yield importlib.import_module
    for name in NAMES & sys.modules.keys():
        del sys.modules[name]
    gc.collect()  # closed clusters are cycles, and hold named semaphores


@pytest.fixture
def execute(
    load: Callable[[str], ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[list[str], list[dict[str, Any]]]]:
    """Run a script: the lines it prints, and the objects it writes."""

    def run(name: str, *options: str) -> tuple[list[str], list[dict[str, Any]]]:
        file = tmp_path / f"{name}.json"
        load(name).main([*options, "--json", str(file)])
        return capsys.readouterr().out.splitlines(), json.loads(file.read_text())

    return run


def table(lines: list[str]) -> list[list[str]]:
    """Cells of the table's rows, its head first."""
    rows = [line for line in lines if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]

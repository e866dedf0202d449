"""The benchmark of random numbers runs, at a small size, and its table is whole. No times."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "random_numbers.py"


def test_random_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(FILE))
    script["main"](["--size", "100", "--repeats", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(script["works"](1))
    assert all(line.count("|") == 5 for line in rows)

"""The array benchmarks run, at a small size: results agree and the tables are whole. No times."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from daskasc import device

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def script(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """One file of the folder as a module."""
    name = f"benchmark_{request.param}"
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{request.param}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.mark.parametrize("script", ["dispatch"], indirect=True)
@pytest.mark.parametrize("where", [[], ["--attached"]], ids=["unattached", "attached"])
def test_dispatch(script: ModuleType, where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    script.main([*where, "--blocks", "3", "--calls", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(script.cases())
    assert {case.kind for case in script.cases()} == set(script.LIMITS)
    assert not device.has_card()


@pytest.mark.parametrize("script", ["elementwise"], indirect=True)
@pytest.mark.parametrize("clock", [[], ["--cpu-time"]], ids=["wall", "cpu"])
def test_elementwise(
    script: ModuleType, clock: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    threads = device.torch().get_num_threads()
    script.main(["--quick", *clock])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows[2:]] == [f"| {name}" for name in script.WORKLOADS]
    assert {row.count("|") for row in rows} == {4}
    assert device.torch().get_num_threads() == threads

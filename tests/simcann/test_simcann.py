"""The simulated cards behave as documented: one process a check, in the prepared environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.simcann import checks_list
from tests.simcann.environment import ROOT, prepare, variables

PLACE = Path(os.environ.get("SIMCANN_PLACE", ROOT / "build" / "simcann"))
CHECKS = Path(__file__).with_name("checks.py")
COLLECTIVES = Path(__file__).with_name("collectives.py")
pytestmark = [pytest.mark.simcann, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def python() -> Path:
    return prepare(PLACE)


def run(
    python: Path,
    script: Path,
    *arguments: str,
    options: dict[str, object],
    timeout: float = 300,
    **extra: str,
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | variables(PLACE, **options) | extra  # type: ignore[arg-type]
    return subprocess.run(
        [str(python), str(script), *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.mark.parametrize(("name", "options", "extra"), checks_list.ROWS, ids=str)
def test_check(python, name, options, extra):
    done = run(python, CHECKS, name, options=options, **extra)
    assert "passed" in done.stdout.splitlines(), done.stdout + done.stderr


def test_contexts_are_logged(python, tmp_path):
    log = tmp_path / "log"
    done = run(python, CHECKS, "computes", options={}, SIMCANN_LOG=str(log))
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    assert lines == ["context 0"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("right_values", ""),
        ("takes_memory", ""),
        ("saturates", ""),
        ("refuses", ""),
        ("fails", "stall:2"),
        ("fails", "die:2"),
        ("fails", "refuse:2"),
    ],
)
def test_collectives(python, tmp_path, name, fault):
    extra = {"SIMCANN_HCCL_TIMEOUT": "5"} if fault else {}
    if name == "saturates":
        extra["INF_NAN_MODE_FORCE_DISABLE"] = "1"
    if name == "refuses":
        extra["TASK_QUEUE_ENABLE"] = "0"
    before = set(os.listdir("/dev/shm"))
    done = run(python, COLLECTIVES, name, "4", str(tmp_path), options={}, FAULT=fault, **extra)
    assert "passed" in done.stdout.splitlines(), done.stdout + done.stderr
    assert not {new for new in set(os.listdir("/dev/shm")) - before if "simcann" in new}

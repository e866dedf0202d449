"""``daskasc.device.selftest`` on simulated cards: it agrees, finds differences, survives faults."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from tests.simcann.test_simcann import python, run

__all__ = ["python"]

CHECKS = Path(__file__).with_name("selftest_checks.py")
pytestmark = [pytest.mark.simcann, pytest.mark.timeout(1200)]


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("agrees", {}),
        ("finds_an_altered_row", {}),
        ("tells_of_a_lost_card", {"SIMCANN_FAULT": "lost:20"}),
        ("tells_of_a_dead_rank", {"SIMCANN_FAULT": "die:3@1"}),
        ("tells_of_a_stalled_rank", {"SIMCANN_FAULT": "stall:3@1", "SIMCANN_HCCL_TIMEOUT": "60"}),
    ],
)
def test_selftest(python: Path, name: str, extra: dict[str, str]) -> None:
    memory = set(os.listdir("/dev/shm"))
    mark = f"{os.getpid()}-{name}"
    done = run(python, CHECKS, name, options={"cards": 4}, timeout=900, SELFTEST_MARK=mark, **extra)
    assert "passed" in done.stdout.splitlines(), done.stdout + done.stderr
    assert not {n for n in set(os.listdir("/dev/shm")) - memory if "simcann" in n}
    assert not [each for each in psutil.process_iter() if _mark(each) == mark]


def _mark(process: psutil.Process) -> str:
    try:
        return process.environ().get("SELFTEST_MARK", "")
    except psutil.Error:
        return ""

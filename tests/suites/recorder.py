"""pytest plug-in for the suite's process: writes the outcome of every test to a JSON file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

_outcomes: dict[str, dict[str, str]] = {}


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "xpassed" if report.passed else "xfailed"
    return str(report.outcome)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    passed_setup = report.when != "call" and report.passed
    if passed_setup:
        return
    # the name without the folders, which differ between installations
    file, separator, test = report.nodeid.partition("::")
    name = file.rsplit("/", 1)[-1] + separator + test
    message = ""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash is not None else str(report.longrepr)
    _outcomes[name] = {"outcome": _outcome(report), "message": message[:2000]}


def pytest_sessionfinish() -> None:
    Path(os.environ["SUITE_RESULTS"]).write_text(json.dumps(_outcomes))

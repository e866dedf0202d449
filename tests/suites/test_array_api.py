"""The public array-api-tests suite on ``daskasc.array``.

The suite is on no package index: name its checkout, with its submodule, by
``DASKASC_ARRAY_API_TESTS``; it needs ndindex and pytest-json-report. Examples are drawn from a
fixed seed. ``DASKASC_ARRAY_API_EXAMPLES`` sets their number a test; the lists hold for the
default.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.suites import runner

HERE = runner.HERE / "array_api"
EXAMPLES = os.environ.get("DASKASC_ARRAY_API_EXAMPLES", "10")
PLUGINS = ["_hypothesis_pytestplugin", "pytest_metadata.plugin", "pytest_jsonreport.plugin"]


@pytest.mark.suite
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", runner.MODES)
def test_array_api(mode: str, tmp_path: Path) -> None:
    checkout = os.environ.get("DASKASC_ARRAY_API_TESTS")
    if not checkout:
        pytest.skip("DASKASC_ARRAY_API_TESTS names no checkout of array-api-tests")
    pytest.importorskip("pytest_jsonreport")
    pytest.importorskip("ndindex")
    results = runner.run(
        [
            *("--disable-deadline", "--derandomize", "--max-examples", EXAMPLES, "-W", "ignore"),
            "array_api_tests",
        ],
        mode,
        tmp_path / "results.json",
        plugins=PLUGINS,
        environment={"ARRAY_API_TESTS_MODULE": "daskasc.array"},
        directory=Path(checkout),
        timeout=1700,
    )
    assert results.count()["passed"] >= 1300
    runner.compare(results, runner.known_failures(HERE / f"{mode}.txt"))

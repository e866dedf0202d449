"""The comparison itself: it must not let anything through."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suites.runner import HERE, MODES, Results, compare, known_failures


def test_lists_give_reasons(tmp_path: Path) -> None:
    for file in HERE.glob("*/*.txt"):
        assert file.stem in MODES
        known_failures(file)
    bad = tmp_path / "list.txt"
    bad.write_text("test_a.py::test\n")
    with pytest.raises(AssertionError, match="no reason"):
        known_failures(bad)
    bad.write_text("a::b  # why\na::b  # why\n")
    with pytest.raises(AssertionError, match="twice"):
        known_failures(bad)


def test_exactly_the_known_failures_fail() -> None:
    results = Results({"a": "failed", "b": "passed", "c": "xfailed"}, {"a": "boom"})
    compare(results, {"a": "known"})
    with pytest.raises(AssertionError, match="fails: a: boom"):
        compare(results, {})
    with pytest.raises(AssertionError, match="but passed: b"):
        compare(results, {"a": "known", "b": "known"})
    with pytest.raises(AssertionError, match="not in the suite: d"):
        compare(results, {"a": "known", "d": "known"})

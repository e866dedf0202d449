"""The self-check on simulated cards, ``python selftest_checks.py NAME``; see test_selftest.py."""

from __future__ import annotations

import sys
from collections.abc import Callable

from daskasc import device
from daskasc.device import capabilities


def agrees() -> None:
    """The strict simulation, written from the documentation, and our tables say the same."""
    report = device.selftest("npu", limit=400)
    assert report.facts["kind"] == "npu", report
    assert report.facts["collectives"] == "hccl, 4 cards"
    assert not report.untried, report
    assert not report.differences, report
    outcomes = {(f.subject, f.name, f.variant, f.dtype): f.outcome for f in report.findings}
    assert outcomes["operator", "trunc", "", "float32"] == "fallback"
    assert outcomes["operator", "mul", "", "float64"] == "refused"
    mask = "index_put_ with a mask crashed a context (507018)"
    assert outcomes["note", mask, "", ""] == "crashed"
    assert outcomes["collective", "all_reduce", "prod", "bfloat16"] == "refused"


def finds_an_altered_row() -> None:
    """One line too many in the table and one too few: those two, and nothing else."""
    Limit = type(capabilities.FAMILIES["ascend-a2"][0])
    rows = [row for row in capabilities.FAMILIES["ascend-a2"] if row.operators != "bucketize"]
    rows += [Limit("bucketize", (), "emptied"), Limit("abs", ("float32",), "invented")]
    capabilities.FAMILIES["ascend-a2"] = tuple(rows)
    report = device.selftest("npu", operators=["abs", "bucketize", "mul"], collectives=False)
    told = [(f.name, f.dtype, f.expected, f.outcome) for f in report.differences]
    assert sorted(told) == [
        ("abs", "float32", "missing", "right"),
        ("bucketize", "float64", "works", "refused"),
    ], report


def tells_of_a_lost_card() -> None:
    """A card that is lost in the course of it is an answer, and a new process goes on."""
    report = device.selftest("npu", operators=["add"], collectives=False)
    crashed = [f for f in report.differences if f.outcome == "crashed"]
    assert crashed, report
    assert "507899" in crashed[0].detail, report
    assert len(report.findings) + len(report.untried) == len(capabilities.ALL), report
    assert any(f.outcome == "right" for f in report.findings), report


def tells_of_a_dead_rank() -> None:
    """A process that dies in a collective is an answer."""
    report = device.selftest("npu", operators=[], dtypes=["int32"], cards=2, limit=25)
    crashed = [f for f in report.differences if f.outcome == "crashed"]
    assert crashed, report
    assert "SIGKILL" in crashed[0].detail, report


def tells_of_a_stalled_rank() -> None:
    """A collective that does not end within its limit is one, too."""
    report = device.selftest(
        "npu", operators=[], dtypes=["int32"], cards=2, limit=25, call_limit=2.0
    )
    assert any(f.outcome == "hung" for f in report.differences), report


CHECKS: dict[str, Callable[[], None]] = {
    function.__name__: function
    for function in (
        agrees,
        finds_an_altered_row,
        tells_of_a_lost_card,
        tells_of_a_dead_rank,
        tells_of_a_stalled_rank,
    )
}

if __name__ == "__main__":
    CHECKS[sys.argv[1]]()
    assert "torch_npu" not in sys.modules, "the parent has loaded a card's software"
    print("passed", flush=True)

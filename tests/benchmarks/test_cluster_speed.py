"""The benchmarks of clusters run, at a small size: values compared, JSON whole. No times."""

from __future__ import annotations

import pytest

from .conftest import table

KEYS = {"workload", "variant", "median_s", "ratio", "tasks"}
MOVED = {"peak_bytes", "bytes_between_cards", "scheduler_cpu_s"}


def test_reductions(execute):
    only = ["x.mean(0)", "elementwise"]
    lines, results = execute(
        "reductions", "--size", "4MiB", "--repeats", "1", "--only", *only, "--workers", "2"
    )
    assert [row[0] for row in table(lines)[1:]] == only
    assert [(one["workload"], one["variant"]) for one in results] == [
        (name, side) for name in only for side in ("dask", "daskasc")
    ]
    assert all(KEYS | MOVED <= one.keys() for one in results)
    by_name = {one["workload"]: one for one in results if one["variant"] == "daskasc"}
    assert by_name["elementwise"]["bytes_between_cards"] == 0
    # dask's own optimisation is on: reading and arithmetic are one task a chunk
    stock = next(r for r in results if (r["workload"], r["variant"]) == ("elementwise", "dask"))
    assert stock["tasks"] <= stock["chunks"] + 1
    # a contribution is a sum in float64 and a count, from one card to the other
    output = 181 * 360 * 4
    assert output <= by_name["x.mean(0)"]["array_bytes_between_cards"] <= 2 * output + 1000
    verdicts = [line.split()[0] for line in lines if line.startswith(("met", "MISSED"))]
    assert len(verdicts) == 3
    assert verdicts[1] == "met"


def test_values_are_compared(load):
    with pytest.raises(AssertionError, match=r"x\.std\(\)"):
        load("_sides").same({"dask": 1.0, "daskasc": 1.1}, "x.std()", 1e-4)


def test_planner(execute):
    lines, results = execute("planner", "--size", "300", "--repeats", "1")
    assert table(lines)[0][1:] == ["3 chunks", "30 chunks", "300 chunks"]
    assert len(results) == 9
    assert {one["chunks"] for one in results} == {3, 30, 300}
    assert all(KEYS <= one.keys() or one["variant"] == "building, not run" for one in results)
    assert lines[-1].startswith(("met", "MISSED"))


def test_planner_compares_values(load):
    script = load("planner")
    script.compare(10, "dask", 2.4)  # 0 to 6, 0, 1, 2
    with pytest.raises(AssertionError, match="10 by dask"):
        script.compare(10, "dask", 2.5)


def test_reading_ahead(execute):
    lines, results = execute("read_ahead", "--size", "6", "--latency", "1", "--repeats", "1")
    assert table(lines)[0] == ["latency of a chunk", "dask", "0 ahead", "1 ahead", "2 ahead"]
    assert [one["variant"] for one in results] == ["dask", "0 ahead", "1 ahead", "2 ahead"]
    assert all(KEYS - {"tasks"} <= one.keys() for one in results)
    assert lines[-1].startswith(("met", "MISSED"))

"""Servers as namespaces and on paper: the scripts run, at a small size, and tell right figures."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .conftest import table

KEYS = {"workload", "variant", "median_s", "ratio", "tasks", "bytes_between_servers"}
NAMES = Path("/run/netns")


def namespaces(number):
    found = [path.name for path in NAMES.iterdir()] if NAMES.exists() else []
    return [name for name in found if name.startswith(f"daskasc-{number}-")]


@pytest.mark.timeout(600)
def test_two_namespaces(execute, load):
    reason = load("_namespaces").why_not()
    if reason:
        pytest.skip(reason)
    only = ["tiny", "x.max(0)"]
    lines, results = execute(
        "two_servers", "--size", "8", "--side", "256", "--repeats", "1", "--only", *only
    )
    assert namespaces(os.getpid()) == []
    assert [(one["workload"], one["variant"]) for one in results] == [
        (name, variant) for name in only for variant in ("dask", "flat", "two levels")
    ]
    assert all(KEYS <= one.keys() for one in results)
    assert len(table(lines)) == 7
    output = 256 * 256 * 4
    crossed = {one["variant"]: one["bytes_between_servers"] for one in results[3:]}
    # two cards send one output each, or one for both
    assert 2 * output < crossed["flat"] < 3 * output
    assert output < crossed["two levels"] < 2 * output
    planned = {one["variant"]: one.get("planned_between_servers") for one in results[3:]}
    assert planned == {"dask": None, "flat": 2 * output, "two levels": output}


def test_namespaces_are_removed_whatever_happens(load):
    module = load("_namespaces")
    reason = module.why_not()
    if reason:
        pytest.skip(reason)
    processes = []

    def interrupted():
        with module.two_servers("1gbit") as servers:
            processes.append(servers.start(1, ["sleep", "1000"]))
            assert len(namespaces(os.getpid())) == 2
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert processes[0].poll() is not None
    assert namespaces(os.getpid()) == []
    subprocess.run(["ip", "netns", "add", "daskasc-999999999-a"], check=True)
    module.remove_leftovers()
    assert namespaces(999999999) == []


@pytest.mark.timeout(300)
def test_on_paper(execute):
    lines, results = execute(
        "scale_on_paper", "--size", "4", "--workers", "16", "--only", "x.max(0)"
    )
    assert [one["variant"] for one in results] == ["dask", "flat", "two levels"]
    assert all(KEYS <= one.keys() for one in results[1:])
    output = 512 * 512 * 4
    flat, two = results[1:]
    assert flat["bytes_between_servers"] == 8 * output
    assert two["bytes_between_servers"] == output
    assert flat["bytes_between_cards"] == two["bytes_between_cards"] == 15 * output
    # a bundle, a contribution and two tasks of the collective for each card; barrier and result
    assert flat["tasks"] == two["tasks"] == 4 * 16 + 2
    assert lines[-1].startswith("met")

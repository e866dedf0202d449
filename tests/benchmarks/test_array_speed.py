"""The benchmarks of single arrays run, at a small size: tables and JSON are whole. No times."""

from __future__ import annotations

import numpy as np
import pytest

from daskasc import device

from .conftest import table

KEYS = {"workload", "variant", "median_s", "ratio"}


@pytest.mark.parametrize("where", [[], ["--attached"]], ids=["unattached", "attached"])
def test_dispatch(load, execute, where):
    lines, results = execute("dispatch", *where, "--blocks", "3", "--calls", "1")
    script = load("dispatch")
    names = [case.name for case in script.cases()]
    assert [row[0] for row in table(lines)] == ["case", *names]
    assert {case.kind for case in script.cases()} == set(script.LIMITS)
    assert [one["workload"] for one in results[::3]] == names
    assert {one["variant"] for one in results} == {"torch", "AscendArray", "NumPy"}
    assert all(KEYS <= one.keys() for one in results)
    assert not device.has_card()


@pytest.mark.parametrize("size", ["4", "11"])
def test_dispatch_refuses_a_size_that_has_no_two_rows(execute, size, capsys):
    with pytest.raises(SystemExit):
        execute("dispatch", "--size", size)
    assert f"--size is {size}; allowed: even numbers from 10" in capsys.readouterr().err


@pytest.mark.parametrize("clock", [[], ["--cpu-time"]], ids=["wall", "cpu"])
def test_elementwise(load, execute, clock):
    threads = device.torch().get_num_threads()
    lines, results = execute("elementwise", "--size", "100", "--repeats", "1", *clock)
    head, *rows = table(lines)
    assert head == ["", "1e2"]
    assert [row[0] for row in rows] == list(load("elementwise").WORKLOADS)
    assert {one["elements"] for one in results} == {100}
    assert len(results) == len(rows) * (2 if clock else 3)
    assert all(KEYS <= one.keys() for one in results)
    assert device.torch().get_num_threads() == threads


def test_sizes_are_powers_of_ten(load):
    assert load("elementwise").sizes_up_to(10**5) == [10**3, 10**4, 10**5]
    assert load("elementwise").sizes_up_to(99) == [99]


def test_elementwise_compares_results_first(load, monkeypatch):
    script = load("elementwise")
    wrong = {"add": lambda d: d["u"] * (1 if isinstance(d["u"], np.ndarray) else 2)}
    monkeypatch.setattr(script, "WORKLOADS", wrong)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        script.main(["--size", "10", "--repeats", "1", "--only", "add"])


def test_random_numbers(load, execute):
    lines, results = execute("random_numbers", "--size", "100", "--repeats", "1")
    head, *rows = table(lines)
    assert head == ["", "daskasc", "torch", "NumPy"]
    assert [row[0] for row in rows] == list(load("random_numbers").works(1))
    assert {one["variant"] for one in results} == {"daskasc", "torch", "NumPy"}
    assert all(KEYS <= one.keys() for one in results)


def test_random_numbers_compares_means_first(load):
    draws = (lambda: np.ones(400), lambda: np.ones(400), lambda: np.ones(400))
    with pytest.raises(AssertionError, match=r"by daskasc: mean 1\.0, should be 0\.5"):
        load("random_numbers").check_mean(draws, "random float64", 400)

"""What the benchmarks share."""

from __future__ import annotations

import json

import pytest


def test_works_take_turns(load):
    calls = []

    def work(name):
        return lambda: calls.append(name) or float(len(calls))

    times = load("_measure").interleaved({"a": work("a"), "b": work("b")}, 3)
    assert calls == ["a", "b"] * 3
    assert times == {"a": [1.0, 3.0, 5.0], "b": [2.0, 4.0, 6.0]}
    assert load("_measure").medians(times) == {"a": 3.0, "b": 4.0}


def test_results_are_compared_with_the_first(load):
    slow, fast = load("_measure").compared("w", {"slow": 6.0, "fast": 2.0}, {"elements": 3})
    assert (slow.ratio, fast.ratio) == (1.0, 3.0)
    assert fast.as_dict() == {
        "workload": "w",
        "variant": "fast",
        "median_s": 2.0,
        "ratio": 3.0,
        "elements": 3,
    }


def test_no_ratio_to_nothing(load):
    assert load("_measure").ratio(1.0, 0.0) is None
    assert load("_measure").ratio(0.0, 2.0) == 0.0


def test_json_is_a_list_of_objects(load, tmp_path):
    measure = load("_measure")
    measure.write(tmp_path / "r.json", [measure.Result("w", "v", 0.5, tasks=0)])
    measure.write(None, [])
    written = json.loads((tmp_path / "r.json").read_text())
    assert written == [{"workload": "w", "variant": "v", "median_s": 0.5, "tasks": 0}]


def test_checks_say_what_was_missed(load, capsys):
    load("_measure").check("at most 1", False, "2")
    load("_measure").check("at most 3", True, "2")
    assert capsys.readouterr().out.split() == "MISSED at most 1: 2 met at most 3: 2".split()


@pytest.mark.parametrize("name", ["dispatch", "elementwise", "random_numbers"])
def test_size_is_explained(load, name, capsys):
    with pytest.raises(SystemExit):
        load(name).main(["--help"])
    text = capsys.readouterr().out
    assert "--json FILE" in text
    assert "--size SIZE" in text

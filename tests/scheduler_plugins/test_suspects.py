"""Turns of tasks that were with a dead worker."""

from __future__ import annotations

import random

from scheduler_plugins._suspects import Suspects
from scheduler_plugins.chunk_placement import _unfinished_below


def test_one_after_the_other():
    suspects = Suspects()
    assert suspects.replace({0: "abc", 1: "xy"}) == []
    assert [suspects.holds(key) for key in "abcxyz"] == [False, True, True, False, True, False]
    assert suspects.finished("b") is None
    assert suspects.finished("a") == "c"
    assert not suspects.holds("c")
    assert suspects.finished("c") is None
    assert suspects.finished("c") is None
    assert suspects.finished("x") == "y"


def test_the_next_death_sets_them_anew():
    suspects = Suspects()
    suspects.replace({0: "abc"})
    assert suspects.replace({0: "bd", 1: "c"}) == ["b", "c"]
    assert [suspects.holds(key) for key in "abcd"] == [False, False, False, True]
    assert suspects.replace({0: ""}) == ["d"]
    assert not any(map(suspects.holds, "abcd"))
    suspects.replace({0: "ab"})
    suspects.clear()
    assert not suspects.holds("b")


def test_everyone_gets_a_turn():
    rng = random.Random(3)
    for _ in range(200):
        suspects = Suspects()
        keys = {card: [f"{card}{i}" for i in range(rng.randrange(6))] for card in range(3)}
        suspects.replace(keys)
        left = {key for queue in keys.values() for key in queue}
        while left:
            free = [key for key in sorted(left) if not suspects.holds(key)]
            assert free
            done = rng.choice(free if rng.random() < 0.8 else sorted(left))
            left.discard(done)
            following = suspects.finished(done)
            assert following is None or (following in left and not suspects.holds(following))


class Task:
    def __init__(self, state, *dependencies):
        self.state, self.dependencies = state, set(dependencies)


def test_what_a_suspect_needs_is_told_up_to_results():
    read = Task("waiting")
    stored = Task("memory", read)
    lost = Task("no-worker")
    between = Task("waiting", lost, stored)
    suspect = Task("waiting", between)
    assert _unfinished_below([suspect]) == {between, lost}
    assert _unfinished_below([suspect, between]) == {between, lost}
    assert _unfinished_below([]) == set()

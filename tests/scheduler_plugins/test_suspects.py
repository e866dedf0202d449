"""Turns of tasks that were with a dead worker."""

from __future__ import annotations

import random

from scheduler_plugins._suspects import Suspects


def test_one_after_the_other():
    suspects = Suspects()
    suspects.set(0, "abc")
    suspects.set(1, "xy")
    assert [suspects.holds(key) for key in "abcxyz"] == [False, True, True, False, True, False]
    assert suspects.finished("b") is None
    assert suspects.finished("a") == "c"
    assert not suspects.holds("c")
    assert suspects.finished("c") is None
    assert suspects.finished("c") is None
    assert suspects.finished("x") == "y"


def test_the_next_death_sets_them_anew():
    suspects = Suspects()
    suspects.set(0, "abc")
    suspects.set(0, "bd")
    assert [suspects.holds(key) for key in "abcd"] == [False, False, False, True]
    suspects.set(0, "")
    assert not any(map(suspects.holds, "abcd"))
    suspects.set(0, "ab")
    suspects.clear()
    assert not suspects.holds("b")


def test_everyone_gets_a_turn():
    rng = random.Random(3)
    for _ in range(200):
        suspects = Suspects()
        keys = {card: [f"{card}{i}" for i in range(rng.randrange(6))] for card in range(3)}
        for card, queue in keys.items():
            suspects.set(card, queue)
        left = {key for queue in keys.values() for key in queue}
        while left:
            free = [key for key in sorted(left) if not suspects.holds(key)]
            assert free
            done = rng.choice(free if rng.random() < 0.8 else sorted(left))
            left.discard(done)
            following = suspects.finished(done)
            assert following is None or (following in left and not suspects.holds(following))

"""Graphs that no card can run are refused before anything runs; what can be spilled is not."""

from __future__ import annotations

import logging
import pickle

import dask
import pytest

from daskasc import Planner
from daskasc.errors import ProjectedMemoryError
from tests.planner.cards import on_cards

CHUNK = 4 * 16 * 16 * 8


def planned(x, capacity, **options):
    planner = Planner(4, capacity=capacity, **options)
    return planner(x.dask, list(dask.core.flatten(x.__dask_keys__())))


def test_a_task_that_fits_is_let_through_however_much_data_there_are():
    x = on_cards((4000, 16, 16), (4, 16, 16))
    assert planned(x * 2, 2 * CHUNK)
    assert planned((x - x.mean(axis=0)).std(axis=0), 20 * CHUNK)


@pytest.mark.parametrize("short", [1, CHUNK // 2])
def test_the_largest_task_is_named_with_its_need_the_limit_and_what_fits(short):
    x = on_cards((64, 16, 16), (4, 16, 16)) * 2
    with pytest.raises(ProjectedMemoryError) as caught:
        planned(x, 2 * CHUNK - short)
    message = str(caught.value)
    assert f"('{x.name}', " in message
    assert "needs 16.00 kiB on one card" in message
    assert "its chunks have 8.00 kiB: rechunk to at most" in message
    assert "memory-check" in message
    assert isinstance(caught.value, MemoryError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


def test_what_the_refusal_recommends_is_let_through():
    x = on_cards((64, 16, 16), (4, 16, 16)) * 2
    capacity = 2 * CHUNK - 1
    with pytest.raises(ProjectedMemoryError):
        planned(x, capacity)
    assert planned(on_cards((64, 16, 16), (2, 16, 16)) * 2, capacity)


def test_functions_that_are_not_known_are_not_refused_for_guesses():
    x = on_cards((64, 16, 16), (4, 16, 16))
    y = x.map_blocks(_twice, dtype="f8", meta=x._meta)
    assert planned(y, 2 * CHUNK)
    with pytest.raises(ProjectedMemoryError):
        planned(y, 2 * CHUNK - 1)


def _twice(block):
    return block * 2 + 1


def test_a_reduction_over_many_cards_may_need_too_much_on_one():
    x = on_cards((4, 400), (1, 400))
    assert planned(x.sum(axis=0), 40_000)
    with pytest.raises(ProjectedMemoryError, match="one partial result of each card") as caught:
        planned(x.sum(axis=0), 20_000)
    assert "use at most 2 cards" in str(caught.value)
    many = on_cards((64, 400), (1, 400)).sum(axis=0)
    with pytest.raises(ProjectedMemoryError, match="fan-in to 2"):
        planned(many, 40_000, bundle=1)
    assert planned(many, 40_000, bundle=1, fan_in=2)
    assert planned(many, 40_000)  # a bundle keeps fewer partial results at a time


def test_warn_and_off(caplog):
    x = on_cards((64, 16, 16), (4, 16, 16)) * 2
    with caplog.at_level(logging.WARNING, "daskasc.planner"):
        assert planned(x, CHUNK, memory_check="off")
        assert caplog.records == []
        with dask.config.set({"daskasc.planner.memory-check": "warn"}):
            assert planned(x, CHUNK)
    assert "needs 16.00 kiB on one card" in caplog.text
    with dask.config.set({"daskasc.planner.memory-check": False}):  # a bare off in YAML
        assert planned(x, CHUNK)


def test_without_a_known_memory_nothing_is_checked():
    assert planned(on_cards((64, 16, 16), (64, 16, 16)) * 2, None)

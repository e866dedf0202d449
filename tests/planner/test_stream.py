"""Reading ahead in bundles: the same bits, a bounded number of chunks, errors where they belong."""

from __future__ import annotations

import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import Task, TaskRef

import daskasc
from daskasc.array import from_numpy
from daskasc.planner._stream import run_bundle

from .cards import on_cards
from .test_bundles import REDUCTIONS, source
from .test_planner import data, value

LIMIT = 20


@pytest.mark.parametrize("ahead", [1, 3])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_bits_do_not_depend_on_reading_ahead(name, ahead):
    lazy = REDUCTIONS[name](source(data("f4", (45, 3, 4))))
    expected = value(lazy, 2, prefetch=0)
    np.testing.assert_array_equal(value(lazy, 2, prefetch=ahead), expected)


class Rows:
    """Array-like of one row a chunk that notes who reads it."""

    ndim, dtype = 2, np.dtype("f8")

    def __init__(self, rows, bad=None):
        self.shape = (rows, 4)
        self.bad = bad
        self.begun = [threading.Event() for _ in range(rows)]
        self.threads = set()

    def __getitem__(self, index):
        row = index[0].start
        self.begun[row].set()
        self.threads.add(threading.current_thread().name)
        if row == self.bad:
            raise OSError("the disk is gone")
        return np.full((1, 4), float(row))

    def __dask_tokenize__(self):
        return "rows", id(self)

    def reduced(self, each):
        x = da.from_array(self, (1, 4), asarray=False, fancy=False, meta=np.empty((0, 0)))
        return x.map_blocks(each, dtype="f8", meta=each(np.empty((0, 0)))).sum(axis=0)


def test_the_next_chunk_is_read_while_one_is_computed():
    rows = Rows(8)

    def wait_for_the_next(block):
        if not block.size:
            return block
        following = int(block[0, 0]) + 1
        assert following == 8 or rows.begun[following].wait(LIMIT)
        return block

    found = value(rows.reduced(wait_for_the_next), 1, prefetch=1)
    np.testing.assert_array_equal(found, np.full(4, 28.0))
    assert {name.startswith("daskasc-reader") for name in rows.threads} == {True}


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_no_more_is_read_than_asked_for(ahead):
    rows = Rows(8)
    most = []

    def look(block):
        if not block.size:
            return block
        time.sleep(0.02)  # a reader that goes too far has the time for it
        most.append(sum(event.is_set() for event in rows.begun) - int(block[0, 0]))
        return block

    value(rows.reduced(look), 1, prefetch=ahead)
    assert max(most) == ahead + 1


@pytest.mark.parametrize("ahead", [0, 2])
def test_an_error_of_the_reader_names_the_chunk_and_ends_the_bundle(ahead):
    rows = Rows(8, bad=2)
    seen = []

    def note(block):
        if not block.size:
            return block
        seen.append(int(block[0, 0]))
        return block

    with pytest.raises(OSError, match="the disk is gone") as caught:
        value(rows.reduced(note), 1, prefetch=ahead)
    (text,) = caught.value.__notes__
    assert "in step ('sum-" in text
    assert ", 2, 0)" in text
    assert seen == [0, 1]
    assert not [t for t in threading.enumerate() if t.name.startswith("daskasc-reader")]


def test_chunks_that_are_read_die_with_their_use():
    alive: set[int] = set()

    class Chunk(np.ndarray):
        def __array_finalize__(self, of):
            alive.add(id(self))

        def __del__(self):
            alive.discard(id(self))

    seen = []

    def read(i):
        return np.ones(3).view(Chunk)

    def total(chunk):
        seen.append(len(alive))
        return float(np.asarray(chunk).sum())

    steps = {}
    for i in range(6):
        steps[f"r{i}"] = Task(f"r{i}", read, i, _data_producer=True)
        steps[f"t{i}"] = Task(f"t{i}", total, TaskRef(f"r{i}"))
    steps["all"] = Task("all", lambda *given: sum(given), *(TaskRef(f"t{i}") for i in range(6)))
    assert run_bundle(steps, (), 1) == 18
    assert max(seen) <= 2
    assert not alive


def test_what_needs_another_step_is_not_read_ahead():
    steps = {
        "a": Task("a", lambda: 1, _data_producer=True),
        "b": Task("b", lambda a: a + 1, TaskRef("a"), _data_producer=True),
        "c": Task("c", lambda a, b: 10 * a + b, TaskRef("a"), TaskRef("b")),
    }
    for ahead in (0, 1, 5):
        assert run_bundle(steps, (), ahead) == 12


def test_the_plan_counts_what_is_read_ahead():
    rows = Rows(64).reduced(from_numpy)
    chunk = 4 * 8
    peaks = []
    for ahead in (0, 1, 3):
        with dask.config.set({"daskasc.planner.prefetch": ahead}):
            peaks.append(daskasc.plan(rows, cards=1, persist=True).peak_device_bytes)
    assert [peak - peaks[0] for peak in peaks] == [0, chunk, 3 * chunk]


def test_configuration():
    x = on_cards((8, 4), (1, 4)).sum()
    for wrong in (-1, "often", True, 1.5):
        with (
            dask.config.set({"daskasc.planner.prefetch": wrong}),
            pytest.raises(daskasc.errors.ConfigurationError, match=r"planner\.prefetch is"),
        ):
            daskasc.plan(x, cards=1)

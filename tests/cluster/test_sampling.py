"""The profiler of tasks tells where they are and keeps nothing of theirs alive."""

from __future__ import annotations

import sys
import threading
import time
import weakref

import pytest
from distributed import profile

from daskasc.cluster import _sampling


class Chunk:
    """Counts how many of its kind there are."""

    def __init__(self, there: weakref.WeakSet[Chunk]) -> None:
        there.add(self)


def step(there: weakref.WeakSet[Chunk]) -> int:
    chunk, copy = Chunk(there), Chunk(there)
    for _ in range(50):
        assert chunk is not copy
    return len(there)


class Worker(threading.Thread):
    """Runs steps of two chunks each, and notes the most that were there at once."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0
        self.ended = False
        self.there: weakref.WeakSet[Chunk] = weakref.WeakSet()

    def run(self) -> None:
        while not self.ended:
            self.most = max(self.most, step(self.there))


@pytest.fixture
def worker():
    """A thread at work that is often interrupted."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = Worker()
    thread.start()
    yield thread
    thread.ended = True
    thread.join(timeout=10)
    sys.setswitchinterval(before)


def test_a_sample_keeps_no_variables_of_the_sampled_thread(worker):
    names = set()
    for _ in range(20_000):
        names |= {code.co_name for code, _ in _sampling.places(worker.ident)}
    assert {"step", "run", "__init__", "_bootstrap"} <= names
    assert worker.most == 2


def test_frames_that_are_held_keep_them(worker):
    """What the module is for: distributed's own way is seen by the test above."""
    state = profile.create()
    for _ in range(200_000):
        profile.process(sys._current_frames()[worker.ident], True, state)
        if worker.most > 2:
            return
    pytest.fail("no sample kept anything")


def test_places_are_those_of_the_frames():
    frame = sys._getframe()
    found = _sampling.places(threading.get_ident())
    inner = next(index for index, (code, _) in enumerate(found) if code is frame.f_code)
    expected = []
    while frame is not None:
        expected.append(frame.f_code)
        frame = frame.f_back
    assert [code for code, _ in found[inner:]] == expected
    assert all(line for _, line in found[inner:])


def test_no_thread_no_places():
    assert _sampling.places(0) == []
    assert _sampling.seen([]) is None


def test_the_profile_of_a_task_on_a_card_names_its_function(client2):
    def crunch():
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            sum(range(1000))

    client2.submit(crunch, workers=[0], pure=False).result(timeout=20)
    deadline = time.monotonic() + 20  # told once a second
    while not (found := client2.profile(key="crunch"))["count"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "crunch" in str(found)

"""The profiler of tasks tells where they are and keeps nothing of theirs alive."""

from __future__ import annotations

import gc
import subprocess
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


CRASH = """
import gc, sys, threading, time

from daskasc.cluster import _sampling


def switch(phase, info):  # as what is collected may do
    if threading.current_thread() is threading.main_thread():
        time.sleep(0.0002)


def deep(n):
    return sum(deep(n - 1) for _ in (1,)) if n else 1


def work():
    depth = 0
    while not ended:
        depth = (depth + 1) % 150
        deep(depth)


ended = False
sys.setswitchinterval(1e-5)
thread = threading.Thread(target=work)
thread.start()
gc.callbacks.append(switch)
gc.set_threshold(3)
end = time.monotonic() + 3
seen = 0
while time.monotonic() < end:
    seen += len(_sampling.places(thread.ident))
ended = True
thread.join()
assert seen > 1000 and gc.isenabled()
"""


def test_a_collection_never_begins_in_a_sample():
    """It would end the process; each second of this loop did so many times."""
    ended = subprocess.run(
        [sys.executable, "-c", CRASH], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("collecting", [True, False])
def test_the_garbage_collector_is_as_before(collecting):
    (gc.enable if collecting else gc.disable)()
    try:
        for thread in (threading.get_ident(), 0):
            _sampling.places(thread)
            assert gc.isenabled() == collecting
    finally:
        gc.enable()


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

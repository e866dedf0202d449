"""distributed's profiler of tasks, which must not keep memory of the tasks alive.

A worker notes every 10 ms where its tasks are (``distributed.worker.profile``). distributed takes
the frames of their threads and works on them in Python, reading source files on the way. Meanwhile
a task goes on, and what it has left already stays: a frame that somebody holds keeps its variables,
here whole chunks in the card's memory, beyond what was projected. So here one call that never
leaves C takes code and line numbers, and no frame outlives it: Python's lock is not given up in it.

Nor may the garbage collector begin in it. Python makes the object of a frame when somebody asks
for it, memory for one can start a collection, and what is collected may give up the lock, as
tensors do. The frame could be gone then, and Python would crash (a segmentation fault; seen with
3.11).
"""

from __future__ import annotations

import gc
import itertools
import operator
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, cast

from distributed import profile
from distributed.utils import key_split

if TYPE_CHECKING:
    from distributed.worker import Worker

Place = tuple[CodeType, int | None]

_place = operator.attrgetter("f_code", "f_lineno")
# above it are the frames of the thread itself
_OUTERMOST = "distributed/worker.py"


@dataclass
class Seen:
    """What :func:`distributed.profile.process` asks of a frame."""

    f_code: CodeType
    f_lineno: int | None
    f_back: Seen | None
    f_lasti: int = 0
    f_globals: dict[str, Any] = field(default_factory=dict)


def places(thread: int) -> list[Place]:
    """Code and line number of each frame of a thread, innermost first; empty if it has ended."""
    found: list[Place] = []
    newest = map(operator.itemgetter(thread), iter(sys._current_frames, None))
    chain: Iterator[Any] = itertools.chain(itertools.islice(newest, 1), itertools.repeat("f_back"))
    frames = itertools.takewhile(operator.truth, itertools.accumulate(chain, getattr))
    switched_off: Iterator[Place] = iter(gc.disable, None)  # gives nothing
    collecting = gc.isenabled()
    try:
        found.extend(itertools.chain(switched_off, map(_place, frames)))
    except KeyError:  # no such thread
        pass
    finally:
        if collecting:
            gc.enable()
    return found


def seen(found: list[Place]) -> Seen | None:
    """The innermost of frames given by :func:`places`."""
    frame = None
    for code, line in reversed(found):
        frame = Seen(code, line, frame)
    return frame


def install(worker: Worker) -> None:
    """Let a worker's profiler take its samples with :func:`places`.

    Nothing changes where it is switched off, or also takes the frames of C.
    """
    callback = worker.periodic_callbacks.get("profile")
    if callback is not None and not worker.low_level_profiler:
        callback.callback = lambda: _sample(worker)


def _sample(worker: Worker) -> None:
    """What ``Worker.trigger_profile`` does."""
    begin = time.time()
    with worker.active_threads_lock:
        active = dict(worker.active_threads)
    if not active:
        return
    for thread, key in active.items():
        frame = seen(places(thread))
        if frame is None:
            continue
        for state in (worker.profile_recent, worker.profile_keys[key_split(key)]):
            profile.process(cast(FrameType, frame), True, state, stop=_OUTERMOST)
    worker.digest_metric("profile-duration", time.time() - begin)

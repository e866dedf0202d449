"""Beginning and ending profiles: the recorder comes with the first and goes with the last.

Peak memory: the card has one high-water mark. It is set back when a profile begins, after the
profiles that run already (and the backend's own figure, see ``Backend.mark_peak``) have noted it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from daskasc import device

if TYPE_CHECKING:
    from daskasc.profiling._profile import Profile

_lock = threading.Lock()
_recorder: Any = None


def start(profile: Profile) -> None:
    """Let a profile take in what happens from now on."""
    # imports torch, which importing this package must not
    from daskasc.profiling._recorder import Recorder

    global _recorder
    with _lock:
        if _recorder is None:
            _recorder = Recorder()
        peak = device.current().mark_peak()
        for running in _recorder.profiles:
            running.take_peak(peak)
        profile.begun = time.perf_counter_ns()
        _recorder.profiles = (*_recorder.profiles, profile)
        if len(_recorder.profiles) == 1:
            _recorder.install()


def stop(profile: Profile) -> None:
    """Let a profile take in nothing more, and note the peak."""
    with _lock:
        peak = device.current().peak_since_mark()
        for running in _recorder.profiles:
            running.take_peak(peak)
        _recorder.profiles = tuple(p for p in _recorder.profiles if p is not profile)
        if not _recorder.profiles:
            _recorder.remove()

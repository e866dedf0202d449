"""A text bar that also reads well in a log file, fed by the scheduler's own task counts."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

WAITING = ("waiting", "no-worker", "queued", "processing")
WIDTH = 30


def tasks_left(dask_scheduler: Any = None) -> int:
    """Tasks that the scheduler has not finished yet."""
    groups = dask_scheduler.task_groups.values()
    return sum(group.states.get(state, 0) for group in groups for state in WAITING)


def tasks_run(dask_scheduler: Any = None) -> int:
    """Tasks that ran so far, those that were forgotten since included."""
    prefixes = dask_scheduler.task_prefixes.values()
    return sum(prefix.state_counts.get("memory", 0) for prefix in prefixes)


@contextmanager
def progress(client: Any, title: str, show: bool = True) -> Iterator[None]:
    """Show how far the tasks are that run inside the block.

    On a terminal one line is drawn over and over; elsewhere each quarter is a line of its own.
    """
    if not show:
        yield
        return
    stop = threading.Event()
    bar = _Bar(title)
    thread = threading.Thread(target=_watch, args=(client, bar, stop), name="progress", daemon=True)
    thread.start()
    finished = False
    try:
        yield
        finished = True
    finally:
        stop.set()
        thread.join(timeout=10)
        bar.close(finished)


def _watch(client: Any, bar: _Bar, stop: threading.Event) -> None:
    most = 0
    while not stop.wait(0.2):
        try:
            left = client.run_on_scheduler(tasks_left)
        except Exception:  # the bar must not end a run
            return
        most = max(most, left)
        if most:
            bar.draw(1 - left / most)


class _Bar:
    def __init__(self, title: str) -> None:
        self.title = title
        self.started = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.quarter = 0

    def draw(self, share: float) -> None:
        seconds = time.monotonic() - self.started
        done = "#" * int(share * WIDTH)
        line = f"  {self.title:<34} [{done:<{WIDTH}}] {share:4.0%} {seconds:6.1f} s"
        if self.terminal:
            print(f"\r{line}", end="", flush=True)
        elif int(share * 4) > self.quarter and share < 1:
            self.quarter = int(share * 4)
            print(line, flush=True)

    def close(self, finished: bool) -> None:
        """Draw the full bar, or leave the line of one that was cut short."""
        start = "\r" if self.terminal else ""
        if finished:
            seconds = time.monotonic() - self.started
            print(f"{start}  {self.title:<34} [{'#' * WIDTH}] 100% {seconds:6.1f} s", flush=True)
        elif self.terminal:
            print(flush=True)

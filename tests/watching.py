"""What hangs, when a test does: the workers say where they are before the time limit ends all.

pytest-timeout prints the stacks of the process that runs the tests; the reason is often in a
worker. Workers that are forked (`tests.forking`) print theirs on a signal.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

import psutil
import pytest

from tests import forking

EARLY = 20  # seconds before a test's limit


class Watch:
    """Pytest plugin: asks the forked workers for their stacks shortly before a test's limit."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._due: float | None = None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def pytest_sessionstart(self) -> None:
        self._thread.start()

    def pytest_sessionfinish(self) -> None:
        self._over.set()
        self._thread.join()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        limit = _limit(item)
        self._due = time.monotonic() + max(limit - EARLY, limit / 2) if limit > 0 else None
        try:
            return (yield)
        finally:
            self._due = None

    def _run(self) -> None:
        while not self._over.wait(5):
            if self._due is not None and time.monotonic() > self._due:
                self._due = None
                ask()


def _limit(item: pytest.Item) -> float:
    """Seconds that a test may take; 0 for no limit."""
    marker = item.get_closest_marker("timeout")
    option = item.config.getoption("timeout", None)
    if marker and marker.args:
        return float(marker.args[0])
    return float(item.config.getini("timeout") or 0 if option is None else option)


def ask() -> list[int]:
    """Have all forked workers print their stacks; returns their ids."""
    servers = filter(forking.is_server, psutil.Process(os.getpid()).children())
    workers = [worker for server in servers for worker in server.children()]
    for worker in workers:
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.send_signal(forking.SIGNAL)
        time.sleep(0.2)  # one after the other: they write to the same place
    return [worker.pid for worker in workers]

from __future__ import annotations

import threading

import pytest

from daskasc.collectives._thread import CollectiveThread, StrictOrder


def test_strict_order():
    order = StrictOrder()
    assert order.push(1, "b") == []
    assert order.push(0, "a") == ["a", "b"]
    assert order.push(3, "d") == []
    assert order.push(2, "c") == ["c", "d"]
    with pytest.raises(ValueError, match="twice"):
        order.push(2, "c")


def test_runs_in_order_in_one_daemon_thread():
    thread = CollectiveThread("test-collectives")
    seen = []

    def work(number):
        seen.append((number, threading.current_thread().name, threading.current_thread().daemon))
        return number * 2

    futures = [thread.submit(work, n) for n in range(20)]
    assert [f.result(10) for f in futures] == [2 * n for n in range(20)]
    assert seen == [(n, "test-collectives", True) for n in range(20)]
    assert thread.stop(10)
    with pytest.raises(RuntimeError, match="stopped"):
        thread.submit(work, 1)


def test_errors_reach_the_caller_and_the_thread_goes_on():
    thread = CollectiveThread()
    with pytest.raises(ZeroDivisionError):
        thread.submit(lambda: 1 / 0).result(10)
    assert thread.submit(lambda: 5).result(10) == 5
    assert thread.stop(10)


def test_stop_is_limited():
    thread = CollectiveThread()
    gate = threading.Event()
    thread.submit(gate.wait, 30)
    assert not thread.stop(0.05)
    gate.set()
    assert thread.stop(10)


def test_stop_before_start():
    assert CollectiveThread().stop(0.1)

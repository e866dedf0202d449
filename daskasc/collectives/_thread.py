"""The worker's one collective thread, and the strict order in which it is fed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class StrictOrder(Generic[T]):
    """Hands items on in the order 0, 1, 2, ... however they arrive. Not thread-safe."""

    def __init__(self) -> None:
        self.next = 0
        self.waiting: dict[int, T] = {}

    def push(self, seq: int, item: T) -> list[T]:
        """Take in an item; return those whose turn has come."""
        if seq < self.next or seq in self.waiting:
            raise ValueError(f"sequence number {seq} came twice; next is {self.next}")
        self.waiting[seq] = item
        ready = []
        while self.next in self.waiting:
            ready.append(self.waiting.pop(self.next))
            self.next += 1
        return ready


class CollectiveThread:
    """One thread that runs what it is given, in order.

    It is a daemon, unlike the threads of an executor: a collective that waits for a lost peer must
    not keep the process from ending. The thread starts with the first call.
    """

    def __init__(self, name: str = "daskasc-collectives") -> None:
        self._name = name
        self._queue: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None]
        self._queue = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Run ``function(*args)`` after all that was submitted before."""
        if self._stopped:
            raise RuntimeError(f"thread {self._name} has been stopped")
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
            self._thread.start()
        future: Future[Any] = Future()
        self._queue.put((future, function, args))
        return future

    def stop(self, limit: float) -> bool:
        """End the thread after what it does now; False if it does not end within `limit` s."""
        self._stopped = True
        if self._thread is None:
            return True
        self._queue.put(None)
        self._thread.join(limit)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        while (call := self._queue.get()) is not None:
            future, function, args = call
            try:
                result = function(*args)
            except BaseException as error:
                with suppress(InvalidStateError):  # the waiting side has gone
                    future.set_exception(error)
            else:
                with suppress(InvalidStateError):
                    future.set_result(result)
            del call, future, function, args

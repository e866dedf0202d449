"""The block that is profiled: ``with daskasc.profile() as p:``."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from daskasc import device
from daskasc.errors import ProfileStateError
from daskasc.profiling._events import Call, Copy, Moved, Row
from daskasc.profiling._export import table, to_dict, trace, write
from daskasc.profiling._installing import start, stop

MAX_EVENTS = 100_000


class Profile:
    """Counts and times of one block; see :func:`profile`.

    Attributes
    ----------
    seconds : float
        Wall time of the block.
    rows : dict of str to Row
        Sums over the calls, by operator or function.
    moved : dict of (str, str, str) to Moved
        Sums over the copies and fallbacks, by kind, name and place in the program.
    calls, copies : list
        Single calls and copies, the first `max_events` of each.
    dropped : int
        Calls and copies that are in the sums only, because there were too many.
    peak_device_bytes : int or None
        Most device memory in use during the block; None in a process without a card, where
        nobody keeps the books of memory.

    Notes
    -----
    Thread-safe: calls from all threads of the process are taken in.
    """

    def __init__(
        self,
        *,
        synchronize: bool = False,
        inner_copies: bool = False,
        max_events: int = MAX_EVENTS,
    ) -> None:
        for name, given in (("synchronize", synchronize), ("inner_copies", inner_copies)):
            if not isinstance(given, bool):
                raise TypeError(f"{name} is {given!r}; allowed: True and False")
        if isinstance(max_events, bool) or not isinstance(max_events, int):
            raise TypeError(f"max_events is {max_events!r}; it has to be an integer")
        if max_events < 0:
            raise ValueError(f"max_events is {max_events}; allowed: 0 and more")
        self.synchronize = synchronize
        self.inner_copies = inner_copies
        self.max_events = max_events
        self.rows: dict[str, Row] = {}
        self.moved: dict[tuple[str, str, str], Moved] = {}
        self.calls: list[Call] = []
        self.copies: list[Copy] = []
        self.threads: dict[int, str] = {}
        self.dropped = 0
        self.begun = 0
        self.seconds = 0.0
        self.peak_device_bytes: int | None = None
        self.device = ""
        self._state = "new"
        self._lock = threading.Lock()

    def __enter__(self) -> Profile:
        if self._state != "new":
            raise ProfileStateError(
                "this profile has been used already; make a new one with daskasc.profile()"
            )
        self._state = "active"
        backend = device.current()
        self.device = backend.kind if backend.card is None else f"{backend.kind} {backend.card}"
        start(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.synchronize and error is None:
            device.current().synchronize()
        self.seconds = (time.perf_counter_ns() - self.begun) / 1e9
        with self._lock:
            self._state = "ended"
        stop(self)

    # -- what the recorder hands over

    def take_call(self, call: Call) -> None:
        """Take an ended call in; nothing once the block is over."""
        with self._lock:
            if self._state != "active":
                return
            if call.thread not in self.threads:
                self.threads[call.thread] = threading.current_thread().name
            self.rows.setdefault(call.name, Row()).add(call)
            if len(self.calls) < self.max_events:
                self.calls.append(call)
            else:
                self.dropped += 1

    def take_copy(self, copy: Copy) -> None:
        """Take a copy or a fallback in; nothing once the block is over."""
        with self._lock:
            if self._state != "active":
                return
            if copy.thread not in self.threads:
                self.threads[copy.thread] = threading.current_thread().name
            self.moved.setdefault((copy.kind, copy.name, copy.where), Moved()).add(copy.nbytes)
            if len(self.copies) < self.max_events:
                self.copies.append(copy)
            else:
                self.dropped += 1

    def take_peak(self, nbytes: int | None) -> None:
        """Raise the peak to `nbytes`, if it is known."""
        if nbytes is not None:
            self.peak_device_bytes = max(self.peak_device_bytes or 0, nbytes)

    # -- what the program asks for

    def table(self) -> str:
        """Return everything as text: operators by total time, fallbacks, copies, peak memory.

        Raises
        ------
        ProfileStateError
            The block has not ended.
        """
        self._ended()
        return table(self)

    def __str__(self) -> str:
        return self.table() if self._state == "ended" else repr(self)

    def __repr__(self) -> str:
        calls = sum(row.calls for row in self.rows.values())
        return f"<Profile {self._state}, {calls} calls, {self.seconds:.3f} s>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single calls, as plain values (format in docs/profiling.md).

        Raises
        ------
        ProfileStateError
            The block has not ended.
        """
        self._ended()
        return to_dict(self)

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write :meth:`to_dict` as JSON; the file is there whole or not at all.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OSError
            It cannot be written, for instance because its folder does not exist.
        """
        return write(Path(path), self.to_dict())

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> Path:
        """Write the single calls in the trace event format (chrome://tracing, Perfetto).

        Calls are complete events, one row a thread; copies and fallbacks are instants. The file
        is there whole or not at all.

        Returns
        -------
        pathlib.Path
            The file.
        """
        self._ended()
        return write(Path(path), trace(self))

    def _ended(self) -> None:
        if self._state != "ended":
            raise ProfileStateError(
                f"this profile is {self._state}; its results can be read after its with block"
            )


def profile(
    *, synchronize: bool = False, inner_copies: bool = False, max_events: int = MAX_EVENTS
) -> Profile:
    """Count and time what arrays do in a ``with`` block.

    Parameters
    ----------
    synchronize : bool, default False
        Wait for the card at the end of each call, so that the times are those of the work. Without
        it they are the time that the host spends in the call: on a card, where calls return before
        the work is done, that is dispatch. On the CPU stand-in there is no difference.
    inner_copies : bool, default False
        Also note the copies that torch makes inside a call (``contiguous``, ``clone``, ``copy_``,
        every conversion of a dtype). Without it, hidden copies are what NumPy would have given as
        a view, and conversions of operands. Costs about 10 microseconds an operator of torch.
    max_events : int, default 100000
        Single calls, and single copies, that are kept for the trace. The sums are always whole.

    Returns
    -------
    Profile
        For ``with``; its results can be read after the block.

    Notes
    -----
    Covers this process, all of its threads: with the threaded scheduler all tasks, with a cluster
    only what runs in the client, which is no task: neither their operators nor their copies nor
    their memory. ``client.submit`` profiles one task where it runs, ``client.run`` every worker;
    docs/profiling.md has a program for both.
    Calls that began before the block or end after it are not counted. Results are the same bits
    with and without a profile; a call costs 10 to 30 microseconds more within one.

    Profiles may be nested, and run in several threads at once; each sees everything.

    Examples
    --------
    >>> import numpy as np
    >>> import daskasc
    >>> with daskasc.profile() as p:
    ...     x = daskasc.array.from_numpy(np.arange(6.0))
    ...     total = float((x * 2).sum())
    >>> p.rows["numpy.multiply"].calls
    1
    """
    return Profile(synchronize=synchronize, inner_copies=inner_copies, max_events=max_events)

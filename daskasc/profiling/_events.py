"""What a profile notes: calls, copies, and their sums by name.

Sums are kept while the block runs, so they stay exact however many calls there are; single calls
are kept up to a limit, for the trace.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(slots=True, eq=False)
class Call:
    """One call of an operator or function; times in nanoseconds of ``time.perf_counter_ns``.

    Attributes
    ----------
    inner : int
        Time spent in observed calls that this one made.
    nbytes : int
        Bytes of its array operands and results.
    fallback : bool
        Whether it was computed on the host.
    """

    name: str
    thread: int
    parent: Call | None
    start: int
    end: int = 0
    inner: int = 0
    nbytes: int = 0
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    error: str = ""
    fallback: bool = False
    hid: bool = False  # a hidden copy has been noted for it, or for a call inside it
    own: bool = True  # no call of the same name around it: counts in the total time

    @property
    def duration(self) -> int:
        """Time from start to end."""
        return self.end - self.start


@dataclasses.dataclass(slots=True, frozen=True)
class Copy:
    """One copy of data, or one function computed on the host.

    Attributes
    ----------
    kind : str
        ``host_to_device``, ``device_to_host``, ``hidden`` or ``fallback``.
    name : str
        The observed call that made it; for a hidden copy followed by the reason. Empty for a
        copy outside of any (by the storage layer, by a transfer between workers).
    where : str
        ``file:line`` of the program, empty where no frame of it is on the stack.
    """

    kind: str
    name: str
    where: str
    nbytes: int
    time: int
    thread: int


@dataclasses.dataclass(slots=True)
class Row:
    """Sums over the calls of one name; times in nanoseconds."""

    calls: int = 0
    total: int = 0
    self_time: int = 0
    nbytes: int = 0
    errors: int = 0

    def add(self, call: Call) -> None:
        """Take one ended call in."""
        self.calls += 1
        self.total += call.duration if call.own else 0
        self.self_time += call.duration - call.inner
        self.nbytes += call.nbytes
        self.errors += bool(call.error)


@dataclasses.dataclass(slots=True)
class Moved:
    """Sums over the copies of one kind, name and place."""

    calls: int = 0
    nbytes: int = 0

    def add(self, nbytes: int) -> None:
        """Take one copy in."""
        self.calls += 1
        self.nbytes += nbytes

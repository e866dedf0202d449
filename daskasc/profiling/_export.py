"""A profile as text, as plain values for JSON, and as a trace."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dask.utils import format_bytes

from daskasc.profiling._events import Row

if TYPE_CHECKING:
    from daskasc.profiling._profile import Profile

FORMAT = "daskasc-profile"
VERSION = 1
_COPIES = ("host_to_device", "device_to_host", "hidden")


def _by_total(profile: Profile) -> list[tuple[str, Row]]:
    return sorted(profile.rows.items(), key=lambda item: (-item[1].total, item[0]))


def _moved(profile: Profile, *kinds: str) -> list[tuple[str, str, str, int, int]]:
    """(kind, name, where, calls, bytes), most bytes first within a kind."""
    found = [
        (kind, name, where, sums.calls, sums.nbytes)
        for (kind, name, where), sums in profile.moved.items()
        if kind in kinds
    ]
    return sorted(found, key=lambda row: (kinds.index(row[0]), -row[4], row[1], row[2]))


# -- text


def table(profile: Profile) -> str:
    """Operators by total time, then fallbacks and copies with their places, then memory."""
    calls = sum(row.calls for row in profile.rows.values())
    timed = "of the work" if profile.synchronize else "on the host"
    parts = [
        f"profile of {profile.seconds:.3f} s on {profile.device}: {calls} calls in "
        f"{max(len(profile.threads), 1)} thread(s), times {timed}",
        _grid(
            ("operator", "calls", "total ms", "self ms", "bytes", "errors"),
            [
                (
                    name,
                    str(row.calls),
                    f"{row.total / 1e6:.3f}",
                    f"{row.self_time / 1e6:.3f}",
                    format_bytes(row.nbytes),
                    str(row.errors or ""),
                )
                for name, row in _by_total(profile)
            ],
        ),
    ]
    fallbacks = _moved(profile, "fallback")
    if fallbacks:
        cells = [(name, str(n), format_bytes(b), where) for _, name, where, n, b in fallbacks]
        parts.append(_grid(("computed on the host", "calls", "brought down", "where"), cells))
    copies = _moved(profile, *_COPIES)
    if copies:
        lines = [
            (kind.replace("_to_", " to "), name, str(n), format_bytes(b), where)
            for kind, name, where, n, b in copies
        ]
        parts.append(_grid(("copy", "in", "times", "bytes", "where"), lines))
    peak = profile.peak_device_bytes
    parts.append(
        "peak device memory: "
        + ("not known, this process has no card" if peak is None else format_bytes(peak))
    )
    if profile.dropped:
        parts.append(f"{profile.dropped} calls and copies are in these sums, but not in the trace")
    return "\n\n".join(parts)


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    text = {0, len(header) - 1} if header[-1] == "where" else {0}
    if "in" in header:
        text.add(1)
    lines = [
        "  ".join(
            cell.ljust(width) if place in text else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (header, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(lines)


# -- plain values


def to_dict(profile: Profile) -> dict[str, Any]:
    """Return the sums as plain values; times in seconds."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "seconds": profile.seconds,
        "device": profile.device,
        "synchronized": profile.synchronize,
        "threads": len(profile.threads),
        "peak_device_bytes": profile.peak_device_bytes,
        "operators": [
            {
                "name": name,
                "calls": row.calls,
                "total_seconds": row.total / 1e9,
                "self_seconds": row.self_time / 1e9,
                "bytes": row.nbytes,
                "errors": row.errors,
            }
            for name, row in _by_total(profile)
        ],
        "fallbacks": [
            {"name": name, "where": where, "calls": calls, "bytes": nbytes}
            for _, name, where, calls, nbytes in _moved(profile, "fallback")
        ],
        "copies": [
            {"kind": kind, "name": name, "where": where, "calls": calls, "bytes": nbytes}
            for kind, name, where, calls, nbytes in _moved(profile, *_COPIES)
        ],
        "events_dropped": profile.dropped,
    }


def trace(profile: Profile) -> dict[str, Any]:
    """Return the single calls as trace events; times in microseconds from the block's start."""
    process = os.getpid()
    events: list[dict[str, Any]] = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": process,
            "tid": 0,
            "args": {"name": f"daskasc on {profile.device}"},
        }
    ]
    threads = {thread: number for number, thread in enumerate(profile.threads, 1)}
    for thread, name in profile.threads.items():
        events.append(
            {
                "ph": "M",
                "name": "thread_name",
                "pid": process,
                "tid": threads[thread],
                "args": {"name": name},
            }
        )
    for call in sorted(profile.calls, key=lambda call: call.start):
        arguments: dict[str, Any] = {
            "operands": list(call.operands),
            "results": list(call.results),
            "bytes": call.nbytes,
        }
        if call.error:
            arguments["error"] = call.error
        events.append(
            {
                "ph": "X",
                "name": call.name,
                "cat": "host" if call.fallback else "card",
                "ts": (call.start - profile.begun) / 1e3,
                "dur": call.duration / 1e3,
                "pid": process,
                "tid": threads[call.thread],
                "args": arguments,
            }
        )
    events.extend(
        {
            "ph": "i",
            "s": "t",
            "name": f"{copy.kind}: {copy.name}",
            "cat": "copy",
            "ts": (copy.time - profile.begun) / 1e3,
            "pid": process,
            "tid": threads[copy.thread],
            "args": {"bytes": copy.nbytes, "where": copy.where},
        }
        for copy in sorted(profile.copies, key=lambda copy: copy.time)
    )
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"format": f"{FORMAT}-trace", "version": VERSION},
    }


def write(path: Path, content: dict[str, Any]) -> Path:
    """Write JSON under a temporary name beside `path`, then rename.

    Raises
    ------
    OSError
        The file cannot be written; it is named as it was given.
    """
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with _naming(path):
            file = part.open("x", encoding="utf-8")
        with file:
            json.dump(content, file, allow_nan=False)
        with _naming(path):
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name `path` in errors, not the temporary file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None

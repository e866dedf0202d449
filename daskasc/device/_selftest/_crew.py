"""Child processes that answer questions in step, each question within a time limit.

Questions go to all members of a crew as a line of JSON, and each answers with one. A member that
dies or does not answer in time is an answer for all, after which the crew is of no use. Members
run in sessions of their own, which end as a whole: compilers that a driver starts go with them. A
member ends by itself when its parent is gone, or when it is stuck for too long (:mod:`._member`).
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

_ROOT = str(Path(__file__).parents[3])
_MODULE = "daskasc.device._selftest._member"
_LEAVE = 3.0  # seconds to leave in peace


class Answer(NamedTuple):
    """What became of a call; `usable` says whether the crew can go on."""

    outcome: str
    detail: str
    usable: bool


class CrewError(RuntimeError):
    """A crew did not get ready."""


class Crew:
    """Members that were started, one for each environment.

    Parameters
    ----------
    environments : sequence of mapping
        Variables of each member, over those of this process.
    arguments : sequence of sequence of str
        Command line of each member.
    limit : float
        Seconds in which all have to be ready.

    Attributes
    ----------
    hello : dict
        What the first member told about its card.

    Raises
    ------
    CrewError
        Some member did not get ready; none is left.
    """

    def __init__(
        self,
        environments: Sequence[Mapping[str, str]],
        arguments: Sequence[Sequence[str]],
        limit: float,
    ) -> None:
        self._members: list[_Member] = []
        try:
            for environment, line in zip(environments, arguments, strict=True):
                self._members.append(_Member(environment, line))
            replies = self._replies(limit)
        except BaseException:
            self.close(0)
            raise
        for reply in replies:
            if "outcome" in reply:
                self.close(0)
                raise CrewError(f"{reply['outcome']}: {reply['detail']}")
        self.hello: dict[str, str] = replies[0]

    def ask(self, case: Sequence[str], limit: float) -> Answer:
        """Put a question to all members; the least favourable answer counts."""
        for member in self._members:
            member.send({"case": list(case), "limit": limit})
        replies = self._replies(limit)
        worst = max(replies, key=lambda reply: _BADNESS.index(reply["outcome"]))
        usable = all(reply["usable"] for reply in replies)
        return Answer(worst["outcome"], worst["detail"], usable)

    def _replies(self, limit: float) -> list[dict[str, Any]]:
        """One reply of each member, made up for those that are dead or late."""
        deadline = time.monotonic() + limit
        replies: list[dict[str, Any] | None] = [member.take() for member in self._members]
        with selectors.DefaultSelector() as selector:
            for i, member in enumerate(self._members):
                if replies[i] is None:
                    selector.register(member.output, selectors.EVENT_READ, i)
            while None in replies:
                ready = selector.select(max(deadline - time.monotonic(), 0))
                if not ready:
                    break
                for key, _ in ready:
                    i = key.data
                    replies[i] = reply = self._members[i].read()
                    if reply is not None:
                        selector.unregister(key.fileobj)
                        if reply.get("outcome") == "crashed":
                            # the others may wait for it
                            deadline = min(deadline, time.monotonic() + 1)
        late = {"outcome": "hung", "detail": f"no answer in {limit:g} s", "usable": False}
        return [late if reply is None else reply for reply in replies]

    def close(self, patience: float = _LEAVE) -> None:
        """Let members leave, and end those that do not; waits until they are gone."""
        for member in self._members:
            member.dismiss()
        deadline = time.monotonic() + patience
        for member in self._members:
            member.end(max(deadline - time.monotonic(), 0))
        self._members.clear()


# from the most favourable answer of a crew to the least; a dead member says more than those that
# wait for it
_BADNESS = ("absent", "right", "fallback", "refused", "wrong", "hung", "crashed")


class _Member:
    """One child and its pipes."""

    def __init__(self, environment: Mapping[str, str], arguments: Sequence[str]) -> None:
        paths = [_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=variables,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.output = self._process.stdout
        self._pending = b""

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        # who is dead says so where its answer is read
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def take(self) -> dict[str, Any] | None:
        """A reply that has arrived already."""
        line, found, rest = self._pending.partition(b"\n")
        if not found:
            return None
        self._pending = rest
        reply: dict[str, Any] = json.loads(line)
        return reply

    def read(self) -> dict[str, Any] | None:
        """What arrives next: a reply, nothing whole yet, or the news of its death."""
        data = os.read(self.output.fileno(), 1 << 16)
        if data:
            self._pending += data
            return self.take()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE)
        code = self._process.returncode
        how = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return {"outcome": "crashed", "detail": f"{how}; {self._last_words()}", "usable": False}

    def _last_words(self) -> str:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(size - 4096, 0))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:200] if lines else "no message"

    def dismiss(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def end(self, patience: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.output.close()
        self._errors.close()

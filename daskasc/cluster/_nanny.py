"""The process that starts a card's worker process, watches it, and starts it again."""

from __future__ import annotations

from typing import Literal

from distributed.core import Status
from distributed.nanny import Nanny

# distributed gives a worker 5 s; on a busy machine one with torch and a card takes longer, and a
# worker that is killed leaves its files
_CLOSE_TIMEOUT = 20.0
_KILL_TIMEOUT = 2.0


class CardNanny(Nanny):
    """distributed's nanny, which also ends a worker process that hangs while it starts."""

    async def kill(self, timeout: float = 5, reason: str = "nanny-kill") -> None:
        """Kill the worker process, in any state.

        A start that ran into its time limit leaves the process in the status "starting". There
        distributed's own ``kill`` stops at an assertion (seen with 2026.8), and a process that
        waits for a card that never answers would stay.
        """
        process = self.process
        if process is not None and process.status == Status.starting and process.running.is_set():
            process.status = Status.failed
            timeout = _KILL_TIMEOUT
        await super().kill(timeout=timeout, reason=reason)

    async def close(
        self, timeout: float = _CLOSE_TIMEOUT, reason: str = "nanny-close"
    ) -> Literal["OK"]:
        """Close the worker process and all connections."""
        return await super().close(timeout=timeout, reason=reason)

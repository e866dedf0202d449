"""The process that starts a card's worker process, watches it, and starts it again."""

from __future__ import annotations

from typing import Literal

from distributed.core import Status
from distributed.nanny import Nanny

from daskasc.cluster._spawning import early_exit

# distributed gives a worker 5 s; on a busy machine one with torch and a card takes longer, and a
# worker that is killed leaves its files
_CLOSE_TIMEOUT = 20.0
_KILL_TIMEOUT = 2.0


class CardNanny(Nanny):
    """distributed's nanny, which also says why a worker did not start, and ends one that hangs."""

    _exit_status: int | None = None

    def _on_worker_exit_sync(self, exitcode: int) -> None:
        # The only place where distributed (2026.3 to 2026.8) tells the status of a process that
        # ended. Were it renamed, early_exit would name no status.
        self._exit_status = exitcode
        super()._on_worker_exit_sync(exitcode)

    async def instantiate(self) -> Status:
        """Start the worker process.

        Raises
        ------
        DaskascError
            The process ended before it was a worker, at the start of this nanny.
        """
        status = await super().instantiate()
        if status != Status.running and self.status == Status.init:
            raise early_exit(self.name, self._exit_status)
        return status

    def abandon(self) -> None:
        """Kill the worker process if it is still starting; :meth:`instantiate` then fails."""
        worker = self.process
        if worker is None or worker.status != Status.starting or worker.process is None:
            return
        if worker.process.pid is not None:
            worker.process.kill()

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

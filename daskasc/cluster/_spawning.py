"""What a worker process must not do before it is a worker.

Interrupts. A terminal sends SIGINT to all its processes; the parent then closes the workers, which
must not die of it half-way. A process inherits the signal mask of the thread that spawns it, and
`multiprocessing` pickles what it hands over in that thread, directly before::

    thread of the new process       new process
    pickle UninterruptedSpawn  ->   SIGINT is blocked from the first instruction on
    spawn                           CardPlugin.setup: ignore_interrupts, SIGINT is ignored

The main program. A spawned process first imports the parent's main program. When that opens a
cluster outside ``if __name__ == "__main__":``, each worker would open another cluster. The new
process then ends at once with :data:`MAIN_OPENS_CLUSTER`, and its nanny says why.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from multiprocessing.context import get_spawning_popen
from typing import Any

from daskasc.errors import ConfigurationError, DeviceError

# exit status; distributed, Python and shells use none near it
MAIN_OPENS_CLUSTER = 93
_WORKER_PROCESS = "Dask Worker process"
_REMEDY = 'open clusters below `if __name__ == "__main__":`'


class UninterruptedSpawn:
    """Blocks SIGINT in the process that it is handed to when that is spawned."""

    def __reduce__(self) -> tuple[Any, ...]:
        # distributed starts each process in a thread of its own, which spawns nothing else
        in_own_thread = threading.current_thread() is not threading.main_thread()
        if get_spawning_popen() is not None and in_own_thread and sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        return (UninterruptedSpawn, ())


def ignore_interrupts() -> None:
    """Ignore SIGINT in this process from now on; does nothing outside its main thread."""
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def refuse_while_main_is_imported() -> None:
    """Refuse to go on in a spawned process that is importing its parent's main program.

    Raises
    ------
    SystemExit
        The process was to be a worker; its nanny tells the user.
    ConfigurationError
        It was to be something else.
    """
    process = multiprocessing.current_process()
    # the mark by which multiprocessing itself refuses to start processes here
    if not getattr(process, "_inheriting", False):
        return
    if process.name.startswith(_WORKER_PROCESS):
        raise SystemExit(MAIN_OPENS_CLUSTER)
    raise ConfigurationError(
        f"a cluster was to be opened while process {process.name!r} imports the main program; "
        f"{_REMEDY}, since every spawned process imports that file"
    )


def early_exit(card: object, status: int | None) -> Exception:
    """What to raise when the worker process of `card` ended before it was a worker."""
    if status == MAIN_OPENS_CLUSTER:
        path = getattr(sys.modules.get("__main__"), "__file__", None)
        return ConfigurationError(
            f"the main program{f' {path}' if path else ''} opens a cluster where its worker "
            f"processes, which import that file, do so too; {_REMEDY}"
        )
    return DeviceError(
        f"the worker process of card {card} ended with status {status} before it was ready; "
        "what it wrote to the terminal says why (a negative status is the signal that ended it)"
    )

"""Workers that are forked from one process which has imported what they need.

A worker process that starts from nothing imports torch first: three seconds of a core, ten with
torch_npu, for each of the hundreds of workers that the tests start. Here the fork server of
`multiprocessing` imports it once (`tests.forked`). Tests of what happens when a worker starts
(``tests/cluster``, and every program that tests run) start processes as users' programs do.
"""

from __future__ import annotations

import multiprocessing
import os
import signal

import dask
import psutil

METHOD = "distributed.worker.multiprocessing-method"
# on which forked workers print where their threads are
SIGNAL = signal.SIGUSR1


def fork_workers() -> None:
    """Let the nannies of this process fork their workers from now on."""
    from distributed.utils import get_mp_context

    dask.config.set({METHOD: "forkserver"})
    get_mp_context()  # names modules of its own, once
    multiprocessing.set_forkserver_preload(["tests.forked"])


def is_server(process: psutil.Process) -> bool:
    """Whether a process is this one's fork server, which lives as long as this one."""
    return process.ppid() == os.getpid() and "forkserver" in " ".join(process.cmdline())

"""The environment variables of a worker process.

Two sorts exist. Those that are read when a library is loaded (torch, a device runtime) go into
the worker's own environment, which the nanny sets in the new process before the worker is built;
nothing that is unpickled on the way there may import torch. Those that the C library reads when the
process starts have to stand in the *parent's* environment (distributed's ``pre-spawn-environ``).
"""

from __future__ import annotations

import platform
import sys

from daskasc import device
from daskasc.cluster._options import Cards, ClusterOptions

# Fresh pages cost more than decoding a chunk (first touch); with huge pages for malloc's large
# blocks an elementwise chain ran 2.6 times as fast. glibc knows the tunable from 2.35 on.
_HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def worker_environment(cards: Cards, card: int, options: ClusterOptions) -> dict[str, str]:
    """Variables of the worker process of `card`; the user's own come last and win."""
    env = dict(device.visibility_env(cards.kind, card))
    if cards.kind != "npu":
        # an installed torch_npu would otherwise load with torch and look for CANN
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    if cards.threads is not None:
        env["OMP_NUM_THREADS"] = str(cards.threads)
    env.update(options.env)
    return env


def pre_spawn_environment() -> dict[str, str]:
    """Variables that have to be set before a worker process starts."""
    if not sys.platform.startswith("linux"):
        return {}
    library, version = platform.libc_ver()
    if library != "glibc":
        return {}
    try:
        major, minor = (int(part) for part in version.split(".")[:2])
    except ValueError:
        return {}
    return dict(_HUGE_PAGES) if (major, minor) >= (2, 35) else {}

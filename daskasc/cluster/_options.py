"""The options of a cluster of cards, declared once.

Every way of starting workers (:class:`~daskasc.cluster.LocalNPUCluster`, a command line, a chart)
fills this dataclass. Names are those of :class:`distributed.LocalCluster` where they mean the same.
Making an instance checks everything that needs no hardware; :meth:`ClusterOptions.resolve` looks
for the cards, without creating a device context.
"""

from __future__ import annotations

import dataclasses
import difflib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dask.utils import parse_timedelta
from distributed.system import MEMORY_LIMIT
from distributed.worker_memory import parse_memory_limit as parse_host_limit

from daskasc import config, device
from daskasc.errors import ConfigurationError

_logger = logging.getLogger(__name__)

# A stand-in card shares its worker's host memory; half of it keeps the worker below the share at
# which distributed starts to spill (0.6) and to pause (0.8).
_STAND_IN_SHARE = 0.5
_STAND_IN_CARDS = 4
_ADDRESS = re.compile(r"(?:[^\s:/,]*:)?(\d+)")


@dataclass(frozen=True)
class Cards:
    """What :meth:`ClusterOptions.resolve` found.

    Attributes
    ----------
    kind : {"npu", "cuda", "cpu"}
        Kind of the cards.
    count : int
        Number of cards used; they are numbered 0 to count - 1.
    host_limit : int or None
        Host memory limit of one worker in bytes.
    capacity : int or None
        Bytes that a stand-in card pretends to have; None for real cards.
    threads : int or None
        Threads that torch uses in one worker; None leaves torch's choice.
    """

    kind: str
    count: int
    host_limit: int | None
    capacity: int | None
    threads: int | None


@dataclass(frozen=True)
class ClusterOptions:
    """Options of a cluster with one worker process, with one thread, a card.

    Parameters
    ----------
    n_workers : int, optional
        Number of cards. Default: every visible card; for stand-in cards the number of cores, at
        most four.
    device : {"auto", "npu", "cuda", "cpu"}, optional
        Kind of card; default is the configured ``daskasc.device``. ``"cpu"`` makes stand-in cards
        in plain processes, in any number.
    device_memory_limit : None, "auto", float, int or str
        Memory of one card for stored chunks: a share in (0, 1], bytes, or text such as
        ``"24GiB"``; more is moved to host memory. None is no limit; ``"auto"`` is the configured
        ``daskasc.memory.device-limit``.
    memory_limit : None, "auto", float, int or str
        Host memory of one worker, as in LocalCluster; more goes to disk. None is no limit.
    local_directory : str or path, optional
        Directory where workers put their files; made where it is missing.
    threads : int, optional
        Threads that torch uses in one worker. Default: for stand-in cards cores // cards.
    name : str, optional
        Name of the cluster.
    host, interface, protocol : str, optional
        Network of scheduler and workers, as in LocalCluster.
    scheduler_port : int
        Port of the scheduler; 0 takes a free one.
    dashboard_address : str, optional
        Address of the scheduler's dashboard; None for none.
    worker_dashboard_address : str, optional
        Address of the workers' dashboards; None for none.
    security : distributed.Security or bool, optional
        Encryption, as in LocalCluster.
    silence_logs : int or bool
        Level below which logs of scheduler and workers are dropped.
    preload : sequence of str
        Further modules that each worker loads at its start.
    preload_argv : sequence of str
        Arguments for those modules.
    scheduler_preload : sequence of str
        Further modules that the scheduler loads at its start, without arguments.
    env : mapping
        Further environment variables of the workers; they win over those set here.
    start_timeout, close_timeout : float or str
        Seconds, or text such as ``"60s"``, that starting and closing may take.

    Raises
    ------
    ConfigurationError
        A value is malformed or contradicts another one.
    """

    n_workers: int | None = None
    device: str | None = None
    device_memory_limit: float | int | str | None = "auto"
    memory_limit: float | int | str | None = "auto"
    local_directory: str | os.PathLike[str] | None = None
    threads: int | None = None
    name: str | None = None
    host: str | None = None
    interface: str | None = None
    protocol: str | None = None
    scheduler_port: int = 0
    dashboard_address: str | None = ":8787"
    worker_dashboard_address: str | None = None
    security: Any = None
    silence_logs: int | bool = logging.WARN
    preload: Sequence[str] = ()
    preload_argv: Sequence[str] = ()
    scheduler_preload: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    start_timeout: float | str = "180s"
    close_timeout: float | str = "60s"

    def __post_init__(self) -> None:
        for name, minimum in (("n_workers", 1), ("threads", 1), ("scheduler_port", 0)):
            value = getattr(self, name)
            if value is None and name != "scheduler_port":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
                raise ConfigurationError(f"{name} is {value!r}; allowed: integers >= {minimum}")
        if self.device is not None and self.device not in config.DEVICES:
            raise ConfigurationError(
                f"device is {self.device!r}; allowed: {', '.join(config.DEVICES)}"
            )
        # refuses what is no size at all; the real capacity is known in the worker only
        config.parse_memory_limit(self.device_memory_limit, 1 << 62, name="device_memory_limit")
        self._host_limit(1)
        for name in ("dashboard_address", "worker_dashboard_address"):
            _check_address(name, getattr(self, name))
        _check_directory(self.local_directory)
        if self.local_directory is not None:
            object.__setattr__(self, "local_directory", os.fspath(self.local_directory))
        self.seconds("start_timeout")
        self.seconds("close_timeout")
        for name in ("preload", "preload_argv", "scheduler_preload"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(item, str) for item in value):
                raise ConfigurationError(f"{name} is {value!r}; allowed: a list of strings")
            object.__setattr__(self, name, tuple(value))
        for variable, value in self.env.items():
            if not isinstance(variable, str) or not isinstance(value, str):
                raise ConfigurationError(
                    f"env has {variable!r}: {value!r}; allowed: strings for names and values"
                )

    @classmethod
    def make(cls, **options: Any) -> ClusterOptions:
        """Build from keyword arguments; unknown names get a helpful error."""
        known = [f.name for f in dataclasses.fields(cls)]
        for name in options:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                if name in ("threads_per_worker", "nthreads"):
                    hint = "; a card has one task thread, `threads` sets torch's own"
                if name == "processes":
                    hint = "; a card always has a process of its own"
                raise ConfigurationError(
                    f"unknown option {name!r}{hint}; options: {', '.join(known)}"
                )
        return cls(**options)

    def seconds(self, name: str) -> float:
        """Value of a time option in seconds."""
        value = getattr(self, name)
        try:
            seconds = float(parse_timedelta(value, default="s"))
        except (ValueError, TypeError, KeyError):
            seconds = -1.0
        if seconds <= 0:
            raise ConfigurationError(f'{name} is {value!r}; allowed: a time such as "60s"')
        return seconds

    def resolve(self) -> Cards:
        """Find the cards.

        Raises
        ------
        ConfigurationError
            More cards are wanted than this machine shows, or it shows none.
        DeviceUnavailableError
            The software of the wanted kind is missing.
        """
        kind = device.resolve(self.device or config.device())
        present = device.count(kind)
        if kind == "cpu":
            count = self.n_workers or min(present, _STAND_IN_CARDS)
            host_limit = self._host_limit(count)
            memory = host_limit or MEMORY_LIMIT // count
            capacity = max(1, int(memory * _STAND_IN_SHARE))
            cores = os.cpu_count() or 1
            return Cards(kind, count, host_limit, capacity, self.threads or max(1, cores // count))
        if not present:
            raise ConfigurationError(
                f'device is "{kind}", but no card is visible; look at the driver and the '
                'visibility variables, or use device="cpu" for stand-in cards'
            )
        count = self.n_workers or present
        if count > present:
            raise ConfigurationError(
                f"n_workers is {count}, but {present} {kind} cards are visible; use at most "
                f'{present}, or device="cpu" for any number of stand-in cards'
            )
        return Cards(kind, count, self._host_limit(count), None, self.threads)

    def _host_limit(self, count: int) -> int | None:
        try:
            limit = parse_host_limit(self.memory_limit, 1, count, logger=_logger)
        except (ValueError, TypeError, AttributeError):
            limit = -1
        if limit is not None and limit <= 0:
            raise ConfigurationError(
                f'memory_limit is {self.memory_limit!r}; allowed: "auto", a size such as "8GiB", '
                "a share in (0, 1], or None"
            )
        return limit


def _check_address(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, bool) and isinstance(value, (str, int)):
        found = [_ADDRESS.fullmatch(part.strip()) for part in str(value).split(",")]
        if all(match and int(match[1]) <= 0xFFFF for match in found):
            return
    raise ConfigurationError(
        f'{name} is {value!r}; allowed: "host:port" or ":port" with a port from 0 (any free one) '
        "to 65535, or None"
    )


def _check_directory(value: object) -> None:
    if value is None:
        return
    if not isinstance(value, (str, os.PathLike)):
        raise ConfigurationError(f"local_directory is {value!r}; allowed: the path of a directory")
    path = Path(value).absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    if not path.is_dir():
        problem = "a file" if path == Path(value).absolute() else f"below the file {path}"
    elif not os.access(path, os.W_OK | os.X_OK):
        problem = f"not writable for this user ({path})"
    else:
        return
    raise ConfigurationError(
        f"local_directory is {str(value)!r}, which is {problem}; name a directory, which is made "
        "where it is missing"
    )

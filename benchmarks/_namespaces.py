"""Two network namespaces of this machine joined by a slow link: servers that cost nothing.

::

    namespace a                         namespace b
      10.77.<n>.1  a-link ============== b-link  10.77.<n>.2
                      each end sends at most `rate`

Everything that is sent from one to the other goes through the link, whose ends count it. Names hold
the number of the process that made them; what a process that is gone has left behind is removed
first.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Generator, Sequence
from pathlib import Path

_PREFIX = "daskasc"
_END = 10.0


class NotPermittedError(RuntimeError):
    """Network namespaces cannot be made on this machine, or by this user."""


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotPermittedError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def why_not() -> str | None:
    """Why namespaces cannot be made here; None where they can."""
    if shutil.which("ip") is None:
        return "there is no program `ip` (iproute2)"
    name = f"{_PREFIX}-{os.getpid()}-try"
    try:
        _ip("netns", "add", name)
        _ip("-n", name, "link", "add", "one", "type", "veth", "peer", "name", "two")
    except NotPermittedError as error:
        return f"network namespaces are not permitted: {error} (root is needed)"
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return None


class Servers:
    """Two namespaces and the processes in them; made by :func:`two_servers`.

    Attributes
    ----------
    names, addresses, links : tuple of str
        Of each namespace its name, its address, and its end of the link.
    limited : str or None
        Why the link is not slow; None where it is.
    """

    def __init__(self) -> None:
        number = os.getpid()
        subnet = f"10.77.{number % 250}"
        self.names = tuple(f"{_PREFIX}-{number}-{end}" for end in "ab")
        self.addresses = (f"{subnet}.1", f"{subnet}.2")
        self.links = ("a-link", "b-link")
        self.limited: str | None = None
        self._processes: list[subprocess.Popen[bytes]] = []

    def make(self, rate: str) -> None:
        """Make the namespaces and the link."""
        for name in self.names:
            _ip("netns", "add", name)
        first, second = self.names
        ends = ["name", self.links[0], "type", "veth", "peer", "name", self.links[1]]
        _ip("-n", first, "link", "add", *ends, "netns", second)
        for name, link, address in zip(self.names, self.links, self.addresses, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            _ip("-n", name, "link", "set", link, "up")
            _ip("-n", name, "link", "set", "lo", "up")
            self._slow_down(name, link, rate)

    def _slow_down(self, name: str, link: str, rate: str) -> None:
        if shutil.which("tc") is None:
            self.limited = "there is no program `tc`"
            return
        rule = ["root", "tbf", "rate", rate, "burst", "256kb", "latency", "400ms"]
        command = ["tc", "-n", name, "qdisc", "add", "dev", link, *rule]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self.limited = f"tc: {done.stderr.strip()}"

    def start(self, server: int, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a process in one of the namespaces; it is ended with them."""
        inside = ["ip", "netns", "exec", self.names[server], *command]
        process = subprocess.Popen(inside, start_new_session=True)
        self._processes.append(process)
        return process

    def remove(self) -> None:
        """End the processes and remove the namespaces; what is gone already does not matter."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(_END)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def remove_leftovers() -> None:
    """Remove namespaces of processes that are gone."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    for line in listed.stdout.splitlines():
        name = line.split()[0] if line.split() else ""
        prefix, _, rest = name.partition("-")
        number = rest.partition("-")[0]
        if prefix == _PREFIX and number.isdigit() and not Path(f"/proc/{number}").exists():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@contextlib.contextmanager
def two_servers(rate: str) -> Generator[Servers]:
    """Two servers, removed at the end, whatever happens; also after SIGTERM.

    Parameters
    ----------
    rate : str
        What each end of the link may send, as ``tc`` takes it: ``"100mbit"``.

    Raises
    ------
    NotPermittedError
        They cannot be made here.
    """
    reason = why_not()
    if reason is not None:
        raise NotPermittedError(reason)
    remove_leftovers()
    servers = Servers()

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        servers.make(rate)
        yield servers
    finally:
        signal.signal(signal.SIGTERM, before)
        servers.remove()


def link_bytes(link: str) -> int:
    """Bytes that one end of the link has sent and received; call it inside the namespace."""
    folder = Path(f"/sys/class/net/{link}/statistics")
    return sum(int((folder / f"{way}_bytes").read_text()) for way in ("rx", "tx"))

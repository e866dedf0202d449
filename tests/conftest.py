"""Shared fixtures: one cluster of four cards a session, and checks that nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
import psutil
import pytest

from tests import forking, watching

SHARED_MEMORY = Path("/dev/shm")
KINDS = ("cpu", "npu", "cuda")
# seconds for a test whose workers load a card's software, which takes 10 s of a core each
SLOW_START = 900
# what the tests share until the first one takes a card itself
SHARED = pytest.StashKey[contextlib.ExitStack]()
# lines of a simulated driver: a process id, and what that did first
DRIVER_LOG = pytest.StashKey[Path]()
# why groups of the shared cluster ended, as none should: a collective failed, a worker died
TROUBLES = pytest.StashKey[list[str]]()
# nannies and workers that do nothing need not look at their clocks 50 times a second
QUIET = {"distributed.admin.tick.interval": "1s", "distributed.admin.tick.limit": "10s"}
# fixtures by which a test's own process takes a card
OWNING = frozenset({"arrays_on_the_card", "card"})
# distributed keeps these for the life of the process, whatever is closed
KEPT_THREADS = (
    "Dask-Offload",
    "IO loop",
    "Profile",
    "asyncio_",
    "ThreadPoolExecutor",
    "AsyncProcess",
    "TCP-Executor",
    "dask.",
    "MainThread",
    "pytest_timeout",
    "zarr_",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--device``: the kind of card that the tests run on."""
    parser.addoption(
        "--device",
        choices=KINDS,
        default="cpu",
        help="kind of card: cpu is the stand-in, npu and cuda need cards (docs/testing.md)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Clusters of this process, and of those it starts, take cards of the wanted kind."""
    kind = config.getoption("--device")
    os.environ["DASK_DASKASC__DEVICE"] = kind
    if "SIMCANN_LIBRARIES" in os.environ:  # simulated cards: who asks the driver is written down
        config.stash[DRIVER_LOG] = Path(os.environ.setdefault("SIMCANN_LOG", _new_file()))
    dask.config.set({"daskasc.device": kind, **QUIET})
    config.stash[SHARED] = contextlib.ExitStack()
    # a process that has loaded the software of real Ascend cards must not be forked
    if kind != "npu" or DRIVER_LOG in config.stash:
        forking.fork_workers()
    config.pluginmanager.register(watching.Watch())


def _new_file() -> str:
    handle, name = tempfile.mkstemp(prefix="simcann-", suffix=".log")
    os.close(handle)
    return name


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the list of those who asked a simulated driver."""
    if DRIVER_LOG in config.stash:
        config.stash[DRIVER_LOG].unlink(missing_ok=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what ``-m hardware`` selects; tests that take a card themselves come last.

    Those before them start clusters, and a cluster's parent must not hold a card; nor need those
    that come last share the cores with the workers of a cluster.
    """
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("suite", "simcann")):
            item.add_marker("hardware")
    items.sort(key=_takes_a_card)
    if config.getoption("--device") != "cpu":
        for item in items:
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(SLOW_START))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Close the shared cluster when its last test is over."""
    if _takes_a_card(item):
        item.config.stash[SHARED].close()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what the shared cluster survived: tests pass all the same, but nobody should cause it."""
    for reason in config.stash.get(TROUBLES, ()):
        terminalreporter.write_line(f"shared cluster: {reason}")


def _takes_a_card(item: pytest.Item) -> bool:
    return not OWNING.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def card_kind(request: pytest.FixtureRequest) -> str:
    """Kind of card that the tests run on: ``cpu`` (the stand-in), ``npu`` or ``cuda``."""
    return request.config.getoption("--device")


def _children() -> dict[int, str]:
    found = {}
    for child in psutil.Process().children(recursive=True):
        try:
            command = " ".join(child.cmdline())[:120] or child.name()
            # Python's own helpers live as long as the process
            if "resource_tracker" not in command and not forking.is_server(child):
                found[child.pid] = command
        except psutil.Error:
            continue
    return found


def _shared_memory() -> set[str]:
    return {entry.name for entry in SHARED_MEMORY.iterdir()} if SHARED_MEMORY.exists() else set()


def _used_by_strangers(names: set[str]) -> set[str]:
    """Those shared memory files that a process outside this one's tree has mapped."""
    own = {psutil.Process().pid, *_children()}
    used: set[str] = set()
    for process in psutil.process_iter():
        if process.pid in own:
            continue
        try:
            maps = Path(f"/proc/{process.pid}/maps").read_text()
        except OSError:
            continue
        used |= {name for name in names if f"{SHARED_MEMORY}/{name}" in maps}
    return used


def _sockets() -> int:
    return sum(c.status == psutil.CONN_LISTEN for c in psutil.Process().net_connections("tcp"))


@pytest.fixture(scope="session", autouse=True)
def nothing_left_behind():
    """No process, thread, listening socket or shared memory outlives the session."""
    children, memory, sockets = _children(), _shared_memory(), _sockets()
    threads = {thread.ident for thread in threading.enumerate()}
    yield
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        left = {pid: command for pid, command in _children().items() if pid not in children}
        files = _shared_memory() - memory
        files -= _used_by_strangers(files) if files else set()
        alive = [
            thread.name
            for thread in threading.enumerate()
            if thread.ident not in threads and not thread.name.startswith(KEPT_THREADS)
        ]
        open_sockets = _sockets() - sockets
        if not (left or files or alive or open_sockets > 0):
            return
        time.sleep(0.2)
    pytest.fail(
        f"left behind: processes {left}, threads {alive}, "
        f"/dev/shm {sorted(files)}, listening sockets {open_sockets}"
    )


@pytest.fixture(scope="session")
def cluster4(pytestconfig, tmp_path_factory):
    """Four cards, shared by all tests that take none themselves; nobody kills its workers."""
    from daskasc import LocalNPUCluster

    directory = tmp_path_factory.mktemp("cards")
    with pytestconfig.stash[SHARED] as shared:
        cluster = shared.enter_context(
            LocalNPUCluster(n_workers=4, dashboard_address=":0", local_directory=str(directory))
        )
        reasons = cluster.scheduler.plugins["daskasc-sequencer"].keeper.reasons
        # before the workers leave because it closes
        shared.callback(lambda: pytestconfig.stash.__setitem__(TROUBLES, list(reasons)))
        yield cluster


@pytest.fixture
def client4(cluster4):
    """A client of the shared cluster."""
    with cluster4.get_client() as client:
        yield client


def _asked(config: pytest.Config) -> list[str]:
    """What this process has asked of a simulated driver."""
    log = config.stash.get(DRIVER_LOG, None)
    lines = log.read_text().splitlines() if log is not None else []
    return [line for line in lines if line.split()[0] == str(os.getpid())]


@pytest.fixture(autouse=True)
def no_card_in_the_parent(request):
    """The process that holds client, scheduler and nannies never makes a card's context."""
    before = _asked(request.config)
    yield
    if _takes_a_card(request.node):
        return
    if request.config.getoption("--device") == "cpu":
        assert "torch_npu" not in sys.modules
    elif "torch" in sys.modules:
        driver = getattr(sys.modules["torch"], request.config.getoption("--device"))
        assert not driver.is_initialized()
    if request.node.get_closest_marker("asks_the_driver") is None:
        assert _asked(request.config) == before

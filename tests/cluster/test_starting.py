"""Starts that are interrupted, refused or broken off from outside."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask
import psutil
import pytest

from daskasc import LocalNPUCluster
from daskasc.cluster import _spawning
from daskasc.errors import ConfigurationError, DeviceError
from tests.programs import environment, own

HERE = Path(__file__).parent
QUICK = {"dashboard_address": ":0"}
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def worker_processes(parent):
    """Spawned processes that are to be workers."""
    found = []
    for child in parent.children():
        try:
            command = " ".join(child.cmdline())
        except psutil.Error:
            continue
        if "spawn_main" in command:
            found.append(child)
    return found


def run(script):
    return subprocess.Popen(
        [sys.executable, str(HERE / script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )


@needs_posix
def test_an_interrupt_from_the_terminal_ends_a_start_quickly_and_quietly(card_kind):
    process = run("open_interrupted.py")
    parent = psutil.Process(process.pid)
    while process.poll() is None and not worker_processes(parent):
        time.sleep(0.01)
    children = parent.children(recursive=True)
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, err = map(own, process.communicate(timeout=60))
    assert (out.strip(), err) == ("interrupted", "")
    # about a second on an idle machine; workers that start take longer, with torch_npu still more
    assert time.monotonic() - begin < (10 if card_kind == "cpu" else 40)
    assert not psutil.wait_procs(children, timeout=5)[1]


def test_a_main_program_that_opens_a_cluster_in_its_workers_is_named():
    process = run("open_unguarded.py")
    err = own(process.communicate(timeout=100)[1])
    assert process.returncode == 1
    assert err.count("Traceback") == 1
    assert len(err.splitlines()) < 12
    last = err.splitlines()[-1]
    assert last.startswith("daskasc.errors.ConfigurationError: the main program ")
    assert "open_unguarded.py" in last
    assert '`if __name__ == "__main__":`' in last


class Stranger:
    name = "SpawnProcess-1"
    _inheriting = True


def test_other_processes_that_import_the_main_program_get_an_error(monkeypatch):
    monkeypatch.setattr(_spawning.multiprocessing, "current_process", Stranger)
    with pytest.raises(ConfigurationError, match=r"SpawnProcess-1.*if __name__"):
        LocalNPUCluster(n_workers=1, **QUICK)


class Pestering(threading.Thread):
    """Sends `number` to every worker process of this process, over and over."""

    def __init__(self, number):
        super().__init__(name="pestering")
        self._number = number
        self._over = threading.Event()
        self._known = {p.pid for p in worker_processes(psutil.Process())}
        self.hit = set()

    def run(self):
        me = psutil.Process()
        while not self._over.wait(0.005):
            for child in worker_processes(me):
                if child.pid not in self._known:
                    child.send_signal(self._number)
                    self.hit.add(child.pid)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self.join()


@needs_posix
def test_asynchronous_with_interrupts_that_only_the_workers_get(tmp_path):
    async def use():
        with Pestering(signal.SIGINT) as pestering:
            cluster = await LocalNPUCluster(
                n_workers=1, asynchronous=True, local_directory=str(tmp_path), **QUICK
            )
        async with cluster:
            await cluster.reset_counters()
            report = await cluster.report()
            assert pestering.hit == {nanny.pid for nanny in cluster.workers.values()}
            return [card.card for card in report.cards]

    before = dask.config.get("array_optimize", None)
    assert asyncio.run(use()) == [0]
    assert dask.config.get("array_optimize", None) is before


@needs_posix
def test_a_worker_process_that_is_killed_while_it_starts_is_named():
    with (
        Pestering(signal.SIGKILL),
        pytest.raises(DeviceError, match="card 0 ended with status -9 before it was ready"),
    ):
        LocalNPUCluster(n_workers=1, **QUICK)


@pytest.mark.parametrize(
    ("option", "value"), [("host", "nosuch.invalid"), ("interface", "nope0"), ("protocol", "nope")]
)
def test_a_scheduler_that_cannot_listen_ends_the_start_with_one_line(option, value, tmp_path):
    before = dask.config.get("array_optimize", None)
    with pytest.raises(ConfigurationError, match=f"could not start: .*{option}='{value}'") as error:
        LocalNPUCluster(n_workers=1, **{**QUICK, option: value})
    assert "\n" not in str(error.value)
    assert dask.config.get("array_optimize", None) is before


def test_a_bad_directory_starts_nothing(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigurationError, match="local_directory"):
        LocalNPUCluster(n_workers=1, local_directory=str(file), **QUICK)

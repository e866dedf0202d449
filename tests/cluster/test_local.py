import gc
import multiprocessing
import os
import sys
import time

import dask
import dask.array as da
import numpy as np
import psutil
import pytest

from daskasc import LocalNPUCluster
from daskasc.cluster import DeviceStore
from daskasc.cluster._environment import pre_spawn_environment
from daskasc.errors import ConfigurationError, DeviceError, DeviceUnavailableError

QUICK = {"dashboard_address": ":0"}


def facts(dask_worker):
    import torch

    from daskasc import device

    names = ("OMP_NUM_THREADS", "GLIBC_TUNABLES", "TORCH_DEVICE_BACKEND_AUTOLOAD")
    return {
        "pid": os.getpid(),
        "name": dask_worker.name,
        "nthreads": dask_worker.state.nthreads,
        "start": multiprocessing.get_start_method(),
        "env": {name: os.environ.get(name) for name in names},
        "torch_threads": torch.get_num_threads(),
        "card": device.current().card,
        "kind": device.current().kind,
        "store": type(dask_worker.data).__name__,
        "limit": dask_worker.data.device_limit,
        "capacity": device.current().memory().capacity,
        "nvml": dask.config.get("distributed.diagnostics.nvml"),
        "plugins": sorted(dask_worker.plugins),
    }


def test_one_process_a_card(cluster2, client2, card_kind):
    found = sorted(client2.run(facts).values(), key=lambda f: f["card"])
    assert [f["name"] for f in found] == [0, 1]
    assert [f["card"] for f in found] == [0, 1]
    assert len({f["pid"] for f in found} | {os.getpid()}) == 3
    for f in found:
        assert f["nthreads"] == 1
        assert f["kind"] == card_kind
        assert f["store"] == DeviceStore.__name__
        assert cluster2.cards.capacity in (f["capacity"], None)  # of stand-ins known beforehand
        assert f["limit"] == pytest.approx(0.8 * f["capacity"], abs=1)
        if card_kind == "cpu":  # stand-in cards share the cores
            assert f["torch_threads"] == cluster2.cards.threads
            assert f["env"]["OMP_NUM_THREADS"] == str(cluster2.cards.threads)
        if card_kind != "npu":
            assert f["env"]["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"
        assert f["nvml"] is False
        assert {"daskasc-card", "daskasc-collectives"} <= set(f["plugins"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_huge_pages_are_set_before_the_process_starts(client2):
    # /proc/<pid>/environ is what the process was started with
    def at_start():
        with open("/proc/self/environ", "rb") as file:
            return dict(item.split(b"=", 1) for item in file.read().split(b"\0") if b"=" in item)

    for environ in client2.run(at_start).values():
        for name, value in pre_spawn_environment().items():
            assert environ[name.encode()] == value.encode()


def test_tasks_run_in_the_thread_that_owns_the_card(client2):
    def where(dask_worker=None):
        import threading

        return threading.current_thread().name

    name = client2.submit(where, pure=False).result(timeout=30)
    assert "Dask-Default-Threads" in name


def test_scheduler_has_the_plugins(cluster2):
    assert {"daskasc-placement", "daskasc-sequencer"} <= set(cluster2.scheduler.plugins)


def test_configuration_while_open(cluster2):
    assert dask.config.get("array_optimize") is cluster2.planner
    assert cluster2.planner.planner.cards == 2
    assert dask.config.get("array.rechunk.method") == "tasks"


@pytest.mark.parametrize("call", ["scale(1)", "scale(3)", "scale(2, cores=4)", "adapt(maximum=4)"])
def test_the_number_of_cards_is_fixed(cluster2, call, card_kind):
    with pytest.raises(ConfigurationError, match=f"2 {card_kind} cards with one worker each"):
        eval(f"cluster.{call}", {"cluster": cluster2})
    assert len(cluster2.workers) == 2


def test_scaling_to_the_cards_there_are_is_no_change(cluster2, client2):
    before = set(client2.scheduler_info()["workers"])
    cluster2.scale(2)
    client2.wait_for_workers(2, timeout=30)
    assert set(client2.scheduler_info()["workers"]) == before


def test_repr(cluster2):
    assert "LocalNPUCluster" in repr(cluster2)
    assert "LocalNPUCluster" in cluster2._repr_html_()


def snapshot():
    keys = ("array_optimize", "array.rechunk.method", "distributed.diagnostics.nvml")
    more = ("distributed.deploy.lost-worker-timeout", "distributed.nanny.pre-spawn-environ")
    return {key: dask.config.get(key, "missing") for key in keys + more}


def test_opening_and_closing_leaves_nothing(cluster2, client2, tmp_path, monkeypatch):
    before = snapshot()
    for name in (*pre_spawn_environment(), "OMP_NUM_THREADS", "PYTHONHASHSEED"):
        monkeypatch.delenv(name, raising=False)
    environ = dict(os.environ)
    children = {p.pid for p in psutil.Process().children(recursive=True)}
    cluster = LocalNPUCluster(
        n_workers=1, local_directory=str(tmp_path), device_memory_limit="5MiB", **QUICK
    )
    assert dask.config.get("array_optimize") is cluster.planner
    assert cluster.planner.planner.cards == 1
    (report,) = cluster.report().cards
    assert report.card == 0
    with cluster.get_client() as client:
        (limit,) = client.run(lambda dask_worker: dask_worker.data.device_limit).values()
    assert limit == 5 * 1024**2
    # the cluster that was opened first still plans for itself where it is told to
    host = np.arange(80.0).reshape(8, 10)
    x = da.from_array(host, chunks=(2, 10)).to_backend("ascend")
    cluster2.reset_counters()
    with dask.config.set(array_optimize=cluster2.planner):
        total = x.sum(axis=0).compute(scheduler=client2)
    np.testing.assert_array_equal(total, host.sum(axis=0))
    assert cluster2.report().collectives == 1
    cluster.close()
    cluster.close()
    assert snapshot() == before
    assert dict(os.environ) == environ
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = {
            p.pid
            for p in psutil.Process().children(recursive=True)
            if "resource_tracker" not in " ".join(p.cmdline())
        } - children
        if not left:
            break
        time.sleep(0.1)
    assert not left
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix not in ("", ".lock")]


def test_a_card_that_fails_ends_the_start_with_its_error():
    before = snapshot()
    # the plugin is unpickled in the worker, where it takes this limit for the card
    start = time.monotonic()
    with pytest.raises(ConfigurationError, match="unplugged"):
        LocalNPUCluster(n_workers=2, preload=["tests.cluster.broken_card"], **QUICK)
    assert time.monotonic() - start < 60
    assert snapshot() == before


def semaphores():
    """Named semaphores that this process has mapped."""
    try:
        with open("/proc/self/maps") as file:
            return {line.split("/")[-1] for line in file if "/dev/shm/sem" in line}
    except OSError:
        return set()


def test_a_start_that_hangs_ends_in_time():
    before = snapshot()
    mapped = semaphores()
    start = time.monotonic()
    with pytest.raises((DeviceError, DeviceUnavailableError), match="start_timeout"):
        LocalNPUCluster(
            n_workers=1, preload=["tests.cluster.hanging_card"], start_timeout=4, **QUICK
        )
    assert time.monotonic() - start < 40
    assert snapshot() == before
    gc.collect()
    assert semaphores() <= mapped


def test_too_few_cards_start_nothing(monkeypatch):
    from daskasc import device

    monkeypatch.setattr(device, "resolve", lambda kind: "npu")
    monkeypatch.setattr(device, "count", lambda kind: 1)
    before = snapshot()
    with pytest.raises(ConfigurationError, match="1 npu cards are visible"):
        LocalNPUCluster(n_workers=2)
    assert snapshot() == before

"""The climate example as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import xarray as xr

from .conftest import EXAMPLES

SCRIPT = EXAMPLES / "climate_normals.py"
LIMIT = 240


def command(*options):
    return [sys.executable, str(SCRIPT), "--dashboard-address", ":0", *map(str, options)]


def environment():
    path = os.pathsep.join([str(EXAMPLES.parent), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def execute(*options):
    return subprocess.run(
        command(*options), capture_output=True, text=True, timeout=LIMIT, env=environment()
    )


def refused(*options):
    """Standard error of a run that ends with status 2: one line."""
    done = execute(*options)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("climate_normals.py: ")
    return line


@pytest.fixture
def store(tmp_path):
    time_axis = xr.date_range("1960", periods=40, freq="YS", calendar="noleap", use_cftime=True)
    values = np.random.default_rng(0).normal(280, 1, (40, 4, 6)).astype("f4")
    ds = xr.Dataset(
        {"tas": (("time", "lat", "lon"), values, {"units": "K"})},
        {"time": time_axis, "lat": [0.0, 10.0, 20.0, 30.0], "lon": np.arange(6.0)},
    )
    ds.to_zarr(
        tmp_path / "s.zarr",
        zarr_format=3,
        consolidated=False,
        encoding={"tas": {"chunks": (5, 4, 6)}},
    )
    return tmp_path / "s.zarr"


def test_the_known_answers(tmp_path):
    done = execute("--cards", 2, "--device", "cpu", "--output", tmp_path, "--json", tmp_path / "j")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads((tmp_path / "j").read_text())
    assert round(found["a1b_2099_anomaly_K"], 2) == 5.00
    assert round(found["a1b_minus_e1_2090s_K"], 2) == 2.48
    assert found["cards"] == 2
    assert found["device"] == "cpu"
    assert len(found["peak_device_bytes"]) == 2
    assert min(found["peak_device_bytes"]) > 0
    assert found["tasks"] > 0
    assert found["collectives"] > 0
    assert found["bytes_between_cards"] > 0
    assert found["bytes_host_to_device"] > 2 * 240 * 37 * 49 * 4
    assert "A1B minus E1, mean of 2090-2099: 2.48 K" in done.stdout
    assert (tmp_path / "climate_normals.png").stat().st_size > 20_000
    results = xr.open_zarr(tmp_path / "results.zarr", group="E1", consolidated=False, chunks=None)
    assert results.anomaly.shape == (240, 37, 49)
    assert results.time.dt.calendar == "360_day"
    assert float(results.anomaly.sel(time=slice("1961", "1990")).mean()) == pytest.approx(
        0, abs=1e-4
    )
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"cache", "climate_normals.png", "j", "results.zarr"}


def test_wrong_input_is_one_line_and_status_2(tmp_path):
    line = refused("--input", "/nowhere/s.zarr", "--output", tmp_path)
    assert "no such store: /nowhere/s.zarr; check the path" in line


@pytest.fixture
def main():
    """The example's entry point in this process, for what ends before a cluster starts."""
    import climate_normals

    previous = signal.getsignal(signal.SIGTERM)
    yield climate_normals.main
    signal.signal(signal.SIGTERM, previous)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--synthetic much", "--synthetic is 'much'; give a size"),
        ("--synthetic 1kB", "give at least 4 MiB"),
        ("--device-memory -3", "--device-memory"),
        ("--cards 0", "--cards is 0; at least 1"),
        ("--cards many", "invalid int value: 'many'"),
        ("--input a --synthetic 1GiB", "exclude each other"),
        ("--variable a", "--variable needs --input"),
        ("--output /dev/null/out", "cannot write into /dev/null/out"),
        ("--json /dev/null/a/b", "cannot write into /dev/null/a"),
        ("--input {store} --variable pr", "no such variable: pr; it has tas"),
        ("--input {store} --base 1861-1890", "1861-1890 is outside the data (1960-1999)"),
        ("--input {store} --base 1990", "--base is '1990'"),
    ],
)
def test_wrong_options(tmp_path, store, main, capsys, options, message):
    out = tmp_path / "out"
    argv = ["--output", str(out), *options.format(store=store).split()]
    try:
        status = main(argv)
    except SystemExit as exit_:
        status = exit_.code
    assert status == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("climate_normals.py: ")
    assert message in line
    assert not out.exists() or list(out.iterdir()) == []


def test_a_truncated_chunk(tmp_path, store):
    chunk = store / "tas" / "c" / "3" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-20])
    line = refused(
        "--input",
        store,
        "--base",
        "1961-1990",
        "--cards",
        1,
        "--device",
        "cpu",
        "--output",
        tmp_path / "out",
        "--json",
        tmp_path / "j",
    )
    assert "array tas: chunk (3, 0, 0) (c/3/0/0) is truncated or corrupt" in line
    assert list((tmp_path / "out").iterdir()) == []
    assert not (tmp_path / "j").exists()


def test_an_interrupt_ends_cleanly(tmp_path, store):
    with subprocess.Popen(
        command("--input", store, "--cards", 2, "--device", "cpu", "--output", tmp_path / "out"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment(),
    ) as process:
        assert process.stdout.readline().startswith("2 cpu cards")
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert error == "climate_normals.py: interrupted\n"
    deadline = time.monotonic() + 20
    while any(child.is_running() for child in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(child.is_running() for child in children)

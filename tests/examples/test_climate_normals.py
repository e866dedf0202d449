"""The climate example as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask
import numpy as np
import psutil
import pytest
import xarray as xr

from daskasc.errors import DeviceError, DeviceUnavailableError, InputError
from tests.programs import environment, own

from .conftest import EXAMPLES

SCRIPT = EXAMPLES / "climate_normals.py"
LIMIT = 240
KIND = dask.config.get("daskasc.device")


def command(*options):
    return [sys.executable, str(SCRIPT), "--dashboard-address", ":0", *map(str, options)]


def execute(*options):
    done = subprocess.run(
        command(*options), capture_output=True, text=True, timeout=LIMIT, env=environment()
    )
    done.stdout, done.stderr = own(done.stdout), own(done.stderr)
    return done


def make_dataset(years):
    time_axis = xr.date_range("1960", periods=years, freq="YS", calendar="noleap", use_cftime=True)
    values = np.random.default_rng(0).normal(280, 1, (years, 4, 6)).astype("f4")
    return xr.Dataset(
        {"tas": (("time", "lat", "lon"), values, {"units": "K"})},
        {"time": time_axis, "lat": [0.0, 10.0, 20.0, 30.0], "lon": np.arange(6.0)},
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
    make_dataset(40).to_zarr(
        tmp_path / "s.zarr",
        zarr_format=3,
        consolidated=False,
        encoding={"tas": {"chunks": (5, 4, 6)}},
    )
    return tmp_path / "s.zarr"


def test_the_known_answers(tmp_path):
    done = execute("--cards", 2, "--device", KIND, "--output", tmp_path, "--json", tmp_path / "j")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads((tmp_path / "j").read_text())
    assert round(found["a1b_2099_anomaly_K"], 2) == 5.00
    assert round(found["a1b_minus_e1_2090s_K"], 2) == 2.48
    assert found["cards"] == 2
    assert found["device"] == KIND
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
    line = refused("--input", "/nowhere/s.zarr", "--output", tmp_path / "out")
    assert "no such store: /nowhere/s.zarr; check the path" in line
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def main():
    """The example's entry point in this process, for what ends before a cluster starts."""
    import climate_normals

    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.getsignal(number) for number in numbers}
    yield climate_normals.main
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.fixture
def one_line(main, capsys, tmp_path):
    """Run what ends with status 2 and one line, and makes nothing; give the line."""

    def run(*options):
        before = sorted(tmp_path.rglob("*"))
        try:
            status = main(["--output", str(tmp_path / "out"), *map(str, options)])
        except SystemExit as exit_:
            status = exit_.code
        assert status == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("climate_normals.py: ")
        assert sorted(tmp_path.rglob("*")) == before
        return line

    return run


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
        ("--output /dev/null/out", "cannot write into /dev/null/out: /dev/null is a file, not a"),
        ("--output /dev/null", "cannot write into /dev/null: it is a file, not a folder"),
        ("--json /dev/null/a/b", "cannot write into /dev/null/a"),
        ("--json {folder}", "is a folder; give the name of a file"),
        ("--output {data}", "is no Zarr store; move it away"),
        ("--dashboard-address foo", "--dashboard-address is 'foo'; give a port"),
        ("--dashboard-address :99999", "give a port"),
        ("--dashboard-address no.such.host.invalid:0", "this machine cannot listen there"),
        pytest.param(
            "--device npu --input {store}",
            'device is "npu", but',
            marks=pytest.mark.skipif(KIND == "npu", reason="npu is there"),
        ),
        ("--synthetic 8MiB --base 1861-1890", "--synthetic: the base period 1861-1890 is outside"),
        ("--base 1861-2100", "1861-2100 is outside the data (1860-2099)"),
        ("--input {file}", "it is a file; give the folder of a Zarr store"),
        ("--input {empty}", "it is an empty folder"),
        ("--input {store} --variable pr", "no such variable: pr; it has tas"),
        ("--input {store} --base 1861-1890", "1861-1890 is outside the data (1960-1999)"),
        ("--input {store} --base 1990", "--base is '1990'"),
    ],
)
def test_wrong_options(tmp_path, store, one_line, options, message):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "data" / "results.zarr" / "mine").mkdir(parents=True)
    names = {name: tmp_path / name for name in ("file", "empty", "data")}
    line = one_line(*options.format(store=store, folder=tmp_path, **names).split())
    assert message in line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ds: ds.isel(time=[0, 1, 1, 2]), "is there twice (positions 1 and 2)"),
        (lambda ds: ds.isel(time=slice(0, 0)), "its dimension 'time' has length 0"),
        (
            lambda ds: ds.assign_coords(time=("time", np.arange(40), {"units": "days"})),
            "dimension 'time' has no times that can be decoded (units 'days')",
        ),
        (lambda ds: ds.assign(tas=ds.tas.astype("U3")), "variable tas: it holds text (<U3)"),
        (lambda ds: ds.assign(tas=ds.tas > 0), "variable tas: it holds booleans (bool)"),
        (lambda ds: ds.isel(time=[0, 39]), "no time is in the base period 1961-1990"),
    ],
)
def test_odd_stores(tmp_path, one_line, change, message):
    change(make_dataset(40)).to_zarr(tmp_path / "odd", zarr_format=2, consolidated=False)
    assert message in one_line("--input", tmp_path / "odd", "--variable", "tas")


def analysed(tmp_path, ds, base):
    """The passes over a store without a cluster, and everything that is said about them."""
    import _climate_job as job

    ds.to_zarr(tmp_path / "s", zarr_format=3, consolidated=False)
    field = job.Field(job.Scenario("mine", str(tmp_path / "s"), "tas"), None)
    with dask.config.set(scheduler="synchronous"), np.errstate(all="ignore"):
        results, _, late = job.analyse(None, [field], base, False)
    figures = job.known_figures(results)
    job.print_table(results, figures, base, late)
    job.draw(results, field.axes, base, late, field.units, tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 10_000
    return results["mine"], figures


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("years", [1, 2, 9])
def test_short_series(tmp_path, capsys, years):
    from _climate_analysis import Period

    result, figures = analysed(tmp_path, make_dataset(years), Period(1960, 1960))
    assert result.running_mean.isnull().all()
    assert result.annual_anomaly.size == years
    assert (figures["trend_K_per_decade"] is None) == (years == 1)
    lines = {
        line.split("  ")[1]: line.split()[-1] for line in capsys.readouterr().out.splitlines()[2:]
    }
    assert lines["last 10-year mean, anomaly"] == "-"
    assert (lines["trend (K/decade)"] == "-") == (years == 1)


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("index", [{"lat": [1]}, {"lon": [2]}])
def test_thin_grids(tmp_path, index):
    from _climate_analysis import Period

    result, figures = analysed(tmp_path, make_dataset(12).isel(index), Period(1961, 1963))
    assert result.change.notnull().all()
    assert np.isfinite(figures["change_K"])


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_a_late_period_without_values(tmp_path):
    from _climate_analysis import Period

    ds = make_dataset(12)
    ds["tas"][6:] = np.nan
    result, figures = analysed(tmp_path, ds, Period(1960, 1963))
    assert result.change.isnull().all()
    assert figures["change_K"] is None
    assert np.isfinite(figures["trend_K_per_decade"])


def test_a_base_period_without_values(tmp_path):
    from _climate_analysis import Period

    ds = make_dataset(12)
    ds["tas"][:4] = np.nan
    with pytest.raises(InputError, match="no valid value in the base period 1960-1963"):
        analysed(tmp_path, ds, Period(1960, 1963))


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (DeviceUnavailableError("no card"), 2, "no card"),
        (DeviceError("card 3 is lost"), 1, "DeviceError: card 3 is lost"),
    ],
)
def test_exit_status(main, monkeypatch, capsys, error, status, text):
    import _climate_job

    def fail(args):
        raise error

    monkeypatch.setattr(_climate_job, "run", fail)
    assert main([]) == status
    assert capsys.readouterr().err == f"climate_normals.py: {text}\n"


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
        KIND,
        "--output",
        tmp_path / "out",
        "--json",
        tmp_path / "j",
    )
    assert "array tas: chunk (3, 0, 0) (c/3/0/0) is truncated or corrupt" in line
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "j").exists()


@pytest.mark.parametrize("seconds", [0.1, 0.6, 1.5])
def test_an_interrupt_while_modules_load(tmp_path, store, seconds):
    out = tmp_path / "out"
    while (ended := _interrupted(store, out, seconds)) is None:
        shutil.rmtree(out)
        seconds /= 2  # on so fast a machine
    assert ended == (130, "climate_normals.py: interrupted\n")
    assert not out.exists()


def _interrupted(store, out, seconds):
    """Status and own error of the job, interrupted so long after it can be; None: it was over."""
    with subprocess.Popen(
        command("--input", store, "--cards", 1, "--device", KIND, "--output", out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        # the handler is installed after Python itself has started
        deadline = time.monotonic() + 20
        while not _catches_interrupts(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(seconds)
        over = process.poll() is not None
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=LIMIT)
    return None if over else (process.returncode, own(error))


def _catches_interrupts(pid):
    """Whether a handler for SIGTERM, which Python itself does not handle, is installed."""
    caught = next(
        line.split()[1]
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("SigCgt")
    )
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def test_an_interrupt_ends_cleanly(tmp_path, store):
    with subprocess.Popen(
        command("--input", store, "--cards", 2, "--device", KIND, "--output", tmp_path / "out"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment(),
    ) as process:
        lines = (line for line in process.stdout if own(line))
        assert next(lines) == f"starting 2 {KIND} cards ...\n"
        assert next(lines).startswith(f"2 {KIND} cards, dashboard http")
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)  # impatient: changes nothing
        _, error = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert own(error) == "climate_normals.py: interrupted\n"
    deadline = time.monotonic() + 20
    while any(child.is_running() for child in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(child.is_running() for child in children)

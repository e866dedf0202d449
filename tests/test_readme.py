"""The README's example runs as printed, and its commands and links are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from tests.programs import environment

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_first_screen_has_the_two_commands():
    first = "\n".join(README.splitlines()[:20])
    assert 'pip install ".[demo]" && python examples/climate_normals.py' in first
    assert 'pip install ".[test]" && python -m pytest' in first


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target
    assert "@@" not in README


def test_the_example_runs_as_printed(tmp_path):
    rng = np.random.default_rng(3)
    times = pd.date_range("1955-01-01", "1995-12-31", freq="MS")
    t2m = 280 + rng.normal(size=(len(times), 6, 8)).astype("f4")
    ds = xr.Dataset(
        {"t2m": (("time", "latitude", "longitude"), t2m)},
        coords={"time": times, "latitude": np.linspace(60, 10, 6), "longitude": np.arange(8.0)},
    )
    ds.to_zarr(tmp_path / "era5.zarr", zarr_format=3, consolidated=False)
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", README, re.S) if "era5" in block
    )
    code = code.replace("LocalNPUCluster()", 'LocalNPUCluster(2, dashboard_address=":0")')
    script = tmp_path / "own.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    with xr.open_zarr(tmp_path / "anomalies.zarr", consolidated=False) as written:
        exact = ds["t2m"].astype("f8")
        expected = exact - exact.sel(time=slice("1961", "1990")).mean("time")
        np.testing.assert_allclose(written["t2m"], expected, atol=1e-4)


def test_the_example_on_one_card_runs_as_printed():
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", README, re.S) if "from_numpy" in block
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    assert "(90, 180)" in done.stdout
    assert "numpy.subtract" in done.stdout
    assert "cumsum" in done.stdout

"""dask's own CuPy tests with AscendArray in CuPy's place."""

from __future__ import annotations

from pathlib import Path

import dask.array
import pytest

from tests.suites import runner

SUITE = Path(dask.array.__file__).parent / "tests"
HERE = runner.HERE / "dask_cupy"


@pytest.mark.suite
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", runner.MODES)
def test_dask_cupy(mode: str, tmp_path: Path) -> None:
    files = [str(f) for f in sorted(SUITE.glob("test_cupy_*.py")) if "sparse" not in f.name]
    if not files:
        pytest.skip("this dask was installed without its tests")
    results = runner.run(
        ["-c", str(HERE / "pytest.ini"), f"--rootdir={SUITE}", *files],
        mode,
        tmp_path / "results.json",
        path=[runner.HERE / "stand_in"],
        plugins=["tests.suites.dask_cupy.adapter"],
        timeout=1100,
    )
    assert results.count()["passed"] >= 350
    runner.compare(results, runner.known_failures(HERE / f"{mode}.txt"))

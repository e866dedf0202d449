"""torch stays out of processes that do not need it, and its failure has one clear message."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([p for p in (environment.pop("EXTRA_PATH", ""), str(ROOT)) if p])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_device_package_needs_no_torch() -> None:
    done = python(
        "import sys\n"
        "import daskasc.device as d, daskasc._handoff\n"
        "d.resolve('auto'); d.count('npu'); d.visibility_env('npu', 0); d.has_card()\n"
        "with d.staging.take(10): pass\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    assert done.returncode == 0, done.stderr


def _fake_torch_npu(folder: Path) -> None:
    """Install a torch_npu whose entry point fails as the real one does without CANN."""
    package = folder / "torch_npu"
    package.mkdir()
    (package / "__init__.py").write_text(
        "raise ImportError('libascendcl.so: cannot open shared object file')\n"
    )
    info = folder / "torch_npu-0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_npu\nVersion: 0.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")


def test_torch_npu_without_cann_is_explained(tmp_path: Path) -> None:
    _fake_torch_npu(tmp_path)
    code = (
        "from daskasc import device\n"
        "from daskasc.errors import DeviceUnavailableError\n"
        "try:\n"
        "    device.torch()\n"
        "except DeviceUnavailableError as error:\n"
        "    print(error)\n"
    )
    done = python(code, EXTRA_PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    for part in (
        "libascendcl.so",
        "Failed to load the backend extension: torch_npu",
        "set_env.sh",
        "TORCH_DEVICE_BACKEND_AUTOLOAD=0",
        "pip uninstall torch-npu",
    ):
        assert part in done.stdout


def test_attaching_an_npu_without_cann_is_explained(tmp_path: Path) -> None:
    _fake_torch_npu(tmp_path)
    code = (
        "from daskasc import device\n"
        "from daskasc.errors import DeviceUnavailableError\n"
        "try:\n"
        "    device.attach('npu', 0)\n"
        "except DeviceUnavailableError as error:\n"
        "    print(error)\n"
        "assert not device.has_card()\n"
    )
    done = python(code, EXTRA_PATH=str(tmp_path), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 0, done.stderr
    assert "set_env.sh" in done.stdout
    assert "libascendcl.so" in done.stdout


def test_large_results_ask_for_huge_pages_unless_told_not_to() -> None:
    show = "from daskasc import device; device.torch(); print(os.environ['THP_MEM_ALLOC_ENABLE'])"
    unset = python(f"import os; os.environ.pop('THP_MEM_ALLOC_ENABLE', None); {show}")
    assert unset.stdout.split()[-1] == "1", unset.stderr
    refused = python(f"import os; {show}", THP_MEM_ALLOC_ENABLE="0")
    assert refused.stdout.split()[-1] == "0", refused.stderr

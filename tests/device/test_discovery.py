"""Kinds, counts and visibility, on a made-up /dev and environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from daskasc import device
from daskasc.device import _discovery
from daskasc.errors import ConfigurationError, DeviceUnavailableError


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_discovery, "_DEV", tmp_path)
    monkeypatch.delenv("ASCEND_RT_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path


def test_counts_device_nodes_only(nodes: Path) -> None:
    for name in ("davinci0", "davinci1", "davinci_manager", "nvidia0", "nvidiactl", "null"):
        (nodes / name).touch()
    assert device.count("npu") == 2
    assert device.count("cuda") == 1
    assert device.count("cpu") >= 1


def test_visibility_is_respected_and_passed_on(
    nodes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(8):
        (nodes / f"davinci{i}").touch()
    assert device.visibility_env("npu", 3) == {"ASCEND_RT_VISIBLE_DEVICES": "3"}
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "2, 5")
    assert device.count("npu") == 2
    assert device.visibility_env("npu", 1) == {"ASCEND_RT_VISIBLE_DEVICES": "5"}
    with pytest.raises(ConfigurationError, match="card 2 of"):
        device.visibility_env("npu", 2)
    assert device.visibility_env("cpu", 1) == {}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-abc,GPU-def,-1,0")
    assert device.visibility_env("cuda", 1) == {"CUDA_VISIBLE_DEVICES": "GPU-def"}


@pytest.mark.parametrize("value", ["1,0", "0,0", "a"])
def test_bad_npu_visibility(nodes: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", value)
    with pytest.raises(ConfigurationError, match="ASCEND_RT_VISIBLE_DEVICES"):
        device.count("npu")


def test_auto_takes_the_best_kind_that_has_nodes_and_software(
    nodes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert device.resolve("auto") == "cpu"
    (nodes / "davinci0").touch()
    (nodes / "nvidia0").touch()
    monkeypatch.setattr(_discovery, "_software", lambda kind: kind == "cuda")
    assert device.resolve("auto") == "cuda"
    monkeypatch.setattr(_discovery, "_software", lambda kind: True)
    assert device.resolve("auto") == "npu"


def test_named_kind_without_software(nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_discovery, "_software", lambda kind: False)
    with pytest.raises(DeviceUnavailableError, match='device="cpu"'):
        device.resolve("npu")
    with pytest.raises(ConfigurationError, match="allowed: auto, npu, cuda, cpu"):
        device.resolve("tpu")

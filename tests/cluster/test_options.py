import logging

import dask
import pytest

from daskasc import device
from daskasc.cluster import ClusterOptions
from daskasc.errors import ConfigurationError


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"n_workers": 0}, "n_workers is 0"),
        ({"n_workers": -2}, "n_workers is -2"),
        ({"n_workers": True}, "n_workers is True"),
        ({"n_workers": 2.0}, "n_workers is 2.0"),
        ({"threads": 0}, "threads is 0"),
        ({"scheduler_port": -1}, "scheduler_port is -1"),
        ({"device": "gpu"}, "device is 'gpu'"),
        ({"device_memory_limit": "lots"}, "device_memory_limit is 'lots'"),
        ({"device_memory_limit": -1}, "device_memory_limit is -1"),
        ({"device_memory_limit": 0}, "device_memory_limit is 0"),
        ({"memory_limit": "lots"}, "memory_limit is 'lots'"),
        ({"memory_limit": -5}, "memory_limit is -5"),
        ({"start_timeout": "soon"}, "start_timeout is 'soon'"),
        ({"close_timeout": 0}, "close_timeout is 0"),
        ({"preload": "module"}, "preload is 'module'"),
        ({"env": {"N": 1}}, "env has 'N': 1"),
    ],
)
def test_malformed_values_name_what_was_found(options, found):
    with pytest.raises(ConfigurationError, match=found) as raised:
        ClusterOptions.make(**options)
    assert "allowed" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("n_worker", "did you mean n_workers"),
        ("threads_per_worker", "one task thread"),
        ("processes", "process of its own"),
        ("zzz", "options: n_workers"),
    ],
)
def test_unknown_options_get_a_hint(name, hint):
    with pytest.raises(ConfigurationError, match=hint):
        ClusterOptions.make(**{name: 1})


def test_more_cards_than_present(monkeypatch):
    monkeypatch.setattr(device, "resolve", lambda kind: "npu")
    monkeypatch.setattr(device, "count", lambda kind: 2)
    with pytest.raises(ConfigurationError, match="n_workers is 3, but 2 npu cards are visible"):
        ClusterOptions(n_workers=3).resolve()
    assert ClusterOptions().resolve().count == 2
    assert ClusterOptions(n_workers=1).resolve().capacity is None


def test_no_card_at_all(monkeypatch):
    monkeypatch.setattr(device, "resolve", lambda kind: "npu")
    monkeypatch.setattr(device, "count", lambda kind: 0)
    with pytest.raises(ConfigurationError, match="no card is visible"):
        ClusterOptions().resolve()


def test_stand_in_cards_in_any_number():
    cards = ClusterOptions(n_workers=64, device="cpu").resolve()
    assert (cards.kind, cards.count, cards.threads) == ("cpu", 64, 1)
    assert ClusterOptions(n_workers=1, device="cpu", threads=3).resolve().threads == 3
    assert 1 <= ClusterOptions(device="cpu").resolve().count <= 4


def test_stand_in_capacity_leaves_room_below_the_host_limit():
    cards = ClusterOptions(n_workers=2, device="cpu", memory_limit="1GiB").resolve()
    assert cards.host_limit == 2**30
    assert cards.capacity == 2**29
    unlimited = ClusterOptions(n_workers=2, device="cpu", memory_limit=None).resolve()
    assert unlimited.host_limit is None
    assert unlimited.capacity > 0


def test_device_comes_from_the_configuration():
    with dask.config.set({"daskasc.device": "cpu"}):
        assert ClusterOptions(n_workers=1).resolve().kind == "cpu"


def test_options_are_hashable_values():
    a = ClusterOptions(preload=["x"], start_timeout="2 minutes")
    assert a.preload == ("x",)
    assert a.seconds("start_timeout") == 120
    assert a.silence_logs == logging.WARN
    with pytest.raises(AttributeError):
        a.n_workers = 3


@pytest.mark.parametrize("name", ["dashboard_address", "worker_dashboard_address"])
def test_addresses(name):
    for value in (None, ":8787", "0", ":0", 8787, "localhost:8787", "127.0.0.1:0", ":1,:2"):
        ClusterOptions(**{name: value})
    for value in ("foo", "", "foo:", ":70000", "a:b:1", "http://host:1", True, -1, 1.5):
        with pytest.raises(ConfigurationError, match=f"{name} is {value!r}"):
            ClusterOptions(**{name: value})


def test_local_directory(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for value in (None, str(tmp_path), str(tmp_path / "new" / "deep"), tmp_path):
        assert ClusterOptions(local_directory=value).local_directory in (None, str(value))
    with pytest.raises(ConfigurationError, match=r"file', which is a file"):
        ClusterOptions(local_directory=str(file))
    with pytest.raises(ConfigurationError, match=r"below'.* below the file .*file"):
        ClusterOptions(local_directory=str(file / "below"))
    with pytest.raises(ConfigurationError, match="local_directory is 3"):
        ClusterOptions(local_directory=3)

"""The stand-in card: attaching, copies, memory accounts; and the counters."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from daskasc import device
from daskasc.array import from_numpy
from daskasc.errors import DeviceError, UnsupportedDTypeError


@pytest.fixture
def card() -> Iterator[device.Backend]:
    backend = device.attach("cpu", 3, memory_limit=1 << 20)
    yield backend
    device.detach()


def test_attach_once(card: device.Backend) -> None:
    assert device.has_card()
    assert device.current() is card
    assert (card.kind, card.card, card.collective_backend) == ("cpu", 3, "gloo")
    assert device.attach("cpu", 3) is card
    with pytest.raises(DeviceError, match="owns cpu card 3"):
        device.attach("cpu", 4)


def test_without_a_card_the_host_backend_computes() -> None:
    assert not device.has_card()
    backend = device.current()
    assert (backend.kind, backend.card, backend.accounts) == ("cpu", None, False)


def test_listeners_hear_of_changes() -> None:
    heard: list[bool] = []
    stop = device.on_change(lambda: heard.append(device.has_card()))
    try:
        device.attach("cpu", 0)
        device.detach()
    finally:
        stop()
    device.attach("cpu", 0)
    device.detach()
    assert heard == [True, False]


ARRAYS = {
    "plain": np.arange(6.0).reshape(2, 3),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "reversed": np.arange(6)[::-2],
    "big-endian": np.arange(6, dtype=">f4"),
    "read-only": np.frombuffer(b"12345678", "i4"),
    "broadcast": np.broadcast_to(np.float32(2), (3, 2)),
    "scalar": np.array(3, "u2"),
    "empty": np.zeros((0, 3), "c8"),
    "bfloat16": np.array([1.5, -2], ml_dtypes.bfloat16),
    "bool": np.array([True, False]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_copies_down_and_up(card: device.Backend, name: str) -> None:
    array = ARRAYS[name]
    before = device.counters.snapshot()
    tensor = card.upload(array)
    back = card.download(tensor)
    after = device.counters.snapshot()
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.flags.owndata or back.base.flags.owndata
    for counter in ("host_to_device_bytes", "device_to_host_bytes"):
        assert after[counter] - before[counter] == array.nbytes


def test_upload_copies(card: device.Backend) -> None:
    source = np.zeros(4)
    tensor = card.upload(source)
    source[:] = 9
    assert tensor.sum().item() == 0
    back = card.download(tensor)
    back[:] = 7
    assert tensor.sum().item() == 0


def test_dtypes_without_a_form(card: device.Backend) -> None:
    with pytest.raises(UnsupportedDTypeError, match="datetime64"):
        card.upload(np.array(["2020-01-01"], "M8[D]"))


def test_memory_counts_storages_of_live_arrays(card: device.Backend) -> None:
    gc.collect()
    base = card.memory().used
    x = from_numpy(np.zeros(1000))
    assert card.memory().used - base == 8000
    view = x[10:20]
    row = x.reshape(10, 100)[3]
    assert card.memory().used - base == 8000
    del x
    assert card.memory().used - base == 8000
    del view, row
    assert card.memory().used == base
    assert card.memory().peak >= base + 8000
    card.reset_peak()
    assert card.memory().peak == base
    assert card.memory().capacity == 1 << 20


def test_accounts_survive_threads(card: device.Backend) -> None:
    base = card.memory().used

    def work() -> None:
        for _ in range(200):
            x = from_numpy(np.zeros(100))
            _ = (x + 1)[2:5]

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    gc.collect()
    assert card.memory().used == base


def test_out_of_memory_is_recognised(card: device.Backend) -> None:
    assert card.is_out_of_memory(MemoryError())
    assert card.is_out_of_memory(RuntimeError("DefaultCPUAllocator: not enough memory: tried"))
    assert not card.is_out_of_memory(RuntimeError("shape"))


def test_counters() -> None:
    counters = device.Counters()
    counters.add("collectives", 2)
    counters.record_fallback("numpy.unique", 10)
    counters.record_fallback("numpy.unique", 5)
    assert counters.snapshot()["collectives"] == 2
    assert counters.fallbacks() == {"numpy.unique": (2, 15)}
    with pytest.raises(KeyError, match="known: host_to_device_bytes"):
        counters.add("bytes", 1)
    counters.reset()
    assert not any(counters.snapshot().values())
    assert counters.fallbacks() == {}

"""Order of copies and pinned buffers, with a card whose copies run only when they are waited for.

The scripted card queues every copy. Waiting for an event runs the queue up to that event and no
further, as a stream does; nothing else runs it. A buffer that is handed on too early, or a result
that is read too early, therefore shows wrong elements.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import dask
import ml_dtypes
import numpy as np
import pytest
import torch

from daskasc import device
from daskasc.device import _accelerator, _state
from daskasc.device._accelerator import AcceleratorBackend
from daskasc.device._backend import host_view
from daskasc.device._transfer import Transfer, pieces


class Stream:
    """Copies in the order in which they were queued; run only by waiting."""

    def __init__(self) -> None:
        self.queue: list[tuple[Any, Any]] = []
        self.ran = 0
        self.whole_waits = 0

    def run(self, until: int) -> None:
        while self.ran < until:
            target, source = self.queue[self.ran]
            target.copy_(source)
            self.ran += 1

    def synchronize(self) -> None:
        self.whole_waits += 1
        self.run(len(self.queue))


class Event:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._end = -1

    def record(self) -> None:
        self._end = len(self._stream.queue)

    def query(self) -> bool:
        return self._stream.ran >= self._end

    def synchronize(self) -> None:
        assert self._end >= 0, "waited for an event that was never recorded"
        self._stream.run(self._end)


class Driver:
    def __init__(self) -> None:
        self.stream = Stream()
        self.fails = False

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def set_device(self, index: int) -> None:
        assert index == 0

    def mem_get_info(self) -> tuple[int, int]:
        return 1 << 30, 1 << 30

    def current_stream(self) -> Stream:
        return self.stream

    def Event(self) -> Event:  # the drivers' own name
        if self.fails:
            raise RuntimeError("event failed")
        return Event(self.stream)


class ScriptedBackend(AcceleratorBackend):
    """The code of npu and cuda over a scripted driver."""

    kind = "cpu"
    visibility = "NONE"

    def _queue(self, target: Any, source: Any) -> None:
        self._driver.stream.queue.append((target, source))

    def _pinned(self, shape: Any, dtype: Any) -> Any:
        return torch.full(shape if isinstance(shape, tuple | list) else (shape,), 99).to(dtype)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    scripted = Driver()
    backend = ScriptedBackend(0, scripted, None, None)
    backend.torch_device = torch.device("cpu")
    monkeypatch.setattr(_state, "_attached", backend)
    monkeypatch.setattr(_accelerator, "PIECE", 8000)
    with dask.config.set({"daskasc.memory.staging": "1MiB"}):
        device.staging.clear()
        yield scripted
        scripted.stream.run(len(scripted.stream.queue))
        device.staging.clear()


def test_an_upload_returns_before_the_copy_and_its_source_may_change(driver: Driver) -> None:
    source = np.arange(5000.0)
    tensor = device.current().upload(source, blocking=False)
    source[:] = -1
    assert driver.stream.ran == 0
    driver.stream.synchronize()
    np.testing.assert_array_equal(tensor.numpy(), np.arange(5000.0))


def test_a_buffer_is_not_handed_on_before_its_copy_is_done(driver: Driver) -> None:
    backend = device.current()
    with dask.config.set({"daskasc.memory.staging": 10_000}):
        tensors = [backend.upload(np.full(1000, float(i)), blocking=False) for i in range(5)]
        assert device.staging.idle_bytes <= 10_000
        # the pool holds one buffer; each further copy had to wait for the one before it, not more
        assert driver.stream.ran == 4
    driver.stream.synchronize()
    for i, tensor in enumerate(tensors):
        assert (tensor.numpy() == i).all()


def test_new_buffers_are_used_while_the_pool_has_room(driver: Driver) -> None:
    for i in range(5):
        device.current().upload(np.full(1000, float(i)), blocking=False)
    assert driver.stream.ran == 0
    held = device.staging.idle_bytes
    driver.stream.synchronize()
    device.current().upload(np.zeros(1000), blocking=False)
    assert device.staging.idle_bytes == held


def test_clearing_the_pool_waits_for_its_copies(driver: Driver) -> None:
    tensor = device.current().upload(np.arange(7), blocking=False)
    device.staging.clear()
    assert driver.stream.ran == 1
    assert tensor.tolist() == list(range(7))


def test_a_download_waits_for_its_own_copy_only(driver: Driver) -> None:
    backend = device.current()
    first = backend.start_download(torch.arange(6))
    second = backend.start_download(torch.arange(6, 12))
    assert not first.done()
    assert (first._array == 99).all()
    assert first.result().tolist() == [0, 1, 2, 3, 4, 5]
    assert driver.stream.ran == 1
    assert first.done()
    assert not second.done()
    assert "under way" in repr(second)
    assert second.result().tolist() == [6, 7, 8, 9, 10, 11]
    assert driver.stream.whole_waits == 0


def test_a_download_shows_the_elements_of_its_place_in_the_queue(driver: Driver) -> None:
    backend = device.current()
    tensor = torch.zeros(4)
    before = backend.start_download(tensor)
    backend.fill(tensor, np.ones(4, "f4"))
    after = backend.start_download(tensor)
    assert after.result().tolist() == [1, 1, 1, 1]
    assert before.result().tolist() == [0, 0, 0, 0]


def test_a_download_into_an_array_arrives_when_waited_for(driver: Driver) -> None:
    out = np.zeros((3, 4), "f4")[:, ::2]
    transfer = device.current().start_download(torch.ones(3, 2), out)
    driver.stream.synchronize()
    assert not out.any()
    assert transfer.result() is out
    assert out.all()
    transfer.synchronize()


def test_a_transfer_that_is_given_up_keeps_its_buffer_until_the_copy_is_done(
    driver: Driver,
) -> None:
    out = np.zeros(1000)
    transfer = device.current().start_download(torch.ones(1000, dtype=torch.float64), out)
    del transfer
    gc.collect()
    with dask.config.set({"daskasc.memory.staging": 8192}):
        loan = device.staging.lend(8000)
    assert driver.stream.ran == 1
    loan.release()
    assert not out.any()


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "u8", "f2", ml_dtypes.bfloat16, "c16", ">f8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (3, 900), (2, 3, 5000)])
def test_pieces_up_and_down(driver: Driver, dtype: Any, shape: tuple[int, ...]) -> None:
    source = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 100).astype(dtype)
    backend = device.current()
    tensor = backend.upload(source.T, blocking=False)
    driver.stream.synchronize()
    np.testing.assert_array_equal(host_view(tensor), source.T)
    out = np.empty(shape[::-1], source.dtype.newbyteorder("="))
    assert backend.download(tensor, out) is out
    np.testing.assert_array_equal(out, source.T)
    assert driver.stream.ran == len(driver.stream.queue)


def test_fill_converts_and_reaches_strided_tensors(driver: Driver) -> None:
    tensor = torch.zeros(4, 6000)[:, ::2]
    device.current().fill(tensor, np.arange(12000).reshape(4, 3000))
    driver.stream.synchronize()
    assert tensor.reshape(-1).tolist() == list(range(12000))


def test_an_error_waits_for_the_copy_and_gives_the_buffer_back(driver: Driver) -> None:
    driver.fails = True
    with pytest.raises(RuntimeError, match="event failed"):
        device.current().upload(np.ones(1000), blocking=False)
    assert driver.stream.ran == 1
    assert device.staging.idle_bytes > 0
    with pytest.raises(RuntimeError, match="event failed"):
        device.current().start_download(torch.ones(1000), np.zeros(1000, "f4"))
    assert driver.stream.ran == 2


@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (2, 3, 4), (4, 1, 9)])
@pytest.mark.parametrize("most", [1, 3, 4, 7, 100])
def test_pieces_cover_an_array_once(shape: tuple[int, ...], most: int) -> None:
    seen = np.zeros(shape, int)
    for index in pieces(shape, most):
        assert seen[index].size <= most
        seen[index] += 1
    assert (seen == 1).all()


def test_a_transfer_without_an_event_is_done() -> None:
    transfer = Transfer(np.arange(3))
    assert transfer.done()
    assert transfer.result().tolist() == [0, 1, 2]
    assert repr(transfer) == "<Transfer of 24 bytes, done>"

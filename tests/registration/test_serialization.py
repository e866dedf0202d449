import copy
import pickle

import ml_dtypes
import numpy as np
import pytest
from distributed.protocol import deserialize, serialize

from daskasc import device, registration
from daskasc.array import AscendArray, from_numpy
from daskasc.registration import _serialization

registration.register_array_type()

DTYPES = [*"? i1 i2 i4 i8 u1 f2 f4 f8 c8 c16 M8[ns] m8[D]".split(), ml_dtypes.bfloat16]
SHAPES = [(), (0,), (3, 0), (5,), (3, 4)]


def values(shape, dtype):
    return (np.arange(int(np.prod(shape))).reshape(shape) % 3).astype(dtype)


def same(got, host):
    assert isinstance(got, AscendArray)
    assert (got.dtype, got.shape) == (host.dtype, host.shape)
    np.testing.assert_array_equal(got.asnumpy(), host)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_round_trip(dtype, shape):
    host = values(shape, dtype)
    same(deserialize(*serialize(from_numpy(host))), host)
    for protocol in (4, 5):
        same(pickle.loads(pickle.dumps(from_numpy(host), protocol)), host)


@pytest.mark.parametrize("index", [np.s_[::2], np.s_[:, 1], np.s_[1:, 2:], np.s_[None, 1]])
def test_views(index):
    host = values((6, 5), "f4")
    same(deserialize(*serialize(from_numpy(host)[index])), host[index])
    same(deserialize(*serialize(from_numpy(host).T)), host.T)


def test_conjugates():
    host = values((4,), "c8") * 1j
    same(deserialize(*serialize(np.conj(from_numpy(host)))), np.conj(host))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_large_frame_without_a_copy(dtype, card_kind):
    array = from_numpy(values((1000,), dtype))
    header, frames = serialize(array)
    assert header["serializer"] == "pickle"
    assert len(frames) == 2
    assert frames[1].nbytes == array.nbytes
    if card_kind == "cpu":  # elsewhere the frame is the copy that leaves the card
        assert np.frombuffer(frames[1], np.uint8).ctypes.data == array.tensor.data_ptr()
    assert bytes(frames[1]) == values((1000,), dtype).tobytes()
    assert len(frames[0]) < 1000


def test_frames_name_no_class_that_needs_torch():
    _, frames = serialize(from_numpy(values((9,), "f4")))
    assert b"daskasc.array" not in bytes(frames[0])
    assert b"torch" not in bytes(frames[0])


def test_inside_containers_frames_stay_apart():
    value = {"a": [from_numpy(values((1000,), "f8")), 1], "b": (from_numpy(values((9,), "i4")),)}
    header, frames = serialize(value)
    assert sum(memoryview(f).nbytes >= 8000 for f in frames) == 1
    got = deserialize(header, frames)
    same(got["a"][0], values((1000,), "f8"))
    same(got["b"][0], values((9,), "i4"))


@pytest.mark.parametrize(
    ("origin", "here", "expected", "counted"),
    [
        (0, 1, AscendArray, True),
        (1, 1, AscendArray, False),
        (None, 1, AscendArray, False),
        (0, None, np.ndarray, False),
        (None, None, AscendArray, False),
    ],
)
def test_who_gets_what(monkeypatch, origin, here, expected, counted):
    host = values((10,), "f4")
    monkeypatch.setattr(device, "has_card", lambda: here is not None)
    real = device.current()
    before = device.counters.snapshot()["peer_bytes_received"]
    monkeypatch.setattr(_serialization.device, "current", lambda: _Here(real, here))
    got = _serialization.restore_array(host.view(np.uint8), host.dtype, host.shape, origin)
    assert isinstance(got, expected)
    after = device.counters.snapshot()["peer_bytes_received"]
    assert after - before == (host.nbytes if counted else 0)


class _Here:
    def __init__(self, backend, card):
        self._backend = backend
        self.card = card

    def __getattr__(self, name):
        return getattr(self._backend, name)


def test_sending_counts_as_a_copy_to_the_host():
    array = from_numpy(values((10,), "f4"))
    before = device.counters.snapshot()["device_to_host_bytes"]
    serialize(array)
    assert device.counters.snapshot()["device_to_host_bytes"] - before == 40


def test_copies_stay_on_the_card():
    array = from_numpy(values((10,), "f4"))
    for made in (copy.copy(array), copy.deepcopy(array)):
        same(made, values((10,), "f4"))

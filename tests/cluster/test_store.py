import logging
import pickle
import sys
import threading
from collections import OrderedDict, deque
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daskasc import device
from daskasc.array import AscendArray, from_numpy
from daskasc.cluster import DeviceStore
from daskasc.cluster._hostform import HostForm, device_bytes
from daskasc.device import MemoryInfo

KIB = 1024


def chunk(seed, kib=1):
    return np.full(kib * 128, seed, dtype="f8")


def array(seed, kib=1):
    return from_numpy(chunk(seed, kib))


def same(a, b):
    if isinstance(b, np.ndarray):
        a = a.asnumpy() if isinstance(a, AscendArray) else a
        return isinstance(a, np.ndarray) and np.array_equal(a, b)
    if isinstance(b, (list, tuple)):
        return type(a) is type(b) and all(map(same, a, b))
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in b)
    return a == b


class Record:
    """A user's class, with an array among its attributes."""

    def __init__(self, data, label):
        self.data = data
        self.label = label


class Slotted:
    __slots__ = ("data", "other")

    def __init__(self, data):
        self.data = data


class Keeper(dict):
    def holding(self, data):
        self.data = data
        return self


class Refuses(Record):
    def __reduce__(self):
        raise TypeError("not this one")


# -- what a value holds --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        lambda a: [a, 1, "x"],
        lambda a: ({"k": (a, None)}, 2.5),
        lambda a: Record(a, "label"),
        lambda a: Slotted(a),
        lambda a: [a, a],
        lambda a: SimpleNamespace(x=deque([OrderedDict(y=a)])),
        lambda a: Keeper(k=1).holding(a),
        lambda a: xr.Dataset({"v": ("x", a)}, {"x": np.arange(128)}),
    ],
    ids=["bare", "list", "nested", "object", "slots", "twice", "std", "subclass", "xarray"],
)
def test_arrays_are_found_and_counted_once(make):
    value = make(array(1))
    assert device_bytes(value) == KIB
    restored = HostForm.of(value, KIB).restore()
    assert device_bytes(restored) == KIB
    again = pickle.loads(pickle.dumps(HostForm.of(value, KIB), 5)).restore()
    assert device_bytes(again) == KIB


def test_values_without_arrays_weigh_nothing():
    loop = []
    loop.append(loop)
    logger = logging.getLogger()
    for value in (None, 1, "x", b"x", chunk(1), [chunk(1)], {"a": 1}, len, loop, int, logger):
        assert device_bytes(value) == 0


def test_broadcast_arrays_weigh_their_memory():
    tall = np.broadcast_to(from_numpy(np.ones(1)), (1000, 1000))
    assert device_bytes(tall) == 8


def test_host_form_keeps_identity_and_host_buffers():
    a, host = array(3), chunk(4)
    first, second, buffer = HostForm.of([a, a, host], KIB).restore()
    assert first is second
    assert np.shares_memory(buffer, host)
    form = HostForm.of([a, host], KIB)
    assert sys.getsizeof(form) >= 2 * KIB


# -- limits --------------------------------------------------------------------------------------


def make_store(directory, device_limit=None, host_target=None, **kwargs):
    store = DeviceStore(str(directory), host_target=host_target, **kwargs)
    store.device_limit = device_limit
    return store


def test_least_recently_used_leaves_the_card_and_comes_back(tmp_path):
    store = make_store(tmp_path, device_limit=2 * KIB)
    store["a"], store["b"] = array(1), array(2)
    assert same(store["a"], chunk(1))
    store["c"] = array(3)
    assert store.stored_bytes == 2 * KIB
    assert store.spilled_to_host_bytes == KIB
    assert same(store["b"], chunk(2))
    assert isinstance(store["b"], AscendArray)
    assert store.peak_stored_bytes == 2 * KIB
    assert {key: same(store[key], chunk(n)) for n, key in enumerate("abc", 1)} == dict.fromkeys(
        "abc", True
    )


def test_a_value_over_the_limit_is_kept_on_the_host(tmp_path, recwarn):
    store = make_store(tmp_path, device_limit=2 * KIB)
    store["small"] = array(1)
    store["large"] = array(2, kib=5)
    assert store.stored_bytes == KIB
    large = store["large"]
    assert isinstance(large, AscendArray)
    assert same(large, chunk(2, kib=5))
    assert store.stored_bytes <= 2 * KIB
    assert not recwarn.list


def test_running_tasks_memory_makes_stored_values_leave(tmp_path, monkeypatch):
    store = make_store(tmp_path, device_limit=4 * KIB)
    for n in range(3):
        store[n] = array(n)
    busy = MemoryInfo(used=6 * KIB, peak=6 * KIB, capacity=8 * KIB)
    monkeypatch.setattr(device.current(), "memory", lambda: busy)
    store[3] = array(3)
    assert store.stored_bytes == 2 * KIB
    assert same(store[0], chunk(0))


def test_without_limits_nothing_moves(tmp_path):
    store = make_store(tmp_path)
    for n in range(50):
        store[n] = array(n)
    assert store.stored_bytes == 50 * KIB
    assert store.spilled_to_host_bytes == 0
    assert store.fast is False
    assert store.evict() == -1
    assert store.spilled_total == (0, 0)
    assert not list(tmp_path.iterdir())


def test_host_target_writes_to_disk(tmp_path):
    store = make_store(tmp_path, device_limit=2 * KIB, host_target=2 * KIB)
    for n in range(10):
        store[n] = array(n)
        store[f"host-{n}"] = chunk(n)
    assert store.spilled_to_disk_bytes > 0
    assert store.spilled_total[1] > 0
    assert list((tmp_path / "storage").iterdir())
    for n in range(10):
        assert same(store[n], chunk(n))
        assert same(store[f"host-{n}"], chunk(n))
    for key in list(store):
        del store[key]
    assert store.stored_bytes == 0
    assert not list((tmp_path / "storage").iterdir())


def test_the_monitor_can_push_to_disk(tmp_path):
    store = make_store(tmp_path, host_target=100 * KIB)
    store["host"] = chunk(1)
    assert store.fast
    assert store.evict() >= KIB
    assert not store.fast
    store["card"] = array(2)
    assert not store.fast, "a real card's memory is not the host's"

    shared = make_store(tmp_path / "shared", host_target=100 * KIB, shared_memory=True)
    shared["card"] = array(2)
    assert shared.fast
    assert shared.evict() >= KIB
    assert shared.stored_bytes == 0
    assert not shared.fast
    assert shared.evict() == -1
    assert same(shared["card"], chunk(2))


def test_a_value_that_cannot_move_stays_and_is_said_once(tmp_path, caplog):
    store = make_store(tmp_path, device_limit=2 * KIB)
    store["stuck"] = Refuses(array(1), "x")
    for n in range(4):
        store[n] = array(n)
    assert same(store["stuck"].data, chunk(1))
    assert all(same(store[n], chunk(n)) for n in range(4))
    assert len([r for r in caplog.records if "cannot leave the card" in r.message]) == 1
    store["huge"] = Refuses(array(5, kib=9), "y")
    assert same(store["huge"].data, chunk(5, kib=9))
    del store["stuck"], store["huge"]
    assert "stuck" not in store


def test_freeing_on_demand(tmp_path):
    store = make_store(tmp_path)
    for n in range(4):
        store[n] = array(n)
    assert store.free_device_memory(2 * KIB - 1) == 2 * KIB
    assert store.free_device_memory(100 * KIB) == 2 * KIB
    assert store.free_device_memory(1) == 0
    assert len(store) == 4


def test_missing_keys(tmp_path):
    store = make_store(tmp_path)
    with pytest.raises(KeyError):
        store["x"]
    with pytest.raises(KeyError):
        del store["x"]
    assert "x" not in store
    assert not store


def test_overwriting_frees_the_old_value(tmp_path):
    store = make_store(tmp_path, device_limit=KIB)
    store["x"] = array(1)
    store["y"] = array(2)
    store["x"] = array(3)
    store["y"] = chunk(4)
    assert same(dict(store), {"x": chunk(3), "y": chunk(4)})
    assert len(store) == 2
    assert store.stored_bytes == KIB


VALUES = st.one_of(
    st.tuples(st.just("array"), st.integers(0, 4)),
    st.tuples(st.just("host"), st.integers(0, 4)),
    st.tuples(st.just("nested"), st.integers(0, 2)),
    st.tuples(st.just("plain"), st.integers(0, 9)),
)
KEYS = st.sampled_from(["a", "b", ("c", 0), ("c", 1), "d/e", 7])
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS, VALUES),
        st.tuples(st.just("get"), KEYS, st.none()),
        st.tuples(st.just("del"), KEYS, st.none()),
        st.tuples(st.just("evict"), KEYS, st.none()),
        st.tuples(st.just("free"), KEYS, st.none()),
    ),
    max_size=30,
)


def build(kind, n):
    if kind == "array":
        return array(n, n), chunk(n, n)
    if kind == "host":
        return chunk(n, n), chunk(n, n)
    if kind == "nested":
        return {"x": [array(n, n), n]}, {"x": [chunk(n, n), n]}
    return n, n


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    actions=ACTIONS,
    device_limit=st.sampled_from([None, 1, 3 * KIB]),
    host_target=st.sampled_from([None, 1, 3 * KIB]),
    shared=st.booleans(),
)
def test_behaves_like_a_dict(tmp_path_factory, actions, device_limit, host_target, shared):
    directory = tmp_path_factory.mktemp("store")
    store = make_store(directory, device_limit, host_target, shared_memory=shared)
    model = {}
    for action, key, value in actions:
        if action == "set":
            store[key], model[key] = build(*value)
        elif action == "get":
            if key in model:
                assert same(store[key], model[key])
            else:
                with pytest.raises(KeyError):
                    store[key]
        elif action == "del":
            if key in model:
                del store[key], model[key]
        elif action == "evict":
            assert store.evict() >= -1
        else:
            store.free_device_memory(2 * KIB)
        assert len(store) == len(model)
        assert set(store) == set(model)
        if device_limit is not None:
            assert store.stored_bytes <= device_limit
            assert store.peak_stored_bytes <= device_limit
    assert all(same(store[key], value) for key, value in model.items())


def test_many_threads(tmp_path):
    store = make_store(tmp_path, device_limit=4 * KIB, host_target=8 * KIB)
    errors = []

    def work(name):
        try:
            for n in range(40):
                key = (name, n % 7)
                store[key] = array(n)
                assert same(store[key], chunk(n))
                store.evict()
                if n % 3 == 0:
                    del store[key]
                list(store)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not errors
    assert store.peak_stored_bytes <= 4 * KIB

"""What a profile counts, exactly; that it changes nothing; its files."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import daskasc
from daskasc import device
from daskasc.array import TABLE, AscendArray, asnumpy, from_numpy
from daskasc.errors import ProfileStateError

HERE = Path(__file__).resolve()
KIB = 1024


@pytest.fixture
def card(card_kind: str) -> Iterator[device.Backend]:
    yield device.attach(card_kind, 0)
    device.detach()


def calls(p: daskasc.profile) -> dict[str, int]:
    return {name: row.calls for name, row in p.rows.items()}


def moved(p: daskasc.profile, kind: str) -> dict[str, tuple[int, int]]:
    """{name: (times, bytes)} of one kind, over all places."""
    found: dict[str, tuple[int, int]] = {}
    for (this, name, _), sums in p.moved.items():
        if this == kind:
            times, nbytes = found.get(name, (0, 0))
            found[name] = (times + sums.calls, nbytes + sums.nbytes)
    return found


def fast_entries(name: str) -> int:
    """Kernels in the fast table of an operator of the class."""
    operator = getattr(AscendArray, name)
    tables = [c.cell_contents for c in operator.__closure__ if type(c.cell_contents) is dict]
    assert len(tables) == 1
    return sum(len(row) if type(row) is dict else 1 for row in tables[0].values())


def test_counts_of_a_small_program() -> None:
    host = np.arange(12.0, dtype="f4").reshape(3, 4)
    _ = from_numpy(host) * 2  # a number is made into a tensor once, and kept
    with daskasc.profile() as p:
        x = from_numpy(host)
        y = x * 2 + x
        y = np.sqrt(y)
        y[0] = 1
        row = y[1:]
        total = np.sum(row)
        np.add.reduce(y, axis=0)
        value = float(total)
        back = asnumpy(y)
    assert value == pytest.approx(float(np.sqrt(host[1:] * 3).sum()))
    np.testing.assert_allclose(back[1:], np.sqrt(host * 3)[1:], rtol=1e-6)
    counted = calls(p)
    expected = {
        "numpy.multiply": 1,
        "numpy.add": 1,
        "numpy.sqrt": 1,
        "getitem": 1,
        "setitem": 1,
        "numpy.sum": 2,  # one of them by add.reduce
        "numpy.add.reduce": 1,
        "item": 1,
        "download": 1,
    }
    assert {name: counted[name] for name in expected} == expected
    assert p.rows["numpy.multiply"].nbytes == 2 * 48
    assert p.rows["numpy.add"].nbytes == 3 * 48
    assert moved(p, "device_to_host") == {"item": (1, 4), "download": (1, 48)}
    assert moved(p, "host_to_device")["upload"] == (1, 48)
    assert moved(p, "hidden") == {}
    assert moved(p, "fallback") == {}
    assert p.seconds > 0


def test_filling_an_array_has_a_name(tmp_path: Path) -> None:
    x = from_numpy(np.zeros(4))
    with daskasc.profile() as p:
        x.copy_from(np.arange(4.0))
    assert calls(p) == {"copy_from": 1}
    assert moved(p, "host_to_device") == {"copy_from": (1, 32)}
    assert "copy_from" in str(p)


def test_results_are_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    x, y = (from_numpy(rng.normal(size=(40, 30)).astype("f4")) for _ in "ab")

    def work() -> list[Any]:
        z = np.sqrt(x * x + y * y) * 0.5 - x / 3 + (2 - y) ** 2
        z += 1
        return [asnumpy(v) for v in (z, z.mean(axis=0), np.var(z), -z, abs(x), x < y, z[x > 0])]

    plain = work()
    with daskasc.profile():
        seen = work()
    for one, other in zip(plain, seen, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def test_the_fast_path_is_empty_within_and_filled_again_after() -> None:
    x = from_numpy(np.ones(3, "f4"))
    _ = x + x, -x
    assert fast_entries("__add__") > 0
    with daskasc.profile() as p:
        for _ in range(3):
            _ = x + x, -x
        assert fast_entries("__add__") == fast_entries("__neg__") == 0
    assert calls(p) == {"numpy.add": 3, "numpy.negative": 3}
    assert device.observer.active is None
    _ = x + x, -x
    assert fast_entries("__add__") == fast_entries("__neg__") == 1
    assert calls(p) == {"numpy.add": 3, "numpy.negative": 3}


def test_self_time_and_nesting() -> None:
    x = from_numpy(np.ones((20, 20)))
    with daskasc.profile() as p:
        x += x
    outer, inner = p.rows["numpy.add in place"], p.calls
    names = [call.name for call in inner]
    assert names[-1] == "numpy.add in place"
    top = inner[-1]
    children = [call for call in inner if call.parent is top]
    assert outer.total == top.duration
    assert outer.self_time == top.duration - sum(call.duration for call in children)
    for call in children:
        assert top.start <= call.start <= call.end <= top.end


def test_times_count_once() -> None:
    x = from_numpy(np.array(["2020-01-01", "2021-01-01"], "M8[D]"))
    with daskasc.profile() as p:
        later = x + np.timedelta64(1, "D")
        first = np.min(x)
    np.testing.assert_array_equal(asnumpy(later), np.array(["2020-01-02", "2021-01-02"], "M8[D]"))
    assert asnumpy(first) == np.datetime64("2020-01-01")
    assert p.rows["numpy.add"].errors == p.rows["numpy.min"].errors == 0
    assert p.rows["numpy.min"].calls == 1


def test_functions_of_scipy_are_seen() -> None:
    pytest.importorskip("scipy")
    from daskasc.scipy import ndimage, special

    x = from_numpy(np.ones((8, 8)))
    with daskasc.profile() as p:
        ndimage.gaussian_filter(x, 1.0)
        special.erf(x)
    assert p.rows["scipy.ndimage.gaussian_filter"].calls == 1
    assert p.rows["scipy.special.erf"].calls == 1


@pytest.mark.usefixtures("quiet")
def test_fallbacks_with_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TABLE, np.cumsum)
    x = from_numpy(np.arange(6.0))
    with daskasc.profile() as p:
        found = np.cumsum(x)
    np.testing.assert_array_equal(asnumpy(found), np.cumsum(np.arange(6.0)))
    assert moved(p, "fallback") == {"numpy.cumsum": (1, 48)}
    assert moved(p, "device_to_host") == moved(p, "host_to_device") == {"numpy.cumsum": (1, 48)}
    places = [where for kind, _, where in p.moved if kind == "fallback"]
    assert [Path(place.rpartition(":")[0]).name for place in places] == [HERE.name]
    assert [call.fallback for call in p.calls if call.name == "numpy.cumsum"] == [True]
    assert "computed on the host" in p.table()


@pytest.fixture
def quiet() -> Iterator[None]:
    with dask.config.set({"daskasc.fallback": "silent", "daskasc.host-conversion": "allow"}):
        yield


@pytest.mark.usefixtures("quiet")
def test_implicit_conversion_is_told_from_explicit() -> None:
    x = from_numpy(np.arange(6.0))
    with daskasc.profile() as p:
        np.asarray(x)
        x.asnumpy()
    assert moved(p, "device_to_host") == {"__array__": (1, 48), "download": (1, 48)}


def test_hidden_copies() -> None:
    x = from_numpy(np.arange(24, dtype="f4").reshape(4, 6))
    with daskasc.profile() as p:
        _ = x[::-1]  # a view in NumPy
        _ = x.T.reshape(-1)  # a copy in NumPy too
        _ = x.reshape(6, 4), x.T, x[1:3], np.ravel(x), np.flip(x[:1])  # the last one copies
        _ = x + np.ones(1)  # float32 to float64
        _ = x.astype("f8")  # asked for
        _ = x.copy()
    found = moved(p, "hidden")
    assert found["getitem (a copy, not a view)"] == (1, 96)
    assert found["numpy.reshape (a copy, not a view)"] == (1, 96)
    assert found["numpy.flip (a copy, not a view)"] == (1, 24)
    assert found["numpy.add (dtype)"] == (1, 192)
    assert len(found) == 4


def test_copies_made_inside_calls() -> None:
    x = from_numpy(np.arange(24, dtype="f4").reshape(4, 6))
    with daskasc.profile(inner_copies=True) as p:
        turned = np.ravel(x.T)
        _ = x + np.ones(1)
        _ = x.copy()
        back = asnumpy(turned)
    np.testing.assert_array_equal(back, np.arange(24).reshape(4, 6).T.ravel())
    found = moved(p, "hidden")
    assert found["numpy.ravel (clone)"] == (1, 96)
    assert found["numpy.add (dtype)"] == (1, 192)
    assert {name.split()[0] for name in found} <= {"numpy.ravel", "numpy.add", "download"}
    _ = x.T.reshape(-1)
    assert moved(p, "hidden") == found


def test_peak_memory(card: device.Backend) -> None:
    x = from_numpy(np.zeros(1 << 16))  # 512 KiB
    big = from_numpy(np.zeros(1 << 20))
    before = card.memory().used
    del big
    with daskasc.profile() as outer:
        y = x + 1
        del y
        card.synchronize()  # what is queued holds its arrays
        with daskasc.profile() as inner:
            pass
        y = x + x + x
    assert y.shape == x.shape
    base = before - (8 << 20)
    padding = 0 if card.kind == "cpu" else 4 * KIB  # allocators round
    assert abs(inner.peak_device_bytes - base) <= padding
    assert abs(outer.peak_device_bytes - base - 2 * 512 * KIB) <= padding
    assert card.memory().peak >= before  # the process's own peak is not forgotten
    assert "peak device memory: " in outer.table()


def test_no_card_no_peak() -> None:
    with daskasc.profile() as p:
        pass
    assert p.peak_device_bytes is None
    assert "not known" in p.table()


def test_nested_profiles() -> None:
    x = from_numpy(np.ones(3))
    with daskasc.profile() as outer:
        _ = x + 1
        with daskasc.profile() as inner:
            _ = x * 2
        _ = x + 1
    assert calls(outer) == {"numpy.add": 2, "numpy.multiply": 1}
    assert calls(inner) == {"numpy.multiply": 1}
    assert device.observer.active is None


def test_all_threads_are_seen() -> None:
    x = from_numpy(np.ones(50, "f4"))

    def work() -> None:
        for _ in range(100):
            _ = x + x

    with daskasc.profile() as p:
        threads = [threading.Thread(target=work, name=f"t{i}") for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert calls(p) == {"numpy.add": 400}
    assert sorted(p.threads.values()) == ["t0", "t1", "t2", "t3"]
    with daskasc.profile() as p:
        for number in range(3):  # each may have the identifier of the one before it
            thread = threading.Thread(target=work, name=f"t{number}")
            thread.start()
            thread.join(60)
    assert sorted(p.threads.values()) == ["t0", "t1", "t2"]
    assert all(call.parent is None for call in p.calls)


def test_profiles_come_and_go_while_others_work() -> None:
    x = from_numpy(np.ones(5, "f4"))
    stop = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set():
                assert asnumpy(x + x)[0] == 2
                assert float(np.sum(-x)) == -5
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        with daskasc.profile() as p:
            _ = x * x
        assert p.rows["numpy.multiply"].calls == 1
    stop.set()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert device.observer.active is None


def test_threaded_scheduler() -> None:
    host = np.arange(400.0).reshape(20, 20)
    x = da.from_array(host, chunks=(5, 20)).map_blocks(from_numpy)
    lazy = x + 1
    with daskasc.profile() as p:
        found = lazy.compute(scheduler="threads", num_workers=2)
    np.testing.assert_array_equal(asnumpy(found), host + 1)
    assert calls(p)["numpy.add"] == 4


def test_an_exception_ends_the_profile_and_is_noted() -> None:
    x = from_numpy(np.ones(3))
    p = daskasc.profile()
    with pytest.raises(ValueError, match="dimensions"), p:
        np.concatenate([x, from_numpy(np.ones((2, 2)))])
    assert device.observer.active is None
    assert p.rows["numpy.concatenate"].errors == 1
    assert [call.error for call in p.calls if call.name == "numpy.concatenate"] == ["ValueError"]
    assert "numpy.concatenate" in str(p)


def test_results_only_after_the_block() -> None:
    p = daskasc.profile()
    with pytest.raises(ProfileStateError, match="new"):
        p.table()
    with p:
        for read in (p.table, p.to_dict, lambda: p.to_chrome_trace("never")):
            with pytest.raises(ProfileStateError, match="active"):
                read()
        assert "active" in str(p)
    p.table()
    with pytest.raises(ProfileStateError, match="used already"):
        p.__enter__()
    assert not Path("never").exists()


def test_json(tmp_path: Path) -> None:
    x = from_numpy(np.ones((4, 4)))
    with daskasc.profile() as p:
        _ = x[::-1] + 1
        asnumpy(x)
    path = p.to_json(tmp_path / "p.json")
    content = json.loads(path.read_text())
    assert content == json.loads(json.dumps(p.to_dict()))
    assert content["format"] == "daskasc-profile"
    assert content["version"] == 1
    assert {row["name"]: row["calls"] for row in content["operators"]} == calls(p)
    assert [row["kind"] for row in content["copies"]] == ["device_to_host", "hidden"]
    assert [row["bytes"] for row in content["copies"]] == [128, 128]
    assert all(row["where"].startswith(str(HERE)) for row in content["copies"])


def test_chrome_trace(tmp_path: Path) -> None:
    x = from_numpy(np.ones((4, 4)))
    with daskasc.profile(synchronize=True) as p:
        x += 1
        asnumpy(x)
    content = json.loads(p.to_chrome_trace(tmp_path / "trace.json").read_text())
    events = content["traceEvents"]
    assert all({"ph", "name", "pid", "tid"} <= event.keys() for event in events)
    assert {event["ph"] for event in events} == {"M", "X", "i"}
    complete = [event for event in events if event["ph"] == "X"]
    assert len(complete) == sum(calls(p).values())
    for event in complete:
        assert 0 <= event["ts"]
        assert 0 <= event["dur"]
        assert event["ts"] + event["dur"] <= p.seconds * 1e6
    outer = next(event for event in complete if event["name"] == "numpy.add in place")
    inner = next(event for event in complete if event["name"] == "numpy.add")
    assert {event["tid"] for event in complete} == {1}
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
    assert inner["args"]["operands"] == ["float64[4, 4]"]
    instants = [event for event in events if event["ph"] == "i"]
    assert all(event["s"] == "t" for event in instants)
    assert [event["args"]["bytes"] for event in instants] == [128]


def test_files_are_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with daskasc.profile() as p:
        pass
    target = tmp_path / "p.json"
    target.write_text("old")

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(json, "dump", fail)
    with pytest.raises(OSError, match="disk full"):
        p.to_json(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_files_that_cannot_be_written_are_named_as_given(tmp_path: Path) -> None:
    with daskasc.profile() as p:
        pass
    missing = tmp_path / "nodir" / "p.json"
    for write in (p.to_json, p.to_chrome_trace):
        with pytest.raises(FileNotFoundError) as caught:
            write(missing)
        assert caught.value.filename == str(missing)
        with pytest.raises(OSError, match="directory") as refused:
            write(tmp_path)
        assert refused.value.filename == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert [f.name for f in tmp_path.parent.iterdir() if f.suffix == ".part"] == []


@pytest.mark.parametrize("option", ["synchronize", "inner_copies", "max_events"])
def test_options_of_another_type_are_refused(option: str) -> None:
    with pytest.raises(TypeError, match=f"{option} is 'yes'"):
        daskasc.profile(**{option: "yes"})


def test_single_calls_are_kept_up_to_a_limit() -> None:
    x = from_numpy(np.ones(3))
    with daskasc.profile(max_events=2) as p:
        for _ in range(5):
            _ = x + 1
    assert p.rows["numpy.add"].calls == 5
    assert len(p.calls) == 2
    assert p.dropped == 3
    assert "3 calls and copies" in p.table()
    with pytest.raises(ValueError, match="max_events is -1"):
        daskasc.profile(max_events=-1)


def test_naming_it_brings_no_torch() -> None:
    code = "import sys, daskasc; daskasc.profile; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=HERE.parent.parent,
    )
    assert done.stdout.strip() == "False", done.stderr

"""datetime64 and timedelta64 on the card against NumPy."""

from __future__ import annotations

import copy
import datetime
import io
import pickle
import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.sizeof import sizeof
from dask.tokenize import tokenize

import daskasc
import daskasc.array as xp
from daskasc import device, registration
from daskasc.array import AscendArray, TimeArray, asarray, from_numpy
from daskasc.errors import (
    HostConversionError,
    HostFallbackError,
    PrecisionWarning,
    UnsupportedDTypeError,
)

from . import times_examples, times_refused
from .reference import assert_same
from .restricted import restricted_card

registration.register_array_type()

# m8[2M] is 146097 / 2400 days; the numerator in these units leaves 64 bits
RATIOS_THAT_WRAP_IN_NUMPY = {("2M", "ns")}
UNITS = "Y M W D h m s ms us ns ps fs as 2M 25s 7D".split()


def names(on_card: bool) -> dict[str, Any]:
    """What the lines of the examples use."""
    host = {key: value.copy() for key, value in times_examples.arrays().items()}
    moved = {key: from_numpy(value) for key, value in host.items()}

    def array(*args: Any) -> Any:
        return from_numpy(np.array(*args)) if on_card else np.array(*args)

    return {"np": np, "dt": datetime, "A": array, **(moved if on_card else host)}


def evaluated(line: str, on_card: bool) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        warnings.filterwarnings("ignore", category=np.exceptions.ComplexWarning)
        return eval(line, names(on_card))


def executed(line: str, on_card: bool) -> list[Any]:
    space = names(on_card)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        exec(line, space)
    return [space[key] for key in "MDmif"]


def builtin(error: BaseException) -> type[BaseException]:
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("line", times_examples.ON_CARD)
def test_on_card(line: str) -> None:
    assert_same(evaluated(line, False), evaluated(line, True))


@pytest.mark.parametrize("line", times_refused.ON_HOST)
def test_on_host(line: str) -> None:
    with dask.config.set({"daskasc.fallback": "silent"}):
        assert_same(evaluated(line, False), evaluated(line, True))
    with dask.config.set({"daskasc.fallback": "error"}), pytest.raises(HostFallbackError):
        evaluated(line, True)


@pytest.mark.usefixtures("quiet_fallback")
@pytest.mark.parametrize("line", times_refused.REFUSED)
def test_refused(line: str) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 - the type is compared
        evaluated(line, False)
    with pytest.raises(builtin(expected.value)):
        evaluated(line, True)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("line", times_refused.WRITES)
def test_writes(line: str) -> None:
    assert_same(executed(line, False), executed(line, True))


@pytest.mark.usefixtures("quiet_fallback")
@pytest.mark.parametrize("line", times_refused.REFUSED_WRITES)
def test_refused_writes(line: str) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 - the type is compared
        executed(line, False)
    with pytest.raises(builtin(expected.value)):
        executed(line, True)


@pytest.fixture
def dates() -> np.ndarray[Any, Any]:
    return times_examples.arrays()["M"]


# -- units


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("kind", ["M8", "m8"])
@pytest.mark.parametrize("unit", UNITS)
def test_unit_conversions(kind: str, unit: str) -> None:
    host = np.array([0, 1, -1, 59, -59, 800, -800, 12345, -12345, -(2**63)]).view(f"{kind}[{unit}]")
    card = from_numpy(host)
    for other in UNITS:
        if kind == "m8" and (unit, other) in RATIOS_THAT_WRAP_IN_NUMPY:
            continue
        try:
            expected = host.astype(f"{kind}[{other}]")
        except OverflowError:
            with pytest.raises(OverflowError):
                card.astype(f"{kind}[{other}]")
        else:
            assert_same(expected, card.astype(f"{kind}[{other}]"))


@pytest.mark.usefixtures("no_fallback")
def test_the_calendar_over_eight_centuries() -> None:
    days = np.arange(-150_000, 150_000).astype("M8[D]")
    for unit in ("M", "Y"):
        assert_same(days.astype(f"M8[{unit}]"), from_numpy(days).astype(f"M8[{unit}]"))
    months = np.arange(-6000, 6000).astype("M8[M]")
    for unit in ("D", "s"):
        assert_same(months.astype(f"M8[{unit}]"), from_numpy(months).astype(f"M8[{unit}]"))


def test_other_byte_orders(dates: np.ndarray[Any, Any]) -> None:
    assert_same(dates, from_numpy(dates.astype(">M8[s]")))
    out = np.empty(4, ">M8[s]")
    assert from_numpy(dates).asnumpy(out) is out
    np.testing.assert_array_equal(out, dates)


# -- what is not for the card


@pytest.mark.parametrize("dtype", ["U", "S", "O"])
def test_text_and_objects_are_refused(dates: np.ndarray[Any, Any], dtype: str) -> None:
    card = from_numpy(dates)
    with pytest.raises(UnsupportedDTypeError, match=r"asnumpy\(\) first, or np.datetime_as_string"):
        card.astype(dtype)
    with pytest.raises(TypeError, match="Convert it first, or keep this array in NumPy"):
        from_numpy(np.array(["text"], dtype))


def test_implicit_conversion_gives_the_advice(dates: np.ndarray[Any, Any]) -> None:
    with pytest.raises(HostConversionError, match="asnumpy"):
        np.asarray(from_numpy(dates))
    with dask.config.set({"daskasc.host-conversion": "allow"}):
        np.testing.assert_array_equal(np.asarray(from_numpy(dates)), dates)


def test_ticks_are_never_taken_for_numbers(dates: np.ndarray[Any, Any]) -> None:
    card, numbers = from_numpy(dates), from_numpy(np.arange(4))
    with pytest.raises(IndexError, match="integer"):
        numbers[card]
    with pytest.raises(IndexError, match="integer"):
        numbers[card] = 0
    with pytest.raises(TypeError, match=r"view\('int64'\)"):
        numbers[:] = card
    with pytest.raises(TypeError, match="Cannot cast"):
        numbers += card - card
    assert numbers.tolist() == [0, 1, 2, 3]
    with pytest.raises(UnsupportedDTypeError, match="no array of numbers"):
        _ = card._t
    with pytest.raises(BufferError, match="view"):
        card.__dlpack__()
    with pytest.raises(TypeError, match="ticks are int64"):
        TimeArray(from_numpy(np.arange(2.0)), "M8[s]")
    with pytest.raises(TypeError, match="datetime64 or timedelta64"):
        TimeArray(numbers, "f8")


@pytest.mark.usefixtures("quiet_fallback")
def test_every_public_name_knows_times(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy((dates - dates[0])[None])
    for name in sorted(n for n in dir(AscendArray) if not n.startswith("_")):
        # data and ctypes are refused for every array on a card
        if not hasattr(card, name) or not callable(getattr(card, name)):
            continue
        try:
            getattr(card, name)()
        except (TypeError, ValueError) as error:
            caught: Exception | None = error
        else:
            caught = None
        # NumPy's own errors for missing arguments and the like are right
        assert not isinstance(caught, UnsupportedDTypeError), name


def test_business_days_and_text_are_the_hosts() -> None:
    host = np.array(["2024-01-05", "2024-01-08"], "M8[D]")
    card = from_numpy(host)
    with dask.config.set({"daskasc.fallback": "silent"}):
        before = dict(device.counters.fallbacks())
        assert_same(np.busday_offset(host, 1, "forward"), np.busday_offset(card, 1, "forward"))
        assert_same(np.is_busday(host), np.is_busday(card))
        assert_same(np.busday_count(host, host + 9), np.busday_count(card, card + 9))
        assert list(np.datetime_as_string(card)) == ["2024-01-05", "2024-01-08"]
        assert len(dict(device.counters.fallbacks())) >= len(before)
    with dask.config.set({"daskasc.fallback": "error"}), pytest.raises(HostFallbackError):
        np.is_busday(card)


# -- in, out, views


def test_views_share_memory(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy(dates)
    card.view("i8")[0] = 5
    card[1:].view("M8[D]")[0] = np.datetime64("1970-01-03")
    assert card.tensor.tolist()[:2] == [5, 2]
    numbers = from_numpy(np.arange(3))
    numbers.view("m8[ms]")[1] = np.timedelta64(7, "s")
    assert numbers.tolist() == [0, 7000, 2]
    assert np.shares_memory(card, card.view("i8"))
    turned = card[::-1]
    assert not turned.flags["WRITEABLE"]
    with pytest.raises(ValueError, match="negative step"):
        turned[0] = 0
    assert card.real is card
    with pytest.raises(UnsupportedDTypeError, match="byte order"):
        card.view(">M8[s]")
    with pytest.raises(UnsupportedDTypeError, match="byte order"):
        numbers.view(">f8")
    assert type(card.view(AscendArray)) is TimeArray


@pytest.mark.usefixtures("no_fallback")
def test_rarer_methods(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy(dates)
    assert_same(dates.flat[[2, 1]], card.flat[[2, 1]])
    assert_same(dates.byteswap(), card.byteswap())
    assert_same(dates.getfield("i4", 4), card.getfield("i4", 4))
    assert_same(dates.getfield("m8[D]"), card.getfield("m8[D]"))
    assert card.base is None
    assert type(card[1:].base) is TimeArray
    ordered, sorted_ = dates.copy(), card.copy()
    ordered.sort()
    sorted_.sort()
    assert_same(ordered, sorted_)
    for array in (dates, card):
        array.flat[3] = np.datetime64("2001")
        array.put([0], "2002")
        array.partition(3)
        array.resize((2, 3), refcheck=False)
        array.fill(np.datetime64("2003", "D"))
    assert_same(dates, card)
    card.setflags(write=True)
    with pytest.raises(TypeError, match="imaginary"):
        card.imag = 0


def test_element_types(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy(dates)
    assert card[0].item() == datetime.datetime(2020, 1, 1)
    assert card[1].item() is None
    assert card.astype("M8[ns]")[0].item() == dates.astype("M8[ns]")[0].item()
    assert card.item(2) == dates.item(2)
    assert from_numpy(np.array(5, "m8[s]")).item() == datetime.timedelta(seconds=5)
    assert int(from_numpy(np.array(5, "m8[ns]"))) == 5
    assert f"{from_numpy(np.array(5, 'm8[s]'))}" == "5 seconds"
    with pytest.raises(TypeError):
        float(card[0])
    with pytest.raises(TypeError):
        range(card.view("m8[s]")[0])  # type: ignore[arg-type]
    assert repr(card[:1]) == "TimeArray(['2020-01-01T00:00:00'], dtype=datetime64[s])"
    assert np.datetime64("2020-01-01") in card


def test_python_datetimes_compare(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy(dates)
    assert (card == datetime.datetime(2020, 1, 1)).tolist() == [True, False, False, True]
    assert (card < datetime.datetime(2020, 1, 1)).tolist() == [False, False, True, False]
    steps = card - card[0]
    assert (steps == datetime.timedelta(0)).tolist() == [True, False, False, True]
    card[0] = datetime.datetime(1999, 9, 9)
    assert card[0].item() == datetime.datetime(1999, 9, 9)


@pytest.mark.usefixtures("no_fallback")
def test_creation(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy(dates)
    pairs = [
        (xp.zeros((2, 1), "M8[s]"), np.zeros((2, 1), "M8[s]")),
        (xp.ones(2, dtype="m8[D]"), np.ones(2, "m8[D]")),
        (xp.full(3, np.datetime64("NaT", "s")), np.full(3, np.datetime64("NaT", "s"))),
        (xp.full(2, "2000-01-02", "M8[h]"), np.full(2, "2000-01-02", "M8[h]")),
        (xp.full((2, 4), card), np.full((2, 4), dates)),
        (xp.asarray(dates), dates),
        (
            xp.asarray(["2000-01-01", "NaT"], dtype="M8[s]"),
            np.array(["2000-01-01", "NaT"], "M8[s]"),
        ),
        (xp.array([card[0], card[2]]), np.array([dates[0], dates[2]])),
        (xp.asarray(card, dtype="M8[D]"), dates.astype("M8[D]")),
        (xp.array(dates, ndmin=2), dates[None]),
        (xp.zeros_like(from_numpy(np.ones(2)), dtype="m8[s]"), np.zeros(2, "m8[s]")),
        (xp.zeros_like(card, dtype="f4"), np.zeros(4, "f4")),
        (xp.full_like(from_numpy(np.ones(2)), dates[0]), np.full_like(np.ones(2), dates[0])),
        (xp.arange(card[2], card[0], 10**8), np.arange(dates[2], dates[0], 10**8)),
        (
            xp.arange(np.datetime64("2000-01"), np.datetime64("2000-06")),
            np.arange(np.datetime64("2000-01"), np.datetime64("2000-06")),
        ),
        (np.asarray([1, 2], "m8[s]", like=card), np.asarray([1, 2], "m8[s]")),
        (np.zeros(2, "M8[D]", like=card), np.zeros(2, "M8[D]")),
        (xp.sort(dates), np.sort(dates)),
        (xp.concatenate([dates, dates]), np.concatenate([dates, dates])),
        (xp.where(np.isnat(dates), dates[0], dates), np.where(np.isnat(dates), dates[0], dates)),
        (from_numpy(np.arange(3)).astype("m8[s]"), np.arange(3).astype("m8[s]")),
        (from_numpy(np.arange(3)) + dates[0], np.arange(3) + dates[0]),
        (from_numpy(np.arange(4)) + dates, np.arange(4) + dates),
        (dates - card, dates - dates),
        (np.add(from_numpy(np.arange(4)), dates), np.arange(4) + dates),
    ]
    for found, expected in pairs:
        assert_same(expected, found)
    assert xp.empty((0, 2), "M8[s]").shape == (0, 2)
    assert xp.asarray(card) is card


@pytest.mark.usefixtures("no_fallback")
def test_out_and_where(dates: np.ndarray[Any, Any]) -> None:
    for unit in ("ms", "D"):
        outs = [np.zeros(4, f"M8[{unit}]"), from_numpy(np.zeros(4, f"M8[{unit}]"))]
        mask = np.array([True, True, False, True])
        np.add(dates, 5, out=outs[0], where=mask)
        np.add(from_numpy(dates), 5, out=outs[1], where=from_numpy(mask))
        assert_same(*outs)
        np.max(dates[2:], out=outs[0][0, ...])
        np.max(from_numpy(dates)[2:], out=outs[1][0, ...])
        assert_same(*outs)
        np.fmin(dates, dates[0], out=outs[0])
        np.fmin(from_numpy(dates), dates[0], out=outs[1])
        assert_same(*outs)
    with pytest.raises(TypeError, match="Cannot cast"):
        np.add(from_numpy(dates), 5, out=from_numpy(np.zeros(4)))
    numbers, steps = np.array([1, 2, -(2**63) + 1, 4]), np.zeros(4, "m8[s]")
    card = from_numpy(steps)
    np.subtract(numbers, 1, out=steps)
    np.subtract(from_numpy(numbers), 1, out=card)
    assert_same(steps, card)
    np.minimum(numbers, numbers[2] - 1, out=steps)
    np.minimum(from_numpy(numbers), numbers[2] - 1, out=card)
    assert_same(steps, card)


@pytest.mark.usefixtures("quiet_fallback")
def test_at(dates: np.ndarray[Any, Any]) -> None:
    steps, card = dates - dates[0], from_numpy(dates - dates[0])
    np.add.at(steps, [0, 0, 2], np.timedelta64(1, "s"))
    np.add.at(card, [0, 0, 2], np.timedelta64(1, "s"))
    assert_same(steps, card)


def test_copies(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy(dates)
    for twin in (
        card.copy(),
        copy.copy(card),
        copy.deepcopy(card),
        pickle.loads(pickle.dumps(card)),
        pickle.loads(pickle.dumps(card, protocol=4)),
        pickle.loads(pickle.dumps({"a": [card]}))["a"][0],
    ):
        assert type(twin) is TimeArray
        assert_same(dates, twin)
        assert not np.shares_memory(twin, card)
    file = io.BytesIO()
    with dask.config.set({"daskasc.fallback": "silent"}):
        np.save(file, card)
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), dates)
    transfer = card.asnumpy(blocking=False)
    np.testing.assert_array_equal(transfer.result(), dates)
    assert transfer.done()
    card.copy_from(np.zeros(4, "M8[D]"))
    assert card.tensor.tolist() == [0, 0, 0, 0]
    with pytest.raises(TypeError, match="same_kind"):
        card.copy_from(np.zeros(4))
    with pytest.raises(TypeError, match="has to be a NumPy array"):
        card.asnumpy(np.zeros(4))


@pytest.mark.usefixtures("no_fallback")
def test_profiles_see_times(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy(dates)
    with daskasc.profile() as profile:
        card - card
        np.sort(card)
        card.max()
    names = {call.name for call in profile.calls}
    assert {"numpy.subtract", "numpy.sort", "numpy.max"} <= names


@pytest.mark.usefixtures("quiet_fallback")
def test_on_a_card_with_gaps() -> None:
    with restricted_card():
        for line in times_examples.ON_CARD[::4]:
            assert_same(evaluated(line, False), evaluated(line, True))
        for line in times_refused.WRITES:
            assert_same(executed(line, False), executed(line, True))


def test_promotion_policy_of_the_device(dates: np.ndarray[Any, Any]) -> None:
    steps = dates - dates[0]
    with dask.config.set({"daskasc.promotion": "device"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        found = from_numpy(steps) / np.timedelta64(1, "h")
        assert (from_numpy(steps) * 0.5).dtype == steps.dtype
    assert_same((steps / np.timedelta64(1, "h")).astype("f4"), found)


# -- dask


def lazy(host: np.ndarray[Any, Any], chunks: Any) -> Any:
    return da.from_array(host, chunks).map_blocks(asarray)


@pytest.mark.usefixtures("no_fallback")
def test_in_dask_arrays() -> None:
    host = times_examples.arrays()["T"]
    x = lazy(host, 2)
    assert type(x._meta) is TimeArray
    assert x.dtype == host.dtype
    mask, fill = np.isnat(host), np.datetime64("2000", "s")
    for found, expected in (
        (x + np.timedelta64(1, "D"), host + np.timedelta64(1, "D")),
        (x - x[0], host - host[0]),
        (x.max(axis=0), host.max(axis=0)),
        (x.min(), host.min()),
        ((x - x[2, 0]).sum(axis=1), (host - host[2, 0]).sum(axis=1)),
        (da.concatenate([x, x]), np.concatenate([host, host])),
        (da.where(da.isnull(x), fill, x), np.where(mask, fill, host)),
        (x.rechunk((3, 1)).T, host.T),
        (x.astype("M8[M]"), host.astype("M8[M]")),
        (x[x > x[2, 0]], host[host > host[2, 0]]),
        (da.isnull(x), mask),
        (da.unique(x), np.unique(host)),
        (x.ravel()[::2], host.ravel()[::2]),
        (da.diff(x, axis=0), np.diff(host, axis=0)),
    ):
        result = found.compute(scheduler="sync")
        expected = expected.astype(found.dtype)
        assert isinstance(result, AscendArray)
        np.testing.assert_array_equal(result.asnumpy(), expected)


def test_dask_knows_size_and_token(dates: np.ndarray[Any, Any]) -> None:
    card = from_numpy(dates)
    assert sizeof(card) == 32
    assert tokenize(card) == tokenize(from_numpy(dates))
    tokens = {tokenize(x) for x in (card, card.view("i8"), card.view("m8[s]"), card.view("M8[D]"))}
    assert len(tokens) == 4
    with dask.config.set({"array.backend": "ascend"}):
        assert_same(np.zeros(3, "M8[s]"), da.zeros(3, dtype="M8[s]").compute(scheduler="sync"))

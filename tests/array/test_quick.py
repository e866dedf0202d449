"""Plain calls: the fast way gives the general way's bits, and steps aside where it must."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import pytest
import torch

import daskasc.array as da
from daskasc import device
from daskasc.array import AscendArray, _dispatch, _quick, from_numpy
from daskasc.array import _dtypes as dtypes

from . import gaps
from .restricted import restricted_card

FUNCTIONS: list[Any] = [np.sum, np.mean, np.prod, np.max, np.min, np.any, np.all]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(10,), (1,), (7, 5), (3, 4, 6), (5, 1)]
LARGE = [(300, 130)]  # beyond what is summed in float64 as a whole


def elements(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(len(shape) + shape[0])
    values = random.normal(size=shape) * 3
    if dtype in ("c8", "c16"):
        values = values + 1j * random.normal(size=shape)
    if dtype[0] == "u":
        values = np.abs(values)
    host = np.asarray(values).astype(dtype)
    return host > 0 if dtype == "?" else host


def bits(array: Any) -> bytes:
    return array.asnumpy().tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_bits_of_the_general_way(function: Any, dtype: str) -> None:
    for shape in SHAPES + (LARGE if dtype == "f4" else []):
        host = elements(dtype, shape)
        array = from_numpy(host)
        for axis in (None, 0, -1):
            with np.errstate(all="ignore"):
                wanted = function(host, axis=axis)
            general = _dispatch.call(function, (array,), {"axis": axis})
            method = getattr(array, function.__name__)
            for found in (function(array, axis=axis), function(array, axis), method(axis=axis)):
                assert type(found) is AscendArray
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
                assert bits(found) == bits(general)
            if dtype not in ("f2", "c8") and function is not np.prod:
                np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("stand_ins_only")
def test_the_fast_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    x = from_numpy(np.linspace(0.1, 2, 10, dtype="f4"))
    mask = from_numpy(np.arange(10) > 3)
    monkeypatch.setattr(_dispatch, "call", None)
    for function in FUNCTIONS[:5]:
        for axis in (None, 0, -1):
            assert function(x, axis=axis).shape == ()
    assert np.concatenate([x, x]).shape == np.concatenate((x, x), axis=0).shape == (20,)
    assert np.where(mask, x, x).shape == (10,)
    assert x.reshape(2, 5).shape == x.reshape((2, -1)).shape == np.reshape(x, (2, 5)).shape
    found: Any = np.any(mask)
    assert found._t.item() is True
    assert mask.all()._t.item() is False


def test_special_values() -> None:
    cases = [[np.nan, 1, 2], [np.inf, -np.inf, 1], [-0.0, -0.0]]
    if device.current().fast_float64:
        cases.append([3e38, 3e38, -3e38])  # elsewhere few float32 elements overflow as in NumPy
    for values in cases:
        for dtype in ("f4", "f8"):
            host = np.array(values, dtype)
            for function in FUNCTIONS[:5]:
                with np.errstate(all="ignore"):
                    wanted = function(host.astype("f8")).astype(dtype)
                found = function(from_numpy(host)).asnumpy()
                np.testing.assert_array_equal(found, wanted)
                negated = np.isnan(wanted) and device.current().restricts  # the way to a minimum
                if dtype == "f8" and function in (np.max, np.min) and not negated:
                    assert np.signbit(found) == np.signbit(wanted)


def test_what_is_no_axis_is_numpys_error() -> None:
    x = from_numpy(np.ones((2, 3), "f4"))
    for function in FUNCTIONS:
        for axis in (2, -3):
            with pytest.raises(np.exceptions.AxisError):
                function(x, axis=axis)
        with pytest.raises(TypeError):
            function(x, axis=0.5)
    with pytest.raises(ValueError, match="zero-size array"):
        from_numpy(np.ones(0, "f4")).max()


def test_empty_and_0d_arrays() -> None:
    for host in (np.ones((0, 3), "f4"), np.float32(3), np.array(True)):
        for function in (np.sum, np.prod, np.any, np.all):
            array = from_numpy(host)
            found = function(array, axis=0)
            wanted = function(np.asarray(host), axis=0)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.asnumpy(), wanted)
    x = from_numpy(np.array(3.0))
    assert x.max()._t.data_ptr() != x._t.data_ptr()


def test_results_own_their_memory() -> None:
    x = from_numpy(np.ones((1, 1), "f8"))
    for function in FUNCTIONS[:5]:
        found = function(x, axis=0)
        found[...] = 7
        assert x.item() == 1


def test_the_mode_of_summation_is_read_at_each_call() -> None:
    host = np.array([1e8, 1.0, -1e8, 1e-9], "f8")
    host[1] = 2.0**-40
    x = from_numpy(host)
    plain = x.sum().item()
    with dask.config.set({"daskasc.accumulate": "compensated"}):
        assert x.sum().item() == pytest.approx(2.0**-40 + 1e-9, rel=1e-12)
        assert np.sum(x).item() == x.sum(accumulate="compensated").item()
    assert x.sum().item() == plain
    before = gaps.met()
    found = da.mean(x, accumulate="compensated").item()
    if gaps.met() == before:  # NumPy's sums on the host are native ones
        assert found != x.mean().item()


def test_the_policy_of_promotion_holds() -> None:
    x = from_numpy(np.arange(10))
    assert x.mean().dtype == np.float64
    dtypes._said_precision = True  # said once a process, by whichever test comes first
    with dask.config.set({"daskasc.promotion": "device"}):
        assert x.mean().dtype == np.float32
    assert x.mean().dtype == np.float64


def test_observed_calls_take_the_general_way() -> None:
    seen = []

    class Observer:
        def run(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
            seen.append(name)
            return function(*args, **kwargs)

        def moved(self, *args: Any) -> None: ...
        def fell_back(self, *args: Any) -> None: ...
        def converted(self, *args: Any) -> None: ...

    x = from_numpy(np.ones(10, "f4"))
    x.sum()
    device.observer.install(Observer())
    try:
        x.sum()
        np.max(x)
    finally:
        device.observer.install(None)
    assert seen == ["numpy.sum", "numpy.max"]
    device.observer.install(Observer())
    try:
        np.concatenate([x, x])
        np.where(x > 0, x, x)
        x.reshape(2, 5)
        x[x > 0]
    finally:
        device.observer.install(None)
    joins = ["numpy.concatenate", "numpy.greater", "numpy.where", "numpy.reshape"]
    assert seen[2:] == [*joins, "numpy.greater", "getitem"]


@pytest.mark.usefixtures("stand_ins_only")
def test_few_float32_elements_are_added_in_float64() -> None:
    assert _quick._form(np.sum, torch.float32) == (_quick._sum_tiny, torch.float32)
    large = 2.0**30
    for count in (1, 2, 9, 100, 254, 300):
        host = np.array([large, *[1.0] * count, -large], "f4")
        for values in (host, host[::-1].copy(), np.roll(host, 1)):
            for array in (
                from_numpy(values),
                from_numpy(np.repeat(values, 2))[::2],
                from_numpy(values[:, None]),
                from_numpy(np.concatenate([values, values]))[count + 2 :],
            ):
                assert np.sum(array).item() == count
                assert array.sum(axis=0).asnumpy().ravel()[0] == count
                assert array.mean().item() == np.float32(count) / np.float32(count + 2)


@pytest.mark.usefixtures("stand_ins_only")
def test_a_card_whose_trace_is_not_wide_adds_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_quick, "_trace_is_wide", lambda place: False)
    assert _quick._form(np.sum, torch.float32) == (_quick._sum_single, torch.float32)


def test_negated_views_are_summed() -> None:
    place = device.current().torch_device
    values = torch.tensor([1 + 2j, 3 - 4j, 5 + 6j], dtype=torch.complex64).to(place).conj().imag
    whole = torch._neg_view(torch.arange(5.0, device=place))
    assert AscendArray(values).sum().item() == -4
    assert AscendArray(whole).sum().item() == -10
    assert AscendArray(whole).mean().item() == -2


@pytest.mark.parametrize("dtype", DTYPES)
def test_moves_are_numpys(dtype: str) -> None:
    host, other = elements(dtype, (4, 6)), elements(dtype, (5, 6))
    x, y = from_numpy(host), from_numpy(other)
    mask = elements("?", (4, 6))
    pairs = [
        (np.concatenate([x, y]), np.concatenate([host, other])),
        (np.concatenate((x, x), axis=1), np.concatenate((host, host), axis=1)),
        (np.concatenate([x, x, x], -1), np.concatenate([host] * 3, -1)),
        (np.concatenate([x, x], axis=None), np.concatenate([host, host], axis=None)),
        (np.where(from_numpy(mask), x, x[::-1]), np.where(mask, host, host[::-1])),
        (np.where(from_numpy(mask), x, x[:1]), np.where(mask, host, host[:1])),
        (x.reshape(3, 8), host.reshape(3, 8)),
        (x.T.reshape(-1), host.T.reshape(-1)),
        (x.reshape(-1, 2, 3), host.reshape(-1, 2, 3)),
        (x.reshape([2, 12]), host.reshape([2, 12])),
        (x.reshape((8, 3), order="F"), host.reshape((8, 3), order="F")),
        (x[:0].reshape(3, 0), host[:0].reshape(3, 0)),
        (x[from_numpy(mask)], host[mask]),
        (x[:, 0][from_numpy(mask[:, 0])], host[:, 0][mask[:, 0]]),
        (x[from_numpy(mask[:, 0])], host[mask[:, 0]]),
    ]
    for found, wanted in pairs:
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(found.asnumpy(), wanted)


def test_joins_of_several_dtypes_promote_as_numpy() -> None:
    for left, right in (("f4", "i4"), ("i4", "f4"), ("?", "i1"), ("f2", "f8"), ("u1", "i1")):
        a, b = elements(left, (4,)), elements(right, (4,))
        x, y = from_numpy(a), from_numpy(b)
        mask = np.arange(4) > 1
        for found, wanted in (
            (np.concatenate([x, y]), np.concatenate([a, b])),
            (np.where(from_numpy(mask), x, y), np.where(mask, a, b)),
            (np.where(x, x, y), np.where(a, a, b)),
            (np.where(from_numpy(mask), x, 1), np.where(mask, a, 1)),
        ):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.asnumpy(), wanted)


def test_what_does_not_fit_is_numpys_error() -> None:
    x, y = from_numpy(np.ones((2, 3), "f4")), from_numpy(np.ones((3, 2), "f4"))
    empty, scalar = from_numpy(np.ones(0, "f4")), from_numpy(np.array(1, "f4"))
    for arrays, axis, error in (
        ([x, y], 0, ValueError),
        ([x, empty], 0, ValueError),
        ([empty, x], 0, ValueError),
        ([scalar, scalar], 0, ValueError),
        ([], 0, ValueError),
        ([x, x], 2, np.exceptions.AxisError),
        ([x, x], -3, np.exceptions.AxisError),
        ([x, x], 0.5, TypeError),
    ):
        with pytest.raises(error):
            np.concatenate(arrays, axis)
        if arrays:
            with pytest.raises(error):
                np.concatenate([array.asnumpy() for array in arrays], axis)
    with pytest.raises(ValueError, match="could not be broadcast"):
        np.where(x > 0, x, y)
    for shape in ((4,), (2, 2), (-1, -1), (-1, 4)):
        with pytest.raises(ValueError, match=r"reshape|dimension"):
            x.reshape(shape)
    for shapes in ((((2, 3),),), ([[2, 3]],), (2.5, 3), (None,), (-2, 3)):
        wanted = x.asnumpy()
        try:
            wanted = wanted.reshape(*shapes).shape
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                x.reshape(*shapes)
        else:
            assert x.reshape(*shapes).shape == wanted


@pytest.mark.parametrize(
    "call",
    [
        lambda a, i: a.reshape(2.0, 3),
        lambda a, i: a.reshape("6"),
        lambda a, i: np.reshape(a, 6.0),
        lambda a, i: np.tile(a, 2.5),
        lambda a, i: np.ravel_multi_index((i, i), (2.5, 3)),
        lambda a, i: a.flatten().resize((2.5, 3)),
    ],
)
def test_lengths_are_integers(call: Any) -> None:
    host, places = np.ones((2, 3), "f4"), np.array([1])
    for a, i in ((host, places), (from_numpy(host), from_numpy(places))):
        with pytest.raises(TypeError, match="integer"):
            call(a, i)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        da.indices((2.5, 3))


def test_a_reshape_of_a_reversed_copy_is_numpys() -> None:
    x = from_numpy(np.arange(6.0))
    assert not x[::-1].reshape(2, 3).flags.writeable
    columns = from_numpy(np.arange(6.0).reshape(2, 3))[:, ::-1]
    columns.reshape(-1)[0] = 9  # a copy in NumPy
    assert columns.asnumpy()[0, 0] == 2


def test_cards_without_kernels_step_aside() -> None:
    with restricted_card(), dask.config.set({"daskasc.fallback": "silent"}):
        for dtype in ("?", "i1", "i2", "i4", "i8", "f2", "f4", "f8"):
            host = elements(dtype, (4, 5))
            x = from_numpy(host)
            for function in FUNCTIONS:
                np.testing.assert_allclose(
                    function(x, axis=1).asnumpy(), function(host, axis=1), rtol=1e-2, atol=1e-2
                )


def test_a_card_without_fast_float64_sums_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device.current(), "fast_float64", False, raising=False)
    assert _quick._form(np.sum, torch.float32) == (_quick._general, None)
    assert _quick._form(np.sum, torch.float64)[0] is not _quick._general


def test_arrays_of_times_are_no_masks() -> None:
    times = from_numpy(np.array(["2020-01-01"], "M8[D]"))
    with pytest.raises(IndexError, match="must be of integer"):
        from_numpy(np.ones(1))[times]
    assert times.max().asnumpy() == np.datetime64("2020-01-01")
    assert np.min(times).asnumpy() == np.datetime64("2020-01-01")

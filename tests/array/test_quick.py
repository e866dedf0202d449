"""Plain reductions: the fast way gives the general way's bits, and steps aside where it must."""

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
            general = _dispatch.TABLE[function](array, axis=axis)
            method = getattr(array, function.__name__)
            for found in (function(array, axis=axis), function(array, axis), method(axis=axis)):
                assert type(found) is AscendArray
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
                assert bits(found) == bits(general)
            if dtype not in ("f2", "c8") and function is not np.prod:
                np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-5)


def test_the_fast_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    x = from_numpy(np.linspace(0.1, 2, 10, dtype="f4"))
    mask = from_numpy(np.arange(10) > 3)
    monkeypatch.setattr(_dispatch, "call", None)
    for function in FUNCTIONS[:5]:
        for axis in (None, 0, -1):
            assert function(x, axis=axis).shape == ()
    found: Any = np.any(mask)
    assert found._t.item() is True
    assert mask.all()._t.item() is False


def test_special_values() -> None:
    for values in ([np.nan, 1, 2], [np.inf, -np.inf, 1], [-0.0, -0.0], [3e38, 3e38, -3e38]):
        for dtype in ("f4", "f8"):
            host = np.array(values, dtype)
            for function in FUNCTIONS[:5]:
                with np.errstate(all="ignore"):
                    wanted = function(host.astype("f8")).astype(dtype)
                found = function(from_numpy(host)).asnumpy()
                np.testing.assert_array_equal(found, wanted)
                if dtype == "f8" and function in (np.max, np.min):
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
    assert da.mean(x, accumulate="compensated").item() != x.mean().item()


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
    assert _quick._form(np.sum, torch.float32) is _quick._general
    assert _quick._form(np.sum, torch.float64) is not _quick._general


def test_arrays_of_times_are_no_masks() -> None:
    times = from_numpy(np.array(["2020-01-01"], "M8[D]"))
    with pytest.raises(IndexError, match="must be of integer"):
        from_numpy(np.ones(1))[times]
    assert times.max().asnumpy() == np.datetime64("2020-01-01")
    assert np.min(times).asnumpy() == np.datetime64("2020-01-01")

"""How exactly sums are formed: native against NumPy, compensated against exact sums."""

from __future__ import annotations

import math
from typing import Any

import dask
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

import daskasc.array as da
from daskasc import device
from daskasc.array import from_numpy
from daskasc.array._compensated import pair_sum, two_sum
from daskasc.errors import ConfigurationError

from .restricted import restricted_card

SHAPES: list[tuple[tuple[int, ...], Any]] = [
    ((40, 17), 1),
    ((40, 100), 1),
    ((40, 1000), 1),
    ((10, 20_000), 1),
    ((4000, 20), 0),
    ((10, 64, 100), (0, 2)),
    ((10, 300, 30), 1),
    ((30, 3), 1),
]
DISTRIBUTIONS = ("uniform", "normal", "offset", "wide")


def elements(kind: str, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    if kind == "uniform":
        return random.random(shape, "f4")
    normal = random.standard_normal(shape, "f4")
    if kind == "offset":
        return normal + np.float32(1e4)
    return np.exp(normal * 4) if kind == "wide" else normal


def exact(function: Any, array: Any, axis: Any) -> Any:
    return function(array.astype(np.longdouble), axis=axis)


def errors(found: Any, wanted: Any, scale: Any) -> Any:
    return np.abs(np.asarray(found, np.longdouble) - wanted) / scale


def rms(values: list[Any]) -> float:
    return float(np.sqrt(np.mean(np.square(np.concatenate([np.ravel(v) for v in values])))))


# without float64, axes that are too short for blocks are the card's own kernel's
CASES = [(*case, True) for case in SHAPES] + [
    (shape, axis, False) for shape, axis in SHAPES if max(shape) >= 1000
]


@pytest.mark.parametrize(("shape", "axis", "fast_float64"), CASES)
@pytest.mark.parametrize("name", ["sum", "mean", "var"])
def test_native_is_at_least_as_accurate_as_numpy(
    shape: tuple[int, ...],
    axis: Any,
    name: str,
    fast_float64: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fast_float64 &= not device.current().restricts  # such cards sum in no other dtype
    monkeypatch.setattr(device.current(), "fast_float64", fast_float64, raising=False)
    function = getattr(np, name)
    ours, numpys = [], []
    for seed, kind in enumerate(DISTRIBUTIONS):
        for layout in ("C", "strided", "F"):
            host = elements(kind, shape, seed)
            if layout == "strided":
                host = np.repeat(host, 2, axis=-1)[..., ::2]
            elif layout == "F":
                host = np.asfortranarray(host)
            wanted = exact(function, host, axis)
            scale = exact(function, np.abs(host), axis) if name != "var" else wanted
            ours.append(errors(function(from_numpy(host), axis=axis).asnumpy(), wanted, scale))
            numpys.append(errors(function(host, axis=axis), wanted, scale))
    # few elements are summed in float64 where the card has it, in torch's order where it has not
    most = 1.5 if device.current().restricts and max(shape) < 1000 else 1
    assert rms(ours) <= most * rms(numpys) + 1e-10


@pytest.mark.parametrize("axis", [0, 1, None])
def test_half_sums_are_at_least_as_accurate_as_numpy(axis: Any) -> None:
    host = elements("uniform", (100, 500), 1).astype("f2")
    wanted = exact(np.sum, host, axis)
    ours = errors(np.sum(from_numpy(host), axis=axis).asnumpy(), wanted, wanted)
    assert rms([ours]) <= rms([errors(np.sum(host, axis=axis), wanted, wanted)])


@given(
    st.lists(st.floats(-(2.0**80), 2.0**80, width=32), min_size=1, max_size=300),
    st.sampled_from([(0,), (1,), (0, 1)]),
)
@settings(max_examples=60, deadline=None)
def test_pairs_hold_the_exact_sum(values: list[float], axes: tuple[int, ...]) -> None:
    tensor = torch.tensor([values, values[::-1]], dtype=torch.float32)
    high, low = pair_sum(tensor, axes)
    found = high.double().numpy() + low.double().numpy()
    host = tensor.double().numpy()
    rows = {(0,): host.T, (1,): host, (0, 1): host.reshape(1, -1)}[axes]
    wanted = [math.fsum(row) for row in rows]
    scale = np.abs(rows).sum(1) + 2.0**-100
    assert (np.abs(found.ravel() - wanted) <= 1e-13 * scale).all()


@pytest.mark.parametrize("seed", range(2))
def test_a_million_elements_that_cancel(seed: int) -> None:
    random = np.random.default_rng(seed)
    half = (random.normal(size=500_000) * 10 ** random.uniform(-3, 3, 500_000)).astype("f4")
    host = np.concatenate([half, -half, np.float32([1e-3])])
    random.shuffle(host)
    wanted, scale = math.fsum(host.tolist()), float(np.abs(host.astype("f8")).sum())
    x = from_numpy(host.reshape(7, -1)) if host.size % 7 == 0 else from_numpy(host)
    plain = da.sum(x, accumulate="compensated")
    assert plain.dtype == np.float32
    assert abs(plain.item() - wanted) <= 1e-14 * scale + 2**-24 * abs(wanted)
    wide = x.sum(accumulate="compensated", dtype="f8")
    assert abs(wide.item() - wanted) <= 1e-14 * scale
    assert abs(np.sum(host) - wanted) > 1e-11 * scale  # what it is for


class _Dtypes(TorchDispatchMode):
    """Collects the dtypes of all tensors that operators take or give."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[Any] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in (*args, result):
            if isinstance(value, torch.Tensor):
                self.seen.add(value.dtype)
        return result


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "average", "nansum", "nanmean"])
def test_compensated_sums_run_without_float64(name: str) -> None:
    x = from_numpy(elements("offset", (300, 500), 0))
    with _Dtypes() as dtypes:
        getattr(da, name)(x, axis=0, accumulate="compensated")
    assert torch.float32 in dtypes.seen
    assert torch.float64 not in dtypes.seen


@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "nansum", "nanmean", "nanvar"])
def test_compensated_results_have_numpys_form(name: str, dtype: str, axis: Any) -> None:
    host = elements("uniform", (20, 30, 11), 3).astype(dtype)
    if dtype[0] == "c":
        host = host + 1j * elements("normal", (20, 30, 11), 4).astype(host.real.dtype)
    if name.startswith("nan"):
        host[1, 2:5] = np.nan
    with np.errstate(over="ignore"):
        expected = getattr(np, name)(host, axis=axis, keepdims=True)
    found = getattr(da, name)(from_numpy(host), axis=axis, keepdims=True, accumulate="compensated")
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = {"f2": 2e-3, "f4": 1e-5, "c8": 1e-5}.get(dtype, 1e-12)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=tolerance, atol=tolerance)


def test_a_mean_of_very_many_elements() -> None:
    host = np.full(400_000, np.float32(0.1))
    host[::2] += np.float32(1000)
    wanted = float(host.astype("f8").mean())
    x = from_numpy(host)
    found = x.mean(accumulate="compensated")
    assert abs(found.item() - wanted) <= np.spacing(np.float32(wanted))
    weights = da.average(x, weights=da.ones_like(x), accumulate="compensated")
    assert abs(weights.item() - wanted) <= np.spacing(np.float32(wanted))
    assert x.std(accumulate="compensated").item() == pytest.approx(host.astype("f8").std(), 1e-6)


INF, NAN, BIG = np.inf, np.nan, np.float32(3e38)


@pytest.mark.parametrize(
    "values",
    [[INF, 1], [INF, -INF], [NAN, 1], [-INF, 1, 2], [BIG, BIG], [-0.0, -0.0], []],
)
@pytest.mark.parametrize("repeat", [1, 40])
@pytest.mark.parametrize("mode", ["native", "compensated"])
def test_special_values(values: list[float], repeat: int, mode: str) -> None:
    host = np.array(values * repeat, "f4")
    with np.errstate(all="ignore"):
        expected = host.sum()
    np.testing.assert_array_equal(from_numpy(host).sum(accumulate=mode).asnumpy(), expected)
    grid = np.broadcast_to(host[:, None], (host.size, 2)).copy()
    with np.errstate(all="ignore"):
        expected = grid.sum(0)
    np.testing.assert_array_equal(from_numpy(grid).sum(0, accumulate=mode).asnumpy(), expected)


def test_two_sum_is_exact() -> None:
    a, b = torch.tensor([1.0, 1e8, 3e-8]), torch.tensor([1e-9, -1.0, 1e10])
    total, error = two_sum(a, b)
    assert torch.equal(a.double() + b.double(), total.double() + error.double())


def test_the_mode_comes_from_the_configuration() -> None:
    host = np.float32([1e8, 1, -1e8] * 1000)
    x = from_numpy(host)
    with dask.config.set({"daskasc.accumulate": "compensated"}):
        assert np.sum(x, axis=0).item() == 1000
        assert x.sum(accumulate="native") is not None
    assert x.sum(accumulate="compensated").item() == 1000
    assert x.sum(where=from_numpy(host != 1), accumulate="compensated").item() == 0
    with pytest.raises(ValueError, match="accumulate is 'exact'; allowed: native, compensated"):
        x.sum(accumulate="exact")
    with (
        dask.config.set({"daskasc.accumulate": "exact"}),
        pytest.raises(ConfigurationError, match="native, compensated"),
    ):
        x.sum()


def test_integers_are_exact_in_any_mode() -> None:
    host = np.arange(10**6, dtype="i4")
    assert from_numpy(host).sum(accumulate="compensated").item() == host.sum()


@pytest.mark.parametrize("mode", ["native", "compensated"])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "nansum", "nanmean", "nanvar"])
def test_a_card_without_float64(name: str, mode: str, no_fallback: None) -> None:
    host = elements("offset", (300, 400), 5)
    if name.startswith("nan"):
        host[3, 5:9] = np.nan
    wanted = getattr(np, name)(host.astype("f8"), axis=0)
    with restricted_card() as card, _Dtypes() as dtypes:
        assert not card.fast_float64
        found = getattr(da, name)(from_numpy(host), axis=0, accumulate=mode)
    assert torch.float64 not in dtypes.seen
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5)

"""With the gaps of Atlas A2 no missing kernel is called, and results stay NumPy's."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import dask
import ml_dtypes
import numpy as np
import pytest

import daskasc.array as namespace
from daskasc import config, device
from daskasc.array import _dispatch, _guard, from_numpy
from daskasc.device import capabilities
from daskasc.errors import HostFallbackError

from .coverage_examples import EXAMPLES, arrays
from .reference import DTYPES, assert_same, check, data, down, finite
from .restricted import FAMILY, restricted_card
from .test_coverage import NAMESPACE_ONLY, ON_CARD, UFUNCS, uses_arrays, values, written

__all__ = ["values"]


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[device.Backend]:
    # also where the tests' own card has these gaps, and its fixture allows them
    monkeypatch.setattr(_dispatch, "_mode", lambda why: config.fallback())
    with dask.config.set({"daskasc.fallback": "silent"}), restricted_card() as backend:
        yield backend


def single(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values in float32 or complex64, which the card computes itself."""
    return array.astype({"f8": "f4", "c16": "c8"}.get(array.dtype.str[1:], array.dtype))


@pytest.mark.parametrize("name", [n for n in ON_CARD if n in EXAMPLES])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_examples(name: str, precision: str, values: dict[str, Any]) -> None:
    if name in NAMESPACE_ONLY:
        return
    host = {k: single(v) if precision == "single" else v for k, v in arrays().items()}
    for line in filter(uses_arrays, EXAMPLES[name]):
        env = {**values, "xp": np}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = eval(line, {**env, **{k: v.copy() for k, v in host.items()}})
            found = eval(line, {**env, **{k: from_numpy(v) for k, v in host.items()}})
        assert_same(expected, found, zeros=False)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(name: str) -> None:
    ufunc = getattr(np, name)
    if ufunc.signature is not None or name == "isnat":
        return
    for dtype in DTYPES:
        operands = [data(dtype, (3, 4), seed) for seed in range(ufunc.nin)]
        if name in ("reciprocal", "floor_divide", "remainder", "divmod", "power", "gcd", "lcm"):
            operands = [np.where(x == 0, np.ones_like(x), np.abs(x)) for x in operands]
        if name in ("left_shift", "right_shift"):
            operands = [x % 5 if dtype != "?" and dtype[0] in "iu" else x for x in operands]
        if name == "ldexp":
            operands[1] = data("i4", (3, 4), 1) % 5
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(ufunc, *operands, zeros=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_and_scalars(dtype: str) -> None:
    x, y = finite(dtype), finite(dtype, seed=1)
    for expression in (
        "x + y", "x * y", "x * 2", "2 - x", "x == y", "-x", "abs(x)", "x @ y.T", "x / y", "x ** 2"
    ):  # fmt: skip
        check(lambda a, b, e=expression: eval(e, {"x": a, "y": b}), x, y, zeros=False)

    def in_place(a: Any, b: Any) -> Any:
        a = a.copy()
        a += b
        a *= b
        return a

    check(in_place, x, y)


REDUCTIONS = "sum prod mean std var max min argmax argmin all any cumsum cumprod median".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*REDUCTIONS, *"nansum nanmean nanmax sort argsort ptp".split()])
def test_reductions(dtype: str, name: str) -> None:
    function = getattr(np, name)
    x = finite(dtype)
    if "prod" in name:
        x = np.minimum(x, np.array(2, dtype))  # no overflow, whose order of terms shows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for axis in (0, 1, None):
            options = {"kind": "stable"} if name == "argsort" else {}
            check(lambda a, axis=axis, o=options: function(a, axis=axis, **o), x, zeros=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_indexing(dtype: str) -> None:
    x, y = data(dtype), data(dtype, seed=1)
    rows, mask = np.array([3, 1, 1]), data("?", seed=5)
    whole = slice(None)
    indices: list[tuple[Any, ...]] = [(1,), (slice(None, None, -2),), (rows,), (whole, rows)]
    indices += [(mask,), (rows, rows), (mask[:, 0],), np.ix_(rows, rows), (..., None, rows)]
    for index in indices:
        given = tuple(from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)
        assert_same(x[index], from_numpy(x)[given])
        host, card = x.copy(), from_numpy(x)
        host[index] = y[index]
        card[given] = from_numpy(y)[given]
        assert_same(host, card)
        host[index] = 3
        card[given] = 3
        assert_same(host, card)
    calls = (
        "take(a, k, axis=1)|roll(a, 2)|repeat(a, 3, axis=0)|where(m, a, b)|flip(a, 0)|tril(a)|"
        "take_along_axis(a, k[None], 0)|compress(m[:, 0], a, axis=0)|concatenate([a, b])|"
        "tile(a, 2)|unique(a)|diag(a)|add(a, b, where=m, out=b * 2)"
    )
    for call in calls.split("|"):

        def run(a: Any, b: Any, m: Any, k: Any, call: str = call) -> Any:
            return eval(f"np.{call}", {"np": np, "a": a, "b": b, "m": m, "k": k})

        k = np.array([3, 1, 1, 0, 2])
        check(run, x, y, mask, k, zeros=not call.startswith("unique"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_ufunc_methods(dtype: str) -> None:
    x = finite(dtype)
    for ufunc in (np.add, np.multiply, np.maximum, np.logical_or):
        check(lambda a, u=ufunc: u.reduce(a, axis=0), x)
        check(lambda a, u=ufunc: u.accumulate(a, axis=1), x)
        check(lambda a, u=ufunc: u.outer(a[0], a[1]), x)
        check(lambda a, u=ufunc: u.reduceat(a, [0, 2, 1], axis=1), x)

        def at(a: Any, places: Any, values: Any, u: Any = ufunc) -> Any:
            a = a.copy()
            u.at(a, places, values)
            return a

        check(at, x, np.array([0, 2, 0]), x[:3])


def test_short_integers_move_in_every_form() -> None:
    # the card rolls no int16, so neither the bits of other dtypes as int16
    for dtype in ("i2", "u2", "u1", ml_dtypes.bfloat16):
        x = np.arange(6).astype(dtype)
        device.counters.reset()
        assert_same(np.roll(x, 2), np.roll(from_numpy(x), 2))
        assert device.counters.fallbacks() == {}


def test_diagonals_of_unsigned_integers_move() -> None:
    device.counters.reset()
    for dtype in ("u2", "u4", "u8"):
        x = np.arange(9).astype(dtype).reshape(3, 3)
        assert_same(np.diag(x[0]), np.diag(from_numpy(x)[0]))
        assert_same(np.diag(x.T), np.diag(from_numpy(x).T))
    assert device.counters.fallbacks() == {}


def test_fallbacks_are_counted() -> None:
    device.counters.reset()
    x = from_numpy(np.arange(12.0).reshape(3, 4))
    (x * x).sum()
    assert device.counters.fallbacks()["numpy.multiply"] == (1, 192)
    assert "numpy.sum" not in device.counters.fallbacks()
    np.linalg.eigh(from_numpy(np.eye(3, dtype="f4")))
    assert "numpy.linalg.eigh" in device.counters.fallbacks()


def test_fallback_modes() -> None:
    from daskasc.array._dispatch import forget_warnings
    from daskasc.errors import HostFallbackWarning

    x = from_numpy(np.ones(3))
    forget_warnings()
    with dask.config.set({"daskasc.fallback": "warn"}):
        with pytest.warns(
            HostFallbackWarning,
            match=r"numpy\.cumsum .*\(this card has no kernel of cumsum for float64\)",
        ):
            np.cumsum(x)
        np.cumsum(x)  # said once
    with dask.config.set({"daskasc.fallback": "error"}):
        for compute, operator in ((np.cumsum, "cumsum"), (np.square, "square")):
            with pytest.raises(HostFallbackError, match=f"no kernel of {operator} for float64"):
                compute(x)
        # bits move without a kernel for the dtype
        assert_same(np.ones(2), x[from_numpy(np.array([0, 2]))])


def test_what_was_written_halfway_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    from daskasc.array._dispatch import TABLE

    right = TABLE[np.put]

    def halfway(a: Any, *args: Any, **kwargs: Any) -> Any:
        right(a, *args, **kwargs)
        a += 1
        raise _guard.NeedsHost("put")

    monkeypatch.setitem(TABLE, np.put, halfway)
    x = from_numpy(np.arange(4, dtype="f4"))
    np.put(x, [1], 7)
    assert_same(np.array([0, 7, 2, 3], "f4"), x)


def test_every_row_names_a_function_of_torch_or_numpy() -> None:
    torch = device.torch()
    for row in capabilities.FAMILIES[FAMILY]:
        assert set(row.missing) <= set(capabilities.ALL)
        assert row.source
        assert row.remedy in ("", "bits", "wider", "negated")
        for name in row.operators.split():
            places = (torch, torch.Tensor, torch._C._linalg, torch._C._fft, np, torch.ops.aten)
            known = [place for place in places if hasattr(place, name)]
            assert known or name in ("nanquantile", "std_mean", "var_mean"), name


__all__ += ["down", "written"]


def test_scipy_functions_are_kept_to_the_kernels() -> None:
    special = pytest.importorskip("scipy.special")
    from daskasc.scipy import ndimage

    x = np.linspace(0.1, 3, 12).reshape(3, 4)
    for name in ("erf", "gammaln", "expit", "xlogy"):
        operands = [x] * getattr(special, name).nin
        check(getattr(special, name), *operands)
    found = ndimage.gaussian_filter(from_numpy(x), 1.0)
    assert found.shape == x.shape


def test_the_host_computes_in_the_dtype_of_out() -> None:
    x = np.array([0, -0.3963146, 1.921268], "f4")
    for by_place in (False, True):

        def mean(a: Any, out: Any, by_place: bool = by_place) -> Any:
            found = np.mean(a, 0, None, out) if by_place else np.mean(a, 0, out=out)
            assert found is out
            return out

        check(mean, x, np.zeros(()))
        check(lambda a, o: np.nanvar(a, 0, None, o), x, np.zeros(()))
    check(lambda a, o: np.cumsum(a, 0, None, o), np.arange(3.0), np.zeros(3))
    with pytest.raises(TypeError, match="out is ndarray"):
        np.cumsum(from_numpy(x.astype("f8")), out=np.zeros(3))


def test_bools_sort_on_the_card() -> None:
    device.counters.reset()
    x = data("?")
    for function in (np.sort, np.argsort, np.unique, np.lexsort, np.median):
        check(function, x if function is not np.argsort else np.array([True, False]))
    assert not device.counters.fallbacks().keys() - {"numpy.median"}


def test_kernels_inside_functions_of_other_names() -> None:
    torch = device.torch()
    double = torch.ones((2, 2), dtype=torch.float64)
    both = torch.ones((2, 2), dtype=torch.complex64)
    with _guard.active():
        for function in (
            lambda: torch.linalg.multi_dot([double, double]),
            lambda: torch.einsum("ij,jk", [double, double]),
            lambda: double.__rmatmul__(double),
            lambda: 1 / double,
            lambda: 2 - both,
        ):
            with pytest.raises(_guard.NeedsHost):
                function()
    x = np.arange(4.0).reshape(2, 2)
    check(lambda a: np.linalg.multi_dot([a, a, a]), x)
    assert "numpy.linalg.multi_dot" in device.counters.fallbacks()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_remainders_whose_quotient_overflows(dtype: str) -> None:
    a, b = np.full(64, 3e38, dtype), np.full(64, 1e-45 if dtype == "f4" else 5e-324, dtype)
    for _ in range(2):  # at once, and as remembered
        check(lambda a, b: a % b, a, b)
        check(np.fmod, a, b)
        check(np.divmod, a, b)


def test_ranges_are_kept_to_the_kernels() -> None:
    from daskasc import array as xp

    for call in ("arange(0.5, 3.25, 0.5)", "linspace(0, 1, 7)", "arange(5)", "eye(3, k=1)"):
        env = {"np": np, "xp": xp}
        assert_same(eval(f"np.{call}", env), eval(f"xp.{call}", env))


def test_sums_keep_their_dtype() -> None:
    # the card's sum has no dtype argument, and without it integers become int64
    torch = device.torch()
    for dtype in (torch.int8, torch.int16, torch.int32, torch.uint8, torch.float16):
        with _guard.active():
            found = torch.sum(torch.ones((2, 3), dtype=dtype), dim=-1, dtype=dtype)
        assert found.dtype is dtype
        assert found.tolist() == [3, 3]
    for dtype in DTYPES:
        x, y = finite(dtype), finite(dtype, seed=1)
        check(np.vecdot, x, y)
        check(np.vecdot, x, y[0])
        check(lambda a, d=dtype: a.sum(axis=0, dtype=d), x)
        check(lambda a: np.add.reduce(a, axis=1, dtype="u2"), finite("u1"))


@pytest.mark.parametrize("dtype", ["u2", "u4", "u8"])
def test_unsigned_integers_are_filled(dtype: str) -> None:
    most = np.iinfo(dtype).max
    x = np.array([[1, 2], [3, most]], dtype)
    for call in ("zeros_like(x)", "ones_like(x)", "full_like(x, most)", "full((2, 2), most, dt)"):
        env = {"most": most, "dt": dtype}
        expected = eval(f"np.{call}", {"np": np, "x": x, **env})
        assert_same(expected, eval(f"xp.{call}", {"xp": namespace, "x": from_numpy(x), **env}))
    for make in (namespace.zeros, namespace.ones, namespace.eye):
        assert make(2, dtype=dtype).dtype == dtype
    check(lambda a: a.imag, x)

    def fill(a: Any) -> Any:
        a = a.copy()
        a[0] = most
        a[:, 1:].fill(7)
        return a

    check(fill, x)
    torch = device.torch()
    with _guard.active():
        tensor = from_numpy(x)._t
        assert (tensor.zero_() == 0).all()
        assert (tensor.fill_(3).view(getattr(torch, f"int{tensor.itemsize * 8}")) == 3).all()
        assert tensor.fill_(torch.tensor(4)).tolist() == [[4, 4], [4, 4]]
        wide = torch.full_like(torch.ones(2), most, dtype=tensor.dtype)
        assert wide.tolist() == [most] * 2


MADE = [n for n, lines in EXAMPLES.items() if n in ON_CARD and not any(map(uses_arrays, lines))]


@pytest.mark.parametrize("name", sorted({*MADE, *NAMESPACE_ONLY} - {"frombuffer"}))
@pytest.mark.parametrize("precision", ["single", "double"])
def test_names_of_the_package(name: str, precision: str, values: dict[str, Any]) -> None:
    """Functions that make arrays, and those that NumPy does not dispatch."""
    host = {k: single(v) if precision == "single" else v for k, v in arrays().items()}
    for line in EXAMPLES[name]:
        expected = eval(line, {**values, "xp": np, **host})
        card = {k: from_numpy(v) for k, v in host.items()}
        assert_same(expected, eval(line, {**values, "xp": namespace, **card}), zeros=False)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("policy", ["numpy", "device"])
def test_functions_of_the_standard(dtype: str, policy: str) -> None:
    narrow = {"f8": "f4", "c16": "c8"} if policy == "device" else {}
    x, y = data(dtype), finite(dtype, seed=1)
    calls = ["argsort(x)", "sort(x)", "expm1(x)", "tanh(x)", "count_nonzero(x)", "meshgrid(x[0])"]
    calls += ["floor_divide(x, y)", "clip(x, -1, 1)"] if dtype[0] == "f" else []
    with dask.config.set({"daskasc.promotion": policy}), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls:
            found = eval(f"xp.{call}", {"xp": namespace, "x": from_numpy(x), "y": from_numpy(y)})
            expected = np.asarray(eval(f"np.{call}", {"np": np, "x": x, "y": y}))
            if call.split("(")[0] in ("expm1", "tanh", "floor_divide", "clip"):
                assert found.dtype == narrow.get(dtype, dtype)
            if call.split("(")[0] in ("expm1", "tanh", "sort"):
                np.testing.assert_allclose(down(found), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("ufunc", [np.add, np.divide, np.copysign, np.power], ids=str)
def test_the_host_keeps_the_promotion_policy(ufunc: np.ufunc) -> None:
    narrow = {"f8": "f4", "c16": "c8"}
    with dask.config.set({"daskasc.promotion": "device"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in DTYPES:
            x = np.ones(3, dtype)
            try:
                expected = ufunc(x, x)
            except TypeError:
                continue
            letter = expected.dtype.str[1:]
            assert ufunc(from_numpy(x), from_numpy(x)).dtype == narrow.get(letter, expected.dtype)
            wide = ufunc(from_numpy(x), from_numpy(x), dtype=expected.dtype)
            assert wide.dtype == expected.dtype


def test_a_missing_float64_is_named() -> None:
    special = pytest.importorskip("scipy.special")
    from daskasc import random
    from daskasc.scipy import ndimage

    x = from_numpy(np.linspace(0.1, 3, 12, dtype="f4").reshape(3, 4))
    with dask.config.set({"daskasc.fallback": "error"}):
        for compute in (
            lambda: special.gammainc(x, x),
            lambda: ndimage.shift(x, 0.5),
            lambda: ndimage.spline_filter1d(x),
            lambda: ndimage.convolve1d(x.astype("i4"), [1, 2]),
            lambda: random.default_rng(1).normal(size=3),
        ):
            with pytest.raises(HostFallbackError, match="no kernel of mul for float64"):
                compute()


def test_what_the_host_computes_keeps_no_array_in_memory() -> None:
    def program() -> list[Any]:
        x = from_numpy(np.ones((3, 4)))
        results = [
            x * 2,
            np.cumsum(x),
            np.multiply.accumulate(x),
            np.square(x),
            np.linalg.inv(x.T @ x + np.eye(4)),
        ]
        return [weakref.ref(each._t) for each in (x, *results)]

    gc.collect()
    gc.disable()
    try:
        with dask.config.set({"daskasc.fallback": "silent"}):
            left = [ref() for ref in program()]
    finally:
        gc.enable()
    assert device.counters.fallbacks()
    assert left == [None] * 6

"""NumPy's functions on the card against NumPy, with the host forbidden and allowed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from daskasc import array as da
from daskasc.array import from_numpy
from daskasc.errors import HostFallbackError

from .reference import assert_same, check, data, finite

X = finite("f4")
N = data("f8")
I = finite("i4")  # noqa: E741
C = data("c8")
B = data("?")
V = finite("f8", (7,))
W = finite("f8", (5, 3), seed=3)
E = np.zeros((0, 3), "f4")
Z = np.array(2.5)
T = finite("f8", (2, 3, 4))

ON_CARD: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "shape": (np.shape, (X,)),
    "ndim": (np.ndim, (X,)),
    "size": (np.size, (X, 1)),
    "reshape": (lambda a: np.reshape(a, (2, -1)), (X,)),
    "reshape F": (lambda a: np.reshape(a, (2, -1), order="F"), (X,)),
    "reshape wrong": (lambda a: np.reshape(a, (3, 3)), (X,)),
    "reshape empty": (lambda a: np.reshape(a, (3, 0)), (E,)),
    "ravel": (np.ravel, (X.T,)),
    "ravel F": (lambda a: np.ravel(a, order="F"), (X,)),
    "transpose": (lambda a: np.transpose(a, (1, 2, 0)), (T,)),
    "moveaxis": (lambda a: np.moveaxis(a, [0, 1], [-1, 0]), (T,)),
    "rollaxis": (lambda a: np.rollaxis(a, 2, 1), (T,)),
    "swapaxes": (lambda a: np.swapaxes(a, 0, -1), (T,)),
    "squeeze": (lambda a: np.squeeze(a[:, :1], axis=1), (T,)),
    "squeeze wrong": (lambda a: np.squeeze(a, axis=0), (T,)),
    "expand_dims": (lambda a: np.expand_dims(a, (0, -1)), (X,)),
    "broadcast_to": (lambda a: np.broadcast_to(a, (2, 4, 5)), (X,)),
    "broadcast_arrays": (lambda a, b: np.broadcast_arrays(a, b), (X, X[:1])),
    "atleast": (lambda a: (np.atleast_1d(a), np.atleast_2d(a), np.atleast_3d(a)), (Z,)),
    "atleast_3d": (np.atleast_3d, (X,)),
    "concatenate": (lambda a, b: np.concatenate([a, b], axis=1), (X, X)),
    "concatenate types": (lambda a, b: np.concatenate([a, b]), (X, I)),
    "concatenate None": (lambda a, b: np.concatenate([a, b], axis=None), (X, V)),
    "concatenate wrong": (lambda a, b: np.concatenate([a, b]), (X, V)),
    "stack": (lambda a, b: np.stack([a, b], axis=-1), (X, X)),
    "vstack": (lambda a, b: np.vstack([a, b]), (V, V)),
    "hstack": (lambda a, b: np.hstack([a, b]), (V, V)),
    "dstack": (lambda a, b: np.dstack([a, b]), (X, X)),
    "column_stack": (lambda a, b: np.column_stack([a, b]), (V, V)),
    "block": (lambda a, b: np.block([[a, a], [b, b]]), (X, I)),
    "split": (lambda a: np.split(a, [1, 3]), (V,)),
    "array_split": (lambda a: np.array_split(a, 3), (V,)),
    "append": (lambda a, b: np.append(a, b), (V, I)),
    "repeat": (lambda a: np.repeat(a, [1, 0, 2, 3], axis=0), (X,)),
    "repeat all": (lambda a: np.repeat(a, 2), (X,)),
    "tile": (lambda a: np.tile(a, (2, 1, 2)), (X,)),
    "flip": (lambda a: np.flip(a), (X,)),
    "flipud": (np.flipud, (X,)),
    "fliplr": (np.fliplr, (X,)),
    "rot90": (lambda a: np.rot90(a, 3), (X,)),
    "roll": (lambda a: np.roll(a, 2), (X,)),
    "roll axes": (lambda a: np.roll(a, (1, 2), axis=(0, 1)), (X,)),
    "windows": (lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, axis=1), (X,)),
    "windows 2-d": (lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 3)), (X,)),
    "sum": (np.sum, (I,)),
    "sum axes": (lambda a: np.sum(a, axis=(0, 2), keepdims=True), (T,)),
    "sum no axes": (lambda a: np.sum(a, axis=()), (I.astype("i2"),)),
    "sum empty": (lambda a: np.sum(a, axis=0), (E,)),
    "sum dtype": (lambda a: np.sum(a, dtype="f4"), (I,)),
    "sum initial": (lambda a: np.sum(a, axis=0, initial=5), (X,)),
    "sum where": (lambda a, m: np.sum(a, axis=0, where=m), (X, B)),
    "prod": (lambda a: np.prod(a, axis=(0, 1)), (T,)),
    "max": (lambda a: np.max(a, axis=1), (N,)),
    "min": (lambda a: np.min(a, axis=(0, 1)), (N,)),
    "max empty": (lambda a: np.max(a, axis=0), (E,)),
    "max empty initial": (lambda a: np.max(a, axis=0, initial=1), (E,)),
    "max empty kept": (lambda a: np.max(a, axis=1), (E,)),
    "max where": (lambda a, m: np.max(a, axis=0, where=m, initial=-5), (X, B)),
    "max bool": (lambda a: np.max(a, axis=0), (B,)),
    "ptp": (lambda a: np.ptp(a, axis=0), (X,)),
    "any": (lambda a: np.any(a, axis=(0, 1)), (N,)),
    "all": (lambda a: np.all(a, axis=0, keepdims=True), (I,)),
    "all empty": (np.all, (E,)),
    "count_nonzero": (lambda a: np.count_nonzero(a, axis=0), (I,)),
    "mean": (lambda a: np.mean(a, axis=0), (N,)),
    "mean int": (lambda a: np.mean(a, axis=0), (I,)),
    "mean half": (np.mean, (X.astype("f2"),)),
    "mean where": (lambda a, m: np.mean(a, axis=1, where=m), (X, X > 1)),
    "mean complex": (np.mean, (C,)),
    "var": (lambda a: np.var(a, axis=0, ddof=1), (X,)),
    "var complex": (np.var, (C,)),
    "var int": (np.var, (I,)),
    "var where": (lambda a, m: np.var(a, axis=1, where=m), (X, X > 1)),
    "std": (lambda a: np.std(a, axis=(0, 1), keepdims=True), (X,)),
    "std half": (np.std, (X.astype("f2"),)),
    "average": (lambda a, w: np.average(a, axis=0, weights=w), (X, X[:, 0] + 1)),
    "argmax": (lambda a: np.argmax(a, axis=0), (N,)),
    "argmin": (np.argmin, (I,)),
    "argmax bool": (lambda a: np.argmax(a, axis=1), (B,)),
    "argmax keepdims": (lambda a: np.argmax(a, keepdims=True), (X,)),
    "nansum": (lambda a: np.nansum(a, axis=0), (N,)),
    "nanprod": (lambda a: np.nanprod(a, axis=0), (X,)),
    "nanmax": (lambda a: np.nanmax(a, axis=0), (N,)),
    "nanmin": (lambda a: np.nanmin(a), (N,)),
    "nanmax int": (lambda a: np.nanmax(a, axis=0), (I,)),
    "nanmean": (lambda a: np.nanmean(a, axis=1), (N[1:],)),
    "nanvar": (lambda a: np.nanvar(a, axis=1, ddof=1), (N[2:],)),
    "nanstd": (lambda a: np.nanstd(a), (N[2:],)),
    "nanargmax": (lambda a: np.nanargmax(a, axis=0), (N,)),
    "nanargmin": (np.nanargmin, (N,)),
    "nanmedian": (lambda a: np.nanmedian(a, axis=0), (N,)),
    "nanpercentile": (lambda a: np.nanpercentile(a, [10, 50], axis=1), (N[1:],)),
    "nanquantile": (lambda a: np.nanquantile(a, 0.3, axis=0), (N[1:],)),
    "cumsum": (lambda a: np.cumsum(a, axis=1), (I.astype("i2"),)),
    "cumsum flat": (np.cumsum, (X,)),
    "cumprod": (lambda a: np.cumprod(a, axis=0), (X,)),
    "nancumsum": (lambda a: np.nancumsum(a, axis=0), (N[1:],)),
    "cumulative_sum": (lambda a: np.cumulative_sum(a, include_initial=True), (V,)),
    "median": (lambda a: np.median(a, axis=1), (X,)),
    "median even": (lambda a: np.median(a, axis=0), (X,)),
    "median int": (np.median, (I,)),
    "median nan": (lambda a: np.median(a, axis=1), (N,)),
    "percentile": (lambda a: np.percentile(a, 30), (X,)),
    "percentile list": (lambda a: np.percentile(a, [5, 50, 95], axis=0), (X,)),
    "quantile 2-d": (
        lambda a: np.quantile(a, [[0.1, 0.5], [0, 1]], axis=(0, 1)),
        (T[0],),
    ),
    "quantile int": (lambda a: np.quantile(a, 0.25, axis=1, keepdims=True), (I,)),
    "quantile wrong": (lambda a: np.quantile(a, 1.5), (X,)),
    "percentile methods": (
        lambda a: [
            np.percentile(a, [0, 30, 50, 77, 100], axis=0, method=m)
            for m in ("lower", "higher", "nearest", "midpoint")
        ],
        (X,),
    ),
    "percentile int lower": (lambda a: np.percentile(a, 40, method="lower"), (I,)),
    "nanpercentile nearest": (
        lambda a: np.nanpercentile(a, [30, 60], axis=1, method="nearest"),
        (N[1:],),
    ),
    "unravel_index": (lambda a: np.unravel_index(a, (3, 4), order="F"), (I,)),
    "unravel_index C": (lambda a: np.unravel_index(a, (3, 4)), (I,)),
    "unravel_index wrong": (lambda a: np.unravel_index(a, (2, 2)), (I,)),
    "ravel_multi_index": (lambda a: np.ravel_multi_index((a, a), (10, 12)), (I,)),
    "ravel_multi_index modes": (
        lambda a: np.ravel_multi_index((a, a), (3, 4), mode=("clip", "wrap"), order="F"),
        (I,),
    ),
    "sort": (lambda a: np.sort(a, axis=0), (N,)),
    "sort flat": (lambda a: np.sort(a, axis=None), (I,)),
    "argsort": (lambda a: np.argsort(a, axis=1, kind="stable"), (I,)),
    "partition": (lambda a: np.sort(np.partition(a, 3)), (V,)),
    "where": (lambda m, a: np.where(m, a, 0), (B, X)),
    "where types": (lambda m, a, b: np.where(m, a, b), (B, X, I)),
    "where one": (lambda m: np.where(m), (B,)),
    "nonzero": (np.nonzero, (I,)),
    "flatnonzero": (np.flatnonzero, (I,)),
    "argwhere": (np.argwhere, (I,)),
    "select": (lambda a: np.select([a > 5, a > 2], [a, -a], 7), (X,)),
    "take": (lambda a: np.take(a, [[1, -1], [0, 2]], axis=1), (X,)),
    "take wrap": (lambda a: np.take(a, [11, -9], mode="wrap"), (V,)),
    "take wrong": (lambda a: np.take(a, 99), (V,)),
    "take_along_axis": (lambda a, i: np.take_along_axis(a, i, 1), (X, np.argsort(X, 1))),
    "compress": (lambda a: np.compress([True, False, True], a, axis=0), (X,)),
    "extract": (lambda a: np.extract(a > 4, a), (X,)),
    "delete": (lambda a: np.delete(a, [0, 2], axis=1), (X,)),
    "isin": (lambda a: np.isin(a, [1, 3, 5]), (I,)),
    "searchsorted": (lambda a, v: np.searchsorted(a, v, side="right"), (np.sort(V), X)),
    "digitize": (lambda a: np.digitize(a, [1.0, 3.0, 5.0]), (X,)),
    "digitize falling": (lambda a: np.digitize(a, [5.0, 3.0, 1.0], right=True), (X,)),
    "tril": (lambda a: np.tril(a, 1), (X,)),
    "triu": (lambda a: np.triu(a, -1), (T,)),
    "diag": (lambda a: np.diag(a, 1), (V,)),
    "diagonal": (lambda a: np.diagonal(a, 1), (X,)),
    "trace": (np.trace, (X,)),
    "array_equal": (np.array_equal, (X, X)),
    "isclose": (lambda a: np.isclose(a, a + 1e-9, equal_nan=True), (N,)),
    "allclose": (lambda a: np.allclose(a, a), (X,)),
    "matmul": (np.matmul, (X.astype("f8"), W)),
    "matmul batch": (lambda a, b: a @ b, (T, T.transpose(0, 2, 1).copy())),
    "matmul vector": (lambda a: a @ a, (V,)),
    "matmul int": (lambda a: a @ a.T, (I,)),
    "matmul wrong": (np.matmul, (X, X)),
    "dot": (np.dot, (X.astype("f8"), W)),
    "dot scalar": (lambda a: np.dot(a, 2), (X,)),
    "vdot": (np.vdot, (C, C)),
    "inner": (np.inner, (X, X)),
    "outer": (np.outer, (V, V)),
    "tensordot": (lambda a, b: np.tensordot(a, b, axes=([1, 2], [1, 2])), (T, T)),
    "einsum": (lambda a, b: np.einsum("ij,jk->ki", a, b), (X.astype("f8"), W)),
    "einsum implicit": (lambda a: np.einsum("ba", a), (X,)),
    "einsum sum": (lambda a: np.einsum("ij->", a), (X,)),
    "kron": (np.kron, (X[:2, :2], V)),
    "norm": (lambda a: np.linalg.norm(a, axis=1), (X,)),
    "clip": (lambda a: np.clip(a, 2, 5), (X,)),
    "clip int": (lambda a: np.clip(a, 0.5, 1.5), (I,)),
    "clip int weak float": (lambda a: np.clip(a, 2**63, 0.0), (I,)),
    "clip outside": (lambda a: np.clip(a, -1000, 300), (I.astype("i1"),)),
    "clip one": (lambda a: np.clip(a, None, 5), (X,)),
    "round": (lambda a: np.round(a, 1), (V,)),
    "nan_to_num": (np.nan_to_num, (N,)),
    "diff": (lambda a: np.diff(a, n=2, axis=0), (X,)),
    "diff prepend": (lambda a: np.diff(a, prepend=0, append=9), (V,)),
    "diff bool": (lambda a: np.diff(a, axis=0), (B,)),
    "ediff1d": (np.ediff1d, (X,)),
    "pad": (lambda a: np.pad(a, ((1, 2), (0, 3)), constant_values=7), (I,)),
    "pad edge": (lambda a: np.pad(a, 2, mode="edge"), (X,)),
    "pad reflect": (lambda a: np.pad(a, 3, mode="reflect"), (X,)),
    "pad wrap": (lambda a: np.pad(a, (1, 7), mode="wrap"), (X,)),
    "pad symmetric": (lambda a: np.pad(a, 6, mode="symmetric"), (X,)),
    "pad oddly": (lambda a: np.pad(a, (1, 9), mode="reflect", reflect_type="odd"), (X,)),
    "pad symmetric oddly": (lambda a: np.pad(a, 7, mode="symmetric", reflect_type="odd"), (I,)),
    "bincount": (lambda a: np.bincount(a, minlength=12), (I.ravel(),)),
    "bincount weights": (np.bincount, (I.ravel(), X.ravel())),
    "histogram": (lambda a: np.histogram(a, bins=[0.0, 2.0, 5.0, 9.0]), (X,)),
    "histogram range": (lambda a: np.histogram(a, bins=4, range=(0, 8)), (X,)),
    "meshgrid": (np.meshgrid, (V, V[:3])),
    "real": (np.real, (C,)),
    "imag": (np.imag, (C,)),
    "angle": (np.angle, (C,)),
    "result_type": (lambda a: np.result_type(a, 1.0), (I,)),
    "can_cast": (lambda a: np.can_cast(a.dtype, "i2"), (I,)),
    "iscomplexobj": (np.iscomplexobj, (C,)),
    "copy": (np.copy, (X,)),
    "zeros_like": (lambda a: np.zeros_like(a, shape=(2, 2)), (X,)),
    "ones_like": (lambda a: np.ones_like(a, dtype="i2"), (X,)),
    "full_like": (lambda a: np.full_like(a, 3.7), (I,)),
    "sinc": (np.sinc, (X,)),
    "astype": (lambda a: a.astype("i2"), (X,)),
    "view": (lambda a: a.view("i4"), (X,)),
    "unique": (np.unique, (I,)),
    "unique all": (lambda a: np.unique(a, True, True, True), (N,)),
    "unique u8": (lambda a: np.unique(a, return_counts=True), (data("u8"),)),
    "unique empty": (np.unique, (E,)),
    "interp": (lambda a: np.interp(a, [0.0, 5.0, 9.0], [1.0, 2.0, 0.0], left=-1), (N,)),
    "cov": (np.cov, (X,)),
    "cov columns": (lambda a: np.cov(a, rowvar=False, ddof=0), (X,)),
    "gradient": (lambda a: np.gradient(a, 0.5), (X,)),
    "gradient axis": (lambda a: np.gradient(a, axis=1), (I,)),
    "trapezoid": (lambda a: np.trapezoid(a, dx=0.5, axis=0), (X,)),
    "add.reduce": (lambda a: np.add.reduce(a, axis=1), (X,)),
    "logical_or.reduce": (lambda a: np.logical_or.reduce(a, axis=None), (B,)),
    "maximum.reduce": (lambda a: np.maximum.reduce(a), (X,)),
    "add.accumulate": (lambda a: np.add.accumulate(a, axis=1), (X,)),
    "multiply.outer": (np.multiply.outer, (X, V)),
    "sort complex": (lambda a: np.sort(a), (C,)),
    "complex sqrt": (np.sqrt, (C,)),
    "inv": (lambda a: np.linalg.inv(a.T @ a), (W,)),
    "svd": (lambda a: np.linalg.svd(a, compute_uv=False), (W,)),
    "fft": (np.fft.fft, (V,)),
    "max complex": (np.max, (C,)),
    "polyfit": (lambda a: np.polyfit(a, a * 2 + 1, 1), (V,)),
    "corrcoef": (np.corrcoef, (X,)),
    "convolve": (lambda a: np.convolve(a, [1.0, 2.0, 1.0]), (V,)),
    "histogram auto": (lambda a: np.histogram(a, bins="auto"), (X,)),
    "lexsort": (lambda a: np.lexsort((a, a)), (V,)),
    "apply_along_axis": (lambda a: np.apply_along_axis(np.sum, 1, a), (X,)),
    "add.reduceat": (lambda a: np.add.reduceat(a, [0, 3]), (V,)),
    "unique axis": (lambda a: np.unique(a, axis=0), (I,)),
    "union1d": (np.union1d, (I, I)),
    "percentile weibull": (lambda a: np.percentile(a, 30, method="weibull"), (X,)),
}

ON_HOST: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "weighted percentile": (
        lambda a, b: np.percentile(a, 30, axis=0, method="inverted_cdf", weights=b),
        (X, np.ones(len(X))),
    ),
    "qr raw": (lambda a: np.linalg.qr(a, mode="raw"), (W,)),
    "histogram doane": (lambda a: np.histogram(a, bins="doane"), (X,)),
    "pad by a function": (
        lambda a: np.pad(a, 1, mode=lambda row, width, axis, kwargs: row),
        (X,),
    ),
}


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", ON_CARD)
def test_on_card(name: str) -> None:
    function, args = ON_CARD[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="numpy")
        check(function, *args)


@pytest.mark.usefixtures("quiet_fallback")
@pytest.mark.parametrize("name", ON_HOST)
def test_on_host(name: str) -> None:
    function, args = ON_HOST[name]
    check(function, *args)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", ON_HOST)
def test_host_can_be_forbidden(name: str) -> None:
    function, args = ON_HOST[name]
    with pytest.raises(HostFallbackError, match="no form on the card"):
        function(*[from_numpy(a) for a in args])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1"])
def test_edges_of_grids_have_the_dtype_of_the_ends(dtype: str) -> None:
    sample = finite(dtype, (30, 2))
    options: list[dict[str, Any]] = [
        {},
        {"bins": [3, np.array([-2.0, 0, 4])]},
        {"bins": 4, "range": [(-3.3, 3.1), (2, 2)]},
        {"range": [None, (np.float32(0.1), np.float32(0.7))]},
    ]
    for kwargs in options:
        counts, edges = np.histogramdd(sample, **kwargs)
        found_counts, found_edges = np.histogramdd(from_numpy(sample), **kwargs)
        assert_same([counts, *edges], [found_counts, *found_edges])
        pair = np.histogram2d(sample[:, 0], sample[:, 1], **kwargs)
        assert_same(pair, np.histogram2d(*map(from_numpy, sample.T), **kwargs))


def test_linspace_takes_python_numbers_as_weak() -> None:
    row = np.arange(3)
    for ends in ((row.astype("f4"), 5), (row.astype("f2"), 2.5), (3, row), (1j, row.astype("f4"))):
        card = [from_numpy(end) if isinstance(end, np.ndarray) else end for end in ends]
        assert_same(np.linspace(*ends, 5), np.linspace(*card, 5))
        assert_same(np.logspace(*ends, 4), np.logspace(*card, 4))


def test_python_integers_wrap_in_where_and_select(no_fallback):
    mask, small = np.array([True, False]), np.array([1, 2], "u1")
    for number in (-1, 300, 7):
        check(lambda m, x, n=number: np.where(m, x, n), mask, small)
        check(lambda m, x, n=number: np.select([m], [x], default=n), mask, small)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_copyto_of_python_numbers(casting, no_fallback):
    for dtype in ("?", "i1", "u1", "i8", "f4", "f8", "c8"):
        for value in (True, 1, 300, 0.5, 1j, np.float64(1), np.int64(5)):

            def copied(x, value=value):
                np.copyto(x, value, casting=casting)
                return x

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                check(copied, np.zeros(2, dtype))


def test_taking_from_nothing(no_fallback):
    for mode in ("raise", "wrap", "clip"):
        for shape, place, axis in (((0,), 0, 0), ((2, 0), [0], 1), ((0, 0), 0, 1), ((), 0, -1)):
            check(lambda x: np.take(x, place, axis=axis, mode=mode), np.zeros(shape))  # noqa: B023

        def put(x):
            np.put(x, [0], 1.0, mode=mode)  # noqa: B023

        check(put, np.zeros(0))
    check(np.compress, np.ones((1, 2), bool), np.ones(2))
    check(lambda c, x: np.compress(c, x, axis=0), np.ones(1, bool), np.array(1.0))


def test_angles_have_the_dtype_of_their_numbers(no_fallback):
    for dtype in ("?", "i1", "i4", "f2", "f4", "c8"):
        check(np.angle, np.ones(2, dtype))


def test_full_is_cast_unsafely(no_fallback):
    for value in (1, 1j, 2.5, True):
        for dtype in ("i4", "f4", "?", "c8"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                assert_same(np.full(2, value, dtype), da.full(2, value, dtype))
    assert float(da.full((), 2**70, "f8")) == 2.0**70


def test_bounds_of_clip_count_together(no_fallback):
    for dtype in ("?", "i1", "u1", "f4"):
        for low, high in ((0, np.array(7, "i1")), (0, 2.5), (np.array(1, "f8"), 3), (None, 2)):
            check(lambda x: np.clip(x, low, high), np.ones(2, dtype))  # noqa: B023
        check(lambda x: np.clip(x, None, None), np.ones(2, dtype))


def test_interpolation_beside_infinities(no_fallback):
    x = np.array([np.nan, -1.0, 0.5, 1.0, 1.5, 2.0, 9.0])
    check(np.interp, x, np.array([0.5]), np.array([3.0]))
    for values in ([np.inf, 1, 2], [1, np.inf, np.inf], [-np.inf, np.inf, 1], [np.nan, 1, 2]):
        check(np.interp, x, np.array([0.0, 1.0, 2.0]), np.array(values))


def test_bits_and_padding_of_nothing(no_fallback):
    for shape in ((0,), (0, 0), (2, 0), (0, 3)):
        for axis in (None, *range(len(shape))):
            check(lambda x: np.packbits(x, axis=axis), np.zeros(shape, bool))  # noqa: B023
            check(lambda x: np.unpackbits(x, axis=axis), np.zeros(shape, "u1"))  # noqa: B023
    for mode in ("constant", "edge", "mean", "maximum", "linear_ramp", "wrap"):
        check(lambda x: np.pad(x, 1, mode), np.zeros(0))  # noqa: B023
        check(lambda x: np.pad(x, ((0, 0), (1, 1)), mode), np.zeros((0, 2)))  # noqa: B023


def test_fortran_order_of_no_axes(no_fallback):
    assert np.asfortranarray(np.array(1.0)).shape == (1,)
    assert da.asfortranarray(from_numpy(np.array(1.0))).shape == (1,)

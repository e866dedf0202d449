"""Every reduction with its dtypes, axes and chunkings, as data: lazy values and NumPy's."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np

SHAPE = (6, 4, 2)
CHUNKINGS = {
    "ragged": ((3, 1, 2), (4,), (2,)),
    "single": ((1,) * 6, (4,), (2,)),
    "empty": ((0, 4, 0, 2), (3, 1), (2,)),
}
DTYPES = ("?", "i4", "i8", "f4", "f8", "c8")
NUMBERS, REAL, FLOATS = DTYPES[1:], DTYPES[:5], DTYPES[3:]
AXES = (None, 0, 1, (0, 2))
ONE_AXIS = (0, 1, 2)
ORDERED = (*ONE_AXIS, (0, 2), (0, 1, 2))  # axes that order statistics go over; dask takes no None


@dataclass(frozen=True)
class Operation:
    """A reduction: ``lazy(x, axis)`` on dask's arrays, ``eager`` on NumPy's."""

    name: str
    lazy: Callable[[Any, Any], Any]
    eager: Callable[[Any, Any], Any]
    dtypes: tuple[str, ...] = DTYPES
    axes: tuple[Any, ...] = AXES
    missing: bool = False  # on data with NaN
    empty: bool = True  # dask allows chunks without elements
    widens: bool = False  # dask adds products of integers in 64 bits


def same(name: str, *args: Any, **more: Any) -> Operation:
    """One function of NumPy and dask."""

    def call(module: Any) -> Callable[[Any, Any], Any]:
        return lambda x, axis: getattr(module, name)(x, axis=axis)

    return Operation(name, call(da), call(np), *args, missing=name.startswith("nan"), **more)


def both(name: str, function: Callable[[Any, Any], Any], *args: Any, **more: Any) -> Operation:
    """A function of the module and the array, without axes."""
    return Operation(
        name,
        lambda x, _: function(da, x),
        lambda x, _: function(np, x),
        *args,
        axes=(None,),
        **more,
    )


def largest(x: Any, axis: int) -> Any:
    return np.flip(np.sort(x, axis=axis), axis).take([0, 1], axis=axis)


def quantile(name: str) -> Operation:
    """Two levels of a quantile."""
    levels = np.array([0.2, 0.75])
    return Operation(
        name,
        lambda x, axis: getattr(da, name)(x, levels, axis=axis),
        lambda x, axis: getattr(np, name)(x, levels, axis=axis),
        REAL[1:],
        ORDERED,
        missing=name.startswith("nan"),
    )


def matrix(x: Any) -> Any:
    return x[:, :, 0]


def weights(module: Any, x: Any) -> Any:
    whole = np.arange(1.0, SHAPE[0] + 1)
    return whole if module is np else da.from_array(whole, chunks=(x.chunks[0],))


OPERATIONS = (
    *(same(name) for name in ("sum", "prod", "any", "all", "mean", "var", "std")),
    *(same(name) for name in ("count_nonzero", "nansum", "nanprod", "nanmean", "nanvar", "nanstd")),
    *(same(name, empty=False) for name in ("min", "max", "nanmin", "nanmax")),
    same("ptp", NUMBERS, empty=False),
    *(same(name, axes=(None, *ONE_AXIS)) for name in ("argmin", "argmax")),
    *(same(name, axes=(None, *ONE_AXIS)) for name in ("nanargmin", "nanargmax")),
    *(same(name, axes=ONE_AXIS) for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")),
    Operation(
        "moment",
        lambda x, axis: da.reductions.moment(x, 3, axis=axis),
        lambda x, axis: ((x - x.mean(axis=axis, keepdims=True)) ** 3).mean(axis=axis),
        FLOATS[:2],
    ),
    Operation(
        "average",
        lambda x, axis: da.average(x, axis=axis, weights=weights(da, x)),
        lambda x, axis: np.average(x, axis=axis, weights=weights(np, x)),
        axes=(0,),
    ),
    Operation("topk", lambda x, axis: da.topk(x, 2, axis=axis), largest, NUMBERS, ONE_AXIS),
    Operation(
        "argtopk",
        lambda x, axis: da.argtopk(x, -2, axis=axis),
        lambda x, axis: np.argsort(x, axis=axis, kind="stable").take([0, 1], axis=axis),
        FLOATS[:2],
        ONE_AXIS,
    ),
    *(same(name, REAL[1:], ORDERED) for name in ("median", "nanmedian")),
    *(quantile(name) for name in ("quantile", "nanquantile")),
    both(
        "percentile",
        lambda m, x: m.percentile(x[:, 0, 0], [20, 75]).astype("f8"),
        REAL[1:],
    ),
    both("unique", lambda m, x: m.unique(x[:, 0, 0]), REAL),
    both("bincount", lambda m, x: m.bincount(abs(x[:, 0, 0])), ("i4", "i8")),
    both("bincount weights", lambda m, x: m.bincount(abs(x[:, 0, 0]), weights(m, x)), ("i4",)),
    both("histogram", lambda m, x: m.histogram(x, bins=4, range=(-5, 5))[0], NUMBERS[:4]),
    both(
        "histogramdd",
        lambda m, x: m.histogramdd((x[:, 0, 0], x[:, 1, 0]), (3, 4), ((-5, 5), (-5, 5)))[0],
        NUMBERS[:4],
    ),
    both("matmul", lambda m, x: matrix(x).T @ matrix(x), widens=True),
    both(
        "tensordot",
        lambda m, x: m.tensordot(x, x, axes=((0, 2), (0, 2))),
        NUMBERS,
        widens=True,
    ),
    both("einsum", lambda m, x: m.einsum("abc,adc->bd", x, x), NUMBERS, widens=True),
    both("dot", lambda m, x: m.dot(matrix(x).T, matrix(x)), NUMBERS, widens=True),
    both("vdot", lambda m, x: m.vdot(x[:, 0, 0], x[:, 1, 0]), NUMBERS, widens=True),
    both("cov", lambda m, x: m.cov(matrix(x), rowvar=False), REAL[1:]),
    both("corrcoef", lambda m, x: m.corrcoef(matrix(x).T), REAL[1:]),
    both("qr", lambda m, x: abs(m.linalg.qr(matrix(x)[:, :3])[1]), FLOATS),
    both("svd", lambda m, x: m.linalg.svd(matrix(x)[:, :3], False)[1], FLOATS),
)


def host(dtype: str, missing: bool) -> np.ndarray:
    rng = np.random.default_rng(11)
    x = rng.integers(-4, 5, SHAPE).astype(dtype)
    if dtype in FLOATS:
        x = (x + rng.normal(size=SHAPE) * (1j if dtype == "c8" else 1)).astype(dtype)
        if missing:
            x[::3, 1, 0] = x[4, :2, 1] = np.nan
    return x


def onto_card(block: Any) -> Any:
    from daskasc.array import asarray

    return asarray(block)


def on_cards(x: np.ndarray, chunks: Any) -> Any:
    from daskasc.array import from_numpy

    meta = from_numpy(np.empty((0,) * x.ndim, x.dtype))
    return da.from_array(x, chunks=chunks).map_blocks(onto_card, dtype=x.dtype, meta=meta)


def every(operation: Operation, number: int) -> Iterator[tuple[Any, str]]:
    """All axes with all chunkings."""
    yield from itertools.product(operation.axes, CHUNKINGS)


def in_turn(operation: Operation, number: int) -> Iterator[tuple[Any, str]]:
    """All axes, each with one chunking, another for the next dtype."""
    names = list(CHUNKINGS)
    for place, axis in enumerate(operation.axes):
        yield axis, names[(place + number) % len(names)]


def one(operation: Operation, number: int) -> Iterator[tuple[Any, str]]:
    """One axis with one chunking, others for the next dtype."""
    pairs = list(in_turn(operation, number))
    yield pairs[number % len(pairs)]


def cases(
    dtype: str, choose: Callable[[Operation, int], Iterable[tuple[Any, str]]]
) -> dict[tuple[str, Any, str], tuple[Any, np.ndarray]]:
    """Lazy and expected value by (reduction, axis, chunking).

    Parameters
    ----------
    dtype : str
        One of `DTYPES`.
    choose : callable
        Axes and chunkings of an operation for the dtype of that number.
    """
    arrays = {
        (name, missing): on_cards(host(dtype, missing), chunks)
        for name, chunks in CHUNKINGS.items()
        for missing in (False, True)
    }
    found = {}
    for shift, operation in enumerate(OPERATIONS):
        if dtype not in operation.dtypes:
            continue
        x = host(dtype, operation.missing)
        for axis, name in choose(operation, shift + DTYPES.index(dtype)):
            chunking = name if operation.empty or name != "empty" else "ragged"
            if (operation.name, axis, chunking) in found:
                continue
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # what is said of zeros and complex numbers
                lazy = operation.lazy(arrays[chunking, operation.missing], axis)
                expected = np.asarray(operation.eager(x, axis))
            if operation.widens and dtype in ("?", "i4"):
                expected = expected.astype("i8")
            found[operation.name, axis, chunking] = (lazy, expected)
    return found


def differences(
    table: dict[tuple[str, Any, str], tuple[Any, np.ndarray]], values: Iterable[Any]
) -> list[str]:
    """What computed values have other than NumPy's, in words."""
    wrong = []
    for (key, (_, expected)), value in zip(table.items(), values, strict=True):
        got = np.asarray(value)
        near = 0.0 if expected.dtype.kind in "bui" else 2e-5
        if (got.dtype, got.shape) != (expected.dtype, expected.shape):
            wrong.append(f"{key}: {got.dtype}{got.shape} for {expected.dtype}{expected.shape}")
        elif not np.allclose(got, expected, rtol=near, atol=near, equal_nan=True):
            wrong.append(f"{key}: {got.tolist()} for {expected.tolist()}")
    return wrong

"""``daskasc.promotion: device``: no result is float64 that nobody asked for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import dask
import numpy as np
import pytest

import daskasc.array as namespace
from daskasc.array import AscendArray, _policy, coverage, from_numpy
from daskasc.errors import PrecisionWarning

from .coverage_examples import EXAMPLES, arrays
from .reference import down

ROWS = coverage.rows()
ON_CARD = [n for n, row in ROWS.items() if row.kind in ("device", "composite")]
KEEPING = {n for n in ON_CARD if getattr(np, n, None) in {*_policy.MOVES, *_policy.JOINS}}
WIDE = (np.dtype("f8"), np.dtype("c16"))
# write into a float64 array, which keeps its dtype
IN_PLACE = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}


@pytest.fixture(autouse=True)
def _device_policy() -> Iterator[None]:
    with (
        dask.config.set({"daskasc.promotion": "device"}),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore", PrecisionWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def found_dtypes(value: Any) -> set[np.dtype[Any]]:
    if isinstance(value, list | tuple):
        return set().union(*map(found_dtypes, value))
    return {value.dtype} if isinstance(value, AscendArray) else set()


def close(expected: Any, found: Any) -> None:
    if isinstance(expected, list | tuple):
        for one, other in zip(expected, found, strict=True):
            close(one, other)
    elif isinstance(expected, np.ndarray | np.generic):
        np.testing.assert_allclose(down(found), expected, rtol=2e-4, atol=2e-4)


def written(function: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    array = array.copy()
    function(array, *args, **kwargs)
    return array


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", [n for n in ON_CARD if n in EXAMPLES])
def test_no_result_is_wide_unasked(name: str) -> None:
    host = arrays()
    for line in EXAMPLES[name]:
        values = {"np": np, "written": written}
        card = {key: from_numpy(value) for key, value in host.items()}
        found = eval(line, {**values, **card, "xp": namespace})
        if name not in KEEPING | IN_PLACE:
            assert not found_dtypes(found) & set(WIDE), line
        if ".shape" not in line and "poly(q)" not in line and not re.search("roots|einsum_p", line):
            close(eval(line, {**values, **host, "xp": np}), found)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", [n for n in ON_CARD if isinstance(getattr(np, n, 0), np.ufunc)])
def test_no_ufunc_is_wide(name: str) -> None:
    ufunc = getattr(np, name)
    shapes = {"matmul": ((3, 3), (3, 3)), "matvec": ((3, 3), (3,)), "vecmat": ((3,), (3, 3))}
    for dtype in ("f8", "i4", "c16"):
        operands = [np.ones(s, dtype) for s in shapes.get(name, ((3,),) * ufunc.nin)]
        try:
            expected = ufunc(*operands)
        except TypeError:
            continue
        found = ufunc(*map(from_numpy, operands))
        assert not found_dtypes(found) & set(WIDE)
        close(expected, found)


CARD: dict[str, Any] = {
    "f8": np.arange(4.0),
    "f4": np.arange(4, dtype="f4"),
    "i": np.arange(4),
    "m": np.eye(3),
}
NARROW = """
f8.sum(), f8.mean(), f8.std(), f8.cumsum(), f8.max(), f8 @ f8, f8.dot(f8), np.nanmean(f8)
np.einsum("i,i", f8, f8), np.fft.fft(f8), np.add.reduce(f8), np.add.accumulate(f8)
np.multiply.outer(f8, f8), np.linalg.inv(m), np.linalg.eigh(m)[0], np.linalg.norm(f8)
np.concatenate([f4, f8]), np.concatenate([i, f8]), np.where(i > 1, 1.5, 2), np.where(i > 1, f4, f8)
np.full(3, 1.5, like=f8), X.full(3, 1.5), np.histogram(i)[1], np.convolve(i, [0.5])
X.asarray([1.5]), X.array([[1, 2.5]]), X.asarray(1.5), X.eye(3), np.eye(3, like=f8), X.tri(3)
X.fft.fftfreq(4), X.hanning(4), X.linspace(0, 1, 3), X.arange(3.0), X.ones(2), X.geomspace(1, 9, 3)
np.add.at(f8.copy(), [0], 1) or f4
"""
WIDE_STILL = """
f8.sum(dtype="f8"), np.sum(f8, None, "f8"), np.add.reduce(f8, 0, "f8"), f8.astype("f8")
np.mean(f8, out=f8[:1].copy()[0]), np.add(f8, f8, dtype="f8"), f4.cumsum(0, "f8")
f8[1:], f8.reshape(2, 2), f8.copy(), f8.T, f8.real, np.sort(f8), np.concatenate([f8, f8])
np.where(i > 1, f8, f8), np.where(i > 1, f8, 2.0), np.take(f8, i), np.full(2, 1, "f8", like=f8)
X.asarray(np.ones(2)), X.array([np.ones(2)]), X.from_numpy(np.ones(2)), X.ones(2, "f8")
np.ones_like(f8), X.asarray([1.5], "f8")
"""


@pytest.mark.parametrize("line", NARROW.strip().splitlines())
def test_computed(line: str) -> None:
    card = {key: from_numpy(value) for key, value in CARD.items()}
    found = eval(f"[{line}]", {"np": np, "X": namespace, **card})
    assert {f.dtype.name for f in found} <= {"float32", "complex64"}


@pytest.mark.parametrize("line", WIDE_STILL.strip().splitlines())
def test_asked_for_or_moved(line: str) -> None:
    card = {key: from_numpy(value) for key, value in CARD.items()}
    found = eval(f"[{line}]", {"np": np, "X": namespace, **card})
    assert [f.dtype.name for f in found] == ["float64"] * len(found)


def test_views_stay_views() -> None:
    card = from_numpy(np.arange(4.0))
    np.reshape(card, (2, 2))[0, 0] = 9
    np.real(card)[1] = 8
    assert card.tolist() == [9, 8, 2, 3]

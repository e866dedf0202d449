"""Masked arrays are refused on every way to a card; without masked elements they are arrays."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import daskasc.array as xp
import daskasc.random
from daskasc.errors import UnsupportedDTypeError
from daskasc.registration._convert import to_ascend

MASKED = np.ma.MaskedArray([1.0, -999.0, 3.0], [False, True, False])
TIMES = np.ma.MaskedArray(np.array([1, 2, 3], "M8[D]"), [False, True, False])


def _assign(x: Any, value: Any) -> None:
    x[...] = value


WAYS: dict[str, Any] = {
    "from_numpy": lambda x, m: xp.from_numpy(m),
    "from_numpy, not waiting": lambda x, m: xp.from_numpy(m, blocking=False),
    "from_dlpack": lambda x, m: xp.from_dlpack(m),
    "asarray": lambda x, m: xp.asarray(m),
    "asarray of a dtype": lambda x, m: xp.asarray(m, "f4"),
    "asanyarray": lambda x, m: xp.asanyarray(m),
    "array": lambda x, m: xp.array(m),
    "a list": lambda x, m: xp.array([m, m]),
    "a list of a dtype": lambda x, m: xp.array([m, m], "f4"),
    "a list with an array": lambda x, m: xp.array([x, m]),
    "like": lambda x, m: np.asarray(m, like=x),
    "copy_from": lambda x, m: x.copy_from(m),
    "assignment": _assign,
    "index": lambda x, m: x[m > 0],
    "operator": lambda x, m: x + m,
    "in place": lambda x, m: x.__iadd__(m),
    "matmul": lambda x, m: x @ m,
    "ufunc": lambda x, m: np.hypot(x, m),
    "where": lambda x, m: np.where(x > 1, x, m),
    "concatenate": lambda x, m: np.concatenate([x, m]),
    "stack": lambda x, m: np.stack([x, m]),
    "namespace": lambda x, m: xp.sum(m),
    "namespace, two arrays": lambda x, m: xp.where(x > 1, x, m),
    "host": lambda x, m: np.trim_zeros(np.stack([x, m])),
    "full": lambda x, m: xp.full(3, m),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_masked_elements_are_refused_with_the_remedy(way: Any) -> None:
    x = xp.from_numpy(np.arange(3.0))
    with pytest.raises(
        UnsupportedDTypeError, match=r"of \d+ elements are masked.*\.filled\(np\.nan"
    ):
        way(x, MASKED)
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize("way", ["from_numpy", "asarray", "array", "operator", "where"])
def test_masked_times_are_refused(way: str) -> None:
    x = xp.from_numpy(np.zeros(3, "m8[D]" if way == "operator" else "M8[D]"))
    call = (lambda x, m: np.where(x == x, x, m)) if way == "where" else WAYS[way]
    with pytest.raises(TypeError, match="elements are masked"):
        call(x, TIMES)


def test_the_masked_constant_is_refused() -> None:
    x = xp.from_numpy(np.arange(3.0))
    with pytest.raises(UnsupportedDTypeError, match="masked"):
        x[0] = np.ma.masked
    with pytest.raises(UnsupportedDTypeError, match="masked"):
        xp.array([1.0, np.ma.masked])


@pytest.mark.parametrize("mask", [np.ma.nomask, False])
@pytest.mark.parametrize(
    "way", ["from_numpy", "asarray", "a list", "where", "concatenate", "operator"]
)
def test_without_masked_elements_it_is_an_array(way: str, mask: Any) -> None:
    host = np.arange(3.0)
    given = np.ma.MaskedArray([4.0, 5.0, 6.0], mask)
    ours = WAYS[way](xp.from_numpy(host), given)
    assert isinstance(ours, xp.AscendArray)
    theirs = {"from_numpy": given.data, "asarray": given.data, "a list": [given.data] * 2}.get(way)
    if theirs is None:
        theirs = WAYS[way](host, given.data)
    np.testing.assert_array_equal(ours.asnumpy(), theirs)


def test_masked_chunks_of_dask_are_refused() -> None:
    blocks = da.from_array(MASKED, 2, asarray=False)
    with pytest.raises(UnsupportedDTypeError, match="masked"):
        blocks.map_blocks(xp.from_numpy, meta=xp.empty(0)).compute(scheduler="sync")
    with pytest.raises(UnsupportedDTypeError, match="masked"):
        to_ascend(MASKED)
    with pytest.raises(UnsupportedDTypeError, match="masked"):
        daskasc.random.default_rng(1).permutation(MASKED)


@pytest.mark.parametrize("mask", [[False, True, False], False])
def test_what_numpys_masked_arrays_compute_names_the_remedy(mask: Any) -> None:
    x = xp.from_numpy(np.arange(3.0))
    given = np.ma.MaskedArray([1.0, 2.0, 3.0], mask)
    for call in (
        lambda: given + x,
        lambda: given < x,
        lambda: np.ma.add(given, x),
        lambda: np.ma.masked_where(x > 1, x),
        lambda: np.ma.masked + x,
    ):
        with pytest.raises(TypeError, match=r"knows no masks.*\.filled\(np\.nan\).*\.asnumpy"):
            call()
    with dask.config.set({"daskasc.host-conversion": "allow"}):
        found = given + x
    np.testing.assert_array_equal(found, given + np.arange(3.0))
    assert isinstance(found, np.ma.MaskedArray)

"""Errors and warnings about the host say what to do, at the program's own line."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.linalg
import xarray as xr

import daskasc.array as xp
from daskasc import _callers
from daskasc.array import _dispatch
from daskasc.errors import HostConversionError, HostCopyWarning, HostFallbackWarning


def array() -> Any:
    return xp.from_numpy(np.arange(12.0).reshape(4, 3))


def blocks() -> Any:
    return da.from_array(array(), 2, asarray=False)


def advice(call: Any) -> str:
    with pytest.raises(HostConversionError) as caught:
        call()
    text = str(caught.value)
    assert text.startswith("an array on a card is not converted to NumPy implicitly: call .asnumpy")
    assert "docs/semantics.md" in text
    return text


def test_the_program_is_told_of_lists() -> None:
    x = array()
    for call in (lambda: np.asarray(x), lambda: np.array([x[0], x[1]])):
        text = advice(call)
        assert "daskasc.array.array or np.stack" in text
        assert "xarray" not in text
        assert "Dask" not in text


def test_dask_is_told_to_compute_and_bring_down() -> None:
    x = blocks()
    with dask.config.set(scheduler="sync"):
        assert ".compute().asnumpy()" in advice(lambda: np.asarray(x))


def test_a_task_of_the_program_is_told_as_the_program() -> None:
    x = blocks().map_blocks(lambda block: np.asarray(block), meta=np.empty((0, 0)))
    assert "np.stack" in advice(lambda: x.compute(scheduler="threads"))


def test_xarray_is_told_of_the_accessor_and_its_import() -> None:
    text = advice(lambda: xr.DataArray(array()).values)
    assert re.search(r"import daskasc\.xr.*\.npu\.to_zarr\(.*\.npu\.to_host\(\)", text)


def test_scipy_is_told_of_the_package() -> None:
    assert "daskasc.scipy" in advice(lambda: scipy.linalg.expm(array()[:3]))


def test_lists_of_arrays_are_refused_by_from_numpy_and_arrays_returned() -> None:
    x = array()
    with pytest.raises(TypeError, match=r"daskasc\.array\.array.*np\.stack"):
        xp.from_numpy([x[0], x[1]])
    assert xp.from_numpy(x) is x
    times = x.astype("M8[s]")
    assert xp.from_numpy(times) is times


def test_asnumpy_of_what_holds_an_array() -> None:
    x, lazy = array(), blocks()
    for given in (x, lazy, xr.DataArray(x), xr.DataArray(lazy), x.tolist(), x.asnumpy()):
        host = xp.asnumpy(given)
        assert type(host) is np.ndarray
        np.testing.assert_array_equal(host, x.asnumpy())


def test_a_permitted_copy_is_warned_of_at_the_programs_line() -> None:
    with (
        dask.config.set({"daskasc.host-conversion": "warn"}),
        pytest.warns(HostCopyWarning, match=r"copied 96 bytes .*\.asnumpy\(\)") as caught,
    ):
        scipy.linalg.norm(array())
    assert "not converted" not in str(caught[0].message)
    assert caught[0].filename == __file__


def test_a_fallback_is_warned_of_at_the_programs_line(monkeypatch: Any) -> None:
    monkeypatch.delitem(_dispatch.TABLE, np.rot90)
    _dispatch.forget_warnings()
    x = array()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        np.sum(np.rot90(x), axis=0)
    said = [w for w in caught if issubclass(w.category, HostFallbackWarning)]
    assert [(w.filename, w.lineno) for w in said] == [(__file__, line)]


def test_the_innermost_line_of_the_program_is_the_caller() -> None:
    found = []
    sorted([1, 2], key=lambda _: found.append(_callers.caller()) or 0)
    assert found[0].startswith(f"{__file__}:")
    assert _callers.libraries() == set()
    assert _callers.stacklevel() == 1

"""The coverage table is complete for the installed NumPy, and true row by row."""

from __future__ import annotations

import importlib.util
import io
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import daskasc.array as namespace
from daskasc.array import _peers, coverage, from_numpy

from .coverage_examples import EXAMPLES, arrays
from .reference import assert_same, down

ROWS = coverage.rows()
UFUNCS = [name for name in coverage.numpy_functions() if isinstance(getattr(np, name), np.ufunc)]
ON_CARD = [name for name, row in ROWS.items() if row.kind in ("device", "composite", "about")]
# NumPy dispatches these by like=, or not at all: the package's own names make arrays on the card
NAMESPACE_ONLY = frozenset(
    "asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray from_dlpack frombuffer "
    "fromfunction require".split()
)


def written(function: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    """Copy of an array after a function has written into it."""
    array = array.copy()
    function(array, *args, **kwargs)
    return array


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the examples use beside arrays and the module."""
    folder = tmp_path_factory.mktemp("coverage")
    np.arange(4.0).tofile(folder / "raw")
    np.save(folder / "saved.npy", np.arange(4.0))
    return {
        "np": np,
        "written": written,
        "D": np.array(["2024-01-05", "2024-01-08"], "M8[D]"),
        "FILE": str(folder / "raw"),
        "FILE_NPY": str(folder / "saved.npy"),
        "BUFFER": io.BytesIO,
    }


def uses_arrays(line: str) -> bool:
    return bool(set(re.findall(r"\b(\w)\b(?!=)", line)) & set(arrays()))


def run(line: str, values: dict[str, Any], on_card: bool) -> None:
    """Compare one example on the card with NumPy, by both names of the function."""
    host = arrays()
    name = next(n for n, lines in EXAMPLES.items() if line in lines)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        expected = eval(line, {**values, **host, "xp": np})
        for module in (namespace, np):
            if module is np and (name in NAMESPACE_ONLY or not uses_arrays(line)):
                continue
            card = {key: from_numpy(value) for key, value in host.items()}
            found = eval(line, {**values, **card, "xp": module})
            if on_card:
                assert_same(expected, found, zeros=False)
            else:
                same = down(expected) == down(found)
                assert np.all(same)


def test_the_table_names_every_function_once() -> None:
    named = Counter(
        [
            *coverage.DEVICE,
            *coverage.COMPOSITE,
            *coverage.ABOUT,
            *" ".join(coverage.HOST.values()).split(),
            *coverage.EXCLUDED,
        ]
    )
    assert [name for name, times in named.items() if times > 1] == []
    installed = set(coverage.numpy_functions())
    assert installed - set(named) == set()
    assert set(named) - installed <= coverage.OPTIONAL


def test_counts() -> None:
    counts = coverage.counts()
    print(f"NumPy {np.__version__}: {counts}")
    assert sum(counts.values()) - counts["excluded"] >= 375
    # in the strict sense: they compute elements, and NumPy's own name reaches them
    assert counts["device"] + counts["composite"] - len(coverage.NAMESPACE_ONLY) >= 320


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", sorted(coverage.BY_LIKE))
def test_numpys_name_reaches_the_card_by_like(name: str) -> None:
    like: Any = from_numpy(np.arange(6.0).reshape(2, 3))
    expected = getattr(np, name)(down(like.T))
    with dask.config.set({"daskasc.host-conversion": "error"}):
        assert_same(expected, getattr(np, name)(like.T, like=like))


def test_makers_are_the_functions_without_arrays() -> None:
    without = {
        name
        for name, lines in EXAMPLES.items()
        if ROWS[name].kind in ("device", "composite") and not any(map(uses_arrays, lines))
    }
    assert without - {"array"} == coverage.MAKERS


def test_the_page_is_the_tables() -> None:
    page = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text()
    if f"NumPy {np.__version__}," not in page:
        pytest.skip("the page was counted against another NumPy")
    assert page == coverage.page()


def test_every_function_has_an_example() -> None:
    wanted = {name for name, row in ROWS.items() if row.kind != "excluded"} - set(UFUNCS)
    assert wanted - set(EXAMPLES) - coverage.OPTIONAL == set()


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", [n for n in ON_CARD if n in EXAMPLES])
def test_on_card(name: str, values: dict[str, Any]) -> None:
    for line in EXAMPLES[name]:
        run(line, values, True)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", [n for n in ON_CARD if n in UFUNCS])
def test_ufunc_on_card(name: str) -> None:
    ufunc = getattr(np, name)
    shapes = {"matmul": ((3, 3), (3, 3)), "matvec": ((3, 3), (3,)), "vecmat": ((3,), (3, 3))}
    random = np.random.default_rng(0)
    ran = 0
    for dtype in ("f4", "f8", "i4", "?", "m8[s]"):
        sizes = shapes.get(name, ((3,),) * ufunc.nin)
        operands = [(random.uniform(0.1, 0.9, size) * 9).astype(dtype) for size in sizes]
        if dtype[0] == "f" and name not in ("ldexp",):
            operands = [operand / 10 for operand in operands]
        with np.errstate(all="ignore"):
            try:
                expected = ufunc(*operands)
            except TypeError:
                continue  # NumPy has no loop for the dtype
        assert_same(expected, ufunc(*map(from_numpy, operands)), zeros=False)
        ran += 1
    assert ran


@pytest.mark.filterwarnings("ignore::daskasc.errors.HostFallbackWarning")
@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row.kind == "host"])
def test_on_host(name: str, values: dict[str, Any]) -> None:
    with dask.config.set({"daskasc.fallback": "warn"}):
        for line in EXAMPLES.get(name, []):
            run(line, values, False)


@pytest.mark.usefixtures("no_fallback")
def test_count_nonzero_gives_an_int() -> None:
    card = from_numpy(np.array([[0, 1], [2, 0]]))
    assert type(np.count_nonzero(card)) is int
    assert np.count_nonzero(card) == 2


@pytest.mark.usefixtures("no_fallback")
def test_complex_functions_on_branch_cuts() -> None:
    numbers = [-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0]
    points = np.array([complex(a, b) for a in numbers for b in numbers])
    card = from_numpy(points)
    names = (
        "sqrt exp log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
        "arccosh arctanh"
    )
    with np.errstate(all="ignore"):
        for name in names.split():
            function = getattr(np, name)
            expected, found = function(points), function(card)
            # by parts, because inf with an imaginary part compares with nothing
            assert_same(expected.real.copy(), found.real)
            assert_same(expected.imag.copy(), found.imag)


@pytest.mark.usefixtures("no_fallback")
def test_infinities_stay_where_numpy_has_them() -> None:
    row, kernel = np.array([1.0, np.inf, 2, 3, 4]), np.array([np.inf, 1.0, np.nan])
    with np.errstate(all="ignore"):
        for mode in ("full", "same", "valid"):
            for function in (np.convolve, np.correlate):
                for pair in ((row, kernel), (kernel, row)):
                    assert_same(function(*pair, mode), function(*map(from_numpy, pair), mode))


def test_peers_are_counted_by_the_same_rule() -> None:
    peers = _peers.load()
    assert list(peers) == ["cupy", "cupynumeric", "asnumpy"]
    # names that a reader can check in each package's reference
    assert {"linspace", "einsum", "nanmedian"} <= peers["cupy"]["numpy"]
    assert {"einsum", "nanmean", "quantile"} <= peers["cupynumeric"]["numpy"]
    assert {"cumsum", "einsum", "mean"} <= peers["asnumpy"]["numpy"]
    assert not {"arange", "reshape", "where", "std", "concatenate"} & peers["asnumpy"]["numpy"]
    offered = {name for name, row in ROWS.items() if row.kind != "excluded"}
    installed = offered & set(coverage.numpy_functions())
    for found in peers.values():
        assert len(installed) > len(found["numpy"])


def test_names_are_read_from_sources(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    spec = importlib.util.spec_from_file_location("peer_names", root / "tools" / "peer_names.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    (tmp_path / "_more.py").write_text("from numpy import mean\ndef sort(): ...\n_hidden = 1\n")
    (tmp_path / "_named.py").write_text("__all__ = ['std']\nstd = var = 1\n")
    (tmp_path / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from numpy import prod\n"
        "from ._more import *\nfrom ._named import *\nfrom numpy import add as plus\n"
        "_LAZY_MAPPING = {'dot': '.linalg'}\n"
        "<<<<<<< HEAD\n=======\ntry:\n    from x import cumsum\nexcept ImportError:\n    pass\n"
        ">>>>>>> other\n"
    )
    found = tool.bound(tmp_path / "__init__.py")
    assert {"mean", "sort", "std", "plus", "dot", "cumsum"} <= found
    assert not {"prod", "_hidden", "var", "add"} & found

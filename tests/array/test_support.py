"""Answers about where functions are computed, and that they hold on a card with gaps."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import daskasc.array
from daskasc import device
from daskasc.array import from_numpy, support
from daskasc.device import capabilities

from .coverage_examples import EXAMPLES, arrays
from .restricted import FAMILY, restricted_card
from .test_coverage import NAMESPACE_ONLY, ON_CARD, UFUNCS, written

torch = device.torch()


def test_the_table_prints() -> None:
    assert repr(support(family="cpu")) == "cpu: no operator is known to lack a dtype"
    assert repr(support()) == repr(support(family=device.current().family))
    text = repr(support(family=FAMILY))
    for words in ("linalg_eigh", "float64", "torch_npu documentation", "nonzero, then index_copy"):
        assert words in text
    with pytest.raises(ValueError, match="ascend-a2, cuda, cpu"):
        support(family="abacus")
    for alias in ("npu", "Atlas A2", "atlas_a2", "Ascend-A2"):
        assert support("cumsum", "f8", family=alias) == support("cumsum", "f8", family=FAMILY)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("cumsum", "f8", "cpu"), "numpy.cumsum of float64 on cpu: on the card, by torch"),
        (("mean", "f8", FAMILY), "on ascend-a2: on the host, for other dtypes on the card"),
        (("save", None, "cpu"), "numpy.save on cpu: on the host"),
        (("bmat", None, "cpu"), "not offered for arrays on a card"),
        (("histogram", "f8", FAMILY), "on ascend-a2: on the card, in parts on the host"),
        (("add.reduce", None, "cpu"), "numpy.add.reduce on cpu: on the card, by torch"),
        (("ndarray.sum", None, "cpu"), "numpy.sum on cpu: on the card, by torch"),
    ],
)
def test_answers_are_words(asked: tuple[Any, Any, str], words: str) -> None:
    function, dtype, family = asked
    assert words in repr(support(function, dtype, family=family)).splitlines()[0]


@pytest.mark.parametrize("name", ["nditer", "pi", "ndarray", "linalg", "newaxis", "float64"])
def test_what_is_no_function_is_said_to_be_none(name: str) -> None:
    with pytest.raises(TypeError, match=rf"numpy\.{name} is a .*, not a function"):
        support(name)


def test_what_numpy_does_not_hand_on_is_not_offered() -> None:
    answer = support("testing.assert_allclose")
    assert answer.where == "excluded"
    assert "HostConversionError" in answer.reason
    with pytest.raises(TypeError, match=r"builtins\.str is a class"):
        support(str)
    for other in ("ndarray.tolist", len, written):
        with pytest.raises(TypeError, match="not a function of NumPy or SciPy"):
            support(other)
    with pytest.raises(TypeError, match="is a module"):
        support("scipy.ndimage")


def test_answers_about_scipy() -> None:
    scipy = pytest.importorskip("scipy")
    from scipy import ndimage, special

    import daskasc.scipy.ndimage

    name = "scipy.ndimage.gaussian_filter"
    for asked in (name, ndimage.gaussian_filter, daskasc.scipy.ndimage.gaussian_filter):
        answer = support(asked, family="cpu")
        assert (answer.function, answer.kind, answer.where) == (name, "device", "card")
        assert "docs/scipy.md" in repr(answer)
        assert "bool to bool in several passes" in answer.reason
    assert support(name, family=FAMILY).where == "parts"
    for asked in ("scipy.special.erf", special.erf, "daskasc.scipy.special.erf"):
        answer = support(asked, family="cpu")
        assert (answer.function, answer.where) == ("scipy.special.erf", "card")
    assert support("scipy.special.j0").where == "host"
    assert "1e-7" in support("scipy.special.j0").reason
    assert support("scipy.signal.lfilter").reason.endswith("recursive: each element needs the last")
    assert support(scipy.ndimage.label).where == "host"
    assert support("scipy.stats.zscore").where == "excluded"
    with pytest.raises(AttributeError):
        support("scipy.ndimage.no_such_function")


def test_answers_about_one_function() -> None:
    assert support("cumsum", family=FAMILY).host_dtypes[-1] == "float64"
    assert support("cumsum", "f4", family=FAMILY).where in ("card", "parts")
    assert support("mean", "float64", family=FAMILY).where == "host"
    assert support(np.linalg.eigh, family=FAMILY).where == "host"
    assert support(daskasc.array.linalg.eigh, family=FAMILY).function == "numpy.linalg.eigh"
    assert support("numpy.multiply", "f8", family=FAMILY).where == "host"
    assert support(np.sqrt, "f8", family=FAMILY).where == "card"
    moved = support("take", "f8", family=FAMILY)
    assert moved.host_dtypes == ()
    assert "moved as integers" in repr(moved)
    assert support("save", family=FAMILY).where == "host"
    assert support("bmat").where == "excluded"
    assert support("cumsum", "f8", family="cpu").where == "card"
    assert support("cumsum", "f8") == support("cumsum", "f8", family=device.current().family)
    with pytest.raises(AttributeError):
        support("no_such_function")


@pytest.mark.parametrize("precision", ["f4", "f8"])
def test_answers_hold_on_a_card_with_gaps(precision: str) -> None:
    wide = {"f8": precision, "c16": "c8" if precision == "f4" else "c16"}
    host = {k: v.astype(wide.get(v.dtype.str[1:], v.dtype)) for k, v in arrays().items()}
    wrong = []
    quiet = dask.config.set({"daskasc.fallback": "silent"})
    with quiet, restricted_card(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in sorted(set(ON_CARD) - NAMESPACE_ONLY):
            device.counters.reset()
            if not _ran(name, host, precision):
                continue
            counted, where = device.counters.fallbacks(), support(name, precision).where
            if (where == "card" and counted) or (where == "host" and not counted):
                wrong.append((name, where, counted))
    assert wrong == []


def _ran(name: str, host: dict[str, Any], precision: str) -> bool:
    if name in UFUNCS:
        ufunc = getattr(np, name)
        try:
            ufunc(*(from_numpy(np.ones((3, 3), precision)) for _ in range(ufunc.nin)))
        except TypeError:
            return False
        return True
    ran = False
    for line in EXAMPLES.get(name, []):
        used = set(re.findall(r"\b(\w)\b(?!=)", line)) & set(host)
        if used and all(host[key].dtype == precision for key in used):
            card = {key: from_numpy(value) for key, value in host.items()}
            eval(line, {"np": np, "xp": np, "written": written, **card})
            ran = True
    return ran


def used_torch_functions() -> dict[str, str]:
    """Torch's functions that the package's arrays use, and one file of each."""
    found: dict[str, str] = {}
    for path in sorted(Path(daskasc.array.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Attribute):
                continue
            chain, value = [node.attr], node.value
            while isinstance(value, ast.Attribute):
                chain.append(value.attr)
                value = value.value
            if isinstance(value, ast.Name) and value.id == "torch":
                target: Any = torch
                for part in reversed(chain):
                    target = getattr(target, part)
                if callable(target) and not isinstance(target, type):
                    name = "_".join(p for p in reversed(chain) if p not in ("nn", "functional"))
                    found.setdefault(name.removeprefix("ops_aten_").rstrip("_"), path.name)
    return found


def test_every_torch_function_is_in_the_table_or_named_as_undocumented() -> None:
    lacking = set(capabilities.lacking(FAMILY))
    documented = lacking | set(capabilities.DOCUMENTED)
    used = used_torch_functions()
    unnamed = {n: f for n, f in used.items() if n not in documented | capabilities.UNDOCUMENTED}
    assert unnamed == {}, "name these in daskasc/device/_undocumented.py"
    assert capabilities.UNDOCUMENTED & documented == set()
    assert capabilities.UNDOCUMENTED - set(used) == set(), "no longer used"

"""Histograms whose bins NumPy's rules choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .reference import check, up

pytestmark = [
    pytest.mark.usefixtures("no_fallback"),
    pytest.mark.filterwarnings("ignore:Converting input from bool:RuntimeWarning"),
]

RULES = ["auto", "fd", "scott", "sturges", "sqrt", "rice"]
_RANDOM = np.random.default_rng(0)
DATA: dict[str, np.ndarray[Any, Any]] = {
    # no interquartile range, hence no width by Freedman and Diaconis
    "mostly zero": np.r_[np.zeros(90), np.arange(10.0)],
    # ranges that the dtype itself cannot hold
    "wide i2": np.array([-30000, 30000, 5, 6, 7, 100, -5, 800], "i2"),
    "wide i1": np.array([-128, 127, 3, -1], "i1"),
    "largest u8": np.array([2**64 - 1, 0, 7], "u8"),
    "bools": np.array([True, False, True]),
    "small integers": _RANDOM.integers(0, 9, 50),
    "float32": _RANDOM.normal(size=200).astype("f4"),
    "float16": _RANDOM.normal(size=50).astype("f2"),
    "equal": np.ones(5),
    "one": np.array([3], "i2"),
    "none": np.zeros(0),
    "nan": np.array([1.0, np.nan]),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("rule", RULES)
def test_rules_give_numpys_edges(rule: str, name: str) -> None:
    for span in (None, (0, 5), (-1.5, 2.25), (1, 1), (3, 1)):
        check(lambda x, s=span: np.histogram_bin_edges(x, rule, s), DATA[name])
        check(lambda x, s=span: np.histogram(x, rule, s), DATA[name])


def test_mostly_zero_data_have_numpys_twenty_bins() -> None:
    counts, edges = np.histogram(up(DATA["mostly zero"]), "auto")
    assert counts.size == 20
    assert edges.size == 21


def test_unknown_rules_and_weights_are_refused() -> None:
    check(lambda x: np.histogram(x, "none such"), np.arange(3.0))
    check(lambda x: np.histogram(x, "auto", weights=x), np.arange(3.0))
    check(lambda x: np.histogram(x, "none such", weights=x), np.arange(3.0))

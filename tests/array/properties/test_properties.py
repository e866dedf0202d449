"""Every function of NumPy's top level against NumPy, on random inputs.

One test a function, with a fixed seed: the same examples on every machine. The number of examples
bounds the time; ``DASKASC_EXAMPLES`` asks for more of them. The host may compute rare dtypes, and
common ones only where the table of coverage or the case says so. Everything runs twice, with host
fallback allowed and, on a third of the examples, forbidden: then a call is right on the card, or
raises HostFallbackError where the host may compute.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daskasc.array import _dispatch, coverage
from daskasc.errors import HostFallbackError
from tests.array import properties
from tests.array.properties import runner
from tests.array.properties.strategies import Case, Strided

EXAMPLES = int(os.environ.get("DASKASC_EXAMPLES", "25"))
LEAST = 300
# of ``daskasc.fallback``, and the examples in it
MODES = {"silent": EXAMPLES, "error": max(EXAMPLES // 3, 1)}
ROWS = coverage.rows()


def _cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for module in pkgutil.iter_modules(properties.__path__):
        if module.name.startswith("cases_"):
            new = importlib.import_module(f"{properties.__name__}.{module.name}").CASES
            assert not found.keys() & new.keys(), f"twice: {sorted(found.keys() & new.keys())}"
            found.update(new)
    return found


CASES = _cases()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", sorted(CASES))
def test_is_numpys(name: str, mode: str) -> None:
    case = CASES[name]
    row = ROWS.get(name.partition("[")[0])
    on_card = row is None or row.kind in ("device", "composite")

    @settings(
        max_examples=MODES[mode],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn=case.arguments)
    def property_holds(drawn: Any) -> None:
        with dask.config.set({"daskasc.fallback": mode}):
            runner.run(case, drawn, on_card)

    property_holds()


def test_table_is_covered() -> None:
    functions = {name.partition("[")[0] for name in CASES} & set(coverage.numpy_functions())
    assert len(functions) >= LEAST, f"{len(functions)} functions have a property"


def _on_host(x: Any) -> Any:
    """Computed on the host, whatever the dtype."""
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x) + 1
    return _dispatch.on_host("numpy.somewhere", lambda a: a + 1, (x,), {})


@pytest.mark.parametrize("mode", MODES)
def test_the_host_may_compute_where_the_case_says_so(mode: str) -> None:
    common, rare = ((Strided(np.ones(2, dtype), (), ()),) for dtype in ("f4", "c8"))
    case = Case(_on_host, st.none())
    with dask.config.set({"daskasc.fallback": mode}):
        runner.run(case, rare, on_card=True)
        runner.run(case, common, on_card=False)
        runner.run(case._replace(host="why"), common, on_card=True)
        with pytest.raises((HostFallbackError, AssertionError), match=r"host|card"):
            runner.run(case, common, on_card=True)

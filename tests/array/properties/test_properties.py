"""Every function of NumPy's top level against NumPy, on random inputs.

One test a function, with a fixed seed: the same examples on every machine. The number of examples
bounds the time; ``DASKASC_EXAMPLES`` asks for more of them. The host may compute rare dtypes, and
common ones only where the table of coverage or the case says so.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from typing import Any

import dask
import pytest
from hypothesis import HealthCheck, given, settings

from daskasc.array import coverage
from tests.array import properties
from tests.array.properties import runner
from tests.array.properties.strategies import Case

EXAMPLES = int(os.environ.get("DASKASC_EXAMPLES", "25"))
LEAST = 300
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


@pytest.mark.parametrize("name", sorted(CASES))
def test_is_numpys(name: str) -> None:
    case = CASES[name]
    row = ROWS.get(name.partition("[")[0])
    on_card = row is None or row.kind in ("device", "composite")

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn=case.arguments)
    def property_holds(drawn: Any) -> None:
        with dask.config.set({"daskasc.fallback": "silent"}):
            runner.run(case, drawn, on_card)

    property_holds()


def test_table_is_covered() -> None:
    functions = {name.partition("[")[0] for name in CASES} & set(coverage.numpy_functions())
    assert len(functions) >= LEAST, f"{len(functions)} functions have a property"

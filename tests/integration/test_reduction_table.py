"""Every reduction on four cards against NumPy; all of a dtype are computed as one graph."""

from __future__ import annotations

import pytest

from daskasc.planner import _selections
from tests.integration.reduction_cases import DTYPES, cases, differences, one


@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_numpy(client4, dtype, card_kind, monkeypatch):
    monkeypatch.setattr(_selections, "counted_bytes", lambda found: 0)  # for small arrays too
    table = cases(dtype, one)
    cluster = client4.cluster
    cluster.reset_counters()
    values = client4.gather(client4.compute([lazy for lazy, _ in table.values()]))
    report = cluster.report()
    assert differences(table, values) == []
    # most of them reduce over chunks of several cards
    assert report.collectives > len(table) // 2
    if card_kind == "cpu":  # real cards have documented gaps
        assert report.fallbacks == {}
    assert report.host_copies == 0

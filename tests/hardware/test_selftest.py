"""The tables of what cards lack hold on this machine's cards: ``-m hardware --device npu``."""

from __future__ import annotations

import pytest

from daskasc import device

pytestmark = [pytest.mark.selftest, pytest.mark.timeout(600)]


def test_tables_hold_on_this_card(card_kind: str):
    report = device.selftest(card_kind)
    print(report)
    assert not report.differences, f"paste this into a report:\n\n{report}"

"""Which checks of ``checks.py`` run, with which options of the simulation and variables."""

from __future__ import annotations

from typing import Any

_SLOW: dict[str, Any] = {"delay_us": 3000}
_GIB = 2**30

ROWS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("computes", {"asynchronous": False}, {}),
    *(("computes", {"seed": seed} | _SLOW, {}) for seed in range(3)),
    ("shows_old_data_without_synchronize", _SLOW, {}),
    ("reads_a_source_late", _SLOW, {}),
    ("an_operator_waits_for_nobody", _SLOW, {}),
    ("memory_of_another_stream_needs_record_stream", _SLOW, {}),
    ("operators_are_queued", {}, {}),
    ("copies_of_another_card_come_first", {}, {"SIMCANN_HANDOVER_US": "3000"}),
    ("a_failed_operator_is_heard_of", {}, {}),
    ("streams_need_events", _SLOW, {}),
    ("operators_come_behind_copies_in_the_task_queue", {}, {"SIMCANN_HANDOVER_US": "2000"}),
    ("refuses_what_is_not_documented", {}, {}),
    *(
        ("mask_write_kills_the_context", {}, {"MASK": mask})
        for mask in ("card", "host", "bytes", "itself")
    ),
    ("memory_is_limited", {"memory": _GIB}, {}),
    ("saturates", {}, {"INF_NAN_MODE_FORCE_DISABLE": "1"}),
    ("saturates", {}, {"SIMCANN_SOC": "Ascend910ProA"}),
    ("visible_cards", {}, {"ASCEND_RT_VISIBLE_DEVICES": "3", "EXPECTED": "1"}),
    ("visible_cards", {}, {"ASCEND_RT_VISIBLE_DEVICES": "0,2,5", "EXPECTED": "3"}),
    ("visible_cards", {}, {"ASCEND_RT_VISIBLE_DEVICES": "1,0", "EXPECTED": "0"}),
    ("visible_cards", {}, {"ASCEND_RT_VISIBLE_DEVICES": "", "EXPECTED": "0"}),
    *(("fork_is_refused", {}, {"FIRST": first}) for first in ("question", "work")),
    ("forbidden_context", {}, {"SIMCANN_NO_CONTEXT": "1"}),
    ("an_allocation_fails", {}, {"SIMCANN_FAULT": "allocation:2"}),
    ("faults", {}, {"SIMCANN_FAULT": "copy:3"}),
    ("lost_device", {}, {"SIMCANN_FAULT": "lost:40"}),
]

"""Fail where a run of the main job misses the known answers.

Usage: ``python benchmarks/check_answers.py RUN.json [RUN.json ...]``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

KNOWN = {"a1b_2099_anomaly_K": 5.00, "a1b_minus_e1_2090s_K": 2.48}
KEYS = (
    *KNOWN,
    "cards",
    "device",
    "tasks",
    "collectives",
    "bytes_between_cards",
    "bytes_host_to_device",
    "peak_device_bytes",
    "seconds",
)


def problems(run: dict) -> list[str]:
    """Everything that is wrong with one run's JSON object."""
    missing = [f"has no {key}" for key in KEYS if key not in run]
    if missing:
        return missing
    found = [
        f"{key} is {run[key]}, known is {value:.2f}"
        for key, value in KNOWN.items()
        if round(run[key], 2) != value
    ]
    if len(run["peak_device_bytes"]) != run["cards"]:
        found.append(f"has {len(run['peak_device_bytes'])} memory peaks for {run['cards']} cards")
    if any(peak <= 0 for peak in run["peak_device_bytes"]):
        found.append(f"a card was never used: peaks {run['peak_device_bytes']}")
    if run["cards"] > 1 and not (run["collectives"] > 0 and run["bytes_between_cards"] > 0):
        found.append("nothing crossed the cards")
    return found


def main(files: list[str]) -> int:
    """Check all files; 0 where every one is right and all agree to the last bit."""
    runs = {file: json.loads(Path(file).read_text()) for file in files}
    failed = False
    for file, run in runs.items():
        for problem in problems(run):
            print(f"{file}: {problem}", file=sys.stderr)
            failed = True
    for key in KNOWN:
        values = {run.get(key) for run in runs.values()}
        if len(values) > 1:
            print(f"{key} depends on the number of cards: {sorted(values)}", file=sys.stderr)
            failed = True
    if not failed:
        print(f"{len(runs)} runs, the known answers with every number of cards")
    return int(failed or not runs)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

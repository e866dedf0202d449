"""What the self-check found, for programs and for reading."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# what a card did, and how a line of the report says it
OUTCOMES = {
    "right": "computes right",
    "wrong": "gives wrong values",
    "refused": "refuses",
    "fallback": "is computed on the CPU by torch_npu",
    "crashed": "crashes",
    "hung": "hangs",
    "absent": "torch on the CPU has no such function",
}
_WIDTH = 100


@dataclass(frozen=True)
class Finding:
    """What one call did.

    Attributes
    ----------
    subject : {"operator", "remedy", "note", "axes", "collective"}
        The part of the tables that the line stands in.
    name : str
        torch's function, the note, or the collective.
    dtype : str
        NumPy's name; empty where the line is not about dtypes.
    variant : str
        The remedy, the number of axes, or the operation of a reduction.
    expected : {"works", "missing", ""}
        What the table says; empty if it leaves both open.
    outcome : str
        A key of ``OUTCOMES``. ``absent`` says nothing about the card.
    detail : str
        First line of the error's text, or the values.
    source : str
        Where the table's line was read.
    """

    subject: str
    name: str
    dtype: str
    variant: str
    expected: str
    outcome: str
    detail: str = ""
    source: str = ""

    @property
    def differs(self) -> bool:
        """Whether the table says something else."""
        if self.outcome == "absent" or not self.expected:
            return False
        return (self.outcome == "right") != (self.expected == "works")

    def __str__(self) -> str:
        what = " ".join(
            part for part in (self.subject, self.name, self.variant, self.dtype) if part
        )
        table = {"works": "table has it, ", "missing": "table says missing, ", "": ""}
        text = f"{what}: {table[self.expected]}card {OUTCOMES[self.outcome]}"
        if self.outcome == "fallback":
            text = f"{what}: {table[self.expected]}but it {OUTCOMES[self.outcome]}"
        if self.detail:
            text += f": {self.detail}"
        return text + (f" [{self.source}]" if self.source else "")


@dataclass(frozen=True)
class Report:
    """Result of :func:`daskasc.device.selftest`; its text can be pasted into a report.

    Attributes
    ----------
    facts : mapping of str to str
        Date, versions, names of the card and of the tables.
    findings : tuple of Finding
        Every call that was made.
    untried : tuple of str
        Lines of the tables that the time did not suffice for.
    """

    facts: Mapping[str, str]
    findings: tuple[Finding, ...]
    untried: tuple[str, ...] = ()

    @property
    def differences(self) -> tuple[Finding, ...]:
        """Findings that contradict the tables."""
        return tuple(finding for finding in self.findings if finding.differs)

    def as_dict(self) -> dict[str, Any]:
        """Everything as values that JSON has."""
        return {
            "facts": dict(self.facts),
            "differences": [asdict(finding) for finding in self.differences],
            "findings": [asdict(finding) for finding in self.findings],
            "untried": list(self.untried),
        }

    def __str__(self) -> str:
        margin = max(map(len, self.facts), default=0) + 2
        lines = ["daskasc: the tables of what cards lack, compared with this hardware", ""]
        lines += [f"{name:{margin}}{value}" for name, value in self.facts.items()]
        lines += ["", *self._tally()]
        found = self.differences
        lines += ["", f"differences: {len(found)}"]
        lines += [f"  {finding}" for finding in found]
        open_ones = [each for each in self.findings if not each.expected]
        if open_ones:
            lines += ["", "left open by the table:", *(f"  {each}" for each in open_ones)]
        if self.untried:
            lines += ["", f"not tried for want of time: {len(self.untried)}"]
            counts = Counter(
                line if line.startswith("note ") else line.rpartition(" ")[0]
                for line in self.untried
            )
            names = ", ".join(f"{name} ({n})" for name, n in counts.items())
            lines += textwrap.wrap(names, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        return "\n".join(lines)

    def _tally(self) -> list[str]:
        """Table of subjects by outcomes."""
        counts = Counter((each.subject, each.outcome) for each in self.findings)
        subjects = list(dict.fromkeys(each.subject for each in self.findings))
        rows = [["", *OUTCOMES]]
        rows[0][-1] = "not in torch"
        rows += [[name, *(str(counts[name, key]) for key in OUTCOMES)] for name in subjects]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [
            "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows
        ]

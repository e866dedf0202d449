"""Lines of the tables as questions, in the order in which they matter."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from daskasc.device import _capabilities, _collectives
from daskasc.device._selftest import _names

_ANNOTATED = "documented, without a gap"
_UNKNOWN = "used by this package, nothing is documented"
_COMMON = ("float32", "float64", "int64", "bool", "int32", "complex64", "float16")


class Case(NamedTuple):
    """A call to make; see :class:`Finding` for the parts."""

    subject: str
    name: str
    dtype: str = ""
    variant: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


class Question(NamedTuple):
    """A call, and what the table says about it."""

    case: Case
    expected: str
    source: str = ""
    alone: bool = False  # known to kill a process's use of the card


def of_operators(
    family: str, operators: Collection[str] | None, dtypes: Collection[str]
) -> list[Question]:
    """Questions about a family's functions: all, or those named."""
    lacking = _capabilities.lacking(family)
    wanted = _names.every_operator() if operators is None else tuple(operators)
    tabled = [name for name in wanted if name in lacking]
    unknown = [n for n in wanted if n not in lacking and n in _capabilities.UNDOCUMENTED]
    rest = [name for name in wanted if name not in {*tabled, *unknown}]
    found = [*_rows(family, tabled, dtypes), *_remedies(family, tabled, dtypes)]
    if operators is None:
        found += _notes(family)
    found += _axes(family, wanted)
    others = [*_rows(family, unknown, dtypes, _UNKNOWN), *_rows(family, rest, dtypes, _ANNOTATED)]
    # every function for the common dtypes before any for the rare ones
    found += sorted(others, key=lambda question: _place(question.case.dtype))
    return found


def _place(dtype: str) -> int:
    return _COMMON.index(dtype) if dtype in _COMMON else len(_COMMON)


def _rows(
    family: str, operators: list[str], dtypes: Collection[str], otherwise: str = ""
) -> Iterator[Question]:
    lacking = _capabilities.lacking(family)
    # what no tensor can be made of: a note, not a line about each function that makes one
    unmade = _capabilities.UNSIGNED if _names.UNSIGNED_NOTE in _texts(family) else ()
    for name in operators:
        for dtype in dtypes:
            if name in _names.MAKERS and dtype in unmade:
                continue
            row = lacking.get(name, {}).get(dtype)
            case = Case("operator", name, dtype)
            if row is None:
                yield Question(case, "works", otherwise)
            else:
                yield Question(case, "missing", row.source)


def _remedies(family: str, operators: list[str], dtypes: Collection[str]) -> Iterator[Question]:
    lacking = _capabilities.lacking(family)
    for name in operators:
        for dtype, row in lacking[name].items():
            if not row.remedy or dtype not in dtypes:
                continue
            # in parts of 8 bytes only what selects along one axis keeps its meaning
            if row.remedy == "bits" and dtype == "complex128" and name not in _names.IN_PARTS:
                continue
            yield Question(Case("remedy", name, dtype, row.remedy), "works", row.source)


def _texts(family: str) -> tuple[str, ...]:
    return tuple(text for text, _ in _capabilities.NOTES[family])


def _notes(family: str) -> Iterator[Question]:
    for text in _texts(family):
        note = _names.NOTES.get(text)
        if note is None:
            continue
        for dtype in note.dtypes:
            yield Question(Case("note", text, dtype), note.expected, alone=note.alone)


def _axes(family: str, operators: Collection[str]) -> Iterator[Question]:
    for name, most in _capabilities.MOST_AXES.get(family, {}).items():
        if name in operators:
            yield Question(Case("axes", name, "float32", str(most)), "works")
            yield Question(Case("axes", name, "float32", str(most + 1)), "missing")


def of_collectives(library: str, dtypes: Collection[str]) -> list[Question]:
    """Questions about a collective library; what it is said to refuse comes last."""
    calls = [(name, op) for name in _collectives.REDUCING for op in _collectives.OPERATIONS]
    calls += [(name, "") for name in _collectives.MOVING]
    found = []
    for name, op in calls:
        for dtype in dtypes:
            there = _collectives.carries(library, name, dtype, op)
            case = Case("collective", name, dtype, op)
            found.append(Question(case, "works" if there else "missing", library))
    return sorted(found, key=lambda question: question.expected == "missing")

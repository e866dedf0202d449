"""Names that questions and children agree on; imports no torch."""

from __future__ import annotations

from typing import NamedTuple

from daskasc.device import _capabilities

# of the documented functions, those that touch no card
ON_HOST = frozenset(("from_numpy", "promote_types", "result_type"))
# functions that make tensors out of nothing
MAKERS = frozenset("arange empty empty_like eye full full_like ones ones_like tensor zeros".split())
MAKERS |= {"zeros_like"}
# functions that complex128 passes as two numbers of 8 bytes
IN_PARTS = ("where", "index_select")
UNSIGNED_NOTE = "tensors of uint16, uint32 and uint64 cannot be made"


class Note(NamedTuple):
    """What a note of the capability table says about a call that shows it.

    Attributes
    ----------
    probe : str
        Name of the call among the children's.
    expected : {"works", "missing", ""}
        Empty for what the card may do or not.
    alone : bool
        Whether the call may kill the process's use of the card.
    dtypes : tuple of str
    """

    probe: str
    expected: str = "missing"
    alone: bool = False
    dtypes: tuple[str, ...] = ("",)


# by the notes' texts; limits of axes are asked from MOST_AXES
NOTES: dict[str, Note] = {
    "index_put_ with a mask crashed a context (507018)": Note("mask", alone=True),
    "repeat_interleave makes fewer than 2**22 elements": Note("repeat"),
    "unique may return both zeros": Note("zeros", ""),
    "sum(dtype=) is not supported": Note("sum"),
    UNSIGNED_NOTE: Note("unsigned", dtypes=_capabilities.UNSIGNED),
    "negative strides do not exist": Note("strides"),
}


def every_operator() -> tuple[str, ...]:
    """All functions that the tables name and that touch a card."""
    tabled = {
        name
        for rows in _capabilities.FAMILIES.values()
        for row in rows
        for name in row.operators.split()
    }
    names = tabled | _capabilities.UNDOCUMENTED | _capabilities.DOCUMENTED
    return tuple(sorted(names - ON_HOST))

"""Rules of the tasks that the planner writes itself; see :mod:`._rules`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from daskasc.collectives import Cut
from daskasc.planner._calls import Call, Rule, Step, name_of, on_card, total, unwrap
from daskasc.planner._combine import Shape
from daskasc.planner._counting import OTHERS
from daskasc.planner._sizes import Size, array_size

# memory that combining two partials takes, in partials: they are concatenated, then reduced;
# finishing takes at most as much as combining two moments and correcting them
_PAIR = {"mean_combine": 2.0, "moment_combine": 5.75, "sum": 3.0, "prod": 3.0, "any": 3.0}
_PAIR |= {"all": 3.0, "chunk_min": 3.0, "chunk_max": 3.0}
_OTHER_PAIR = 6.0
_FINISH = 3.5


def fold_memory(function: Any, values: int) -> float:
    """Most memory of combining `values` partials pairwise, in partials, the outcome included.

    A pair is concatenated, then reduced; in the tree, outcomes of the left wait for the right.
    """
    if values < 2:
        return 0.0
    base = _PAIR.get(name_of(unwrap(function)[0]), _OTHER_PAIR)
    levels = math.ceil(math.log2(values))
    return base if levels == 1 else base + levels


def _combined(call: Call) -> Step:
    """A step of a rewritten reduction: as large as one of its partials, or as noted."""
    partials = [value for value in call.arguments if isinstance(value, Size)]
    if call.name in ("gather_nodes", "collect"):
        if any(value.nbytes is None for value in partials):
            return Step(Size(None, None, 0, on_card(None, call.inputs)))
        return Step(Size(total(partials), None, 0, on_card(None, call.inputs)))
    values = len(call.arguments[4]) if call.name == "finish_gathered" else len(partials)
    one = max((value.on_card for value in partials), default=0)
    if call.name == "finish_gathered":
        one //= max(1, values)
    largest = max(partials, key=lambda value: value.nbytes or 0, default=Size(None))
    finishes = call.name.startswith("finish_")
    out = call.result if call.known is not None and finishes else largest
    most = fold_memory(call.arguments[0], values) * one
    if call.name in ("gather_one", "gather_merged"):
        most = (fold_memory(call.arguments[0], min(values, 2)) + 1) * one
    elif finishes:
        most = max(most, (1 + _FINISH) * one)
    return Step(out, scratch=max(0, int(most) - out.on_card))


def _scanned(call: Call) -> Step:
    """A step of a rewritten scan: as large as a total, which is one slice of a chunk."""
    partials = [value for value in call.arguments if isinstance(value, Size)]
    largest = max(partials, key=lambda value: value.nbytes or 0, default=Size(None))
    if call.name == "block_total" and largest.shape is not None:
        shape = tuple(1 if i == call.arguments[0] else n for i, n in enumerate(largest.shape))
        return Step(array_size(shape, largest.itemsize, largest.card))
    if call.name == "gathered_prefixes":
        _, paths, places = call.arguments[:3]
        one = largest.on_card // max(1, len(places))
        out = Size(len(paths) * one, None, largest.itemsize, largest.card)
        values = max((_prefix_memory(path, False)[0] for path in paths), default=0)
        return Step(out, scratch=values * one)
    out = call.result if call.known is not None else largest
    one = min((value.on_card for value in partials), default=0)
    if call.name == "fold_totals":
        return Step(out, scratch=(_fold_totals_memory(call.arguments[1])[0] - 1) * one)
    before = 2 if call.name == "add_offset" else 1
    path = call.arguments[before]
    values, held = _prefix_memory(path, isinstance(call.arguments[before + 1], Size))
    if call.name == "prefix":
        return Step(out, scratch=(values - held) * one)
    return Step(out, scratch=max(held * one, values * one - out.on_card))


def _fold_totals_memory(shape: Shape) -> tuple[int, int]:
    """Most totals that folding a tree node makes at a time, and how many it leaves."""
    if isinstance(shape, int):
        return 0, 0
    (left, kept), (right, more) = map(_fold_totals_memory, shape)
    return max(left, kept + right, kept + more + 1), 1


def _prefix_memory(path: Sequence[Shape], begun: bool) -> tuple[int, int]:
    """The same of a prefix, which begins with another one or with its first node."""
    most = held = 0
    for shape in path:
        folded, kept = _fold_totals_memory(shape)
        most = max(most, held + folded)
        if begun:
            most, kept = max(most, held + kept + 1), 1
        held, begun = kept, True
    return most, held


def _parcel(call: Call) -> Step:
    """Pieces that a card sends in an exchange, or got in one."""
    (cut,) = [argument for argument in call.arguments if isinstance(argument, Cut)]
    return Step(Size(cut.nbytes, None, 1, card=True))


def _joined(call: Call) -> Step:
    """An output chunk out of its pieces."""
    return Step(call.result)


def _counted(call: Call) -> Step:
    """Counts of the digits of a chunk: one row at first, then at most one a wanted digit."""
    wanted, turn = call.arguments[:2]
    rows = wanted.most if turn else 1
    out = array_size((rows, OTHERS + 1), 8, call.card)
    values = next((value for value in call.inputs if value.shape is not None), Size(0, (0,)))
    elements = math.prod(values.shape or ())
    # integers in the values' order, digits, those in question, and these as bincount takes them
    scratch = elements * (2 * wanted.bits // 8 + 2 * 4 + 8 + 1)
    return Step(out, scratch=max(scratch, out.on_card))


def _selected(call: Call) -> Step:
    """What counts tell: a few numbers in host memory, at last the results."""
    return Step(Size(0) if call.name == "narrow" else call.result)


def _several(call: Call) -> Step:
    """Outcomes of a bundle of several reductions: no copies."""
    out = Size(total(call.inputs), None, 0, call.card, parts=tuple(call.inputs))
    return Step(out)


def _outcome(call: Call) -> Step:
    """One of them, which it shares memory with."""
    (outcomes,) = call.inputs
    number = call.arguments[1]
    out = outcomes.parts[number] if outcomes.parts else outcomes
    return Step(out, view=0)


OWN_RULES: dict[str, Rule] = {
    **dict.fromkeys(("pack", "receive"), _parcel),
    "join": _joined,
    "several": _several,
    "outcome": _outcome,
    "count_digits": _counted,
    **dict.fromkeys(("narrow", "finish_selected"), _selected),
    **dict.fromkeys(
        (
            "combine_node",
            "gather_nodes",
            "gather_one",
            "gather_merged",
            "collect",
            "finish_local",
            "finish_gathered",
            "finish_reduced",
        ),
        _combined,
    ),
    **dict.fromkeys(
        ("block_total", "fold_totals", "prefix", "add_offset", "gathered_prefixes"), _scanned
    ),
}

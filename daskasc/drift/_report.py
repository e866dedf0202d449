"""What a comparison found: the operators, the first that drifts, and its smallest input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from daskasc.drift._calls import Call, Outcome, to_host
from daskasc.drift._differences import Difference, Failure
from daskasc.drift._write import expression, script

_VERDICTS = {
    "drifts": "the card gives another result than NumPy from NumPy's own operands",
    "inherits": "right by itself; its operands differed already, by what earlier operators did",
}
_NOTHING = (
    "nothing was compared: no operator ran on an array among the arguments. Pass NumPy arrays "
    "(not lists) of numbers, bools or times; arrays that the function makes are not followed"
)


@dataclass(frozen=True)
class Operator:
    """One operator that ran.

    Attributes
    ----------
    number : int
        Place in the order of the program, from 1.
    name : str
        For instance ``numpy.cumsum``, ``operator.add``, ``ndarray.__getitem__``.
    operands, result : str
        Dtypes and shapes.
    where : str
        File and line of the program.
    ulps : float
        Largest distance from NumPy's result so far, inherited distance included.
    own : Difference or None
        What the operator alone does wrong: NumPy's operands, uploaded, give another result.
    accumulated : Difference or None
        The result is outside the tolerance, whatever brought it there.
    on_host : bool
        Whether the card had no form of it, so that NumPy computed both.
    """

    number: int
    name: str
    operands: str
    result: str
    where: str
    ulps: float = 0.0
    own: Difference | None = None
    accumulated: Difference | None = None
    on_host: bool = False

    @property
    def verdict(self) -> str:
        """``drifts``, ``inherits`` or nothing."""
        if self.own is not None:
            return "drifts"
        return "inherits" if self.accumulated is not None else ""


@dataclass(frozen=True)
class Reproduction:
    """The smallest call found that drifts in the same way.

    Attributes
    ----------
    expression : str
        The call with NumPy, ready to paste; `script` runs it on both sides.
    operands : list
        The arrays in it.
    host, card
        Both results in NumPy's form; an error as its text.
    difference : Difference
    """

    expression: str
    script: str
    operands: list[Any]
    host: Any
    card: Any
    difference: Difference

    @property
    def size(self) -> int:
        """Elements of all operands."""
        return sum(array.size for array in self.operands)

    def __str__(self) -> str:
        return "\n".join(
            [
                self.expression,
                f"  NumPy    {_one_line(self.host)}",
                f"  card     {_one_line(self.card)}",
                f"  {self.difference.kind:8} {self.difference.text}",
            ]
        )


@dataclass
class Report:
    """Result of :func:`daskasc.drift.compare`; prints as a table.

    Attributes
    ----------
    operators : list of Operator
        In the order of the program.
    result, card_result
        What the function gave on either side, arrays on the card in NumPy's form.
    error : Exception or None
        What the function raised, and both results are then None.
    raised : str
        On which side and where it raised; empty if it did not.
    reproduction : Reproduction or None
        Smallest input of the first operator that drifts.
    """

    operators: list[Operator] = field(default_factory=list)
    result: Any = None
    card_result: Any = None
    error: Exception | None = None
    raised: str = ""
    reproduction: Reproduction | None = None

    @property
    def first_own(self) -> Operator | None:
        """First operator that is wrong by itself."""
        return next((op for op in self.operators if op.own is not None), None)

    @property
    def first_accumulated(self) -> Operator | None:
        """First operator whose result is outside the tolerance, inherited drift included."""
        return next((op for op in self.operators if op.accumulated is not None), None)

    @property
    def first(self) -> Operator | None:
        """The operator to look at: the first wrong one, else where rounding has grown too far."""
        return self.first_own or self.first_accumulated

    @property
    def drifted(self) -> bool:
        """Whether an operator is wrong by itself, or a result differs by more than rounding.

        Rounding of many operators that has grown beyond the tolerance, but not into half of the
        digits of a result, is :attr:`accumulated` only.
        """
        grown = (op.accumulated for op in self.operators)
        return self.first_own is not None or any(
            found is not None and not found.rounding for found in grown
        )

    @property
    def accumulated(self) -> bool:
        """Whether any result left the tolerance, be it by the rounding of earlier operators."""
        return self.first_accumulated is not None

    def __str__(self) -> str:
        lines = [self._headline(), ""]
        head = ("#", "operator", "operands", "result", "ulps", "", "where")
        table = [head, *(self._row(op) for op in self.operators)]
        widths = [max(len(row[i]) for row in table) for i in range(len(head))]
        for row in table:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        if not self.operators:
            del lines[1:]
        verdicts = {op.verdict for op in self.operators}
        told = [f"{word}: {meaning}" for word, meaning in _VERDICTS.items() if word in verdicts]
        if told:
            lines += ["", *told]
        if self.reproduction is not None:
            lines += ["", "smallest input found:", str(self.reproduction)]
        return "\n".join(lines)

    def _headline(self) -> str:
        count = len(self.operators)
        after = f"{count} operator" if count == 1 else f"{count} operators"
        said = ""
        if self.error is not None:
            text = " ".join(str(self.error).split()) or "no message"
            said = f"the program raised {type(self.error).__name__}: {text}, {self.raised}, "
            said += f"after {after}\n"
        if not count:
            return said + _NOTHING
        if self.first is None:
            return f"{said}no drift in {after}" + (" up to there" if said else "")
        op, found = self.first, self.first.own or self.first.accumulated
        assert found is not None
        if not self.drifted:
            said += f"no drift in {after}, but rounding has grown\n"
        how = "drifts"
        if op.own is None:
            how = "carries rounding of earlier operators beyond the tolerance"
        text = f"{op.name} {how} ({found.kind}), operator {op.number} of {count} at {op.where}: "
        text += found.text
        text = said + text
        later = self.first_accumulated
        if op.own is not None and later is not None and later.number != op.number:
            text += (
                f"\nthe tolerance of a chain is crossed at operator {later.number}, {later.name}"
            )
        return text

    def _row(self, op: Operator) -> tuple[str, ...]:
        note = " ".join(word for word in (op.verdict, "(host)" if op.on_host else "") if word)
        return (
            str(op.number),
            op.name,
            op.operands,
            op.result,
            f"{op.ulps:.3g}" if op.ulps else "",
            note,
            op.where,
        )


def reproduction(call: Call, outcome: Outcome, difference: Difference) -> Reproduction:
    """Write a call and its results down."""
    return Reproduction(
        expression(call),
        script(call),
        [operand.array for operand in call.operands()],
        _plain(outcome.host),
        _plain(outcome.card),
        difference,
    )


def _plain(side: Any) -> Any:
    if isinstance(side, Failure):
        return f"{type(side.error).__name__}: {side.error}"
    return to_host(side)


def _one_line(value: Any) -> str:
    text = " ".join(repr(value).split()) if not isinstance(value, str) else value.split("\n")[0]
    return text if len(text) <= 200 else f"{text[:197]}..."

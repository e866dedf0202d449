"""A report as a table, for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from daskasc import _tabular
from daskasc._tabular import readable

if TYPE_CHECKING:
    from daskasc.cluster._report import CardReport, RunReport

HEADER = (
    "card",
    "peak",
    "used",
    "capacity",
    "host->device",
    "device->host",
    "between cards",
    "spilled",
    "fallbacks",
)


def rows(report: RunReport) -> list[tuple[str, ...]]:
    """The cells below :data:`HEADER`: one row a card, then the totals.

    The total of the peaks is left out: cards reach them at different times.
    """
    cards = report.cards
    table = [(str(card.card), readable(card.peak_device_bytes), *_cells([card])) for card in cards]
    table += [(str(card), "no answer", *[""] * (len(HEADER) - 2)) for card in report.missing]
    return [*table, ("total", "", *_cells(cards))]


def _cells(cards: Sequence[CardReport]) -> tuple[str, ...]:
    spilled = sum(card.bytes_spilled_to_host + card.bytes_spilled_to_disk for card in cards)
    return (
        readable(sum(card.used_device_bytes for card in cards)),
        readable(sum(card.capacity_device_bytes for card in cards)),
        readable(sum(card.bytes_host_to_device for card in cards)),
        readable(sum(card.bytes_device_to_host for card in cards)),
        readable(sum(card.bytes_from_peers + card.bytes_collective for card in cards)),
        readable(spilled),
        str(sum(calls for card in cards for calls, _ in card.fallbacks.values())),
    )


def notes(report: RunReport) -> list[str]:
    """What belongs to no card: collectives, and the functions computed on the host."""
    lines = [f"collectives: {report.collectives}"]
    if report.host_copies:
        lines.append(f"implicit copies to the host: {report.host_copies}")
    lines += [
        f"computed on the host: {name}, {_calls(calls)}, {readable(nbytes)}"
        for name, (calls, nbytes) in sorted(report.fallbacks.items())
    ]
    return lines


def _calls(number: int) -> str:
    return f"{number} call{'' if number == 1 else 's'}"


def title(report: RunReport) -> str:
    """One line on the cards."""
    number = len(report.cards) + len(report.missing)
    stand_in = " (stand-in)" if report.device == "cpu" else ""
    return f"{number} {report.device}{stand_in} card{'' if number == 1 else 's'}"


def as_text(report: RunReport) -> str:
    """The table with aligned columns."""
    return "\n".join([title(report), *_tabular.as_text(HEADER, rows(report)), *notes(report)])


def as_html(report: RunReport) -> str:
    """The table for a notebook."""
    below = "<br>".join(escape(note) for note in notes(report))
    return f"{_tabular.as_html(HEADER, rows(report), title(report))}<p>{below}</p>"

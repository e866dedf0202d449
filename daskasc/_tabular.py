"""Tables for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dask.utils import format_bytes


def readable(nbytes: int) -> str:
    """Bytes in a readable unit."""
    return str(format_bytes(nbytes))


def as_text(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table with aligned columns."""
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def as_html(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """HTML of a table."""

    def line(row: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(line(row, "td") for row in rows)
    return f"<table>{title}<thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"

"""``python -m daskasc.device selftest``: compare the tables of what cards lack with this card."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from daskasc.device._discovery import KINDS
from daskasc.device._selftest import selftest
from daskasc.errors import DaskascError


@click.group(help=__doc__)
def main() -> None:
    """Commands about the cards of this machine."""


@main.command(name="selftest")
@click.option("--device", "kind", type=click.Choice(("auto", *KINDS)), default="auto")
@click.option("--card", type=int, default=0, help="card on which functions are tried")
@click.option("--cards", type=int, help="cards between which collectives are tried")
@click.option("--limit", type=float, default=120.0, help="seconds in all, about")
@click.option("--family", help="table to compare with; by default the card's")
@click.option("--json", "path", type=click.Path(path_type=Path), help="file for all findings")
def _selftest(
    kind: str, card: int, cards: int | None, limit: float, family: str | None, path: Path | None
) -> None:
    """Compare the tables of what cards lack with this hardware; ends with 1 if they differ."""
    try:
        report = selftest(kind, card=card, cards=cards, limit=limit, family=family)
    except DaskascError as error:
        raise click.ClickException(str(error)) from error
    click.echo(str(report))
    if path is not None:
        path.write_text(json.dumps(report.as_dict(), indent=1))
    sys.exit(bool(report.differences))


if __name__ == "__main__":
    main(prog_name="python -m daskasc.device")

"""``python -m tests.simcann -- COMMAND``: run a command on simulated Ascend cards.

The first run makes a virtual environment with the genuine torch_npu and compiles the libraries
that take CANN's place (minutes); later runs start at once. What runs here has not run on an NPU:
the arithmetic is the CPU's.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from dask.utils import parse_bytes

from tests.simcann.environment import ROOT, prepare, variables


def main() -> None:
    """Parse the arguments, prepare, and become the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.simcann", description=__doc__)
    parser.add_argument("--place", type=Path, default=ROOT / "build" / "simcann")
    parser.add_argument("--cards", type=int, default=4, help="cards to show (default: 4)")
    parser.add_argument("--memory", type=parse_bytes, help='memory of a card, such as "256MiB"')
    parser.add_argument("--delay-us", type=int, default=500, help="longest delay of queued work")
    parser.add_argument("--seed", type=int, default=0, help="chooses the delays")
    parser.add_argument("--lenient", action="store_true", help="accept every operator and dtype")
    parser.add_argument("--synchronous", action="store_true", help="run work when it is queued")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    command = chosen.command[1:] if chosen.command[:1] == ["--"] else chosen.command
    if not command:
        parser.error("name a command after --")
    place = chosen.place.resolve()
    prepare(place)
    environment = variables(
        place,
        cards=chosen.cards,
        memory=chosen.memory,
        delay_us=chosen.delay_us,
        seed=chosen.seed,
        strict=not chosen.lenient,
        asynchronous=not chosen.synchronous,
    )
    os.environ.update(environment)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()

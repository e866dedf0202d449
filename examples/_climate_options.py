"""The command line of the climate example, checked as far as it can be by itself."""

from __future__ import annotations

import argparse
import errno
import socket
from typing import NoReturn

DESCRIPTION = """\
Climate normals, anomalies, trends and the change of a variable on a grid, computed from Zarr on
several cards. Without options: air temperature 1860-2099 over North America under the scenarios
A1B and E1, on 4 cards (CPU stand-ins where there is no NPU)."""
EPILOG = """\
DIR gets results.zarr and climate_normals.png when everything is done, and keeps converted data in
cache. Exit status: 0, 2 for wrong input, 1 for a failure, 130 after an interrupt."""


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        self.exit(2, f"{self.prog}: {message} (see --help)\n")


def parse_arguments(program: str, argv: list[str] | None) -> argparse.Namespace:
    """Read and check the command line."""
    parser = Parser(
        program,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data = parser.add_argument_group("data")
    data.add_argument("--input", metavar="STORE", help="Zarr store with your data")
    data.add_argument(
        "--variable",
        metavar="NAME",
        help="variable in STORE, on time, latitude and longitude (default: the only such one)",
    )
    data.add_argument(
        "--synthetic",
        metavar="SIZE",
        help='use made-up data instead: a daily global grid of this size, e.g. "2GiB"',
    )
    data.add_argument(
        "--base",
        metavar="YEARS",
        default="1961-1990",
        help="base period, first and last year (default: 1961-1990)",
    )
    cards = parser.add_argument_group("cards")
    cards.add_argument("--cards", metavar="N", type=int, default=4, help="how many (default: 4)")
    cards.add_argument(
        "--device",
        default="auto",
        choices=("auto", "npu", "cuda", "cpu"),
        help="kind of cards (default: auto, the first kind that is there)",
    )
    cards.add_argument(
        "--device-memory",
        metavar="SIZE",
        help='memory of a card for chunks, e.g. "256MiB"; what is beyond moves to the host',
    )
    cards.add_argument(
        "--dashboard-address",
        metavar="ADDRESS",
        default=":8787",
        help='port of the dashboard, as ":8787" or "host:8787" (default: :8787; :0 for a free one)',
    )
    output = parser.add_argument_group("results")
    output.add_argument(
        "--output",
        metavar="DIR",
        default="climate_normals_output",
        help="folder for the results (default: climate_normals_output)",
    )
    output.add_argument("--json", metavar="FILE", help="also write the figures as JSON")
    output.add_argument(
        "--anomalies",
        action="store_true",
        help="write the anomaly field however large it is (default: up to 64 MiB)",
    )
    output.add_argument("--no-progress", action="store_true", help="show no progress bars")
    args = parser.parse_args(argv)
    for option in ("input", "variable", "output", "json"):
        if getattr(args, option) == "":
            parser.error(f"--{option} is empty")
    if args.input and args.synthetic:
        parser.error("--input and --synthetic exclude each other")
    if args.variable and not args.input:
        parser.error("--variable needs --input")
    if args.cards < 1:
        parser.error(f"--cards is {args.cards}; at least 1 is needed")
    args.synthetic = _size_of(parser, "--synthetic", args.synthetic)
    args.device_memory = _size_of(parser, "--device-memory", args.device_memory)
    wrong = wrong_address(args.dashboard_address)
    if wrong:
        parser.error(f"--dashboard-address is {args.dashboard_address!r}; {wrong}")
    return args


def wrong_address(text: str) -> str | None:
    """Say what is wrong with a dashboard's address; None where it can be used."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 2**16) or ":" in host:
        return 'give a port such as ":8787" or "host:8787"'
    try:
        with socket.socket() as probe:
            # another program may have the port: then the dashboard takes a free one
            probe.bind((host, int(port) if int(port) < 1024 else 0))
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE:
            return None
        return f"this machine cannot listen there ({exc.strerror or exc})"
    except UnicodeError:
        return "its host is no name of a host"
    return None


def _size_of(parser: Parser, option: str, text: str | None) -> int | None:
    """Bytes of a size such as "2GiB"."""
    from dask.utils import parse_bytes

    if text is None:
        return None
    try:
        size = int(parse_bytes(text))
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        parser.error(f'{option} is {text!r}; give a size such as "256MiB"')
    return size

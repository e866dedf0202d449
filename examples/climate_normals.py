"""Climate normals, anomalies and trends on several cards: the whole way from Zarr to a picture.

Run as ``python examples/climate_normals.py``. Without options it takes the air temperature
1860-2099 over North America under the scenarios A1B and E1 (package iris-sample-data) and CPU
stand-in cards where there is no NPU. ``--help`` lists what else it takes.

The job itself is in ``_climate_job.py``. It is imported late, so that Ctrl-C is answered from the
first moment on.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # importing typing takes a while
if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "climate_normals.py"


def _leave(*_: object) -> None:
    """End at once: while modules are imported there is nothing to clean up."""
    os.write(2, f"{PROGRAM}: interrupted\n".encode())
    os._exit(130)


def _interrupt(*_: object) -> None:
    """Raise in the main thread, and keep quiet about what is cut short elsewhere."""
    import logging

    logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda _: None
    raise KeyboardInterrupt


def _answer(handler: Callable[..., None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def main(argv: list[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0; 2 for wrong input, 1 for a failure, 130 after an interrupt.
    """
    _answer(_leave)
    import warnings

    from _climate_options import parse_arguments

    warnings.filterwarnings("ignore")
    args = parse_arguments(PROGRAM, argv)
    try:
        import _climate_job as job
    except ImportError as exc:
        return _say(1, f'{exc}; install what it needs with pip install ".[demo]"')
    _answer(_interrupt)
    try:
        job.run(args)
    except KeyboardInterrupt:
        _answer(signal.SIG_IGN)  # a function would be forgotten while Python ends
        return _say(130, "interrupted")
    except job.WRONG_INPUT as exc:
        return _say(2, str(exc))
    except job.FAILURES as exc:
        return _say(1, f"{type(exc).__name__}: {exc}")
    return 0


def _say(status: int, text: str) -> int:
    print(f"{PROGRAM}: {' '.join(text.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())

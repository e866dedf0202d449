"""Results that appear when all is done, and the table on the terminal."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskasc.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

_ZARR_MARKS = ("zarr.json", ".zgroup", ".zarray")


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore interrupts for the moment of renaming or removing; main thread only."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class Staging:
    """Files and folders under partial names, renamed together at the end.

    Leaving the block without :meth:`commit` removes all of them, and the folders made for them.
    """

    def __init__(self) -> None:
        self._pairs: list[tuple[Path, Path]] = []
        self._made: list[Path] = []

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *_: object) -> None:
        with undisturbed():
            for partial, _target in self._pairs:
                _remove(partial)
            for folder in reversed(self._made):
                with contextlib.suppress(OSError):  # not empty: then it is needed
                    folder.rmdir()

    def partial(self, target: Path) -> Path:
        """Where to write what shall become `target`; its folder is made."""
        self._made += make_folders(target.parent)
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        self._pairs.append((partial, target))
        return partial

    def commit(self) -> None:
        """Give everything its name, in place of what has it now."""
        with undisturbed():
            for partial, target in self._pairs:
                old = target.with_name(f"{target.name}.{os.getpid()}.old")
                if target.is_dir():
                    target.rename(old)
                partial.replace(target)
                _remove(old)
        self._pairs = []


def make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; give the new ones, outermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def check_targets(output: Path, figures: Path | None) -> None:
    """Refuse, before anything is made, places that results cannot be written to.

    Raises
    ------
    InputError
        A folder is no folder or cannot be written to, or something else has a result's name.
    """
    _check_folder(output)
    store, picture = output / "results.zarr", output / "climate_normals.png"
    if store.is_file():
        raise InputError(f"{store} is a file; move it away, or take another --output")
    if store.is_dir() and any(store.iterdir()):
        if not any((store / name).exists() for name in _ZARR_MARKS):
            raise InputError(f"{store} is no Zarr store; move it away, or take another --output")
    if picture.is_dir():
        raise InputError(f"{picture} is a folder; move it away, or take another --output")
    if figures is not None:
        if figures.is_dir() or figures == output:
            raise InputError(f"--json {figures} is a folder; give the name of a file")
        _check_folder(figures.parent)


def _check_folder(folder: Path) -> None:
    """See that files can be made in a folder, or that it can be made."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as exc:
        raise InputError(f"cannot write into {folder}: {exc.strerror or exc}") from exc
    if not there.is_dir():
        what = "it" if there == folder else str(there)
        raise InputError(f"cannot write into {folder}: {what} is a file, not a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {folder}: no permission to write into {there}")


def text_of(value: float, form: str) -> str:
    """Text of a figure, "-" where there is none."""
    return format(value, form) if math.isfinite(value) else "-"


def known_figures(results: dict[str, xr.Dataset]) -> dict[str, float | None]:
    """Figures of the JSON that are about the climate; None for what the data do not tell."""
    from _climate_analysis import value_of

    first = next(iter(results.values()))
    a1b, e1 = results.get("A1B"), results.get("E1")
    anomaly = difference = None
    if a1b is not None and e1 is not None:
        anomaly = value_of(a1b["annual_anomaly"], 2099)
        means = [
            None if value is None else value + ds.attrs["regional_normal"]
            for ds in (a1b, e1)
            for value in [value_of(ds["annual_anomaly"], 2090, 2099)]
        ]
        if None not in means:
            difference = means[0] - means[1]
    figures = {
        "a1b_2099_anomaly_K": anomaly,
        "a1b_minus_e1_2090s_K": difference,
        "change_K": first.attrs["regional_change"],
        "trend_K_per_decade": first.attrs["regional_trend"],
    }
    return {
        name: None if value is None or not math.isfinite(value) else value
        for name, value in figures.items()
    }


def print_table(
    results: dict[str, xr.Dataset], figures: dict[str, float | None], base: Any, late: Any
) -> None:
    """Print what a person wants to know first."""
    units = next(iter(results.values()))["normals"].attrs["units"]

    def last(series: xr.DataArray) -> float:
        found = series.dropna("year")
        return float(found[-1]) if found.size else math.nan

    rows = [
        (title, *(text_of(value(ds), form) for ds in results.values()))
        for title, form, value in (
            (f"regional mean {base} ({units})", ".2f", lambda d: d.attrs["regional_normal"]),
            (
                f"change {late} against it ({units})",
                "+.2f",
                lambda d: d.attrs["regional_change"],
            ),
            ("last 10-year mean, anomaly", "+.2f", lambda d: last(d["running_mean"])),
            ("last year, anomaly", "+.2f", lambda d: last(d["annual_anomaly"])),
            (f"trend ({units}/decade)", "+.3f", lambda d: d.attrs["regional_trend"]),
            ("  least of a grid point", "+.3f", lambda d: float(d["trend"].min())),
            ("  greatest of a grid point", "+.3f", lambda d: float(d["trend"].max())),
        )
    ]
    rows.insert(0, ("", *results))
    width = max(12, 2 + max(map(len, results)))
    print()
    for title, *cells in rows:
        print(f"  {title:<38}" + "".join(f"{cell:>{width}}" for cell in cells))
    if figures["a1b_minus_e1_2090s_K"] is not None:
        print(f"\n  A1B minus E1, mean of 2090-2099: {figures['a1b_minus_e1_2090s_K']:.2f} {units}")

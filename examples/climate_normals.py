"""Climate normals, anomalies and trends on several cards: the whole way from Zarr to a picture.

Run as ``python examples/climate_normals.py``. Without options it takes the air temperature
1860-2099 over North America under the scenarios A1B and E1 (package iris-sample-data) and CPU
stand-in cards where there is no NPU. ``--help`` lists what else it takes.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from _climate_inputs import (
    Axes,
    Scenario,
    find_axes,
    pick_variable,
    shipped_scenarios,
    synthetic_scenario,
    time_chunk,
)
from _climate_progress import progress, tasks_run

from daskasc.errors import ConfigurationError, DaskascError, InputError

if TYPE_CHECKING:
    import xarray as xr
    from _climate_analysis import Period

PROGRAM = "climate_normals.py"
# the anomaly field is as large as the input, so it is written on its own account up to this size
SMALL = 64 << 20
CHUNK_BYTES = 64 << 20


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        self.exit(2, f"{PROGRAM}: {message} (see --help)\n")


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read and check the command line as far as it can be checked by itself."""
    parser = Parser(PROGRAM, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    data = parser.add_argument_group("data")
    data.add_argument(
        "--input", metavar="STORE", help="your own Zarr store (default: shipped data)"
    )
    data.add_argument("--variable", metavar="NAME", help="variable in it, with time, lat and lon")
    data.add_argument(
        "--synthetic", metavar="SIZE", help='make a daily global grid of this size, e.g. "2GiB"'
    )
    data.add_argument("--base", default="1961-1990", help="base period (default: 1961-1990)")
    cards = parser.add_argument_group("cards")
    cards.add_argument("--cards", type=int, default=4, help="number of cards (default: 4)")
    cards.add_argument(
        "--device", default="auto", choices=("auto", "npu", "cuda", "cpu"), help="kind of cards"
    )
    cards.add_argument("--device-memory", metavar="SIZE", help='memory a card, e.g. "256MiB"')
    cards.add_argument(
        "--dashboard-address", metavar="ADDRESS", default=":8787", help="default: :8787"
    )
    output = parser.add_argument_group("results")
    output.add_argument(
        "--output", metavar="DIR", default="climate_normals_output", help="folder for the results"
    )
    output.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    output.add_argument(
        "--anomalies", action="store_true", help="write the anomaly field however large it is"
    )
    output.add_argument("--no-progress", action="store_true", help="no progress bars")
    args = parser.parse_args(argv)
    if args.input and args.synthetic:
        parser.error("--input and --synthetic exclude each other")
    if args.variable and not args.input:
        parser.error("--variable needs --input")
    if args.cards < 1:
        parser.error(f"--cards is {args.cards}; at least 1 is needed")
    args.synthetic = size_of(parser, "--synthetic", args.synthetic)
    args.device_memory = size_of(parser, "--device-memory", args.device_memory)
    return args


def size_of(parser: Parser, option: str, text: str | None) -> int | None:
    """Bytes of a size such as "2GiB"."""
    from dask.utils import parse_bytes

    if text is None:
        return None
    try:
        size = int(parse_bytes(text))
    except ValueError:
        size = 0
    if size <= 0:
        parser.error(f'{option} is {text!r}; give a size such as "256MiB"')
    return size


def check_writable(path: Path) -> None:
    """Make a folder, and see that files can be made in it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as exc:
        raise InputError(f"cannot write into {path}: {exc.strerror or exc}") from exc


class Field:
    """One scenario, opened: its field on the cards and what is known about it."""

    def __init__(self, scenario: Scenario, cards: int, memory: int | None) -> None:
        import daskasc
        from daskasc import xr as _accessor  # noqa: F401  (registers .npu)

        ds = daskasc.open_zarr(scenario.store)
        name = pick_variable(ds, scenario)
        array = ds[name]
        if array.dtype.kind not in "iuf":
            raise InputError(
                f"store {scenario.store}, variable {name}: it is {array.dtype}, no numbers"
            )
        self.label = scenario.label
        self.axes: Axes = find_axes(array, scenario.store)
        axis = array.dims.index(self.axes.time)
        stored = array.variable.chunksizes[self.axes.time][0]
        bytes_a_step = array.dtype.itemsize
        for dim, sizes in array.variable.chunksizes.items():
            bytes_a_step *= 1 if dim == self.axes.time else max(sizes)
        steps = time_chunk(
            array.shape[axis],
            stored,
            bytes_a_step,
            cards,
            min(CHUNK_BYTES, (memory or CHUNK_BYTES * 16) // 16),
        )
        ds = daskasc.open_zarr(scenario.store, chunks={self.axes.time: steps}, variables=[name])
        self.array: xr.DataArray = ds[name].reset_coords(drop=True)
        self.years = self.array[self.axes.time].dt.year.values
        self.units = str(self.array.attrs.get("units", "1"))
        self.name = name


def compute(arrays: list[Any]) -> list[Any]:
    """Values of dask-backed DataArrays as DataArrays on the host."""
    import dask
    from _climate_analysis import to_host

    values = dask.compute(*(array.data for array in arrays))
    return [array.copy(data=to_host(value)) for array, value in zip(arrays, values, strict=True)]


def analyse(
    client: Any, fields: list[Field], base: Period, show: bool
) -> tuple[dict[str, xr.Dataset], list[xr.DataArray], Period]:
    """Run the passes over the data.

    Returns
    -------
    results : dict of str to Dataset
        Reduced fields and series of each scenario, on the host.
    anomalies : list of DataArray
        Lazy, on the cards.
    late : Period
        Years that the change is about.
    """
    import _climate_analysis as formulas
    import dask
    import xarray as xr

    late = formulas.late_period(base, fields[0].years)
    with progress(client, f"normals {base}", show):
        lazy = dask.persist(*(formulas.normals(f.array, f.axes, base) for f in fields))
        normals = compute(list(lazy))
    with progress(client, "anomalies, series, trends, change", show):
        parts = [
            formulas.reduced(f.array, normal, f.axes, late)
            for f, normal in zip(fields, lazy, strict=True)
        ]
        flat = iter(compute([part for group in parts for part in group.values()]))
        parts = [{name: next(flat) for name in group} for group in parts]
    results = {}
    for field, normal, part in zip(fields, normals, parts, strict=True):
        axes = field.axes
        times = formulas.decades(field.array, axes).values
        sums = None
        if formulas.has_gaps(part["count"].values, len(times)):
            with progress(client, f"{field.label}: missing values", show):
                lazy_sums = formulas.time_sums(field.array, axes)
                found = compute(list(lazy_sums.values()))
                sums = {n: v.values for n, v in zip(lazy_sums, found, strict=True)}
        trend = formulas.slope({n: v.values for n, v in part.items()}, times, sums)
        change = formulas.change(part)
        weight = part["series_weight"]
        series = part["series_sum"] / weight.where(weight > 0)
        annual = formulas.annual(series, axes.time)
        results[field.label] = xr.Dataset(
            {
                "normals": normal.assign_attrs(units=field.units, long_name=f"mean of {base}"),
                "change": change.assign_attrs(
                    units=field.units, long_name=f"mean of {late} minus mean of {base}"
                ),
                "trend": normal.copy(data=trend).assign_attrs(
                    units=f"{field.units}/decade", long_name="linear trend over all years"
                ),
                "annual_anomaly": annual.assign_attrs(
                    units=field.units, long_name=f"regional mean against {base}, by area"
                ),
                "running_mean": formulas.running_mean(annual).assign_attrs(
                    units=field.units, long_name="10-year running mean of annual_anomaly"
                ),
            },
            attrs={
                "title": f"Climate normals of {field.name}, {field.label}",
                "regional_normal": formulas.weighted_mean(normal, axes),
                "regional_trend": formulas.weighted_mean(normal.copy(data=trend), axes),
                "regional_change": formulas.weighted_mean(change, axes),
            },
        )
    anomalies = [
        (field.array - normal).assign_attrs(field.array.attrs)
        for field, normal in zip(fields, lazy, strict=True)
    ]
    return results, anomalies, late


def known_figures(results: dict[str, xr.Dataset]) -> dict[str, float | None]:
    """Figures of the JSON that are about the climate."""
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
    return {
        "a1b_2099_anomaly_K": anomaly,
        "a1b_minus_e1_2090s_K": difference,
        "change_K": first.attrs["regional_change"],
        "trend_K_per_decade": first.attrs["regional_trend"],
    }


def write_results(
    client: Any,
    results: dict[str, xr.Dataset],
    anomalies: list[xr.DataArray],
    target: Path,
    with_anomalies: bool,
    show: bool,
) -> None:
    """Write one Zarr group a scenario, under another name until all of it is there."""
    import dask

    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        writes = []
        for (label, result), anomaly in zip(results.items(), anomalies, strict=True):
            ds = result.assign(anomaly=anomaly) if with_anomalies else result
            writes.append(ds.npu.to_zarr(partial, group=label, compute=False))
        with progress(client, f"writing {target.name}", show):
            dask.compute(*writes)
        if target.exists():
            shutil.rmtree(target)
        partial.rename(target)
    finally:
        if partial.exists():
            shutil.rmtree(partial, ignore_errors=True)


def print_table(
    results: dict[str, xr.Dataset], figures: dict[str, float | None], base: Period, late: Period
) -> None:
    """Print what a person wants to know first."""
    units = next(iter(results.values()))["normals"].attrs["units"]

    def last(series: xr.DataArray) -> float:
        found = series.dropna("year")
        return float(found[-1]) if found.size else float("nan")

    rows = [("", *results)]
    for title, value in (
        (f"regional mean {base} ({units})", lambda d: f"{d.attrs['regional_normal']:.2f}"),
        (f"change {late} against it ({units})", lambda d: f"{d.attrs['regional_change']:+.2f}"),
        (
            "last 10-year mean, anomaly",
            lambda d: f"{float(d['running_mean'].dropna('year')[-1]):+.2f}",
        ),
        ("last year, anomaly", lambda d: f"{last(d['annual_anomaly']):+.2f}"),
        (f"trend ({units}/decade)", lambda d: f"{d.attrs['regional_trend']:+.3f}"),
        ("  least of a grid point", lambda d: f"{float(d['trend'].min()):+.3f}"),
        ("  greatest of a grid point", lambda d: f"{float(d['trend'].max()):+.3f}"),
    ):
        rows.append((title, *(value(ds) for ds in results.values())))
    print()
    for title, *cells in rows:
        print(f"  {title:<38}" + "".join(f"{cell:>12}" for cell in cells))
    if figures["a1b_minus_e1_2090s_K"] is not None:
        print(f"\n  A1B minus E1, mean of 2090-2099: {figures['a1b_minus_e1_2090s_K']:.2f} {units}")


def run(args: argparse.Namespace) -> None:
    """Do it all."""
    from _climate_analysis import Period, check_base
    from _climate_plot import draw

    base = Period.parse(args.base)
    output = Path(args.output).absolute()
    check_writable(output)
    if args.json:
        check_writable(Path(args.json).absolute().parent)
    started = time.perf_counter()
    if args.input:
        scenarios = [Scenario(args.variable or "input", args.input, args.variable)]
    elif args.synthetic:
        print(f"making (once) {args.synthetic >> 20} MiB of daily temperature ...", flush=True)
        scenarios = [synthetic_scenario(output / "cache", args.synthetic)]
    else:
        scenarios = shipped_scenarios(output / "cache")
    fields = [Field(scenario, args.cards, args.device_memory) for scenario in scenarios]
    for field, scenario in zip(fields, scenarios, strict=True):
        check_base(base, field.years, f"store {scenario.store}, variable {field.name}")

    with tempfile.TemporaryDirectory(prefix="climate-normals-") as scratch:
        figures, report, seconds, tasks, results, late = on_cards(
            args, fields, base, output, scratch
        )
    picture = output / "climate_normals.png"
    draw(results, fields[0].axes, base, late, fields[0].units, picture)
    summary = {
        **figures,
        "cards": args.cards,
        "device": report.device,
        "tasks": tasks,
        "collectives": report.collectives,
        "bytes_between_cards": report.bytes_between_cards,
        "bytes_host_to_device": report.bytes_host_to_device,
        "peak_device_bytes": list(report.peak_device_bytes),
        "seconds": round(seconds, 3),
        "seconds_total": round(time.perf_counter() - started, 3),
    }
    print_table(results, figures, base, late)
    peak = max(report.peak_device_bytes, default=0)
    print(
        f"\n  {args.cards} {report.device} cards, {tasks} tasks, {report.collectives} collectives, "
        f"{seconds:.1f} s\n"
        f"  read to cards {_mib(report.bytes_host_to_device)}, between cards "
        f"{_mib(report.bytes_between_cards)}, peak of a card {_mib(peak)}"
    )
    print(f"\n  picture  {picture}\n  results  {output / 'results.zarr'}")
    if args.json:
        target = Path(args.json).absolute()
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        partial.write_text(json.dumps(summary, indent=2) + "\n")
        partial.replace(target)
        print(f"  figures  {target}")


def on_cards(
    args: argparse.Namespace, fields: list[Field], base: Period, output: Path, scratch: str
) -> tuple[Any, ...]:
    """Everything that needs the cluster."""
    from daskasc import LocalNPUCluster

    options = {} if args.device_memory is None else {"device_memory_limit": args.device_memory}
    with (
        LocalNPUCluster(
            n_workers=args.cards,
            device=args.device,
            dashboard_address=args.dashboard_address,
            local_directory=scratch,
            silence_logs=logging.CRITICAL,
            **options,
        ) as cluster,
        cluster.get_client() as client,
    ):
        print(f"{args.cards} {cluster.cards.kind} cards, dashboard {cluster.dashboard_link}")
        cluster.reset_counters()
        before = client.run_on_scheduler(tasks_run)
        started = time.perf_counter()
        show = not args.no_progress
        results, anomalies, late = analyse(client, fields, base, show)
        seconds = time.perf_counter() - started
        figures = known_figures(results)
        size = sum(anomaly.nbytes for anomaly in anomalies)
        keep = args.anomalies or size <= SMALL
        write_results(client, results, anomalies, output / "results.zarr", keep, show)
        report = cluster.report()
        tasks = client.run_on_scheduler(tasks_run) - before
    return figures, report, seconds, tasks, results, late


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0; 2 for wrong input, 1 for a failure, 130 after an interrupt.
    """
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        run(parse_arguments(argv))
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return 130
    except (InputError, ConfigurationError) as exc:
        print(f"{PROGRAM}: {' '.join(str(exc).split())}", file=sys.stderr)
        return 2
    except (DaskascError, OSError, ImportError) as exc:
        print(f"{PROGRAM}: {type(exc).__name__}: {' '.join(str(exc).split())}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the climate example does: check, compute on the cards, write, print."""

from __future__ import annotations

import json
import logging
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

# what takes long to import is imported here, before there is anything to clean up
import dask
import numpy as np
import xarray as xr
from _climate_analysis import Period, check_base
from _climate_inputs import (
    FIRST_YEAR,
    LAST_YEAR,
    SHIPPED_YEARS,
    Axes,
    Scenario,
    find_axes,
    pick_variable,
    shipped_scenarios,
    synthetic_scenario,
    time_chunk,
)
from _climate_plot import draw
from _climate_progress import progress, tasks_run
from _climate_results import Staging, check_targets, known_figures, print_table
from dask.utils import format_bytes
from distributed import KilledWorker

import daskasc
from daskasc import xr as _accessor  # noqa: F401  (registers .npu)
from daskasc.cluster import ClusterOptions, LocalNPUCluster
from daskasc.errors import (
    ConfigurationError,
    DaskascError,
    DeviceUnavailableError,
    InputError,
)

# the anomaly field is as large as the input, so it is written on its own account up to this size
SMALL = 64 << 20
CHUNK_BYTES = 64 << 20

WRONG_INPUT = (InputError, ConfigurationError, DeviceUnavailableError)
FAILURES = (DaskascError, OSError, ImportError, KilledWorker)


class Field:
    """One scenario, opened: its field on the cards and what is known about it."""

    def __init__(self, scenario: Scenario, memory: int | None) -> None:
        ds = daskasc.open_zarr(scenario.store)
        name = pick_variable(ds, scenario)
        array = ds[name]
        if array.dtype.kind not in "iuf":
            held = {"b": "booleans", "c": "complex numbers", "M": "times", "m": "durations"}
            raise InputError(
                f"store {scenario.store}, variable {name}: it holds "
                f"{held.get(array.dtype.kind, 'text')} ({array.dtype}); give one of real numbers"
            )
        self.label = scenario.label
        self.what = f"store {scenario.store}, variable {name}"
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
            min(CHUNK_BYTES, (memory or CHUNK_BYTES * 16) // 16),
        )
        ds = daskasc.open_zarr(scenario.store, chunks={self.axes.time: steps}, variables=[name])
        self.array: xr.DataArray = ds[name].reset_coords(drop=True)
        self.years = self.array[self.axes.time].dt.year.values
        self.units = str(self.array.attrs.get("units", "1"))
        self.name = name


def compute(arrays: list[Any]) -> list[Any]:
    """Values of dask-backed DataArrays as DataArrays on the host."""
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

    late = formulas.late_period(base, fields[0].years)
    with progress(client, f"normals {base}", show):
        lazy = dask.persist(*(formulas.normals(f.array, f.axes, base) for f in fields))
        normals = compute(list(lazy))
        for field, normal in zip(fields, normals, strict=True):
            if not bool(normal.notnull().any()):
                raise InputError(
                    f"{field.what}: it has no valid value in the base period {base}; choose "
                    "another with --base"
                )
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


def write_results(
    client: Any,
    results: dict[str, xr.Dataset],
    anomalies: list[xr.DataArray],
    target: Path,
    with_anomalies: bool,
    show: bool,
) -> None:
    """Write one Zarr group a scenario."""
    writes = []
    for (label, result), anomaly in zip(results.items(), anomalies, strict=True):
        ds = result.assign(anomaly=anomaly) if with_anomalies else result
        writes.append(ds.npu.to_zarr(target, group=label, compute=False))
    with progress(client, "writing results.zarr", show):
        dask.compute(*writes)


def scenarios_of(args: Any, base: Period, cache: Path) -> list[Scenario]:
    """What to look at; made-up and shipped data are made where they are not there yet."""
    if args.input is not None:
        return [Scenario(args.variable or "input", args.input, args.variable)]
    if args.synthetic is not None:
        check_base(base, np.array([FIRST_YEAR, LAST_YEAR]), "--synthetic")
        return [synthetic_scenario(cache, args.synthetic)]
    check_base(base, np.array(SHIPPED_YEARS), "the shipped scenarios")
    return shipped_scenarios(cache)


def run(args: Any) -> None:
    """Do it all; results appear at the end, all of them."""
    started = time.perf_counter()
    base = Period.parse(args.base)
    output = Path(args.output).absolute()
    figures_file = None if args.json is None else Path(args.json).absolute()
    check_targets(output, figures_file)
    options = {"n_workers": args.cards, "device": args.device}
    if args.device_memory is not None:
        options["device_memory_limit"] = args.device_memory
    # refuses cards that are not there before data are made
    cards = ClusterOptions.make(**options).resolve()
    scenarios = scenarios_of(args, base, output / "cache")
    fields = [Field(scenario, args.device_memory) for scenario in scenarios]
    for field in fields:
        check_base(base, field.years, field.what)
        if not ((field.years >= base.first) & (field.years <= base.last)).any():
            raise InputError(f"{field.what}: no time is in the base period {base}")
    print(f"starting {cards.count} {cards.kind} cards ...", flush=True)
    options.update(dashboard_address=args.dashboard_address, silence_logs=logging.CRITICAL)
    with Staging() as staging:
        with tempfile.TemporaryDirectory(prefix="climate-normals-") as scratch:
            options["local_directory"] = scratch
            results, late, figures, summary = on_cards(args, options, fields, base, staging, output)
        picture = output / "climate_normals.png"
        draw(results, fields[0].axes, base, late, fields[0].units, staging.partial(picture))
        summary["seconds_total"] = round(time.perf_counter() - started, 3)
        if figures_file is not None:
            text = json.dumps(summary, indent=2, allow_nan=False) + "\n"
            staging.partial(figures_file).write_text(text)
        staging.commit()
    print_table(results, figures, base, late)
    peak = max(summary["peak_device_bytes"], default=0)
    print(
        f"\n  {summary['cards']} {summary['device']} cards, {summary['tasks']} tasks, "
        f"{summary['collectives']} collectives, {summary['seconds']:.1f} s\n"
        f"  read to cards {format_bytes(summary['bytes_host_to_device'])}, between cards "
        f"{format_bytes(summary['bytes_between_cards'])}, peak of a card {format_bytes(peak)}"
    )
    print(f"\n  picture  {picture}\n  results  {output / 'results.zarr'}")
    if figures_file is not None:
        print(f"  figures  {figures_file}")


def on_cards(
    args: Any,
    options: dict[str, Any],
    fields: list[Field],
    base: Period,
    staging: Staging,
    output: Path,
) -> tuple[dict[str, xr.Dataset], Period, dict[str, float | None], dict[str, Any]]:
    """Everything that needs the cluster.

    Returns
    -------
    results : dict of str to Dataset
    late : Period
    figures, summary : dict
        Figures about the climate; those and the figures about the run.
    """
    with LocalNPUCluster(**options) as cluster, cluster.get_client() as client:
        try:
            kind = cluster.cards.kind
            print(f"{args.cards} {kind} cards, dashboard {cluster.dashboard_link}", flush=True)
            cluster.reset_counters()
            before = client.run_on_scheduler(tasks_run)
            started = time.perf_counter()
            show = not args.no_progress
            results, anomalies, late = analyse(client, fields, base, show)
            seconds = time.perf_counter() - started
            keep = args.anomalies or sum(anomaly.nbytes for anomaly in anomalies) <= SMALL
            store = staging.partial(output / "results.zarr")
            write_results(client, results, anomalies, store, keep, show)
            report = cluster.report()
            tasks = client.run_on_scheduler(tasks_run) - before
        except KeyboardInterrupt:
            # closing the cluster is under way already, a second Ctrl-C must not cut that short
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: None)
            raise
    figures = known_figures(results)
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
    }
    return results, late, figures, summary

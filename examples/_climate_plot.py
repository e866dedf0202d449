"""The picture of the climate example: a map of the change and the series of all scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

COLOURS = ("#b2182b", "#2166ac", "#1b7837")
INK = "#222222"
SOFT = "#8a8a8a"


def draw(
    results: dict[str, xr.Dataset], axes: Any, base: Any, late: Any, units: str, target: Path
) -> None:
    """Write the PNG.

    Parameters
    ----------
    results : dict of str to Dataset
        One a scenario, with ``normals``, ``change`` (latitude, longitude), ``annual_anomaly`` and
        ``running_mean`` (year).
    axes, base, late
        Names of the dimensions, the base period and the period that the map shows.
    units : str
        Of the variable.
    target : Path
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    style = {
        "font.size": 10,
        "axes.edgecolor": SOFT,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlesize": 12,
    }
    with plt.rc_context(style):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(13.5, 5.4), width_ratios=(1.12, 1), layout="constrained"
        )
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
        label, first = next(iter(results.items()))
        _map(left, first, label, axes, base, late, units)
        _series(right, results, base, units)
        figure.savefig(target, dpi=160, facecolor="white", format="png")
        plt.close(figure)


def _map(
    ax: Any, result: xr.Dataset, label: str, axes: Any, base: Any, late: Any, units: str
) -> None:
    from matplotlib.colors import BoundaryNorm
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    change = result["change"].transpose(axes.latitude, axes.longitude)
    change = change.where(np.isfinite(change))
    lon, lat = change[axes.longitude].values, change[axes.latitude].values
    title = f"{label}: change {late} against {base}".replace("-", "\u2013")
    if not change.notnull().any():
        ax.set_title(title)
        ax.text(0.5, 0.5, "no values", transform=ax.transAxes, ha="center", color=SOFT)
        return
    largest = float(np.nanpercentile(np.abs(change.values), 99.5))
    step = _nice(largest / 12)
    count = max(2, int(np.ceil(largest / step)))
    levels = np.arange(-count, count + 1) * step
    mesh = ax.pcolormesh(
        lon,
        lat,
        change.values,
        cmap="RdBu_r",
        norm=BoundaryNorm(levels, 256),
        shading="nearest",
        rasterized=True,
    )
    _isotherms(ax, result["normals"].transpose(axes.latitude, axes.longitude), lon, lat, units)
    middle = float(np.clip(np.abs(lat.mean()), 0, 75))
    stretch = 1 / np.cos(np.deg2rad(middle))
    wide = (lon.max() - lon.min()) / max(1e-9, lat.max() - lat.min())
    ax.set_aspect(stretch if wide / stretch < 2.2 else "auto")
    ax.set_anchor("N")
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 3, 6, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 3, 6, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(_longitude))
    ax.yaxis.set_major_formatter(FuncFormatter(_latitude))
    ax.set_title(title)
    # the colours stay centred at zero; a half that no value reaches is not shown
    lowest, highest = float(np.nanmin(change.values)), float(np.nanmax(change.values))
    below, above = lowest < levels[0], highest > levels[-1]
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
    bar = ax.figure.colorbar(
        mesh,
        ax=ax,
        orientation="horizontal",
        pad=0.03,
        shrink=0.92,
        aspect=38,
        extend=extend,
        ticks=levels[:: max(1, len(levels) // 14)] if lowest < 0 else levels,
    )
    if lowest >= 0:
        bar.ax.set_xlim(0, levels[-1])
    elif highest <= 0:
        bar.ax.set_xlim(levels[0], 0)
    bar.set_label(f"difference of the means ({units})")
    bar.outline.set_edgecolor(SOFT)


def _isotherms(ax: Any, normal: Any, lon: np.ndarray, lat: np.ndarray, units: str) -> None:
    """Thin lines of the normals, which tell where on Earth one is."""
    from matplotlib.patheffects import withStroke

    values = normal.values
    if units == "K":
        values = values - 273.15
    if min(values.shape) < 2 or not np.isfinite(values).all() or np.ptp(values) == 0:
        return
    step = _nice(np.ptp(values) / 6)
    levels = np.arange(np.floor(values.min() / step) + 1, np.ceil(values.max() / step)) * step
    if len(levels) < 2:
        return
    lines = ax.contour(lon, lat, values, levels=levels, colors=INK, linewidths=0.7, alpha=0.75)
    unit = "\u00b0C" if units == "K" else units
    labels = ax.clabel(lines, fmt=lambda v: f"{v:g} {unit}", fontsize=7.5, inline_spacing=3)
    for label in labels:
        label.set_path_effects([withStroke(linewidth=2, foreground="white", alpha=0.7)])


def _series(ax: Any, results: dict[str, xr.Dataset], base: Any, units: str) -> None:
    label = f"base period {base}".replace("-", "\u2013")
    ax.axvspan(base.first, base.last + 1, color="#ececec", zorder=0, lw=0, label=label)
    ax.axhline(0, color=SOFT, lw=0.8, zorder=1)
    for colour, (label, result) in zip(COLOURS, results.items(), strict=False):
        annual, smooth = result["annual_anomaly"], result["running_mean"]
        ax.plot(annual["year"], annual, color=colour, lw=0.8, alpha=0.38)
        ax.plot(smooth["year"], smooth, color=colour, lw=2.4, label=f"{label}, 10-year mean")
        end = smooth.dropna("year")[-1:]
        if end.size:
            ax.annotate(
                f"{label}\n{float(end[0]):+.1f} {units}",
                (float(end["year"][0]), float(end[0])),
                xytext=(10, 0),
                textcoords="offset points",
                color=colour,
                weight="bold",
                va="center",
            )
    ax.plot([], [], color=SOFT, lw=0.8, label="single years")
    ax.set_title("Regional mean, weighted by area")
    ax.set_ylabel(f"anomaly against {base} ({units})".replace("-", "\u2013"))
    ax.set_xlabel("year")
    years = next(iter(results.values()))["year"].values
    first, last = float(years.min()), float(years.max())
    span = max(1.0, last - first)
    ax.set_xlim(first - 0.02 * span, last + 0.13 * span)
    ax.grid(axis="y", color="#dddddd", lw=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", framealpha=0.9, edgecolor="none")


def _nice(value: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    if not np.isfinite(value) or value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= value * 0.999))


def _longitude(value: float, _: Any = None) -> str:
    value = (value + 180) % 360 - 180
    if abs(value) in (0, 180):
        return f"{abs(value):g}\u00b0"
    return f"{abs(value):g}\u00b0{'E' if value > 0 else 'W'}"


def _latitude(value: float, _: Any = None) -> str:
    if value == 0:
        return "0\u00b0"
    return f"{abs(value):g}\u00b0{'N' if value > 0 else 'S'}"

"""The formulas of the climate example, in plain xarray; the chunks' library does not matter.

Two passes over the data, so that nothing but reduced fields stays in memory:

1. normals: mean over the base period, a grid point
2. anomalies against them, and from those: weighted regional mean, trend, late-period mean

All means skip missing values. A straight line through the anomalies y at times t (decades, centred)
has the slope (n*Sty - St*Sy) / (n*Stt - St*St); where no value, or every value, of a grid point is
missing, n, St and Stt are known, else a third pass counts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from daskasc.errors import InputError

if TYPE_CHECKING:
    from _climate_inputs import Axes


@dataclass(frozen=True)
class Period:
    """Years, both included."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Period:
        """Read "1961-1990"."""
        try:
            first, last = (int(part) for part in text.split("-"))
        except ValueError:
            raise InputError(f'--base is {text!r}; give two years such as "1961-1990"') from None
        if first > last:
            raise InputError(f"--base is {text!r}; the first year must not be after the last")
        return cls(first, last)

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def slice(self) -> slice:
        """For ``sel(time=...)``."""
        return slice(f"{self.first:04d}", f"{self.last:04d}")


def check_base(base: Period, years: np.ndarray, what: str) -> None:
    """Refuse a base period that the data do not cover."""
    if base.first < years.min() or base.last > years.max():
        raise InputError(
            f"{what}: the base period {base} is outside the data ({years.min()}-{years.max()}); "
            "choose another with --base"
        )


def late_period(base: Period, years: np.ndarray) -> Period:
    """The last years of the data: as many as the base period has, not reaching into it."""
    first, last = int(years.min()), int(years.max())
    after = last - base.last
    return Period(max(first, last - min(len(base), after if after > 0 else 10) + 1), last)


def normals(field: xr.DataArray, axes: Axes, base: Period) -> xr.DataArray:
    """Mean over the base period."""
    return field.sel({axes.time: base.slice}).mean(axes.time)


def weights(field: xr.DataArray, axes: Axes) -> xr.DataArray:
    """cos(latitude), float32."""
    return np.cos(np.deg2rad(field[axes.latitude])).astype("f4").clip(min=0)


def decades(field: xr.DataArray, axes: Axes) -> xr.DataArray:
    """Time in decades from the middle of the data, float32, under the chunks of the field."""
    year = field[axes.time].dt.decimal_year
    centred = ((year - year.mean()) / 10).astype("f4")
    return centred.chunk({axes.time: field.variable.chunksizes[axes.time]})


def reduced(
    field: xr.DataArray, normal: xr.DataArray, axes: Axes, late: Period
) -> dict[str, xr.DataArray]:
    """Second pass: what is left of the anomalies.

    Missing values become 0 once, and are counted; xarray's own skipping would make a field of
    zeros for each of the sums.
    """
    anomaly = field - normal
    valid = anomaly.notnull()
    filled = anomaly.fillna(0)
    weight = weights(field, axes)
    region = [axes.latitude, axes.longitude]
    after = {axes.time: late.slice}
    return {
        "series_sum": (filled * weight).sum(region, skipna=False),
        "series_weight": (valid * weight).sum(region, skipna=False),
        "count": valid.sum(axes.time),
        "sum_y": filled.sum(axes.time, skipna=False),
        "sum_ty": (filled * decades(field, axes)).sum(axes.time, skipna=False),
        "late_sum": filled.sel(after).sum(axes.time, skipna=False),
        "late_count": valid.sel(after).sum(axes.time),
    }


def change(parts: dict[str, xr.DataArray]) -> xr.DataArray:
    """Mean anomaly of the late period; NaN where there is no value."""
    return (parts["late_sum"] / parts["late_count"].where(parts["late_count"] > 0)).astype("f4")


def time_sums(field: xr.DataArray, axes: Axes) -> dict[str, xr.DataArray]:
    """Third pass, for grid points where some values are missing."""
    valid = field.notnull()
    time = decades(field, axes)
    return {
        "sum_t": (valid * time).sum(axes.time, skipna=False),
        "sum_tt": (valid * time**2).sum(axes.time, skipna=False),
    }


def has_gaps(count: np.ndarray, length: int) -> bool:
    """Whether some grid point has some, but not all, values."""
    return bool(((count > 0) & (count < length)).any())


def slope(
    parts: dict[str, np.ndarray], time: np.ndarray, sums: dict[str, np.ndarray] | None
) -> np.ndarray:
    """Trend a decade from the sums; NaN where less than two values are there."""
    n = parts["count"].astype("f8")
    time = time.astype("f8")
    if sums is None:
        share = n / len(time)  # 0 or 1
        st, stt = share * time.sum(), share * (time**2).sum()
    else:
        st, stt = sums["sum_t"].astype("f8"), sums["sum_tt"].astype("f8")
    sy, sty = parts["sum_y"].astype("f8"), parts["sum_ty"].astype("f8")
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (n * sty - st * sy) / (n * stt - st * st)
    return np.where(n >= 2, found, np.nan).astype("f4")


def weighted_mean(field: xr.DataArray, axes: Axes) -> float:
    """Regional mean of one field on the host."""
    weight = weights(field, axes).astype("f8")
    valid = field.notnull()
    total = float((valid * weight).sum())
    return float((field * weight).sum()) / total if total > 0 else float("nan")


def annual(series: xr.DataArray, time: str) -> xr.DataArray:
    """Means of the years that are (nearly) complete."""
    years = series[time].dt.year.rename("year")
    grouped = series.groupby(years)
    counts = series.notnull().groupby(years).sum()
    return grouped.mean().where(counts >= 0.9 * counts.median(), drop=True)


def running_mean(series: xr.DataArray, years: int = 10) -> xr.DataArray:
    """Centred running mean of annual values; NaN at the ends, and where years are missing."""
    if series.sizes["year"] < years:
        return xr.full_like(series, np.nan)
    return series.rolling(year=years, center=True).mean()


def value_of(series: xr.DataArray, first: int, last: int | None = None) -> float | None:
    """Mean of the annual values of some years, None where the data do not have them all."""
    wanted = np.arange(first, (last or first) + 1)
    if not np.isin(wanted, series["year"].values).all():
        return None
    return float(series.sel(year=wanted).mean())


def to_host(values: Any) -> np.ndarray:
    """Result of a computation as NumPy."""
    return np.asarray(values.asnumpy() if hasattr(values, "asnumpy") else values)

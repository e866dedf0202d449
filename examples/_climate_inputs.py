"""Data for the climate example: shipped scenarios, the user's own store, or a made-up world.

Whatever is made here is made once: under a name that ends in ``.partial``, which is renamed when
all of it is written, so that an interrupted run leaves nothing that a later run would take.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from _climate_results import Staging
from dask.utils import format_bytes

from daskasc.errors import InputError

SHIPPED_YEARS = (1860, 2099)
FIRST_YEAR, LAST_YEAR = 1951, 2020
SEED = 1961
QUANTUM = 8  # values are rounded to 1/8 K, as packed archives do: zstd makes a third of them
LEAST_CHUNKS = 16
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class Scenario:
    """One store to look at: what to call it, where it is, and the variable in it."""

    label: str
    store: str
    variable: str | None


@dataclass(frozen=True)
class Axes:
    """Names of the dimensions of a variable."""

    time: str
    latitude: str
    longitude: str


def once(target: Path, make: Callable[[Path], None]) -> Path:
    """Make `target` by `make(temporary path)` unless it is there."""
    if target.exists():
        return target
    with Staging() as staging:
        make(staging.partial(target))
        staging.commit()
    return target


def shipped_scenarios(cache: Path) -> list[Scenario]:
    """Air temperature 1860-2099 over North America under A1B and E1, as Zarr stores."""
    found = importlib.util.find_spec("iris_sample_data")
    if found is None or not found.submodule_search_locations:
        raise InputError(
            "the sample data are not installed: pip install iris-sample-data, or give your own "
            "data with --input"
        )
    folder = Path(next(iter(found.submodule_search_locations))) / "sample_data"
    scenarios = []
    for label in ("A1B", "E1"):
        source = folder / f"{label}_north_america.nc"
        if not source.exists():
            raise InputError(f"iris-sample-data has no {source.name} (looked in {folder})")
        store = once(
            cache / f"{source.stem}.zarr",
            lambda partial, source=source: convert(source, "air_temperature", partial),
        )
        scenarios.append(Scenario(label, str(store), "air_temperature"))
    return scenarios


def convert(source: Path, variable: str, target: Path) -> None:
    """NetCDF to Zarr format 3, calendar and attributes kept, 15 years a chunk."""
    import xarray as xr

    with xr.open_dataset(source) as ds:
        ds = ds[[variable]].load()
    encoding = {variable: {"chunks": (15, *ds[variable].shape[1:])}}
    for name in ds.variables:
        units = {
            key: value
            for key, value in ds[name].encoding.items()
            if key in ("units", "calendar", "dtype")
        }
        ds[name].encoding = units
    ds.to_zarr(target, mode="w-", zarr_format=3, consolidated=False, encoding=encoding)


def synthetic_scenario(cache: Path, size: int) -> Scenario:
    """Daily temperature of a made-up world, `size` bytes of float32, written block by block."""
    shape = synthetic_shape(size)
    days, ny, nx = shape
    # what is rounded to 1/8 K packs about 2.95 : 1
    there = next(path for path in (cache, *cache.parents) if path.exists())
    free = shutil.disk_usage(there).free
    target = cache / f"synthetic-{days}x{ny}x{nx}-v2.zarr"
    if not target.exists():
        if size / 2.5 > free:
            raise InputError(
                f"--synthetic: {format_bytes(size)} need about {format_bytes(int(size / 2.95))} of "
                f"disk, {format_bytes(free)} are free in {there}; take a smaller size or another "
                "--output"
            )
        print(f"making (once) {format_bytes(size)} of daily temperature ...", flush=True)
    once(target, lambda partial: write_synthetic(partial, shape))
    return Scenario("synthetic", str(target), "temperature")


def synthetic_shape(size: int) -> tuple[int, int, int]:
    """Days, latitudes and longitudes of a grid of about `size` bytes of float32."""
    days = (date(LAST_YEAR + 1, 1, 1) - date(FIRST_YEAR, 1, 1)).days
    ny = round((size / 4 / days / 2) ** 0.5)
    if ny < 4:
        least = 4 * days * 2 * 16
        raise InputError(
            f"--synthetic: {size} bytes are too few for {days} days on a global grid; give at "
            f"least {-(-least // (1 << 20))} MiB"
        )
    return days, ny, 2 * ny


def write_synthetic(target: Path, shape: tuple[int, int, int]) -> None:
    """Write the made-up world; memory stays below a few blocks of 16 MiB."""
    import xarray as xr
    import zarr

    days, ny, nx = shape
    block = int(np.clip(_BLOCK_BYTES // (4 * ny * nx), 1, -(-days // 32)))
    latitude = (np.arange(ny) + 0.5) * 180 / ny - 90
    longitude = np.arange(nx) * 360 / nx
    time = np.datetime64(f"{FIRST_YEAR}-01-01", "ns") + np.arange(days) * np.timedelta64(1, "D")
    coordinates = xr.Dataset(
        coords={
            "time": ("time", time, {"standard_name": "time"}),
            "latitude": (
                "latitude",
                latitude.astype("f4"),
                {"standard_name": "latitude", "units": "degrees_north"},
            ),
            "longitude": (
                "longitude",
                longitude.astype("f4"),
                {"standard_name": "longitude", "units": "degrees_east"},
            ),
        },
        attrs={"title": f"A made-up world, seed {SEED}; no observation or model"},
    )
    coordinates.time.encoding = {"units": f"days since {FIRST_YEAR}-01-01", "dtype": "i4"}
    coordinates.to_zarr(target, mode="w-", zarr_format=3, consolidated=False)
    array = zarr.create_array(
        store=target,
        name="temperature",
        shape=shape,
        chunks=(block, ny, nx),
        dtype="f4",
        fill_value=np.nan,
        zarr_format=3,
        dimension_names=("time", "latitude", "longitude"),
        attributes={"units": "K", "long_name": "air temperature (made up)"},
    )
    world = World(latitude, longitude)
    for first in range(0, days, block):
        last = min(first + block, days)
        array[first:last] = world.temperature(first, last)


class World:
    """A climate that depends on place and day alone, so any block of it can be made anew.

    Parameters
    ----------
    latitude, longitude : ndarray
        Degrees, 1-D.
    """

    def __init__(self, latitude: np.ndarray, longitude: np.ndarray) -> None:
        lat, lon = np.deg2rad(latitude)[:, None], np.deg2rad(longitude)[None, :]
        land = 0.5 + 0.5 * np.tanh(3 * (np.sin(2 * lon + np.sin(3 * lat)) * np.cos(lat) - 0.2))
        self.mean = (301 - 42 * np.sin(lat) ** 2 - 3 * land).astype("f4")
        self.season = (-(4 + 14 * land) * np.sin(lat)).astype("f4")
        self.warming = (0.12 + 0.10 * land + 0.25 * np.clip(np.sin(lat), 0, 1) ** 3).astype("f4")

    def temperature(self, first: int, last: int) -> np.ndarray:
        """Kelvin on days `first` to `last` (excluded), float32 (day, latitude, longitude)."""
        day = np.arange(first, last)
        year = day / 365.25
        cycle = np.cos(2 * np.pi * (year - 0.07)).astype("f4")[:, None, None]
        decades = (np.maximum(year - 19, 0) / 10).astype("f4")[:, None, None]
        values = np.stack([self._weather(int(d)) for d in day])
        values += self.mean
        values += self.season * cycle
        values += self.warming * decades
        values += self._years(day)
        values *= QUANTUM
        np.rint(values, out=values)
        values /= QUANTUM
        return values

    def _years(self, day: np.ndarray) -> np.ndarray:
        """Warm and cold years, standard deviation about 0.15 K."""
        years = (day / 365.25).astype(int)
        words = {
            int(y): int(np.random.Philox(key=[SEED, 10**7 + int(y)]).random_raw())
            for y in np.unique(years)
        }
        shares = [sum((words[int(y)] >> shift) & 255 for shift in (0, 8, 16, 24)) for y in years]
        return ((np.asarray(shares) - 510) * 0.001).astype("f4")[:, None, None]

    def _weather(self, day: int) -> np.ndarray:
        """Noise of one day: sums of two random bytes, standard deviation 1.5 K.

        Made from the raw integers of a counter-based generator with the day as its key, so it is
        the same on every machine and for every chunking.
        """
        count = self.mean.size
        words = np.random.Philox(key=[SEED, day]).random_raw(-(-2 * count // 8))
        data = words.astype("<u8").view(np.uint8)
        pairs = data[:count].astype("i2") + data[count : 2 * count] - 255
        return (pairs.astype("f4") * np.float32(1.5 / 104.5)).reshape(self.mean.shape)


def pick_variable(ds: Any, scenario: Scenario) -> str:
    """Name of the variable to look at: the one wanted, or the only one with three dimensions."""
    if scenario.variable is not None:
        if scenario.variable not in ds.data_vars:
            raise InputError(
                f"store {scenario.store}: no such variable: {scenario.variable}; it has "
                f"{', '.join(sorted(map(str, ds.data_vars))) or 'none'}"
            )
        return scenario.variable
    names = [str(n) for n, v in ds.data_vars.items() if v.ndim == 3 and v.dtype.kind in "iuf"]
    if len(names) != 1:
        raise InputError(
            f"store {scenario.store}: give --variable, one of: "
            f"{', '.join(names) or 'nothing suitable is there'}"
        )
    return names[0]


def find_axes(array: Any, store: str) -> Axes:
    """Find time, latitude and longitude among the dimensions of a variable.

    Raises
    ------
    InputError
        One of them is missing or empty, there is another dimension, or times do not increase.
    """
    what = f"store {store}, variable {array.name}"
    for dim, size in array.sizes.items():
        if size == 0:
            raise InputError(f"{what}: it is empty: its dimension {dim!r} has length 0")
    found = {}
    for axis, test in (
        ("time", _is_time),
        ("latitude", _is_latitude),
        ("longitude", _is_longitude),
    ):
        names = [str(dim) for dim in array.dims if dim in array.coords and test(array[dim])]
        if len(names) != 1:
            if axis == "time":
                _check_decoded(array, what)
            raise InputError(
                f"{what}: no {axis} axis among its dimensions ({', '.join(map(str, array.dims))}); "
                f"it needs a one-dimensional coordinate for {axis}"
                + (", in CF units such as days since 1900-01-01" if axis == "time" else "")
            )
        found[axis] = names[0]
    if array.ndim != 3:
        extra = next(str(dim) for dim in array.dims if dim not in found.values())
        raise InputError(f"{what}: it has a dimension {extra!r} as well; select one level first")
    _check_times(array[found["time"]].to_index(), what)
    return Axes(**found)


def _check_decoded(array: Any, what: str) -> None:
    """Refuse a dimension that is meant to be time and has plain numbers."""
    for dim in array.dims:
        attrs = array[dim].attrs if dim in array.coords else {}
        meant = str(dim).lower() in ("time", "t") or attrs.get("standard_name") == "time"
        if meant and not _is_time(array[dim]):
            units = f"units {attrs['units']!r}" if "units" in attrs else "no units"
            raise InputError(
                f"{what}: dimension {dim!r} has no times that can be decoded ({units}); it needs "
                "CF units such as days since 1900-01-01"
            )


def _check_times(times: Any, what: str) -> None:
    """Refuse times that are missing or do not increase strictly; `times` is a pandas index."""
    missing = np.flatnonzero(times.isna())
    if missing.size:
        raise InputError(
            f"{what}: {missing.size} of its {len(times)} times are missing (NaT), the first at "
            f"position {missing[0]}; leave those steps out first"
        )
    wrong = np.flatnonzero(np.asarray(times[1:] <= times[:-1]))
    if wrong.size:
        at = int(wrong[0])
        before, after = times[at], times[at + 1]
        if before == after:
            raise InputError(
                f"{what}: the time {after} is there twice (positions {at} and {at + 1}); times "
                "must increase strictly"
            )
        raise InputError(
            f"{what}: its times do not increase: {after} (position {at + 1}) comes after "
            f"{before}; sort them first"
        )


def _is_time(coordinate: Any) -> bool:
    values = coordinate.to_index()
    return coordinate.dtype.kind == "M" or type(values).__name__ == "CFTimeIndex"


def _is_latitude(coordinate: Any) -> bool:
    units = str(coordinate.attrs.get("units", ""))
    return (
        coordinate.attrs.get("standard_name") == "latitude"
        or re.fullmatch(r"degrees?_?(n|north)", units, re.I) is not None
        or str(coordinate.name).lower() in ("lat", "latitude")
    )


def _is_longitude(coordinate: Any) -> bool:
    units = str(coordinate.attrs.get("units", ""))
    return (
        coordinate.attrs.get("standard_name") == "longitude"
        or re.fullmatch(r"degrees?_?(e|east)", units, re.I) is not None
        or str(coordinate.name).lower() in ("lon", "longitude")
    )


def time_chunk(length: int, stored: int, bytes_a_step: int, limit: int) -> int:
    """Time steps a dask chunk: a multiple of the stored chunk.

    There are at least 16 chunks, if the stored ones allow it. How many cards there are must not
    matter: other chunks are other partial sums, which round to other bits.

    Parameters
    ----------
    length, stored : int
        Time steps of the data, and of a stored chunk.
    bytes_a_step : int
        Bytes of one time step of a chunk.
    limit : int
        Bytes that a chunk should not exceed.
    """
    many = max(1, length // (LEAST_CHUNKS * stored))
    small = max(1, limit // (bytes_a_step * stored))
    return min(stored * min(many, small), max(stored, length))

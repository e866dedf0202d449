"""The parts of the climate example that need no cluster."""

from __future__ import annotations

import dask
import numpy as np
import pytest
import xarray as xr
import zarr

from daskasc.errors import InputError


@pytest.fixture
def field():
    time = xr.date_range("1960-01-01", "1979-12-01", freq="MS", calendar="360_day", use_cftime=True)
    rng = np.random.default_rng(3)
    month = np.arange(time.size)
    values = 280 + 0.05 * month[:, None, None] / 120 + rng.normal(size=(time.size, 4, 6))
    return xr.DataArray(
        values.astype("f4"),
        coords={"t": time, "lat": [-60.0, -20.0, 20.0, 60.0], "lon": np.arange(6.0)},
        dims=("t", "lat", "lon"),
        name="tas",
        attrs={"units": "K"},
    )


@pytest.fixture
def axes():
    from _climate_inputs import Axes

    return Axes("t", "lat", "lon")


def analyse(field, axes, late):
    """The formulas on NumPy chunks."""
    import _climate_analysis as formulas

    lazy = field.chunk(t=60)
    normal = formulas.normals(lazy, axes, formulas.Period(1961, 1970)).compute()
    parts = formulas.reduced(lazy, normal, axes, late)
    with dask.config.set(scheduler="synchronous"):
        parts = {name: part.compute() for name, part in parts.items()}
        sums = {n: s.values for n, s in formulas.time_sums(lazy, axes).items()}
    return normal, parts, sums


@pytest.mark.parametrize("gaps", [False, True])
def test_formulas_agree_with_direct_ones(field, axes, gaps):
    import _climate_analysis as formulas

    if gaps:
        field = field.copy()
        field[5:40, 1, 2] = np.nan
        field[:, 3, 3] = np.nan
    late = formulas.Period(1970, 1979)
    normal, parts, sums = analyse(field, axes, late)
    exact = field.astype("f8")
    base = exact.sel(t=slice("1961", "1970")).mean("t")
    np.testing.assert_allclose(normal, base, rtol=1e-6)
    count = parts["count"].values
    assert formulas.has_gaps(count, field.sizes["t"]) is gaps
    years = field.t.dt.decimal_year.values
    decades = formulas.decades(field.chunk(t=60), axes).values
    np.testing.assert_allclose(decades, (years - years.mean()) / 10, atol=1e-5)
    numbers = {name: part.values for name, part in parts.items()}
    slope = formulas.slope(numbers, decades, sums if gaps else None)
    for i, j in np.ndindex(4, 6):
        good = field[:, i, j].notnull().values
        if not good.any():
            assert np.isnan(slope[i, j])
            continue
        expected = np.polyfit(years[good] / 10, field.values[good, i, j].astype("f8"), 1)[0]
        assert slope[i, j] == pytest.approx(expected, abs=2e-4)
    weight = np.cos(np.deg2rad(field.lat))
    direct = (exact - base).weighted(weight).mean(("lat", "lon"))
    np.testing.assert_allclose(parts["series_sum"] / parts["series_weight"], direct, atol=1e-4)
    change = exact.sel(t=slice("1970", "1979")).mean("t") - base
    np.testing.assert_allclose(formulas.change(parts), change, atol=2e-4)
    expected = float(base.weighted(weight).mean())
    assert formulas.weighted_mean(normal, axes) == pytest.approx(expected, rel=1e-6)


def test_annual_means_leave_incomplete_years_out(field):
    import _climate_analysis as formulas

    series = field[3:].mean(("lat", "lon"))
    annual = formulas.annual(series, "t")
    assert annual.year.values.tolist() == list(range(1961, 1980))
    expected = float(series.sel(t="1965").mean())
    assert formulas.value_of(annual, 1965) == pytest.approx(expected)
    assert formulas.value_of(annual, 1960) is None
    assert formulas.value_of(annual, 1970, 1979) == pytest.approx(float(annual[-10:].mean()))
    smooth = formulas.running_mean(annual)
    assert int(smooth.notnull().sum()) == annual.size - 9


def test_periods():
    from _climate_analysis import Period, check_base, late_period

    base = Period.parse("1961-1990")
    assert (len(base), str(base), base.slice) == (30, "1961-1990", slice("1961", "1990"))
    for text in ("1961", "a-b", "1990-1961"):
        with pytest.raises(InputError, match="--base is"):
            Period.parse(text)
    assert late_period(base, np.arange(1860, 2100)) == Period(2070, 2099)
    assert late_period(base, np.arange(1950, 2001)) == Period(1991, 2000)
    assert late_period(base, np.arange(1950, 1991)) == Period(1981, 1990)
    assert late_period(Period(1990, 1990), np.array([1990])) == Period(1990, 1990)
    with pytest.raises(InputError, match=r"1961-1990 is outside the data \(1970-2000\)"):
        check_base(base, np.arange(1970, 2001), "store x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop_vars("t").rename(t="run"), "no time axis"),
        (
            lambda f: f.assign_coords(t=("t", np.arange(f.sizes["t"]), {"units": "days"})),
            r"dimension 't' has no times that can be decoded \(units 'days'\)",
        ),
        (lambda f: f.drop_vars("t"), r"dimension 't' has no times .* \(no units\)"),
        (lambda f: f[:0], "its dimension 't' has length 0"),
        (
            lambda f: f.isel(t=[0, 1, 2, 2, 3]),
            r"the time 1960-03-01 00:00:00 is there twice \(positions 2 and 3\)",
        ),
        (
            lambda f: f[:3].assign_coords(t=np.array(["2000", "NaT", "2001"], "M8[ns]")),
            r"1 of its 3 times are missing \(NaT\), the first at position 1",
        ),
        (lambda f: f.rename(lat="y"), "no latitude axis"),
        (lambda f: f.rename(lon="x"), "no longitude axis"),
        (lambda f: f.expand_dims("level"), "dimension 'level' as well"),
        (lambda f: f[::-1], r"do not increase: 1979-11-01 .* \(position 1\) comes after 1979-12"),
    ],
)
def test_axes_that_are_missing(field, change, message):
    from _climate_inputs import find_axes

    with pytest.raises(InputError, match=message):
        find_axes(change(field), "s.zarr")


def test_axes_by_standard_name_or_units(field, axes):
    from _climate_inputs import find_axes

    assert find_axes(field, "s") == axes
    renamed = field.rename(lat="y", lon="x")
    renamed.y.attrs["units"] = "degrees_north"
    renamed.x.attrs["standard_name"] = "longitude"
    assert find_axes(renamed, "s") == type(axes)("t", "y", "x")


def test_variable_is_picked_when_it_is_the_only_one(field):
    from _climate_inputs import Scenario, pick_variable

    ds = field.to_dataset().assign(flag=("lat", [1, 2, 3, 4]))
    assert pick_variable(ds, Scenario("", "s", None)) == "tas"
    with pytest.raises(InputError, match="no such variable: pr; it has flag, tas"):
        pick_variable(ds, Scenario("", "s", "pr"))
    with pytest.raises(InputError, match="give --variable, one of: tas, twice"):
        pick_variable(ds.assign(twice=ds.tas * 2), Scenario("", "s", None))


@pytest.mark.parametrize(
    ("length", "stored", "limit", "expected"),
    [
        (240, 15, 1 << 30, 15),
        (240, 240, 1 << 30, 240),
        (25568, 100, 1 << 30, 1500),
        (25568, 100, 250_000, 200),
        (10, 15, 1, 15),
    ],
)
def test_time_chunks_give_every_card_work(length, stored, limit, expected):
    from _climate_inputs import time_chunk

    assert time_chunk(length, stored, 1000, limit) == expected


def test_chunks_do_not_depend_on_the_cards():
    import inspect

    from _climate_inputs import time_chunk
    from _climate_job import Field

    for function in (time_chunk, Field.__init__):
        assert not [name for name in inspect.signature(function).parameters if "card" in name]


def test_made_up_world_is_the_same_whatever_the_blocks():
    from _climate_inputs import World

    world = World(np.linspace(-80, 80, 5), np.arange(0, 360, 36.0))
    whole = world.temperature(100, 500)
    assert whole.dtype == np.float32
    np.testing.assert_array_equal(whole[50:90], world.temperature(150, 190))
    np.testing.assert_array_equal(whole, np.round(whole * 8) / 8)
    assert whole[7, 2, 3] == pytest.approx(303.0, abs=6)


def test_made_up_world_packs_about_three_to_one(tmp_path):
    from _climate_inputs import synthetic_shape, write_synthetic

    days, ny, nx = synthetic_shape(2 << 30)
    assert days * ny * nx * 4 == pytest.approx(2 << 30, rel=0.02)
    write_synthetic(tmp_path / "w", (365, 20, 40))
    array = zarr.open_array(tmp_path / "w", path="temperature", mode="r")
    assert 2.6 < array.nbytes / array.nbytes_stored() < 3.4
    with xr.open_zarr(tmp_path / "w", consolidated=False, chunks=None) as ds:
        assert str(ds.time.values[-1])[:10] == "1951-12-31"
    with pytest.raises(InputError, match="give at least 4 MiB"):
        synthetic_shape(1000)


def test_results_appear_together_or_not_at_all(tmp_path):
    from _climate_results import Staging

    deep, store = tmp_path / "a" / "b" / "file", tmp_path / "store"
    with Staging() as staging:
        staging.partial(deep).write_text("new")
    assert list(tmp_path.iterdir()) == []
    store.mkdir()
    (store / "old").write_text("")
    with Staging() as staging:
        staging.partial(deep).write_text("new")
        partial = staging.partial(store)
        partial.mkdir()
        (partial / "new").write_text("")
        assert not deep.exists()
        staging.commit()
    assert deep.read_text() == "new"
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == [
        "a",
        "a/b",
        "a/b/file",
        "store",
        "store/new",
    ]


def test_what_is_made_once_is_kept_and_failures_leave_nothing(tmp_path):
    from _climate_inputs import once

    def fail(partial):
        partial.mkdir()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        once(tmp_path / "a", fail)
    assert list(tmp_path.iterdir()) == []
    once(tmp_path / "a", lambda partial: partial.mkdir())
    once(tmp_path / "a", fail)


def test_picture(field, axes, tmp_path):
    import _climate_analysis as formulas
    from _climate_plot import draw

    base, late = formulas.Period(1961, 1970), formulas.Period(1970, 1979)
    normal, parts, _ = analyse(field, axes, late)
    annual = formulas.annual(parts["series_sum"] / parts["series_weight"], "t")
    ds = xr.Dataset(
        {
            "normals": normal,
            "change": formulas.change(parts),
            "annual_anomaly": annual,
            "running_mean": formulas.running_mean(annual),
        }
    )
    draw({"A": ds, "B": ds}, axes, base, late, "K", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"

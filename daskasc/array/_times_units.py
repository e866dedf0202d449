"""Units of time: counts of one unit as counts of another, on int64 tensors.

An element of datetime64 or timedelta64 is a count of the dtype's unit, its *ticks*; the least
integer is NaT. A conversion is planned once for two dtypes, as steps from left to right::

    M8[25s] -> M8[2M]     ticks * 25 / 86400      days since 1970, rounded down
                          months of these days    civil calendar
                          months / 2              rounded down

Only dates know the calendar, and only between months or years and the shorter units. As NumPy
does, timedelta64 counts a year as 365.2425 days, a product that leaves 64 bits wraps, and a change
between dates and differences keeps the ticks whatever the units. Ratios are exact; NumPy's own wrap
for a few, such as m8[2M] to m8[ns].
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from daskasc.array._dtypes import torch

NAT = -(2**63)
Step = Callable[[Any], Any]

_DAY = Fraction(86400)
_SECONDS: dict[str, Fraction] = {
    "Y": _DAY * 146097 / 400,
    "M": _DAY * 146097 / 4800,
    "W": _DAY * 7,
    "D": _DAY,
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    **{
        unit: Fraction(1, 1000**n) for n, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), 1)
    },
}
_MONTHS = {"Y": 12, "M": 1}
# days from March 1 of the year 0 to January 1, 1970, and months from the former to January 1970
_DAYS_BEFORE, _MONTHS_BEFORE = 719468, 1970 * 12 - 2


def is_nat(ticks: Any) -> Any:
    """Where a tensor of ticks is NaT."""
    return ticks == NAT


def convert(ticks: Any, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    """Ticks of dtype `target` for ticks of dtype `source`; the same tensor where nothing changes.

    Raises
    ------
    OverflowError
        The ratio of the units leaves 64 bits (weeks to attoseconds), as NumPy raises it.
    """
    found = steps(source, target)
    if not found:
        return ticks
    result = ticks
    for step in found:
        result = step(result)
    return result.masked_fill_(is_nat(ticks), NAT)


@functools.lru_cache(maxsize=1024)
def steps(source: np.dtype[Any], target: np.dtype[Any]) -> tuple[Step, ...]:
    """Steps of a conversion."""
    (unit, count), (other, times) = np.datetime_data(source), np.datetime_data(target)
    if source.kind != target.kind or "generic" in (unit, other):
        return ()
    np.zeros(1, source).astype(target)  # raises NumPy's errors
    if source.kind == "m" or (unit in _MONTHS) == (other in _MONTHS):
        return _scaled(_SECONDS[unit] * count / (_SECONDS[other] * times))
    if unit in _MONTHS:
        days = _DAY / (_SECONDS[other] * times)
        return (*_scaled(Fraction(_MONTHS[unit] * count)), days_of_months, *_scaled(days))
    months = Fraction(1, _MONTHS[other] * times)
    return (*_scaled(_SECONDS[unit] * count / _DAY), months_of_days, *_scaled(months))


def _scaled(ratio: Fraction) -> tuple[Step, ...]:
    if ratio == 1:
        return ()

    def step(ticks: Any) -> Any:
        if ratio.numerator != 1:
            ticks = ticks * ratio.numerator
        return ticks if ratio.denominator == 1 else _floor(ticks, ratio.denominator)

    return (step,)


def _floor(ticks: Any, divisor: int) -> Any:
    return torch.div(ticks, divisor, rounding_mode="floor")


# -- the civil calendar, in years that begin with March, so that the leap day is a year's last
#    (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil, civil_from_days)


def days_of_months(months: Any) -> Any:
    """Days since 1970 of the first day of months since January 1970."""
    count = months + _MONTHS_BEFORE
    year = _floor(count, 12)
    month = count - 12 * year
    leap_days = _floor(year, 4) - _floor(year, 100) + _floor(year, 400)
    return 365 * year + leap_days + _floor(153 * month + 2, 5) - _DAYS_BEFORE


def months_of_days(days: Any) -> Any:
    """Months since January 1970 in which days since 1970 lie."""
    count = days + _DAYS_BEFORE
    era = _floor(count, 146097)  # 400 years
    day = count - 146097 * era
    year = _floor(day - _floor(day, 1460) + _floor(day, 36524) - _floor(day, 146096), 365)
    day = day - (365 * year + _floor(year, 4) - _floor(year, 100))
    return 12 * (year + 400 * era) + _floor(5 * day + 2, 153) - _MONTHS_BEFORE

"""Places of quantiles among sorted values, by NumPy's formulas.

Every method gives a place among the n sorted values, from 0 to n - 1, mostly between two of them
(Hyndman and Fan, Sample quantiles in statistical packages, 1996)::

    linear        (n - 1) q                  inverted_cdf            ceil(n q) - 1
    alpha, beta   n q + alpha - 1            averaged_inverted_cdf   n q - 1, halfway from a whole
                  + q (1 - alpha - beta)     closest_observation     n q - 1 rounded, to odd at .5
"""

from __future__ import annotations

from typing import Any

import numpy as np

# methods that pick one element; the others interpolate between two
PICKS = frozenset(("lower", "higher", "nearest", "inverted_cdf", "closest_observation"))
ALPHA_BETA = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
# methods whose constants are integers, and so the places of levels that are integers
WHOLE = frozenset(("averaged_inverted_cdf", "interpolated_inverted_cdf", "weibull"))
METHODS = PICKS | ALPHA_BETA.keys() | {"linear", "midpoint", "averaged_inverted_cdf"}


def picked(method: str, n: Any, less: Any, level: Any, xp: Any) -> Any:
    """Place of the element that a method of `PICKS` takes, unclipped; see :func:`neighbours`."""
    if method == "lower":
        return xp.floor(less * level)
    if method == "higher":
        return xp.ceil(less * level)
    if method == "nearest":
        return xp.round(less * level)
    where = n * level - 1
    if method == "inverted_cdf":
        return xp.ceil(where)
    where = where - 0.5
    low = xp.floor(where)
    return xp.where((low == where) & (low % 2 == 1), low, low + 1)


def neighbours(method: str, n: Any, less: Any, level: np.floating[Any], xp: Any) -> tuple[Any, ...]:
    """Places of the two neighbours of a quantile, and the weight of the second.

    `n` is a number of values and `less` one less. All is computed in the dtype of the level, as in
    NumPy, where a number of values is a Python integer (`xp` is NumPy); or, for a tensor of
    numbers in that dtype, with a level that is a Python number of the same value (`xp` is torch).
    """
    value: Any = level if xp is np else float(level)
    if method in ALPHA_BETA:
        alpha, beta = ALPHA_BETA[method]
        shift = alpha + level * (1 - alpha - beta)
        place = n * value + (shift if xp is np else float(shift)) - 1
    elif method == "averaged_inverted_cdf":
        place = n * value - 1
    elif method == "midpoint":
        place = 0.5 * (xp.floor(less * value) + xp.ceil(less * value))
    else:
        place = less * value
    low = xp.floor(place)
    outside = (place >= less) | (place < 0)
    # NumPy's weights outside are those of the clipped place; both neighbours are one element there
    edge = xp.where(place < 0, low * 0, low * 0 - 1)
    weight = place - xp.where(outside, edge, low)
    if method == "midpoint":
        weight = xp.where(place % 1 == 0, weight * 0, weight * 0 + 0.5)
    elif method == "averaged_inverted_cdf":
        weight = xp.where(weight == 0, weight * 0 + 0.5, weight * 0 + 1)
    first = xp.where(outside, xp.where(place < 0, low * 0, low * 0 + less), low)
    return first, xp.where(outside, first, low + 1), weight


def precise(levels: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
    """Levels in one axis and in a dtype that counts to `n`; integers (0 and 1) as float64."""
    if levels.dtype.kind != "f":
        levels = levels.astype(np.float64)
    elif n > float(np.finfo(levels.dtype).max):  # float16, where NumPy meets infinities
        levels = levels.astype(np.float32)
    return levels.reshape(-1)

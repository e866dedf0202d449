"""Whether a result on the card is NumPy's: type, shape, dtype, NaN places, values.

Floating-point values may differ by some units in the last place (ulps) of NumPy's value. An
elementwise operator is held to a few. Other functions (reductions, matrix products, transforms)
add in another order than NumPy, which no one promises; their errors are relative to the terms, so
they may differ by more ulps, and by as many rounding errors of the largest term.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daskasc.array import AscendArray
from daskasc.drift._tree import leaves
from daskasc.errors import HostConversionError, HostFallbackError

# bits of the significand, by NumPy's name
_PRECISION = {"bfloat16": 7, "float16": 10, "float32": 23, "float64": 52}
_SMALLEST = {"bfloat16": -133, "float16": -24, "float32": -149, "float64": -1074}
_ACCUMULATED = {"bfloat16": 16.0, "float16": 16.0, "float32": 128.0}
_PARTS = {"complex64": "float32", "complex128": "float64"}


@dataclass(frozen=True)
class Tolerance:
    """How far a value may be from NumPy's before it is called drift.

    Attributes
    ----------
    ulps : float or mapping
        Units in the last place that an elementwise operator may differ by, for all dtypes or by
        dtype name; complex numbers are measured by their parts' dtype.
    accumulated : float or mapping
        The same for functions that add up terms, and for what a chain of operators has gathered.
    rtol : float or mapping
        Relative error that is always allowed, on top of the ulps.
    signed_zeros : bool
        Whether -0.0 and 0.0 differ.
    """

    ulps: float | Mapping[str, float] = 8.0
    accumulated: float | Mapping[str, float] | None = None
    rtol: float | Mapping[str, float] = 0.0
    signed_zeros: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no number of ulps.

        Raises
        ------
        TypeError, ValueError
            A bound is not a number, or negative or NaN.
        """
        for name in ("ulps", "accumulated", "rtol"):
            given = getattr(self, name)
            values = given.values() if isinstance(given, Mapping) else (given,)
            for value in values:
                if value is None and name == "accumulated":
                    continue
                if isinstance(value, bool) or not isinstance(value, numbers.Real):
                    raise TypeError(
                        f"{name} of a tolerance is {value!r}; it has to be a number, or a mapping "
                        "from dtype names to numbers"
                    )
                if not float(value) >= 0:
                    raise ValueError(f"{name} of a tolerance is {value!r}; it has to be 0 or more")

    def allowed(self, dtype: str, own: bool) -> float:
        """Ulps allowed for a dtype; `own` for an elementwise operator on its own."""
        if own:
            return _for_dtype(self.ulps, dtype, 8.0)
        default = _ACCUMULATED.get(dtype, 512.0)
        given = default if self.accumulated is None else self.accumulated
        return max(_for_dtype(given, dtype, default), _for_dtype(self.ulps, dtype, 8.0))

    def relative(self, dtype: str) -> float:
        """Relative error allowed for a dtype."""
        return _for_dtype(self.rtol, dtype, 0.0)


def _for_dtype(given: float | Mapping[str, float], dtype: str, default: float) -> float:
    return float(given.get(dtype, default) if isinstance(given, Mapping) else given)


@dataclass(frozen=True)
class Difference:
    """What differs between NumPy's result and the card's.

    Attributes
    ----------
    kind : {"error", "type", "shape", "dtype", "nan", "zero", "value"}
        ``nan``: NaN in other places; ``zero``: another sign of zero.
    text : str
        Both sides in words.
    ulps : float
        Largest distance in units in the last place; 0 where that has no meaning.
    rounding : bool
        Whether it may be rounding alone: floating-point values, no further apart than half of the
        digits of the largest value of the result.
    """

    kind: str
    text: str
    ulps: float = 0.0
    rounding: bool = False


@dataclass(frozen=True)
class Measure:
    """A comparison: the difference beyond the tolerance if there is one, and the distance."""

    difference: Difference | None
    ulps: float = 0.0
    exact: bool = True


@dataclass(frozen=True)
class Failure:
    """An operator that raised, in the place of its result."""

    error: Exception


@dataclass(frozen=True)
class Bound:
    """What the operator that gave a result is held to.

    Attributes
    ----------
    own : bool
        Whether the stricter bound of elementwise operators holds.
    floor : float
        Magnitude of the largest term; errors are measured against it where a value is smaller.
    scalars : str
        Dtype whose precision Python's floats have here.
    """

    own: bool = False
    floor: float = 0.0
    scalars: str = "float64"


def bound_of(operands: Any, elementwise: bool) -> Bound:
    """Bound of an operator on its own, from its operands on NumPy's side."""
    floor = 0.0 if elementwise else largest(operands)
    return Bound(elementwise, floor, _coarsest(operands))


def measure(host: Any, card: Any, tolerance: Tolerance, bound: Bound) -> Measure:
    """Compare results, nested ones and :class:`Failure` included."""
    if isinstance(host, Failure) or isinstance(card, Failure):
        return _measure_errors(host, card)
    if isinstance(host, tuple | list):
        if not isinstance(card, tuple | list) or len(host) != len(card):
            return _different("type", f"NumPy gives {_shape(host)}, the card {_shape(card)}")
        found = [measure(*pair, tolerance, bound) for pair in zip(host, card, strict=True)]
        return _worst(found)
    if isinstance(host, dict):
        if not isinstance(card, dict) or host.keys() != card.keys():
            return _different("type", f"NumPy gives {_shape(host)}, the card {_shape(card)}")
        return _worst([measure(host[k], card[k], tolerance, bound) for k in host])
    if isinstance(host, np.ndarray | np.generic | bool | int | float | complex):
        return _measure_arrays(host, card, tolerance, bound)
    if isinstance(card, AscendArray) or type(host) is not type(card):
        return _different("type", f"NumPy gives {_shape(host)}, the card {_shape(card)}")
    if isinstance(host, str | bytes | np.dtype | type(None)) and host != card:
        return _different("value", f"NumPy gives {host!r}, the card {card!r}")
    return Measure(None)


def largest(nest: Any) -> float:
    """Bound of the terms that a function of these operands may add up: products of magnitudes."""
    bound = 1.0
    for value in leaves(nest):
        array = np.asarray(value) if isinstance(value, np.ndarray | np.generic) else None
        if array is None or not array.size or array.dtype.kind not in "biufcV":
            continue
        try:
            wide = np.abs(array.astype("c16" if array.dtype.kind == "c" else "f8"))
        except (TypeError, ValueError):
            continue
        finite = wide[np.isfinite(wide)]
        bound *= max(1.0, float(finite.max())) if finite.size else 1.0
    return bound


def _coarsest(nest: Any) -> str:
    """Float dtype of least precision among the operands."""
    names = [leaf.dtype.name for leaf in leaves(nest) if isinstance(leaf, np.ndarray | np.generic)]
    floats = [_PARTS.get(name, name) for name in names]
    return min(
        (name for name in floats if name in _PRECISION),
        key=_PRECISION.__getitem__,
        default="float64",
    )


def public_type(error: Exception) -> type:
    """First class of an error that NumPy or Python documents."""
    for kind in type(error).__mro__:
        if kind.__module__ in ("builtins", "numpy.exceptions", "numpy.linalg"):
            return kind
    return Exception


def _measure_errors(host: Any, card: Any) -> Measure:
    if isinstance(host, Failure) and isinstance(card, Failure):
        ours = isinstance(card.error, HostFallbackError | HostConversionError)
        if isinstance(card.error, public_type(host.error)) and not ours:
            return Measure(None)
    return _different("error", f"NumPy {_told(host)}, the card {_told(card)}")


def _told(side: Any) -> str:
    if not isinstance(side, Failure):
        return f"gives {_shape(side)}"
    text = str(side.error).split("\n")[0]
    short = text if len(text) <= 90 else f"{text[:87]}..."
    return f"raises {type(side.error).__name__}({short})"


def _shape(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic | AscendArray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def _different(kind: str, text: str) -> Measure:
    return Measure(Difference(kind, text), 0.0, False)


def _worst(found: list[Measure]) -> Measure:
    first = next((one.difference for one in found if one.difference is not None), None)
    exact = all(one.exact for one in found)
    return Measure(first, max((one.ulps for one in found), default=0.0), exact)


def _measure_arrays(host: Any, card: Any, tolerance: Tolerance, bound: Bound) -> Measure:
    numbers = np.ndarray | np.generic | bool | int | float | complex
    if not isinstance(card, AscendArray | numbers):
        return _different("type", f"NumPy gives {_shape(host)}, the card {_shape(card)}")
    one = np.asarray(host)
    other = card.asnumpy() if isinstance(card, AscendArray) else np.asarray(card)
    if one.shape != other.shape:
        return _different("shape", f"NumPy gives shape {one.shape}, the card {other.shape}")
    plain = not isinstance(host, np.ndarray | np.generic)
    plain = plain or not isinstance(card, AscendArray | np.ndarray | np.generic)
    if not plain and one.dtype != other.dtype:
        return _different("dtype", f"NumPy gives {one.dtype}, the card {other.dtype}")
    if plain and one.dtype != other.dtype:
        other = other.astype(one.dtype)
    name = _PARTS.get(one.dtype.name, one.dtype.name)
    if name in _PRECISION:
        name = bound.scalars if plain else name
        return _measure_floats(one, other, name, tolerance, bound)
    unequal = one != other
    if one.dtype.kind in "mM":
        unequal &= ~(np.isnat(one) & np.isnat(other))
    if not np.any(unequal):
        return Measure(None)
    return _at(one, other, np.asarray(unequal), "value", 0.0)


def _measure_floats(one: Any, other: Any, name: str, tolerance: Tolerance, bound: Bound) -> Measure:
    wide = "c16" if one.dtype.kind == "c" else "f8"
    left, right = np.atleast_1d(one).astype(wide), np.atleast_1d(other).astype(wide)
    shape = one.shape
    nan = np.isnan(left) != np.isnan(right)
    if nan.any():
        return _at(one, other, nan.reshape(shape), "nan", 0.0)
    with np.errstate(all="ignore"):
        same = (left == right) | np.isnan(left)
        zeros = (left == 0) & (right == 0) & _signs_differ(left, right)
        distance = np.where(same, 0.0, np.abs(left - right))
        magnitude = np.abs(left)
        exponent = np.frexp(magnitude)[1] - 1.0 - _PRECISION[name]
        exponent = np.where(magnitude == 0, _SMALLEST[name], exponent)
        unit = np.exp2(np.maximum(exponent, _SMALLEST[name]))
        infinite = ~same & ~(np.isfinite(left) & np.isfinite(right))
        ulps = np.where(infinite, np.inf, distance / unit)
        allowed = tolerance.allowed(name, bound.own)
        limit = np.maximum(allowed * unit, tolerance.relative(name) * magnitude)
        limit = np.maximum(limit, allowed * bound.floor * 2.0 ** -_PRECISION[name])
        beyond = infinite | (distance > limit)
    far = float(ulps.max(initial=0.0))
    if beyond.any():
        worst = np.where(beyond, ulps, -1.0)
        most = float(np.max(distance, where=beyond, initial=0.0))
        whole = float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))
        rounding = most <= whole * 2.0 ** (-_PRECISION[name] / 2)
        found = _at(one, other, (worst == worst.max()).reshape(shape), "value", far, beyond.sum())
        assert found.difference is not None
        return replace(found, difference=replace(found.difference, rounding=rounding))
    if tolerance.signed_zeros and zeros.any():
        return _at(one, other, zeros.reshape(shape), "zero", 0.0)
    return Measure(None, far, bool(same.all()))


def _signs_differ(left: Any, right: Any) -> Any:
    if left.dtype.kind != "c":
        return np.signbit(left) != np.signbit(right)
    real = np.signbit(left.real) != np.signbit(right.real)
    return real | (np.signbit(left.imag) != np.signbit(right.imag))


def _at(one: Any, other: Any, where: Any, kind: str, ulps: float, count: Any = None) -> Measure:
    index = tuple(int(part[0]) for part in np.nonzero(np.atleast_1d(where)))
    index = index if one.ndim else ()
    number = int(np.count_nonzero(where) if count is None else count)
    place = f" at {list(index)}" if index else ""
    more = f", {number} of {one.size} elements" if one.size > 1 else ""
    distance = f", {ulps:.4g} ulps apart" if ulps else ""
    text = f"NumPy gives {one[index]!s}, the card {other[index]!s}{place}{distance}{more}"
    return Measure(Difference(kind, text, ulps), ulps, False)

"""Runs one example of a property: NumPy and the card, results and errors compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from daskasc import config, device
from daskasc.array import AscendArray, asnumpy
from daskasc.errors import HostFallbackError
from tests.array import gaps
from tests.array.properties.strategies import COMMON, Call, Case, Strided

# relative to the larger of one and the value, by bytes of a real number
TOLERANCE = {2: 1e-2, 4: 3e-5, 8: 1e-11}


def placed(value: Any, place: str) -> Any:
    """An argument with its arrays on the host or on the card."""
    if isinstance(value, Strided):
        return getattr(value, place)
    if type(value) in (list, tuple):
        return type(value)(placed(item, place) for item in value)
    if type(value) is dict:
        return {key: placed(item, place) for key, item in value.items()}
    return value


def outcome(case: Case, call: Call, place: str) -> tuple[Any, Exception | None]:
    """Return the result, or the error."""
    args, kwargs = placed(call.args, place), placed(call.kwargs, place)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return case.function(*args, **kwargs), None
        except HostFallbackError:
            raise
        except Exception as error:
            return None, error


def public(error: Exception) -> type:
    """The class of an error by which programs catch it; NumPy's private ones by their base."""
    for kind in type(error).__mro__:
        if kind.__module__ in ("builtins", "numpy.exceptions", "numpy.linalg"):
            return kind
    return Exception


def is_common(value: Any) -> bool:
    """Whether all arrays of an argument have dtypes that a card has to compute itself."""
    if isinstance(value, Strided):
        return value.base.dtype in COMMON
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype in COMMON
    if type(value) in (list, tuple):
        return all(map(is_common, value))
    return type(value) is not dict or all(map(is_common, value.values()))


def run(case: Case, drawn: Any, on_card: bool) -> None:
    """Compare one call on the card with NumPy's.

    With `on_card` set, a call on common dtypes must not be computed on the host, unless the case
    says why it may be. Where ``daskasc.fallback`` is ``error``, HostFallbackError is right for
    exactly the calls that may be computed there, and ends the comparison. A card's documented gaps
    excuse it (`gaps`).
    """
    call = drawn if isinstance(drawn, Call) else Call(tuple(drawn), {})
    expected, refused = outcome(case, call, "host")
    host_may = not on_card or bool(case.host) or not is_common((call.args, call.kwargs))
    before, gaps_before = device.counters.fallbacks(), gaps.met()
    try:
        found, error = outcome(case, call, "card")
    except HostFallbackError:
        if not host_may:
            raise
        return
    on_card = (refused is None and not host_may) or config.fallback() == "error"
    if on_card and gaps.met() == gaps_before:
        assert device.counters.fallbacks() == before, "computed on the host"
    if refused is not None:
        assert error is not None, f"NumPy raises {refused!r}; the card gives {found!r}"
        assert isinstance(error, public(refused)), f"NumPy raises {refused!r}; the card {error!r}"
        return
    if error is not None:
        raise error
    compare(expected, found, case)


def compare(expected: Any, found: Any, case: Case) -> None:
    """Check structure, dtype, shape and values; floats within the rounding of their dtype."""
    if isinstance(expected, list | tuple):
        assert len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            compare(one, other, case)
        return
    if isinstance(expected, np.ndarray) and expected.ndim:
        assert isinstance(found, AscendArray), type(found)
    one = np.asarray(expected)
    other = np.asarray(asnumpy(found) if isinstance(found, AscendArray) else found)
    assert one.dtype == other.dtype, f"dtype {other.dtype}, NumPy gives {one.dtype}"
    assert one.shape == other.shape, f"shape {other.shape}, NumPy gives {one.shape}"
    if one.dtype.kind not in "fc":
        np.testing.assert_array_equal(other, one)
        return
    size = one.dtype.itemsize // (2 if one.dtype.kind == "c" else 1)
    rtol, atol = max(TOLERANCE[size], case.rtol), max(TOLERANCE[size], case.atol)
    if case.exact and one.dtype.kind == "f":
        rtol = atol = 0.0
    if one.dtype.kind == "c":
        close_complex(one.astype("c16"), other.astype("c16"), rtol, atol)
    else:
        np.testing.assert_allclose(other.astype("f8"), one.astype("f8"), rtol=rtol, atol=atol)
    if case.zeros and one.dtype.kind == "f":
        zero = (one == 0) & (other == 0)
        np.testing.assert_array_equal(np.signbit(other)[zero], np.signbit(one)[zero])


def close_complex(one: Any, other: Any, rtol: float, atol: float) -> None:
    """Compare as a whole where finite, and by parts where infinite.

    NumPy's own comparison wants the finite part of an infinite number equal to the last bit.
    """
    np.testing.assert_array_equal(np.isnan(other), np.isnan(one))
    infinite = np.isinf(one) & ~np.isnan(one)
    for part in ("real", "imag"):
        parts = (getattr(array, part)[infinite] for array in (other, one))
        np.testing.assert_allclose(*parts, rtol=rtol, atol=atol)
    finite = np.isfinite(one)
    np.testing.assert_allclose(other[finite], one[finite], rtol=rtol, atol=atol)

"""With the gaps of Atlas A2: no missing kernel is called, and the numbers stay the same."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import pytest
from torch.utils._python_dispatch import _disable_current_modes

from daskasc import device, random
from daskasc.array import from_numpy
from daskasc.random import _draw
from tests.array.restricted import restricted_card
from tests.random.examples import PARAMETERS

OTHERS = {
    "bytes": {"length": 10},
    "choice": {"a": 5, "size": 7, "p": [0.1, 0.2, 0.3, 0.2, 0.2]},
    "permutation": {"x": 9},
    "permuted": {"x": np.arange(6.0)},
}
CALLS: dict[str, Any] = {name: (args, {"size": 5}) for name, args in PARAMETERS.items()}
CALLS |= {name: ((), kwargs) for name, kwargs in OTHERS.items()}


@pytest.fixture
def gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    right = _draw._drawn

    def drawn(source: Any, *args: Any) -> Any:
        if not source.host:
            return right(source, *args)
        with _disable_current_modes():  # the host has its kernels
            return right(source, *args)

    monkeypatch.setattr(_draw, "_drawn", drawn)


def draw(name: str) -> tuple[Any, Any]:
    generator = random.default_rng(1)
    args, kwargs = CALLS[name]
    drawn = getattr(generator, name)(*args, **kwargs)
    return (drawn if name == "bytes" else drawn.asnumpy()), generator.bit_generator.state


@pytest.mark.filterwarnings("ignore::daskasc.errors.PrecisionWarning")
@pytest.mark.parametrize("promotion", ["numpy", "device"])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_numbers(name: str, promotion: str, gaps: None) -> None:
    with dask.config.set({"daskasc.promotion": promotion}):
        expected, position = draw(name)
        with dask.config.set({"daskasc.fallback": "silent"}), restricted_card():
            found, after = draw(name)
    assert after == position
    if name == "bytes":
        assert found == expected
    else:
        np.testing.assert_array_equal(found, expected)


def test_words_that_a_card_gave_up_on_are_drawn_once(
    gaps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from daskasc.array._guard import NeedsHost

    row = _draw.ROWS["normal"]

    def late(source: Any, *args: Any) -> Any:
        drawn = row.function(source, *args)
        if not source.host:
            raise NeedsHost("late")
        return drawn

    expected, position = draw("normal")
    monkeypatch.setitem(_draw.ROWS, "normal", row._replace(function=late))
    with dask.config.set({"daskasc.fallback": "silent"}):
        found, after = draw("normal")
    np.testing.assert_array_equal(found, expected)
    assert after == position


def test_shuffle(gaps: None) -> None:
    x = np.arange(7.0)
    expected = from_numpy(x)
    random.default_rng(1).shuffle(expected)
    with restricted_card():
        device.counters.reset()
        found = from_numpy(x)
        random.default_rng(1).shuffle(found)
        assert not device.counters.fallbacks()
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())

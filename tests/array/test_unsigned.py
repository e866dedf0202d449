"""Division of uint64 on the card against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from daskasc.array import from_numpy

EDGES = [0, 1, 2, 3, 7, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "divmod"])
def test_division(name: str) -> None:
    rng = np.random.default_rng(0)
    values = np.array([*EDGES, *rng.integers(0, 2**64, 20, dtype="u8")], dtype="u8")
    a, b = values[:, None], values[None, :]
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        expected = function(a, b)
    got = function(from_numpy(a), from_numpy(b))
    pairs = zip(got, expected, strict=True) if name == "divmod" else [(got, expected)]
    for part, wanted in pairs:
        assert part.dtype == wanted.dtype
        np.testing.assert_array_equal(part.asnumpy(), wanted)
    x = from_numpy(values.copy())
    x //= from_numpy(np.array(3, "u8"))
    np.testing.assert_array_equal(x.asnumpy(), values // np.uint64(3))

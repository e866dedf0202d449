from __future__ import annotations

import numpy as np
import pytest

from daskasc.io._packing import Packing, packing_of


def test_plain_numbers_are_not_packed():
    assert packing_of(np.dtype("f4"), {"units": "K"}) is None
    assert packing_of(np.dtype("f4"), {"_FillValue": np.nan}) is None
    assert packing_of(np.dtype("i4"), {"_FillValue": "none"}) is None


@pytest.mark.parametrize(
    ("raw", "attrs", "dtype"),
    [
        ("i2", {"scale_factor": 0.01, "add_offset": 300.0}, "f4"),
        ("i2", {"scale_factor": 1e-6, "add_offset": 300.0}, "f8"),
        ("u1", {"_FillValue": 255}, "f4"),
        ("i4", {"scale_factor": 0.5}, "f8"),
        ("f2", {"_FillValue": -1.0}, "f4"),
        ("f8", {"scale_factor": 2.0}, "f8"),
        ("c8", {"scale_factor": 2.0}, "c8"),
    ],
)
def test_float64_only_where_float32_does_not_resolve_a_step(raw, attrs, dtype):
    assert np.dtype(packing_of(np.dtype(raw), attrs).dtype) == dtype


def test_a_decimal_fill_value_means_the_stored_number_next_to_it():
    packing = packing_of(np.dtype("f4"), {"missing_value": 1e20})
    out = packing.unpack(np.array([1e20, 2.0], "f4"))
    np.testing.assert_array_equal(out, np.array([np.nan, 2.0], "f4"))
    assert out.dtype == np.float32


def test_fill_values_outside_the_stored_range_mean_nothing():
    assert packing_of(np.dtype("u1"), {"_FillValue": -9999}) is None


def test_unsigned_bytes():
    packing = packing_of(np.dtype("i1"), {"_Unsigned": "true"})
    assert packing == Packing("|u1", (), None, None, "|u1")
    np.testing.assert_array_equal(packing.raw(np.array([-1, 3], "i1")), [255, 3])


def test_attributes_that_are_no_numbers():
    with pytest.raises(ValueError, match="thick"):
        packing_of(np.dtype("i2"), {"scale_factor": "thick"})

"""Splines, zooms, shifts and the like of ``scipy.ndimage`` on the card, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

import daskasc.scipy.ndimage as ndimage
from daskasc import device
from daskasc.array import from_numpy
from daskasc.errors import HostFallbackError

from .reference import assert_same, drawn
from .reference import check as compare

MODES = "reflect constant nearest mirror wrap grid-mirror grid-constant grid-wrap".split()

pytestmark = pytest.mark.filterwarnings("ignore:It is recommended to use mode")


def check(name, *args, **kwargs):
    compare(getattr(scipy.ndimage, name), getattr(ndimage, name), *args, **kwargs)


def check_all(a, **options):
    """Every transform with some arguments."""
    random = np.random.default_rng(a.ndim)
    ndim = a.ndim
    check("shift", a, 0.3, **options)
    check("shift", a, [-2.5, 1, 7.25][:ndim], **options)
    check("zoom", a, 1.7, **options)
    if a.dtype.kind != "c":
        check("zoom", a, [2, 0.6, 1.5][:ndim], grid_mode=True, **options)
    check("map_coordinates", a, random.uniform(-9, 12, (ndim, 8)), **options)
    check("map_coordinates", a, random.integers(-20, 30, (ndim, 4, 3)) / 2, **options)
    matrix = random.normal(size=(ndim, ndim))
    check("affine_transform", a, matrix, offset=0.5, **options)
    check("affine_transform", a, np.diag(matrix).copy(), output_shape=(3, 2, 4)[:ndim], **options)
    if ndim > 1:
        check("rotate", a, 30, **options)
        check("rotate", a, 90, reshape=False, **options)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1])
def test_neighbours(order, mode):
    for dtype in ("?", "i2", "u1", "u8", "f4", "f8", "c8"):
        for shape in ((5, 6), (1, 4), (9,)):
            check_all(drawn(dtype, shape), mode=mode, cval=1.5, order=order)
    check_all(drawn("u1", (3, 2, 4)), mode=mode, cval=1.5, order=order)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_splines(order, mode):
    for dtype, shape in (("f4", (31,)), ("c16", (31,)), ("f8", (26, 25))):
        a = drawn(dtype, shape)
        check_all(a, mode=mode, cval=1.5, order=order)
        check("spline_filter", a, order=order, mode=mode)
        check("spline_filter1d", a, order=order, axis=0, mode=mode)
        check("shift", a, 0.3, mode=mode, order=order, prefilter=False)
    if mode not in ("reflect", "grid-mirror", "nearest"):
        # three axes have up to 216 neighbours
        solid = [(3, 2, 4)] if order < 4 and mode != "grid-constant" else []
        for shape in ((2,), (5, 6), (1, 7), *solid):
            a = drawn("f8", shape)
            check_all(a, mode=mode, cval=1.5, order=order)
            check("spline_filter", a, order=order, mode=mode)
            check("spline_filter1d", a, order=order, axis=0, mode=mode)


@pytest.mark.usefixtures("no_fallback")
def test_outputs():
    a = drawn("f4", (26, 30))
    for output in ("f8", np.float32):
        check("zoom", a, 2, output=output)
        check("rotate", a, 20, output=output)
    for output in (np.int16, np.uint8, np.int64, bool):
        check("zoom", a * 100, 2, output=output, order=1)
        check("shift", a * 100, 0.5, output=output, order=0)
    out = from_numpy(np.zeros((26, 30), "f8"))
    assert ndimage.affine_transform(from_numpy(a), np.eye(2) * 0.5, output=out) is out
    expected = np.zeros((26, 30))
    scipy.ndimage.affine_transform(a, np.eye(2) * 0.5, output=expected)
    assert_same(out, expected)
    # the input itself
    card = from_numpy(a)
    ndimage.shift(card, 1.5, output=card)
    assert_same(card, scipy.ndimage.shift(a, 1.5))


@pytest.mark.usefixtures("no_fallback")
def test_halves_are_rounded_as_in_scipy():
    a = np.array([[0, 1], [3, -2]], "i2")
    for factor in (2, 3, 1.5):
        check("zoom", a, factor, order=1, mode="nearest")
    check("shift", a, 0.5, order=1, mode="grid-wrap")
    check("map_coordinates", a, np.full((2, 3), 0.5), order=1)


@pytest.mark.usefixtures("no_fallback")
def test_nan():
    a = drawn("f8", (6, 7))
    a[2, 3], a[5, 0] = np.nan, np.inf
    for order in (0, 1):
        check_all(a, order=order, mode="nearest")
    places = np.array([[1.0, np.nan, 2], [0, 1, np.inf]])
    check("map_coordinates", a, places, order=1, cval=4.0)
    if device.current().supports("multiply", "float64"):
        with pytest.raises(HostFallbackError, match="zoom"):
            ndimage.zoom(from_numpy(a), 2)


@pytest.mark.usefixtures("quiet_fallback")
def test_the_host_where_the_card_has_no_form():
    small = drawn("f8", (5, 6))
    check("spline_filter", small, mode="reflect")  # SciPy's short lines are their own
    small[2, 3] = np.nan
    check("zoom", small, 2)
    check("zoom", drawn("i2", (5, 6)), 2)
    check("zoom", drawn("c16", (5, 6)), 2, order=1, grid_mode=True)
    check("geometric_transform", drawn("f8", (5, 6)), lambda at: (at[0] - 0.5, at[1] / 2), order=1)


@pytest.mark.usefixtures("no_fallback")
def test_errors_are_scipys():
    a = drawn("f8", (5, 6))
    check("zoom", a, 2, order=6)
    check("zoom", a, (1, 2, 3))
    check("shift", a, 1, mode="no such mode")
    check("rotate", a[0], 20)
    check("map_coordinates", a, np.zeros((3, 4)))
    check("affine_transform", a, np.eye(3)[:, :1])
    check("spline_filter", a, order=1)
    check("shift", a.astype("f2"), 1)


@pytest.mark.usefixtures("no_fallback")
@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    dtype=st.sampled_from(["i2", "u1", "f4", "f8"]),
    mode=st.sampled_from(MODES),
    cval=st.floats(-2, 2),
    data=st.data(),
)
def test_any_places(shape, dtype, mode, cval, data):
    a = drawn(dtype, shape, seed=data.draw(st.integers(0, 99)))
    exact = mode in ("reflect", "grid-mirror", "nearest") or a.dtype.kind in "iu"
    options = {"mode": mode, "cval": cval, "order": data.draw(st.integers(0, 1 if exact else 5))}
    steps = st.floats(-20, 20) | st.integers(-40, 40).map(lambda n: n / 2)
    check("shift", a, [data.draw(steps) for _ in shape], **options)
    check("zoom", a, [data.draw(st.floats(0.4, 3)) for _ in shape], **options)
    places = [[data.draw(steps) for _ in range(3)] for _ in shape]
    check("map_coordinates", a, np.array(places, "f8"), **options)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_images_without_elements(shape):
    empty, places = np.zeros(shape), np.ones((len(shape), 2))
    for order in (0, 1, 3):
        check("map_coordinates", empty, places, order=order, mode="constant", cval=7.0)
        if len(shape) == 2:
            check("rotate", empty, 30.0, order=order, mode="constant", cval=7.0)
        for function in ("zoom", "shift"):
            check(function, empty, 1.5, order=order, mode="reflect")
    for dtype in ("f4", "i2"):
        check("map_coordinates", empty.astype(dtype), places, order=1, cval=-3.5)
    matrix = np.eye(len(shape))
    check("affine_transform", empty, matrix, output_shape=(2,) * len(shape), cval=2.0)
    # SciPy gives whatever lies in other memory
    with pytest.raises(ValueError, match="the image has no elements"):
        ndimage.map_coordinates(from_numpy(empty), places, order=1, mode="reflect")

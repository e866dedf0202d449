"""Filters of ``scipy.ndimage`` on the card, against SciPy."""

from __future__ import annotations

import functools
import pickle

import dask.array as da
import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

import daskasc.scipy.ndimage as ndimage
from daskasc import device
from daskasc.array import AscendArray, from_numpy
from daskasc.errors import HostFallbackError, HostFallbackWarning

from .reference import assert_same, drawn
from .reference import check as compare

MODES = "reflect constant nearest mirror wrap grid-mirror grid-constant grid-wrap".split()
DTYPES = "i1 i4 i8 u1 u2 u8 f4 f8 c8 c16".split()
W = np.random.default_rng(7).normal(size=(3, 3))
LINE = np.random.default_rng(8).normal(size=4)
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]], bool)

LINEAR = [
    ("convolve", (W,), {}),
    ("correlate", (W[:2],), {}),
    ("correlate", (W,), {"origin": (1, -1)}),
    ("convolve1d", (LINE,), {"axis": 0}),
    ("correlate1d", (LINE,), {"origin": -1}),
    ("correlate1d", ([1.0, 2.0, 1.0],), {}),
    ("uniform_filter", (3,), {}),
    ("uniform_filter", ((4, 2),), {"origin": (1, 0)}),
    ("uniform_filter1d", (9,), {"axis": 0}),
    ("gaussian_filter", (1.2,), {}),
    ("gaussian_filter", ((0.7, 2),), {"order": (0, 1), "truncate": 2.0}),
    ("gaussian_filter1d", (1,), {"order": 2}),
    ("sobel", (), {}),
    ("prewitt", (0,), {}),
    ("laplace", (), {}),
    ("gaussian_laplace", (1,), {}),
    ("gaussian_gradient_magnitude", (1.0,), {}),
]
ORDER = [
    ("minimum_filter", (3,), {}),
    ("maximum_filter", ((2, 5),), {"origin": (-1, 2)}),
    ("maximum_filter1d", (6,), {"axis": 0}),
    ("minimum_filter1d", (3,), {}),
    ("maximum_filter", (), {"footprint": CROSS}),
    ("minimum_filter", (), {"footprint": CROSS, "origin": (0, 1)}),
    ("median_filter", (3,), {}),
    ("median_filter", (), {"footprint": CROSS}),
    ("percentile_filter", (30, (2, 3)), {}),
    ("rank_filter", (-2,), {"footprint": CROSS}),
]


def check(name, *args, **kwargs):
    compare(getattr(scipy.ndimage, name), getattr(ndimage, name), *args, **kwargs)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "args", "kwargs"), LINEAR)
def test_linear(name, args, kwargs, mode):
    for dtype in DTYPES:
        for shape in ((5, 6), (1, 4)):
            if dtype[0] == "c" and "gradient" in name:
                continue
            check(name, drawn(dtype, shape), *args, mode=mode, cval=1.5, **kwargs)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "args", "kwargs"), ORDER)
def test_order(name, args, kwargs, mode):
    for dtype in ("?", *DTYPES):
        for shape in ((5, 6), (7, 1)):
            check(name, drawn(dtype, shape), *args, mode=mode, cval=1.5, **kwargs)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize(
    "name",
    "black_tophat grey_closing grey_dilation grey_erosion grey_opening morphological_gradient "
    "morphological_laplace white_tophat".split(),
)
def test_grey_morphology(name):
    for dtype in ("i2", "u1", "f4", "f8"):
        a = drawn(dtype, (5, 6))
        for mode in MODES:
            check(name, a, 3, mode=mode, cval=1.5)
            check(name, a, size=(2, 3), origin=(0, -1), mode=mode)
        check(name, a, footprint=CROSS)
        if dtype[0] == "f":
            check(name, a, structure=CROSS * 2.0)
    check(name, a)


@pytest.mark.usefixtures("no_fallback")
def test_numbers_of_axes():
    for mode in MODES:
        line, cube = drawn("f4", 9), drawn("f8", (3, 4, 5))
        check("gaussian_filter", line, 3, mode=mode)
        check("median_filter", line, 4, mode=mode)
        check("percentile_filter", line, 40, 5, origin=1, mode=mode)
        check("gaussian_filter", cube, 1, mode=mode, axes=(0, 2))
        check("median_filter", cube, 3, mode=mode, axes=(1,))
        check("uniform_filter", cube, 3, mode=mode)
        check("convolve", cube, np.ones((2, 1, 3)), mode=mode)
    check("gaussian_filter", cube, 1, mode=("wrap", "nearest", "reflect"))
    check("gaussian_filter", np.zeros((0, 3)), 1)
    check("gaussian_filter", cube, 0)


@pytest.mark.usefixtures("no_fallback")
def test_the_median_is_sorted_in_slabs():
    image = drawn("f4", (600, 300))
    check("median_filter", image, 5)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("output", [np.float32, "f8", np.int32, np.uint8, np.complex64])
def test_dtype_of_the_output(output):
    for dtype in ("f4", "f8", "i2"):
        a = drawn(dtype, (5, 6)) * 9
        check("gaussian_filter", a, 1, output=output)
        check("convolve", a, W, output=output)
        check("median_filter", a, 3, output=output)


@pytest.mark.usefixtures("no_fallback")
def test_an_array_as_output():
    a = drawn("f4", (5, 6))
    out = from_numpy(np.zeros((5, 6), "f8"))
    assert ndimage.gaussian_filter(from_numpy(a), 1, output=out) is out
    expected = np.zeros((5, 6))
    scipy.ndimage.gaussian_filter(a, 1, output=expected)
    assert_same(out, expected)
    # the input itself
    card = from_numpy(a)
    ndimage.median_filter(card, 3, output=card)
    assert_same(card, scipy.ndimage.median_filter(a, 3))
    with pytest.raises(RuntimeError, match="shape"):
        ndimage.sobel(from_numpy(a), output=from_numpy(np.zeros((5, 5))))
    with pytest.raises(TypeError, match="NumPy array"):
        ndimage.sobel(from_numpy(a), output=np.zeros((5, 6)))


@pytest.mark.usefixtures("no_fallback")
def test_complex_weights():
    weights = W + 1j * W.T
    for dtype in ("f4", "c8", "c16"):
        check("convolve", drawn(dtype, (5, 6)), weights)
        check("correlate", drawn(dtype, (5, 6)), weights)
        check("correlate1d", drawn(dtype, (5, 6)), LINE + 1j, mode="constant")


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan_and_infinity_reach_what_they_reach_in_scipy(dtype):
    a = drawn(dtype, (8, 9))
    a[2, 3], a[6, 1], a[1, 8] = np.nan, np.inf, -np.inf
    for name, args, kwargs in LINEAR:
        check(name, a, *args, **kwargs)
    # weights below epsilon are left out, in the correlation with several axes only
    check("convolve", a, np.array([[0, 1, 0], [1, 1e-17, 1], [0, 1, 0]]))
    check("convolve1d", a, np.array([0.0, 1, 0]))
    a[2, 3] = 0
    for name, args, kwargs in ORDER:
        check(name, a, *args, **kwargs)


@pytest.mark.usefixtures("stand_ins_only")  # without float64 the host has another reason
def test_order_of_nan_is_scipys():
    a = drawn("f8", (8, 9))
    a[2, 3] = np.nan
    with pytest.warns(HostFallbackWarning, match="median_filter"):
        found = ndimage.median_filter(from_numpy(a), 3)
    assert_same(found, scipy.ndimage.median_filter(a, 3))
    assert "scipy.ndimage.median_filter" in device.counters.fallbacks()


@pytest.mark.usefixtures("quiet_fallback")
def test_the_host_where_the_card_has_no_form():
    a = drawn("f4", (5, 6))
    check("generic_filter", a, np.ptp, size=3)
    check("generic_filter1d", a, lambda line, out: np.copyto(out, line[1:-1]), 3)
    check("label", drawn("?", (5, 6)))
    check("gaussian_filter", drawn("?", (5, 6)), 1)  # SciPy's bool holds other numbers inside
    out = from_numpy(np.zeros((5, 6), "f8"))
    assert ndimage.generic_filter(from_numpy(a), np.ptp, 3, output=out) is out
    assert_same(out, scipy.ndimage.generic_filter(a, np.ptp, 3, output=np.float64))


@pytest.mark.usefixtures("no_fallback")
def test_errors_are_scipys():
    a = drawn("f8", (5, 6))
    for name, args in (("convolve", (W,)), ("median_filter", (3,)), ("uniform_filter", (3,))):
        check(name, a, *args, mode="no such mode")
        check(name, a, *args, origin=7)
        check(name, a.astype("f2"), *args)
    check("gaussian_filter", a, 1, mode=["reflect"])
    check("gaussian_filter", a, 1, radius=-1)
    check("gaussian_filter", a, 1, axes=(0, 0))
    check("median_filter", a)
    check("median_filter", a.astype("c8"), 3)
    check("percentile_filter", a, 101, 3)
    check("rank_filter", a, 99, 3)
    check("convolve", a, W[0])
    check("convolve1d", a, np.zeros(0))
    check("sobel", a, 5)
    check("uniform_filter1d", a, 0)
    check("minimum_filter", a, footprint=np.zeros((3, 3)))
    with pytest.raises(HostFallbackError, match="generic_filter"):
        ndimage.generic_filter(from_numpy(a), np.ptp, 3)


@pytest.mark.usefixtures("no_fallback")
@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    dtype=st.sampled_from(["i2", "u1", "f4", "f8"]),
    mode=st.sampled_from(MODES),
    cval=st.floats(-2, 2),
    data=st.data(),
)
def test_any_window(shape, dtype, mode, cval, data):
    a = drawn(dtype, shape, seed=data.draw(st.integers(0, 99)))
    sizes = [data.draw(st.integers(1, 5)) for _ in shape]
    origins = [data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in sizes]
    weights = drawn("f8", sizes, seed=1)
    options = {"mode": mode, "cval": cval}
    check("correlate", a, weights, origin=origins, **options)
    check("convolve", a, weights, **options)
    check("uniform_filter", a, sizes, origin=origins, **options)
    check("maximum_filter", a, sizes, origin=origins, **options)
    check("gaussian_filter", a, data.draw(st.floats(0.1, 3)), **options)
    footprint = drawn("?", sizes, seed=2)
    if a.ndim > 1 and footprint.any():  # SciPy reads outside of lines shorter than the window
        check("median_filter", a, footprint=footprint, origin=origins, **options)
        check("minimum_filter", a, footprint=footprint, origin=origins, **options)


@pytest.fixture
def no_float64(stand_in, monkeypatch):
    """A card that has no kernels for float64."""
    monkeypatch.setattr(stand_in, "restricts", True, raising=False)
    monkeypatch.setattr(stand_in, "supports", lambda operator, dtype: dtype != "float64")


@pytest.mark.usefixtures("no_float64", "no_fallback")
def test_a_card_without_float64():
    a = drawn("f4", (5, 6))
    for name, args, kwargs in (*LINEAR, *ORDER):
        check(name, a, *args, **kwargs)
    for dtype in ("i2", "f8"):
        with pytest.raises(HostFallbackError, match="sobel"):
            ndimage.sobel(from_numpy(drawn(dtype, (5, 6))))
    with pytest.raises(HostFallbackError, match="zoom"):
        ndimage.zoom(from_numpy(a), 2)


def test_functions_are_pickled_by_name():
    for function in (ndimage.gaussian_filter, ndimage.label):
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.usefixtures("no_fallback")
def test_without_an_array_of_a_card_nothing_goes_to_the_host():
    found = ndimage.generate_binary_structure(2, 1)
    np.testing.assert_array_equal(found, scipy.ndimage.generate_binary_structure(2, 1))


@pytest.mark.usefixtures("no_fallback")
def test_with_dask():
    a = drawn("f4", (12, 10))
    card = da.from_array(from_numpy(a), chunks=(6, 5), asarray=False)
    smooth = functools.partial(ndimage.gaussian_filter, sigma=1.0)
    found = da.map_overlap(smooth, card, depth=4, boundary="reflect").compute(
        scheduler="synchronous"
    )
    assert isinstance(found, AscendArray)
    assert_same(found, scipy.ndimage.gaussian_filter(a, 1.0))

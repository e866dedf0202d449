"""``scipy.signal`` on the card, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

import daskasc.scipy.signal as signal
from daskasc.array import from_numpy

from .reference import assert_same, drawn
from .reference import check as compare

NUMBERS = "i2 i4 i8 u1 f4 f8 c8 c16".split()
FEWER = "i4 f4 f8 c8".split()
SIGNALS = [((50,), -1), ((4, 60), 1), ((60, 3), 0)]

pytestmark = [
    pytest.mark.filterwarnings("ignore:nperseg"),
    pytest.mark.filterwarnings("ignore:Input data is complex"),
    pytest.mark.filterwarnings("ignore:Casting complex"),
]


def check(name, *args, **kwargs):
    compare(getattr(scipy.signal, name), getattr(signal, name), *args, **kwargs)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_convolutions(dtype, mode):
    shapes = (((9,), (4,)), ((4,), (9,)), ((6, 7), (3, 2)), ((200,), (5,)), ((5, 1), (3, 4)))
    for one, other in (*shapes, ((1,), (1,))):
        a, b = drawn(dtype, one), drawn(dtype, other, 1)
        for name in ("fftconvolve", "oaconvolve", "convolve", "correlate"):
            check(name, a, b, mode=mode)
        for name in ("convolve", "correlate"):
            check(name, a, b, mode=mode, method="direct")


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolutions_of_awkward_elements(name, mode):
    kernel = np.array([1.0, 2.0])
    for value in (np.nan, np.inf, -np.inf):
        signal_ = np.array([1.0, value, 3.0, 4.0, 5.0])
        for a in (signal_, signal_.astype("f4"), signal_ + 1j):
            check(name, a, kernel.astype(a.dtype), mode=mode)
            check(name, kernel.astype(a.dtype), a, mode=mode)
    large = np.array([2**60 + 1, 3, -4], "i8")  # not exact in float64
    check(name, large, np.array([1, 1, 2]), mode=mode)
    check(name, large[1:], np.array([1, 1, 2]), mode=mode, method="fft")


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve", "oaconvolve"])
def test_convolutions_of_nothing(name, mode):
    for one, other in (((0,), (2,)), ((0,), (0,)), ((0, 3), (1, 2)), ((3, 0), (2, 2))):
        check(name, np.zeros(one), np.ones(other), mode=mode)
        check(name, np.ones(other), np.zeros(one), mode=mode)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_two_axes(name, boundary):
    for dtype in NUMBERS:
        for mode in ("full", "same", "valid"):
            image = drawn(dtype, (6, 7))
            for kernel in (drawn(dtype, (3, 2), 1), drawn(dtype, (2, 5), 2)):
                check(name, image, kernel, mode=mode, boundary=boundary, fillvalue=2)
    if boundary == "fill":
        check(name, drawn("f8", (2, 2)), drawn("f8", (3, 5)), mode="full")


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("dtype", ["?", *FEWER])
@pytest.mark.parametrize(("shape", "axis"), SIGNALS)
def test_detrend(dtype, shape, axis):
    x = drawn(dtype, shape)
    check("detrend", x, axis=axis)
    check("detrend", x, axis=axis, type="constant")
    check("detrend", x, axis=axis, bp=[10, 25])
    check("detrend", x, axis=axis, bp=np.array([10, 99]))
    kept = from_numpy(x)
    signal.detrend(kept, axis=axis)
    np.testing.assert_array_equal(kept.asnumpy(), x)


WELCH = [
    {},
    {"nperseg": 16},
    {"nperseg": 15, "noverlap": 5, "average": "median"},
    {"nperseg": 16, "nfft": 20, "window": ("kaiser", 3.0), "scaling": "spectrum"},
    {"window": np.hanning(12)},
    {"nperseg": 16, "detrend": "linear"},
    {"nperseg": 16, "detrend": False, "return_onesided": False},
]
PERIODOGRAM = [
    {},
    {"window": "hamming", "scaling": "spectrum"},
    {"detrend": "linear", "nfft": 80},
    {"detrend": False, "return_onesided": False},
    {"nfft": 30},
]


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("dtype", ["?", *FEWER])
@pytest.mark.parametrize(("shape", "axis"), SIGNALS)
def test_spectra(dtype, shape, axis):
    x, y = drawn(dtype, shape), drawn(dtype, shape, 1)
    for options in PERIODOGRAM:
        check("periodogram", x, fs=3.0, axis=axis, **options)
    for options in WELCH:
        check("welch", x, fs=2.0, axis=axis, **options)
        check("csd", x, y, fs=2.0, axis=axis, **options)
        if "average" not in options:
            check("spectrogram", x, fs=2.0, axis=axis, **options)
    check("coherence", x, y, axis=axis, nperseg=16, scale=100)
    check("stft", x, axis=axis, nperseg=10)
    short = x[:40] if axis == 0 else x[..., :40]
    check("csd", x, short, axis=axis, nperseg=10)


@pytest.mark.usefixtures("no_fallback")
def test_one_signal_with_itself():
    x = drawn("f4", 50)
    card = from_numpy(x)
    found = signal.csd(card, card, nperseg=16)
    assert_same(found, scipy.signal.csd(x, x, nperseg=16))
    assert found[1].dtype == np.float32


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("dtype", FEWER)
@pytest.mark.parametrize(("shape", "axis"), SIGNALS)
def test_transforms_and_filters(dtype, shape, axis):
    x = drawn(dtype, shape)
    # SciPy gives complex128 of complex64 and a window, in complex64's precision
    loose = 1e5 if dtype == "c8" else 1
    check("hilbert", x, axis=axis)
    check("hilbert", x, N=33, axis=axis)
    check("envelope", x, axis=axis)
    for count in (20, 30, 75):
        check("resample", x, count, axis=axis)
        check("resample", x, count, axis=axis, window="hamming", scale=loose)
    for mode in ("interp", "mirror", "nearest", "wrap", "constant"):
        check("savgol_filter", x, 7, 2, axis=axis, mode=mode)
        check("savgol_filter", x, 5, 3, deriv=1, delta=0.5, axis=axis, mode=mode, scale=10)
    if dtype[0] != "c":
        check("medfilt", x, 3)
        check("wiener", x, 3, scale=100)
    if len(shape) > 1:
        check("hilbert2", x)


@pytest.mark.usefixtures("no_fallback")
def test_a_nan_stays_where_it_is_in_sums_without_transforms():
    x = drawn("f8", 30)
    x[3], x[20] = np.nan, np.inf
    check("convolve", x, np.ones(3), method="direct")
    check("correlate", x.reshape(5, 6), np.ones((2, 2)), method="direct")
    check("convolve2d", x.reshape(5, 6), np.ones((2, 2)))
    check("detrend", x)  # SciPy refuses


@pytest.mark.usefixtures("no_fallback")
def test_errors_are_scipys():
    x = drawn("f8", 30)
    check("welch", x, nperseg=0)
    check("welch", x, nperseg=9, noverlap=9)
    check("welch", x, scaling="loud")
    check("convolve", x, np.ones((2, 2)))
    check("convolve", x, np.ones(2), mode="most")
    check("convolve", x, np.ones(2), method="guess")
    check("detrend", x, type="square")
    check("hilbert", x + 1j)
    check("fftconvolve", x, np.ones(0))
    check("convolve2d", x, np.ones((2, 2)))
    check("savgol_filter", x, 41, 2)
    check("savgol_filter", x, 5, 2, mode="loud")


@pytest.mark.usefixtures("no_fallback")
def test_windows_are_uploaded_without_a_fallback():
    check("get_window", "hann", 9)
    check("get_window", ("kaiser", 4.0), 8)


@pytest.mark.usefixtures("quiet_fallback")
def test_the_host_where_the_card_has_no_form():
    x = drawn("f8", 60)
    numerator, denominator = scipy.signal.butter(3, 0.2)
    check("lfilter", numerator, denominator, x)
    check("filtfilt", numerator, denominator, x)
    check("sosfilt", scipy.signal.butter(3, 0.2, output="sos"), x)
    check("decimate", x, 3)
    found, _ = signal.find_peaks(from_numpy(x))
    np.testing.assert_array_equal(found.asnumpy(), scipy.signal.find_peaks(x)[0])
    check("convolve", drawn("?", (4, 5)), drawn("?", (2, 2)))  # SciPy refuses
    check("convolve2d", drawn("f8", (2, 2)), drawn("f8", (3, 5)), boundary="wrap")
    check("welch", x, nperseg=16, detrend=lambda part: part - 1)


@pytest.mark.usefixtures("no_fallback")
@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    length=st.integers(1, 90),
    rows=st.integers(1, 3),
    dtype=st.sampled_from(["i4", "f4", "f8", "c16"]),
    data=st.data(),
)
def test_any_segments(length, rows, dtype, data):
    x = drawn(dtype, (rows, length), seed=data.draw(st.integers(0, 99)))
    nperseg = data.draw(st.integers(1, length))
    noverlap = data.draw(st.integers(0, nperseg - 1))
    nfft = nperseg + data.draw(st.integers(0, 5))
    options = {"nperseg": nperseg, "noverlap": noverlap, "nfft": nfft}
    check("welch", x, **options)
    kernel = drawn(dtype, (data.draw(st.integers(1, rows)), nperseg), seed=1)
    mode = data.draw(st.sampled_from(["full", "same", "valid"]))
    check("fftconvolve", x, kernel, mode)
    check("correlate", x, kernel, mode, method="direct")

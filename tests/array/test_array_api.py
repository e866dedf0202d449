"""Where the array API namespace differs from NumPy's functions, and views as another dtype."""

from __future__ import annotations

import math

import dask.array as da
import numpy as np
import pytest
import scipy.linalg

import daskasc.array as xp
from daskasc.array import AscendArray, from_numpy


def test_inspection() -> None:
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert from_numpy(np.ones(1)).device == info.default_device()
    assert info.dtypes(kind="bool") == {"bool": np.dtype("?")}
    assert info.capabilities()["boolean indexing"]
    assert info.default_dtypes()["real floating"] == np.float64
    with pytest.raises(ValueError, match="this process has"):
        info.dtypes(device="elsewhere")


def test_limits_are_python_numbers() -> None:
    for asked in (np.float32, "f4", np.dtype("c8"), from_numpy(np.ones(1, "f4"))):
        limits = xp.finfo(asked)
        assert type(limits.eps) is float
        assert (limits.bits, limits.dtype) == (32, np.dtype("f4"))
        assert limits.tiny == np.finfo("f4").tiny
    assert xp.iinfo(from_numpy(np.ones(1, "i2"))).max == 32767
    with pytest.raises(AttributeError):
        _ = xp.finfo("f4").nothing


def test_descending_order() -> None:
    host = np.array([3.0, 1, 2, 1])
    assert xp.sort(from_numpy(host), descending=True).tolist() == [3, 2, 1, 1]
    assert xp.argsort(from_numpy(host), descending=True).tolist() == [0, 2, 1, 3]
    assert xp.argsort(from_numpy(host)).tolist() == [1, 3, 2, 0]


def test_special_values_follow_the_standard() -> None:
    infinite = from_numpy(np.array([math.inf, 1.0, 7.0]))
    divided = xp.floor_divide(infinite, from_numpy(np.array([1.0, -math.inf, 2.0])))
    np.testing.assert_array_equal(divided.asnumpy(), [math.inf, -0.0, 3.0])
    assert np.signbit(divided.asnumpy()[1])
    assert xp.expm1(from_numpy(np.array([complex(math.inf, 0.0)])))[0].item() == math.inf
    limits = xp.tanh(from_numpy(np.array([complex(math.inf, 2.0), complex(-math.inf, -2.0)])))
    np.testing.assert_array_equal(limits.asnumpy(), [1, -1])
    np.testing.assert_array_equal(np.signbit(limits.asnumpy().imag), [False, True])
    assert xp.fft.fftfreq(4, dtype="f4").dtype == xp.fft.rfftfreq(4, dtype="f4").dtype == "f4"


def test_results_are_lists_and_arrays() -> None:
    x = from_numpy(np.arange(3))
    assert type(xp.meshgrid(x, x)) is type(xp.broadcast_arrays(x, x)) is list
    assert isinstance(xp.count_nonzero(x), AscendArray)
    assert xp.clip(x, max=1).tolist() == [0, 1, 1]
    assert isinstance(xp.tri(3), AscendArray)
    assert isinstance(xp.sort([2, 1], descending=True), AscendArray)
    assert isinstance(xp.clip(np.arange(3), 1, 2), AscendArray)
    assert xp.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]


def test_views_as_another_size() -> None:
    host = np.arange(12).reshape(3, 4)
    x = from_numpy(host)
    np.testing.assert_array_equal(x.view("i4").asnumpy(), host.view("i4"))
    assert x[:0, :0].view("i2").shape == (0, 0)
    assert x[:0].view("i2").shape == (0, 16)
    with pytest.raises(ValueError, match="divisible"):
        from_numpy(np.zeros(3, "i1")).view("i2")
    with pytest.raises(ValueError, match="contiguous"):
        x.T.view("i4")
    turned = np.asfortranarray(x, like=x)
    assert turned.flags["F_CONTIGUOUS"]
    np.testing.assert_array_equal(turned.asnumpy(), host)
    assert np.ascontiguousarray(x.T, like=x).flags["C_CONTIGUOUS"]


def test_an_array_of_a_dask_array() -> None:
    x = from_numpy(np.arange(4))
    made = np.asarray(da.from_array(x, chunks=2), like=x)
    assert isinstance(made, AscendArray)
    assert made.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("lower", [True, False])
def test_triangular_systems(lower: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((4, 4)) + np.eye(4), rng.random((4, 2))
    for right in (b, b[:, 0], np.arange(4)):
        got = xp.solve_triangular(from_numpy(a), from_numpy(right), lower=lower)
        np.testing.assert_allclose(
            got.asnumpy(), scipy.linalg.solve_triangular(a, right, lower=lower)
        )
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        xp.solve_triangular(from_numpy(np.zeros((2, 2))), from_numpy(np.ones(2)))
    with pytest.raises(ValueError, match="do not fit"):
        xp.solve_triangular(from_numpy(a), from_numpy(np.ones(2)))


MAKERS = {
    "asarray": lambda x, d: xp.asarray([1], device=d),
    "empty": lambda x, d: xp.empty(2, device=d),
    "zeros": lambda x, d: xp.zeros(2, device=d),
    "ones": lambda x, d: xp.ones(2, device=d),
    "full": lambda x, d: xp.full(2, 1.0, device=d),
    "zeros of times": lambda x, d: xp.zeros(2, "M8[D]", device=d),
    "zeros_like": lambda x, d: xp.zeros_like(x, device=d),
    "numpy.zeros_like": lambda x, d: np.zeros_like(x, device=d),
    "ones_like of times": lambda x, d: np.ones_like(x.astype("m8[D]"), device=d),
    "full_like": lambda x, d: xp.full_like(x, 1, device=d),
    "arange": lambda x, d: xp.arange(3, device=d),
    "eye": lambda x, d: xp.eye(3, device=d),
    "linspace": lambda x, d: xp.linspace(0, 1, 3, device=d),
    "fftfreq": lambda x, d: xp.fft.fftfreq(4, device=d),
    "rfftfreq": lambda x, d: xp.fft.rfftfreq(4, device=d),
    "astype": lambda x, d: xp.astype(x, "f4", device=d),
    "from_dlpack": lambda x, d: xp.from_dlpack(x, device=d),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_makers_take_this_device_only(make):
    x = xp.from_numpy(np.ones(2))
    for given in (None, x.device, x.tensor.device):
        assert isinstance(make(x, given), xp.AscendArray)
    with pytest.raises(ValueError, match=r"nonsense|cpu"):
        make(x, "nonsense")

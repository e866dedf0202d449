"""Indices of a dtype that does not hold the length, and other small cases of places and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import daskasc.array as xp
from daskasc.array import AscendArray, _means, from_numpy

from .reference import check

pytestmark = pytest.mark.usefixtures("quiet_fallback")


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize(
    ("dtype", "places", "size"),
    [("i1", [-1, 100, 127], 200), ("u1", [150, 255], 300), ("i2", [5, -7], 65540)],
)
def test_put_at_narrow_places(dtype: str, places: list[int], size: int, mode: str) -> None:
    def put(host_or_card: Any, index: Any) -> Any:
        np.put(host_or_card, index, [1, 2, 3], mode=mode)
        return host_or_card

    check(put, np.zeros(size), np.array(places, dtype))


@pytest.mark.parametrize("dtype", ["u8", "f4", "m8[s]"])
def test_places_that_are_no_integers_of_the_processor(dtype: str) -> None:
    x = from_numpy(np.zeros(4))
    for array in (np.zeros(4), x):
        with pytest.raises(TypeError):
            np.put(array, np.array([1, 2]).astype(dtype), 1)
    assert not x.asnumpy().any()


@pytest.mark.parametrize("dtype", ["i1", "i2", "u1"])
def test_narrow_index_arrays_in_host_memory(dtype: str) -> None:
    host = np.arange(70000.0)
    index = np.array([-1, -128, 5, 127], "i2").astype(dtype)
    x = from_numpy(host)
    np.testing.assert_array_equal(x[index].asnumpy(), host[index])
    np.testing.assert_array_equal(x.flat[index].asnumpy(), host.flat[index])
    x[index], host[index] = 7, 7
    np.testing.assert_array_equal(x.asnumpy(), host)
    wide = np.array([2**64 - 1, 2], "u8")  # NumPy takes the bits
    assert np.arange(5)[wide].tolist() == [4, 2]
    for given in (wide, from_numpy(wide)):
        assert from_numpy(np.arange(5))[given].asnumpy().tolist() == [4, 2]


def test_values_with_leading_axes_through_negative_steps() -> None:
    def write(array: Any, value: Any) -> Any:
        array[..., ::-1] = value
        return array

    check(write, np.zeros(3), np.array([[1.0, 2, 3]]))
    check(write, np.zeros((2, 3)), np.arange(6.0).reshape(1, 1, 2, 3))


def test_shapes_in_arrays() -> None:
    x = np.arange(6)
    for shape in (np.array([2, 3]), np.array([-1, 2], "i1"), np.array(6)):
        check(lambda a, s=shape: np.reshape(a, s), x)
        check(lambda a, s=shape: a.reshape(s), x)
        on_card = from_numpy(x).reshape(from_numpy(shape))
        assert on_card.shape == x.reshape(shape).shape
    for array in (x, from_numpy(x)):
        with pytest.raises(TypeError):
            array.reshape()
        with pytest.raises(TypeError):
            np.reshape(array, np.array([2.0, 3.0]))
        with pytest.raises(ValueError, match=r"."):
            array[:0].reshape(2**62, 4, 0)


def test_none_is_a_choice() -> None:
    mask = from_numpy(np.array([True, False]))
    with pytest.raises(TypeError):
        np.where(mask, None, None)
    with pytest.raises(ValueError, match="both or neither"):
        np.where(mask, None)
    with pytest.raises(TypeError):
        np.where(mask, mask, None)
    assert [part.tolist() for part in np.where(mask)] == [[0]]


def test_the_axis_is_looked_at_where_all_is_empty() -> None:
    empty = from_numpy(np.zeros(0))
    for axis in (1, 5, -2):
        with pytest.raises(np.exceptions.AxisError):
            np.concatenate([empty, empty], axis=axis)
    assert np.concatenate([empty, empty], axis=-1).shape == (0,)


@pytest.mark.parametrize("function", [np.negative, np.exp, lambda s: s + s, lambda s: s**2])
def test_results_on_subclasses_have_one_class(function: Any) -> None:
    class Marked(AscendArray):
        __slots__ = ("mark",)

    marked = Marked(xp.ones(3).tensor)
    assert {type(function(marked)) for _ in range(3)} == {AscendArray}


@pytest.mark.usefixtures("stand_ins_only")
def test_means_divide_by_counts_that_float32_does_not_hold() -> None:
    total, count = 2.0**24, 2**24 + 1
    found = _means._divided(from_numpy(np.float32(total)).tensor, count, torch.float32)
    assert found.dtype is torch.float32
    assert found.item() == np.float32(total / count) < 1

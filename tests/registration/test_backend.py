import dask
import dask.array as da
import numpy as np
import pytest
from dask.utils import random_state_data

from daskasc import random, registration
from daskasc.array import AscendArray

registration.register()


@pytest.fixture(autouse=True)
def ascend():
    with dask.config.set({"scheduler": "synchronous", "array.backend": "ascend"}):
        yield


def check(x, expected):
    assert isinstance(x._meta, AscendArray), type(x._meta)
    got = x.compute()
    assert isinstance(got, AscendArray)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got.asnumpy(), expected)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?"])
def test_ones_zeros_full(dtype):
    check(da.ones((4, 5), chunks=2, dtype=dtype), np.ones((4, 5), dtype))
    check(da.zeros((4, 5), chunks=2, dtype=dtype), np.zeros((4, 5), dtype))
    check(da.full((4, 5), 1, chunks=2, dtype=dtype), np.full((4, 5), 1, dtype))


def test_default_dtypes():
    check(da.ones(3), np.ones(3))
    check(da.full(3, 2), np.full(3, 2))
    check(da.ones(()), np.ones(()))


def test_empty_has_shape_and_dtype():
    x = da.empty((3, 4), chunks=2, dtype="f4")
    assert isinstance(x._meta, AscendArray)
    got = x.compute()
    assert isinstance(got, AscendArray)
    assert (got.shape, got.dtype) == ((3, 4), np.dtype("f4"))


def test_arange():
    check(da.arange(10, chunks=3), np.arange(10))
    check(da.arange(0), np.arange(0))
    with dask.config.set({"array.backend": "numpy"}):
        expected = da.arange(1, 2, 0.1, chunks=4).compute()
    check(da.arange(1, 2, 0.1, chunks=4), expected)


def test_arange_has_other_keys_than_numpys():
    ours = da.arange(10, chunks=5)
    with dask.config.set({"array.backend": "numpy"}):
        plain = da.arange(10, chunks=5)
    assert ours.name != plain.name


def test_random_chunks_come_from_children_of_the_seed():
    x = da.random.default_rng(7).normal(size=(4, 6), chunks=(4, 3))
    children = np.random.SeedSequence(7).spawn(2)
    parts = [random.default_rng(child).normal(size=(4, 3)).asnumpy() for child in children]
    check(x, np.concatenate(parts, 1))
    y = da.random.default_rng(7).integers(0, 9, size=5, chunks=5)
    check(y, random.default_rng(children[0]).integers(0, 9, size=5).asnumpy())


def test_legacy_random():
    x = da.random.RandomState(3).uniform(size=(4, 4), chunks=2)
    words = random_state_data(4, np.random.RandomState(3))
    parts = [random.RandomState(word).uniform(size=(2, 2)).asnumpy() for word in words]
    check(x, np.block([parts[:2], parts[2:]]))


def test_generator_choice():
    x = da.random.default_rng(1).choice(10, size=6, chunks=3)
    got = x.compute()
    assert isinstance(got, AscendArray)
    assert set(got.asnumpy()) <= set(range(10))


def test_the_configured_backend_is_not_lost():
    da.ones(3)
    assert dask.config.get("array.backend") == "ascend"
    with dask.config.set({"array.backend": "numpy"}):
        assert type(da.ones(3)._meta) is np.ndarray

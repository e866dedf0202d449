"""Dask's random arrays: chunks drawn on the cards, whatever runs them and in which order."""

from __future__ import annotations

import pickle
import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import pytest

from daskasc import random, registration
from daskasc.array import AscendArray
from tests.random.examples import PARAMETERS

registration.register()


@pytest.fixture(params=["backend", "generator"])
def make(request):
    """``da.random.default_rng`` that draws on the cards, by either way."""
    if request.param == "generator":
        yield lambda seed: da.random.default_rng(random.default_rng(seed))
        return
    with dask.config.set({"array.backend": "ascend"}):
        yield da.random.default_rng


def test_schedulers_and_order_do_not_matter(make) -> None:
    def draw():
        return make(3).normal(size=(40, 30), chunks=(10, 15))

    x = draw()
    assert isinstance(x._meta, AscendArray)
    expected = x.compute(scheduler="synchronous").asnumpy()
    for _ in range(3):
        np.testing.assert_array_equal(draw().compute(scheduler="threads").asnumpy(), expected)
    backwards = [x.blocks[i, j].compute().asnumpy() for i in (3, 2, 1, 0) for j in (1, 0)]
    np.testing.assert_array_equal(backwards[0], expected[30:, 15:])
    np.testing.assert_array_equal(backwards[-1], expected[:10, :15])
    assert draw().name == x.name
    assert make(4).normal(size=(40, 30), chunks=(10, 15)).name != x.name
    assert len(np.unique(expected)) == expected.size


def test_a_generator_goes_on(make) -> None:
    rng = make(3)
    first, second = (rng.random(size=6, chunks=3) for _ in range(2))
    assert first.name != second.name
    assert not np.isin(first.compute().asnumpy(), second.compute().asnumpy()).any()


@pytest.mark.parametrize("name", [n for n in PARAMETERS if not n.startswith(("multi", "diri"))])
def test_every_method(name, make) -> None:
    rng = make(1)
    x = getattr(rng, name)(*PARAMETERS[name], size=5, chunks=3)
    found = x.compute(scheduler="synchronous")
    assert isinstance(x._meta, AscendArray)
    assert isinstance(found, AscendArray)
    assert (found.shape, found.dtype) == (x.shape, x.dtype)


def test_choice_and_vectors(make) -> None:
    rng = make(1)
    found = rng.choice(10, size=6, chunks=3).compute(scheduler="synchronous")
    assert set(found.asnumpy()) <= set(range(10))
    found = rng.choice(2, size=6, chunks=3, p=[0.0, 1.0]).compute(scheduler="synchronous")
    assert found.asnumpy().tolist() == [1] * 6
    found = rng.multinomial(20, [0.5, 0.5], size=6, chunks=3).compute(scheduler="synchronous")
    assert found.asnumpy().sum(1).tolist() == [20] * 6


def test_permutation(make) -> None:
    x = da.arange(12, chunks=3)
    found, again = (make(1).permutation(x).compute() for _ in range(2))
    assert sorted(np.asarray(found.tolist())) == list(range(12))
    assert found.tolist() == again.tolist() != list(range(12))


def test_a_bit_generator_is_one_for_dask() -> None:
    x = da.random.default_rng(random.SplitMix64(3)).random(size=4, chunks=2)
    y = da.random.default_rng(random.default_rng(3)).random(size=4, chunks=2)
    np.testing.assert_array_equal(x.compute().asnumpy(), y.compute().asnumpy())


def test_random_state() -> None:
    def draw():
        return da.random.RandomState(3, RandomState=random.RandomState).normal(size=8, chunks=2)

    x = draw()
    assert isinstance(x._meta, AscendArray)
    one, other = (draw().compute(scheduler=s).asnumpy() for s in ("threads", "synchronous"))
    np.testing.assert_array_equal(one, other)
    assert len(np.unique(one)) == 8


def test_graphs_unpickle_without_torch(make) -> None:
    rng = make(3)
    graphs = [
        dict(x.__dask_graph__())
        for x in (rng.normal(size=6, chunks=3), rng.choice(5, size=6, chunks=3))
    ]
    data = pickle.dumps(graphs)
    code = f"import pickle, sys; pickle.loads({data!r}); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

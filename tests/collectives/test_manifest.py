from __future__ import annotations

import pickle

import numpy as np
import pytest

from daskasc.collectives import _manifest as m
from daskasc.errors import CollectiveError

VALUE = {"n": np.arange(6).reshape(2, 3), "rest": [np.float32(2.5), (None, 7, "x")]}


def test_flatten_and_back():
    skeleton, leaves = m.flatten(VALUE)
    assert len(leaves) == 5
    back = m.unflatten(skeleton, leaves)
    assert back["n"] is VALUE["n"]
    assert back["rest"] == VALUE["rest"]
    assert type(back["rest"][1]) is tuple


def test_manifest_describes_without_numbers():
    found = m.describe(VALUE)
    assert found["text"] == "{'n': *, 'rest': [*, (*, *, *)]}"
    kinds = [leaf[0] for leaf in found["leaves"]]
    assert kinds == ["numpy", "scalar", "python", "python", "python"]
    assert found["leaves"][0][1:3] == (VALUE["n"].dtype.str, (2, 3))


def test_rebuild_uses_the_given_arrays():
    found = m.describe(VALUE)
    back = m.rebuild(found, lambda index, leaf: (index, leaf[1]))
    assert back["rest"][1] == (None, 7, "x")
    assert back["n"] == (0, VALUE["n"].dtype.str)


def test_layout_is_aligned():
    manifests = [m.describe([np.zeros(3, "u1"), np.zeros(0), np.zeros(9)]), m.describe(None)]
    places, total = m.layout(manifests)
    assert places == [[(0, 3), (64, 0), (64, 72)], [(192, 0)]]
    assert total == 192


@pytest.mark.parametrize("value", [object(), {1, 2}, np.ma.masked_array([1])])
def test_leaves_that_cannot_be_sent(value):
    if isinstance(value, np.ndarray):
        assert m.describe(value)["leaves"][0][0] == "python"
        return
    with pytest.raises(CollectiveError, match="collectives take"):
        m.describe([value])


def test_same_ignores_how_pickles_came_about():
    left = m.describe(VALUE)
    right = m.describe(pickle.loads(pickle.dumps(VALUE)))
    assert m.same(left, right)
    assert not m.same(left, m.describe(VALUE["n"]))
    assert not m.same(m.describe(np.zeros(2)), m.describe(np.zeros(3)))


def test_digest_is_stable_and_signed():
    assert m.digest("a", 1) == m.digest("a", 1)
    assert m.digest("a", 1) != m.digest("a", 2)
    assert all(-(2**63) <= part < 2**63 for part in m.digest("x"))

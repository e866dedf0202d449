from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from daskasc.collectives import Gang, Stamp, Token, deposit


def make(**changes):
    fields = {
        "id": "g",
        "members": (0, 2),
        "owner": 0,
        "op": "sum",
        "partial_keys": ("p0", "p2"),
        "barrier_key": "b",
        "collect_keys": ("c0", "c2"),
        "cards": 3,
    }
    return Gang(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"op": "mean"}, "mean"),
        ({"members": (2, 0)}, "ascending"),
        ({"members": ()}, "ascending"),
        ({"owner": 1}, "card 1"),
        ({"partial_keys": ("p0",)}, "1 partial keys"),
    ],
)
def test_bad_gangs(changes, said):
    with pytest.raises(ValueError, match=said):
        make(**changes)


def test_pickles_and_hashes():
    gang = make()
    assert pickle.loads(pickle.dumps(gang)) == gang
    assert hash(gang) == hash(make())
    assert pickle.loads(pickle.dumps(Stamp(1, 2))) == Stamp(1, 2)


def test_token_is_small():
    import numpy as np

    token = deposit({"total": np.zeros(100_000)}, make(), 2)
    assert isinstance(token, Token)
    assert token.card == 2
    assert len(pickle.dumps(token)) < 1000


def test_import_needs_no_torch():
    code = (
        "import sys, daskasc.collectives, scheduler_plugins.collective_sequencer\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0

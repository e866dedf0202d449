"""Errors and warnings of the package travel between processes as what they are."""

from __future__ import annotations

import pickle

import pytest
from distributed.core import error_message

from daskasc import errors

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_errors_travel_whole(kind):
    error = kind("what happened")
    assert str(pickle.loads(pickle.dumps(error))) == "what happened"
    found = pickle.loads(error_message(error)["exception"].data)
    assert type(found) is kind
    assert found.args == error.args
    assert isinstance(found, errors.DaskascError | UserWarning)

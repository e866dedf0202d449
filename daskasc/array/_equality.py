"""Whether whole arrays are equal; beside text, None and nested lists of no shape they are not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array._dispatch import MeetsTimes, NeedsHost, implements
from daskasc.array._storage import tensor_of, wrap
from daskasc.errors import UnsupportedDTypeError


def _any_array(value: Any) -> Any:
    """Array on the card, or NumPy's of text and other objects."""
    try:
        return wrap(tensor_of(value))
    except MeetsTimes:
        raise
    except UnsupportedDTypeError:
        return np.asarray(value)


def _equal_nothing(left: Any, right: Any, shape: Any = None) -> bool:
    """Whether numbers equal text or None, which they never do where there are any."""
    for array in (left, right):
        nothing = array.dtype.kind == "O" and not array.ndim and array.item() is None
        if isinstance(array, np.ndarray) and array.dtype.kind not in "SUT" and not nothing:
            raise NeedsHost("equality with objects")
    return not math.prod(left.shape if shape is None else shape)


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """As :func:`numpy.array_equal`; waits for the card."""
    try:
        left, right = map(_any_array, (a1, a2))
    except ValueError:  # nested lists of no shape
        return False
    if left.shape != right.shape:
        return False
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return _equal_nothing(left, right)
    same = _operators.apply(np.equal, (left, right))
    if equal_nan:
        same = same | (_operators.apply(np.isnan, (left,)) & _operators.apply(np.isnan, (right,)))
    return bool(same.all())


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    """As :func:`numpy.array_equiv`; waits for the card."""
    try:
        left, right = map(_any_array, (a1, a2))
        shape = np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        return False
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return _equal_nothing(left, right, shape)
    return bool(_operators.apply(np.equal, (left, right)).all())

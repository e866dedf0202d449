"""Solutions of triangular systems, as :func:`scipy.linalg.solve_triangular`."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._dtypes import NUMPY, cast, promote, result, torch, torch_dtype
from daskasc.array._storage import tensor_of, wrap


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    """Solve ``a x = b``; only the lower or the upper triangle of `a` is read.

    Parameters
    ----------
    a : array, shape (n, n)
    b : array, shape (n,) or (n, k)
    lower : bool
        Which triangle.

    Returns
    -------
    AscendArray
        `x`, shaped like `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        A diagonal element of `a` is zero. The check waits for the card.
    """
    left, right = tensor_of(a), tensor_of(b)
    if left.ndim != 2 or left.shape[0] != left.shape[1] or left.shape[1] != right.shape[0]:
        raise ValueError(f"shapes of a {tuple(left.shape)} and b {tuple(right.shape)} do not fit")
    common = promote(NUMPY[left.dtype], NUMPY[right.dtype])
    if common.kind not in "fc":
        common = result(np.dtype("f8"))
    left, right = cast(left, torch_dtype(common)), cast(right, torch_dtype(common))
    zero = (left.diagonal() == 0).any()
    if bool(zero):
        raise np.linalg.LinAlgError("singular matrix: a diagonal element is zero")
    columns = right.reshape(-1, 1) if right.ndim == 1 else right
    found = torch.linalg.solve_triangular(left, columns, upper=not lower)
    return wrap(found.reshape(right.shape))

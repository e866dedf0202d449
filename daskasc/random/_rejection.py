"""Rejection sampling of whole arrays: propose for all, then again for those that were refused.

Every round waits for the card, which says how many are left. Acceptance is written so that a NaN
accepts: a NaN parameter gives a NaN and no endless loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Propose = Callable[..., tuple[Any, Any]]


def rejection(propose: Propose, count: int, *parameters: Any) -> Any:
    """Accepted values.

    Parameters
    ----------
    propose : callable
        ``propose(n, *parameters)`` returns n values and whether each is accepted, as tensors.
    count : int
        Values wanted.
    *parameters : tensor
        Without axes, or one element for each value.

    Returns
    -------
    tensor
        `count` values.
    """
    values, accepted = propose(count, *parameters)
    pending = accepted.logical_not().nonzero().reshape(-1)
    while pending.numel():
        some = [p if not p.ndim else p.index_select(0, pending) for p in parameters]
        proposed, accepted = propose(pending.numel(), *some)
        good = accepted.nonzero().reshape(-1)
        values.index_copy_(0, pending.index_select(0, good), proposed.index_select(0, good))
        pending = pending.index_select(0, accepted.logical_not().nonzero().reshape(-1))
    return values


def flat(shape: tuple[int, ...], *parameters: Any) -> list[Any]:
    """Parameters as :func:`rejection` takes them, for results of a shape."""
    return [p if not p.ndim else p.expand(shape).reshape(-1) for p in parameters]

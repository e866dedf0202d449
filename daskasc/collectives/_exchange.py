"""One collective on one worker: agree, move data, rebuild.

Every member of the group runs :func:`run` for the same order, one after the other::

    buffers (may fail) -> compare (epoch, seq, digest, ready) -> move data -> synchronise -> result

Nothing is exchanged unless all members compare equal and are ready; so a worker that is out of
step, or lacks memory for the buffers, leaves the group usable. Only an error after that point
breaks the group.

Methods are chosen alike on all members, from the order and the group alone, and part of the digest:

- ``all_reduce``: the library reduces; for exact dtypes (see :mod:`._support`), where every member
  of the group brings in a partial;
- ``gather``: bytes of all partials go to the owner, where the collect task combines them in the
  order of the cards, so that results depend neither on timing nor on the shape of a ring;
- ``all_to_all``: each member brings in something for every member, see :mod:`._all_to_all`.

Over several servers the first two go in two levels, see :mod:`._two_levels`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from daskasc import config
from daskasc.collectives import _manifest as manifest_of
from daskasc.collectives._all_to_all import AllToAll
from daskasc.collectives._methods import AllReduce, Gather
from daskasc.collectives._order import Method, Order, RefusedError, Result
from daskasc.collectives._support import ANY_ORDER, EXACT, supports_all_reduce
from daskasc.collectives._two_levels import TwoLevelGather, TwoLevelReduce, in_two_levels
from daskasc.errors import CollectiveMismatchError

if TYPE_CHECKING:
    from daskasc.collectives._group import Group
    from daskasc.topology import Levels


def choose_method(
    order: Order, size: int, library: str, reproducible: bool, levels: Levels | None = None
) -> str:
    """Name of the method; see the module's text."""
    if order.op == "exchange":
        return "all_to_all"
    method = _flat_method(order, size, library, reproducible)
    if levels is None or not in_two_levels(order, levels):
        return method
    if method == "all_reduce":
        return "servers_reduce"
    mergeable = order.merge is not None if order.op == "gather" else _exact(order)
    return "servers_gather" if mergeable else "gather"


def _exact(order: Order) -> bool:
    """Whether leaves may be combined in any order."""
    leaves = order.manifests[0]["leaves"]
    return all(kind == "device" and dtype in ANY_ORDER for kind, dtype, *_ in leaves)


def _flat_method(order: Order, size: int, library: str, reproducible: bool) -> str:
    if order.op == "gather" or set(order.sources) != set(range(size)):
        return "gather"
    for kind, dtype, *_ in order.manifests[0]["leaves"]:
        if kind != "device" or not supports_all_reduce(library, order.op, dtype):
            return "gather"
        if reproducible and dtype not in EXACT:
            return "gather"
    return "all_reduce"


def run(group: Group, order: Order, partials: Mapping[int, Any]) -> Result:
    """Take part in a collective.

    Parameters
    ----------
    group : Group
        The process group of the order's epoch.
    order : Order
        Equal on all members.
    partials : mapping of int to Any
        The partials that this worker brings in, by their index among the members.

    Raises
    ------
    CollectiveMismatchError
        Members are about to enter different collectives; nothing was exchanged.
    RefusedError
        A member could not prepare; nothing was exchanged.
    """
    library = group.backend.collective_backend
    method = choose_method(order, group.size, library, config.reproducible(), group.levels)
    trouble: str | None = None
    work: Method | None = None
    try:
        work = _METHODS[method](group, order, partials)
    except Exception as error:
        trouble = f"worker of rank {group.rank} could not prepare: {type(error).__name__}: {error}"
    _agree(group, order, method, trouble)
    assert work is not None
    work.exchange()
    # The library only queues work on the card; nothing may be published before it is done.
    group.backend.synchronize()
    try:
        return Result(work.reduced, work.results(), work.received, method)
    except Exception as error:  # all members have left the exchange: the group is intact
        raise RefusedError(f"rebuilding the result: {type(error).__name__}: {error}") from error


def _agree(group: Group, order: Order, method: str, trouble: str | None) -> None:
    outlines = [manifest_of.outline(m) for m in order.manifests]
    digest = manifest_of.digest(
        order.gang,
        order.op,
        method,
        order.members,
        order.sources,
        order.owner,
        order.targets,
        order.servers,
        manifest_of.digest(order.merge),
        group.levels.servers,
        outlines,
    )
    mine = (order.epoch, order.seq, *digest)
    rows = group.compare((*mine, 0 if trouble else 1))
    different = [rank for rank, row in enumerate(rows) if row[:-1] != mine]
    if different:
        raise CollectiveMismatchError(
            f"rank {group.rank} was about to enter collective {order.gang} as (epoch, seq) = "
            f"({order.epoch}, {order.seq}) by {method}, ranks {different} something else; nothing "
            "was exchanged. Equal versions and configuration on all workers?"
        )
    unready = [rank for rank, row in enumerate(rows) if not row[-1]]
    if unready:
        raise RefusedError(trouble or f"workers of ranks {unready} could not prepare")


_METHODS: dict[str, Callable[[Group, Order, Mapping[int, Any]], Method]] = {
    "all_reduce": AllReduce,
    "gather": Gather,
    "all_to_all": AllToAll,
    "servers_reduce": TwoLevelReduce,
    "servers_gather": TwoLevelGather,
}

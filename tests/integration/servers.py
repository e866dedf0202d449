"""Clusters whose workers, all on this machine, say that they are in several servers."""

from __future__ import annotations

from typing import Any

import dask

import daskasc


class SeveralServers(daskasc.LocalNPUCluster):
    """One worker a card, in servers of the given names.

    Parameters
    ----------
    names : sequence of str
        Server of each card.
    **options
        As of the base class.
    """

    def __init__(self, names: tuple[str, ...], **options: Any) -> None:
        self._names = names
        super().__init__(n_workers=len(names), dashboard_address=":0", **options)

    def _spec(self, card: int) -> dict[str, Any]:
        spec = super()._spec(card)
        # the nanny replaces what stands at the top of dask's configuration
        own = {**dask.config.get("daskasc"), "topology": {"node": self._names[card]}}
        spec["options"]["config"] = {"daskasc": own}
        return spec


def planned(cluster: Any, **options: Any) -> Any:
    """Settings under which graphs are planned in another way than the cluster's."""
    planner = daskasc.Planner(cluster.cards.count, **options)
    return dask.config.set(array_optimize=daskasc.SchedulerPlanner(planner))

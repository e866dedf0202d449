"""``daskasc.plan``: what a computation would do and need, told without running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import dask
import dask.config
from dask._expr import FinalizeCompute
from dask.base import collections_to_expr, unpack_collections
from dask.typing import Key
from dask.utils import parse_bytes

from daskasc._tabular import as_html, as_text, readable
from daskasc.errors import ConfigurationError, InputError
from daskasc.planner._figures import Figures, Operation, figures
from daskasc.planner._optimize import Planned, Planner, SchedulerPlanner
from daskasc.planner._projection import Peak
from daskasc.planner._traffic import Collective
from daskasc.topology import even_servers


@dataclass(frozen=True)
class Plan:
    """What a computation would do and need; sizes in bytes.

    Printed, it is a table with one line a card; in a notebook the same in HTML.

    Attributes
    ----------
    cards : int
        Number of cards.
    tasks : int
        Number of tasks, those included that only hold data.
    kinds : dict
        Number of tasks by kind: ``read`` (from stores), ``chunk`` (other work on chunks),
        ``bundle`` (several chunks of a reduction, one after the other, and the combining of what
        they give), ``combine`` (other card-local steps of reductions), ``collective`` (their
        exchange over cards), ``gather`` (tasks that any card may run, such as the collecting of a
        result), ``data`` (values that lie in the graph), ``unplanned`` (tasks of no array).
    chunks : tuple of int
        Tasks of kinds ``read`` and ``chunk`` on each card, those in bundles included.
    collectives : tuple of Collective
        Exchanges over the cards, summed up by reduction and operation.
    bytes_read : int
        Read from stores, decoded.
    bytes_host_to_device, bytes_between_cards : int
        Brought from host to card; from card to card, collectives included.
    bytes_between_servers : int
        Those of the bytes between cards that cross from one server to another.
    servers : int
        Number of servers that the cards are in.
    peaks : tuple of Peak
        Projected peak memory of each card: upper bounds that hold whatever the timing, as far as
        all sizes are known.
    peak_device_bytes, peak_host_bytes : int
        The largest of the cards' projected peaks, spilling taken into account; the sum of the
        workers' host memory for chunks and read buffers.
    spill_bytes : int
        Bytes beyond the memory for stored chunks on the fullest card, which would be spilled.
    largest : Operation or None
        The task that needs most memory at a time.
    capacity, stored_limit : int or None
        Memory of a card; the part of it for stored chunks; None where not known.
    unknown : dict
        Number of tasks whose result has a size that nobody can know before it is computed, by
        name of the array. Their memory is missing in all figures.
    """

    cards: int
    tasks: int
    kinds: Mapping[str, int]
    chunks: tuple[int, ...]
    collectives: tuple[Collective, ...]
    bytes_read: int
    bytes_host_to_device: int
    bytes_between_cards: int
    peaks: tuple[Peak, ...]
    peak_host_bytes: int
    largest: Operation | None
    capacity: int | None = None
    stored_limit: int | None = None
    unknown: Mapping[str, int] = field(default_factory=dict)
    servers: int = 1
    bytes_between_servers: int = 0

    @property
    def peak_device_bytes(self) -> int:
        """Largest projected peak of a card, spilling taken into account."""
        return max((peak.limited(self.stored_limit) for peak in self.peaks), default=0)

    @property
    def spill_bytes(self) -> int:
        """Bytes beyond the memory for stored chunks on the fullest card."""
        if self.stored_limit is None:
            return 0
        return max(0, *(peak.stored - self.stored_limit for peak in self.peaks))

    @property
    def fits(self) -> bool | None:
        """Whether every task fits a card; None where the cards' memory is not known."""
        if self.capacity is None:
            return None
        return self.largest is None or self.largest.need <= self.capacity

    def __str__(self) -> str:
        return "\n".join([*self._notes(), *as_text(*self._table())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "<br>".join(escape(line) for line in self._notes())
        return f"<p>{notes}</p>{as_html(*self._table())}"

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        head: tuple[str, ...] = ("card", "chunks", "projected peak", "stored", "largest task")
        rows: list[tuple[str, ...]] = [
            (
                str(peak.card),
                str(chunks),
                readable(peak.limited(self.stored_limit)),
                readable(peak.stored),
                readable(peak.need),
            )
            for peak, chunks in zip(self.peaks, self.chunks, strict=True)
        ]
        return head, rows

    def _notes(self) -> list[str]:
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.kinds.items())
        several = self.servers > 1
        where = (
            f"{self.cards} cards in {self.servers} servers" if several else f"{self.cards} cards"
        )
        lines = [f"plan for {where}: {self.tasks} tasks ({kinds})"]
        lines += [
            f"collective {one.name}: {one.count} x {one.operation}, {readable(one.nbytes)}"
            + (f", {readable(one.between_servers)} between servers" if several else "")
            for one in self.collectives
        ]
        lines.append(
            f"read {readable(self.bytes_read)}, host->device "
            f"{readable(self.bytes_host_to_device)}, between cards "
            f"{readable(self.bytes_between_cards)}"
            + (f", between servers {readable(self.bytes_between_servers)}" if several else "")
        )
        lines.append(f"projected peak on the host {readable(self.peak_host_bytes)}")
        if self.largest is not None:
            lines.append(
                f"largest task: {self.largest.layer}, {readable(self.largest.need)}"
                + ("" if self.fits is not False else ", which a card cannot hold")
            )
        if self.spill_bytes:
            lines.append(
                f"will spill about {readable(self.spill_bytes)} a card (memory for stored "
                f"chunks: {readable(self.stored_limit or 0)})"
            )
        if self.unknown:
            names = ", ".join(f"{number} of {name}" for name, number in self.unknown.items())
            lines.append(f"size unknown, so not counted: {names}")
        return lines


class _Recorder:
    """In the place of the planner: plans what dask hands over, and keeps it."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.planned: list[Planned] = []

    def __call__(self, dsk: Any, keys: Any, **kwargs: Any) -> Any:
        planned = self._planner.planned(dsk, keys)
        self.planned.append(planned)
        return planned.annotated()


def plan(
    *collections: Any,
    cards: int | None = None,
    memory: float | str | None = None,
    persist: bool = False,
    servers: int | Sequence[int] | None = None,
) -> Plan:
    """Tell what a computation would do and need, without running anything.

    The same passes run as for ``compute``, on a copy of the graph.

    Parameters
    ----------
    *collections : dask collections, xarray objects, or containers of them
        What would be computed, together.
    cards : int, optional
        Number of cards to plan for. Default is that of the open cluster.
    memory : int, float or str, optional
        Memory of a card, such as ``"64GiB"``. Default is that of the open cluster; without a
        cluster the memory is not limited.
    persist : bool
        Plan ``persist``, which leaves the results on the cards, instead of ``compute``, which
        collects each on one card and then in the client.
    servers : int or sequence of int, optional
        Number of servers, with equally many cards each, or the server of each card. Default is
        what the open cluster has; without a cluster one server.

    Returns
    -------
    Plan

    Raises
    ------
    ConfigurationError
        No cluster is open and `cards` is not given, or `cards`, `memory` or `servers` is malformed.
    InputError
        There is no dask collection among the arguments.

    Examples
    --------
    >>> import dask.array as da
    >>> x = da.ones((1000, 100), chunks=(100, 100))
    >>> plan(x.mean(axis=0), cards=2).cards
    2
    """
    found, _ = unpack_collections(*collections)
    if not found:
        kinds = ", ".join(sorted({type(item).__name__ for item in collections})) or "nothing"
        raise InputError(
            f"plan takes dask collections and xarray objects that hold some, but got {kinds}; "
            "chunk the data first (dask.array.from_array, .chunk())"
        )
    planner = _planner(cards, memory, servers)
    recorder = _Recorder(planner)
    with dask.config.set(array_optimize=recorder):
        expression = collections_to_expr(found)
        if not persist:
            expression = FinalizeCompute(expression)
        graph = expression.optimize().__dask_graph__()
    return _summed_up(planner, [figures(planned) for planned in recorder.planned], graph)


def _planner(
    cards: int | None, memory: float | str | None, servers: int | Sequence[int] | None
) -> Planner:
    configured = dask.config.get("array_optimize", None)
    if isinstance(configured, SchedulerPlanner):
        configured = configured.planner
    open_one = configured if isinstance(configured, Planner) else None
    if cards is None and open_one is None:
        raise ConfigurationError(
            "no cluster is open whose cards could be planned for; open one (LocalNPUCluster) or "
            "give the number of cards: plan(x, cards=8)"
        )
    if cards is not None and (isinstance(cards, bool) or not isinstance(cards, int) or cards < 1):
        raise ConfigurationError(f"cards is {cards!r}; allowed: integers >= 1")
    capacity = open_one.capacity if open_one else None
    limit = open_one.stored_limit if open_one else None
    if memory is not None:
        capacity = _bytes(memory)
        limit = None if limit is None else min(limit, capacity)
    count = cards if cards is not None else (open_one.cards if open_one else 1)
    return (
        Planner(
            count,
            capacity=capacity,
            stored_limit=limit,
            padding=open_one.padding if open_one else 0,
            asynchronous=open_one.asynchronous if open_one else False,
            servers=_servers(servers, count),
        )
        .resolved()
        .located()
    )


def _servers(servers: int | Sequence[int] | None, cards: int) -> tuple[int, ...] | None:
    if servers is None:
        return None
    if isinstance(servers, int) and not isinstance(servers, bool):
        return even_servers(cards, servers)
    try:
        found = tuple(int(server) for server in servers)  # type: ignore[union-attr]
    except (TypeError, ValueError):
        found = ()
    if len(found) != cards:
        raise ConfigurationError(
            f"servers is {servers!r}; allowed: a number from 1 to {cards}, or {cards} numbers, the "
            "server of each card"
        )
    return found


def _bytes(memory: float | str) -> int:
    try:
        nbytes = int(parse_bytes(memory))
    except (ValueError, TypeError, AttributeError):
        nbytes = 0
    if nbytes <= 0:
        raise ConfigurationError(f'memory is {memory!r}; allowed: a size such as "64GiB"')
    return nbytes


def _summed_up(planner: Planner, parts: list[Figures], graph: Mapping[Key, Any]) -> Plan:
    """One plan for graphs that run at the same time."""
    kinds: dict[str, int] = {}
    unknown: dict[str, int] = {}
    for part in parts:
        for kind, number in part.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + number
        for name, number in part.unknown.items():
            unknown[name] = unknown.get(name, 0) + number
    planned = sum(kinds.values())
    if len(graph) > planned:
        kinds["unplanned"] = len(graph) - planned
    operations = [part.largest for part in parts if part.largest is not None]
    by_card = [[part.peaks[card] for part in parts] for card in range(planner.cards)]
    return Plan(
        cards=planner.cards,
        tasks=len(graph),
        kinds=kinds,
        chunks=tuple(sum(part.chunks[card] for part in parts) for card in range(planner.cards)),
        collectives=tuple(one for part in parts for one in part.collectives),
        bytes_read=sum(part.read for part in parts),
        bytes_host_to_device=sum(part.uploaded for part in parts),
        bytes_between_cards=sum(part.between for part in parts),
        bytes_between_servers=sum(part.between_servers for part in parts),
        servers=len(set(planner.servers or (0,))),
        peaks=tuple(
            Peak(
                card,
                sum(peak.stored for peak in peaks),
                sum(peak.total for peak in peaks),
                max((peak.need for peak in peaks), default=0),
                sum(peak.host for peak in peaks),
            )
            for card, peaks in enumerate(by_card)
        ),
        peak_host_bytes=sum(peak.host for peaks in by_card for peak in peaks),
        largest=max(operations, key=lambda one: one.need, default=None),
        capacity=planner.capacity,
        stored_limit=planner.stored_limit,
        unknown=unknown,
    )

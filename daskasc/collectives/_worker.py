"""A worker's part in collectives: what the scheduler's sequencer calls.

========================  =====================================================================
``group_host``            start the store of a group about to form
``group_join``            join that group and pass its self-test
``collective_prepare``    take hold of partials, so that they stay where the order says they are
``collective_run``        run a stamped gang in its turn; answers when it is over
``collective_part``       hand a partial, or an item of one, to another worker, without a group
``collective_relay``      fetch partials from the workers that hold them, without a group
``exit``                  end this process at once; a nanny starts it anew
========================  =====================================================================

All communication happens in one thread, in the order of the stamps. Handlers run in the event loop
and only wait for it. Answers carry a status and text, never exceptions: unpickling one of torch's
would make the scheduler import torch. After an error in a collective (status "broken") this
process refuses all others of the epoch, until the scheduler has it restarted.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distributed.comm import get_address_host
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.protocol import to_serialize

from daskasc import config, topology
from daskasc.collectives import _exchange, _group
from daskasc.collectives._manifest import describe, same
from daskasc.collectives._order import Order, RefusedError
from daskasc.collectives._thread import CollectiveThread, StrictOrder
from daskasc.errors import CollectiveError, CollectiveMismatchError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from distributed import Worker

    from daskasc.collectives._gang import Stamp

logger = logging.getLogger(__name__)

NAME = "daskasc-collectives"

_STOP_LIMIT = 2.0


class WorkerPart:
    """State of the collectives in a worker process.

    Attributes
    ----------
    log : deque of (epoch, seq, gang id)
        The latest collectives, in the order they ran.
    methods : Counter
        How many collectives went by which method.
    order : StrictOrder
        Stamped gangs whose turn has not come.
    exchange : callable
        Runs one gang in the collective thread: ``exchange(group, order, partials)``.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.thread = CollectiveThread()
        self.log: deque[tuple[int, int, str]] = deque(maxlen=10_000)
        self.methods: Counter[str] = Counter()
        self.order: StrictOrder[tuple[Order, asyncio.Future[dict[str, Any]]]]
        self.order = StrictOrder()
        self.exchange = _exchange.run
        self._epoch = 0
        self._group: _group.Group | None = None
        self._broken: str | None = None
        self._store: Any = None
        self._held: dict[int, dict[Any, Any]] = {}
        self._published: dict[tuple[str, int | None], tuple[int, int, bool, Any]] = {}
        self._lock = threading.Lock()  # results are published and taken by different threads
        worker.handlers.update(
            {
                "daskasc_group_host": self.group_host,
                "daskasc_group_join": self.group_join,
                "daskasc_collective_prepare": self.prepare,
                "daskasc_collective_run": self.run,
                "daskasc_collective_part": self.part,
                "daskasc_collective_relay": self.relay,
                "daskasc_exit": self.exit,
            }
        )
        worker.stream_handlers.update(
            {"daskasc-let-go": self.let_go, "daskasc-drop-result": self.drop_result}
        )

    # -- groups

    async def group_host(self, epoch: int, timeout: float) -> dict[str, Any]:
        """Start the store of a group; the scheduler passes its address on to all members."""
        host = get_address_host(self.worker.address)
        try:
            store = await asyncio.wrap_future(self.thread.submit(_group.host_store, host, timeout))
        except Exception as error:
            return _failed(f"store on {host}", error)
        self._store = store
        return {"status": "OK", "host": host, "port": store.port}

    async def group_join(self, **rendezvous: Any) -> dict[str, Any]:
        """Join a group in place of the current one."""
        meeting = _group.Rendezvous(**rendezvous)
        self._epoch = meeting.epoch
        self._broken = None
        self.order = StrictOrder()
        try:
            await asyncio.wrap_future(self.thread.submit(self._join, meeting))
        except Exception as error:
            logger.exception("Joining epoch %d failed", meeting.epoch)
            return _failed(f"joining epoch {meeting.epoch}", error)
        return {"status": "OK"}

    def _join(self, meeting: _group.Rendezvous) -> None:
        from daskasc import device

        backend = device.current()
        backend.activate_thread()
        _group.choose_interface(get_address_host(self.worker.address), meeting.loopback)
        self._group = None
        group = _group.Group(meeting, backend)
        group.self_test()
        backend.synchronize()
        self._group = group

    # -- collectives

    async def prepare(
        self, hold: int, partials: Sequence[tuple[Any, dict[str, Any]]]
    ) -> dict[str, Any]:
        """Take hold of partials, after a look whether they are what their tokens said."""
        held = self._held.setdefault(hold, {})
        for key, manifest in partials:
            try:
                value = self.worker.data[key]
            except KeyError:
                del self._held[hold]
                return {"status": "absent", "message": f"partial {key!r} is not held here"}
            if not same(describe(value), manifest):
                del self._held[hold]
                return {
                    "status": "differs",
                    "message": f"partial {key!r} is not what its deposit described; its task "
                    "must give the same result each time it runs",
                }
            held[key] = value
        return {"status": "OK"}

    async def run(self, order: bytes) -> dict[str, Any]:
        """Run a gang when its turn comes; `order` is pickled, once for all members."""
        stamped = Order(**pickle.loads(order))
        if stamped.epoch != self._epoch:
            message = f"epoch is {self._epoch}, the collective's {stamped.epoch}"
            return {"status": "broken", "message": message}
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        for due, reply in self.order.push(stamped.seq, (stamped, answer)):
            self.thread.submit(self._execute, due).add_done_callback(_forward(reply))
        return await answer

    def _execute(self, order: Order) -> dict[str, Any]:
        held = self._held.pop(order.hold, {})
        if self._broken is not None:
            return {"status": "broken", "message": self._broken}
        group = self._group
        assert group is not None
        partials = {i: held[key] for i, key in enumerate(order.partial_keys) if key in held}
        try:
            group.backend.activate_thread()
            result = self.exchange(group, order, partials)
        except CollectiveMismatchError as error:
            return {"status": "mismatch", "message": str(error)}
        except RefusedError as error:
            return {"status": "refused", "message": str(error)}
        except Exception as error:
            logger.warning("Collective %s failed: %r", order.gang, error)
            self._broken = f"{order.gang}: {type(error).__name__}: {error}"
            return {"status": "broken", "message": self._broken}
        self.log.append((order.epoch, order.seq, order.gang))
        self.methods[result.method] += 1
        with self._lock:
            for card, value in result.values.items():
                place = (order.gang, card)
                self._published[place] = (order.epoch, order.seq, result.reduced, value)
        _count(result.received)
        return {"status": "OK", "message": ""}

    async def part(self, hold: int, key: Any, item: int | None) -> dict[str, Any]:
        """A partial that is held here, or one item of it, for another worker."""
        try:
            return {"status": "OK", "value": to_serialize(self._part(hold, key, item))}
        except KeyError:
            return {"status": "absent", "message": f"partial {key!r} is not held here"}

    def _part(self, hold: int, key: Any, item: int | None) -> Any:
        value = self._held[hold][key]
        return value if item is None else value[item]

    async def relay(
        self,
        gang: str,
        epoch: int,
        seq: int,
        hold: int,
        partials: Sequence[tuple[Any, str]],
        wanted: Sequence[tuple[int | None, int | None]],
        seconds: float,
    ) -> dict[str, Any]:
        """Fetch what a collective brings here from the workers that hold it, without a group.

        Parameters
        ----------
        gang, epoch, seq
            The collective, as its tasks ask for the result.
        hold : int
            Name under which its partials are held.
        partials : sequence of (Key, str)
            For each member its partial, and the address of the worker that holds it.
        wanted : sequence of (int or None, int or None)
            Results to take: card, and which item of each partial; both None for that of a
            reduction.
        seconds : float
            Time limit for each of them.
        """
        for card, item in wanted:
            fetched = (self._fetched(address, hold, key, item) for key, address in partials)
            try:
                values = await asyncio.wait_for(asyncio.gather(*fetched), seconds)
            except Exception as error:
                return _failed(f"relaying {gang}", error)
            with self._lock:
                self._published[gang, card] = (epoch, seq, False, values)
        self.methods["relay"] += 1
        return {"status": "OK", "message": ""}

    async def _fetched(self, address: str, hold: int, key: Any, item: int | None) -> Any:
        if address == self.worker.address:
            return self._part(hold, key, item)
        reply = await self.worker.rpc(address).daskasc_collective_part(
            hold=hold, key=key, item=item
        )
        if reply["status"] != "OK":
            raise CollectiveError(reply["message"])
        return reply["value"]

    def take(self, gang: str, stamp: Stamp, card: int | None = None) -> tuple[bool, Any] | None:
        """Result of a gang, and whether it is reduced already; None if it is not here.

        Of an exchange, `card` says whose result. A result is taken once. Thread-safe.
        """
        with self._lock:
            found = self._published.get((gang, card))
            if found is None or found[:2] != (stamp.epoch, stamp.seq):
                return None
            del self._published[gang, card]
        return found[2], found[3]

    def let_go(self, hold: int, **_: Any) -> None:
        """Forget partials that were taken hold of."""
        self._held.pop(hold, None)

    def drop_result(
        self, gang: str, epoch: int, seq: int, card: int | None = None, **_: Any
    ) -> None:
        """Forget a result that nobody will collect."""
        with self._lock:
            if self._published.get((gang, card), (None, None))[:2] == (epoch, seq):
                del self._published[gang, card]

    def waiting(self) -> dict[str, int]:
        """Numbers of partials and results held; both 0 when nothing runs."""
        return {"held": len(self._held), "published": len(self._published)}

    # -- the end

    async def exit(self) -> str:
        """End this process without any clean-up, which could wait for a lost peer."""
        asyncio.get_running_loop().call_later(0.02, os._exit, 1)
        return "OK"

    def close(self) -> None:
        """Stop the collective thread, leaving the group if it is idle."""
        if self._group is not None and self._broken is None:
            self.thread.submit(_group.dissolve)
        if not self.thread.stop(_STOP_LIMIT):
            logger.warning("The collective thread did not end within %g s", _STOP_LIMIT)
        self._group = self._store = None


def _failed(what: str, error: BaseException) -> dict[str, Any]:
    return {"status": "failed", "message": f"{what}: {type(error).__name__}: {error}"}


def _forward(reply: asyncio.Future[dict[str, Any]]) -> Any:
    """Pass a result from the collective thread to a waiting handler."""
    loop = reply.get_loop()

    def settle(outcome: Future[dict[str, Any]]) -> None:
        error = outcome.exception()
        value = outcome.result() if error is None else _failed("collective", error)
        if error is not None:
            value["status"] = "broken"
        if not reply.done():
            reply.set_result(value)

    def done(outcome: Future[dict[str, Any]]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome)

    return done


def _count(received: int) -> None:
    from daskasc import device

    device.counters.add("collectives", 1)
    device.counters.add("collective_bytes", received)


def install(worker: Worker) -> WorkerPart:
    """Make a worker able to take part in collectives; a second call changes nothing."""
    part: WorkerPart | None = worker.extensions.get(NAME)
    if part is None:
        part = worker.extensions[NAME] = WorkerPart(worker)
        if (node := config.node()) is not None:
            worker.startup_information[topology.NODE] = lambda _: node
    return part


def part_of(worker: Worker) -> WorkerPart:
    """A worker's part in collectives.

    Raises
    ------
    CollectiveError
        The worker was started without it.
    """
    part: WorkerPart | None = worker.extensions.get(NAME)
    if part is None:
        raise CollectiveError(
            f"worker {worker.name} takes no part in collectives; start it with "
            "daskasc's worker preload, or register daskasc.collectives.CollectivesPlugin()"
        )
    return part


class CollectivesPlugin(WorkerPlugin):
    """Worker plugin form of :func:`install`, with the clean-up."""

    name = NAME

    def setup(self, worker: Worker) -> None:
        """Install the worker's part."""
        install(worker)

    def teardown(self, worker: Worker) -> None:
        """Stop the worker's part."""
        part = worker.extensions.pop(NAME, None)
        if part is not None:
            part.close()

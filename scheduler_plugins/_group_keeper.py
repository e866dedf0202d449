"""Keeps the process group of the collectives alive: forms it, and restarts what must be restarted.

The group covers all workers that serve cards; ranks follow the cards. It is formed at first need,
and again when a worker is needed that it lacks::

    drain what is in flight -> restart entered workers -> ask the first worker for a store
        -> all join and self-test -> open the epoch

A worker that was told to run a collective of an epoch that failed is never used again: it may hold
a broken communicator that computes wrong values without an error. Its data are right, so they are
copied to other workers first (*evacuation*, to already restarted ones where possible); then the
scheduler removes it as expected, so that its tasks are not counted as suspicious, and its process
ends itself hard, for a nanny to start it anew. One worker at a time. Where evacuation fails or
takes too long, the restart happens all the same and Dask recomputes what was lost.

Every wait here ends: joining and evacuating within the collective time limit, waiting for a
restarted worker within the same, forming after ``retries + 1`` attempts.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from distributed.core import Status, rpc

from daskasc import config
from daskasc.errors import CollectiveError, GroupChangedError
from scheduler_plugins._sequence import Epoch, EpochBook, Moved
from scheduler_plugins.chunk_placement import placement_of

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

logger = logging.getLogger(__name__)

_EXIT_LIMIT = 5.0
_SUSPENSION = 600.0  # seconds without a group, before the next attempt to form one
_POLL = 0.02


class NoGroup(CollectiveError):
    """No group could be formed within the allowed attempts."""


class GroupKeeper:
    """The process group as the scheduler sees it.

    Attributes
    ----------
    book : EpochBook
        Epochs, stamps and the workers to restart.
    counters : Counter
        ``epochs``, ``restarts``, ``evacuated_keys``, ``forming_failures``.
    reasons : deque of str
        Why epochs failed and groups were not formed, the latest last.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.book = EpochBook()
        self.counters: Counter[str] = Counter()
        self.reasons: deque[str] = deque(maxlen=100)
        self.timeout = config.collective_timeout()
        self.retries = config.collective_retries()
        self._lock = asyncio.Lock()
        self._broken: dict[int, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[Epoch]] = set()
        self.may_relay = config.collective_relay()
        self._suspended_until = 0.0
        self._forming: tuple[str, ...] = ()
        self._forming_lost = asyncio.Event()

    @property
    def suspended(self) -> bool:
        """Whether collectives have to do without a group for now."""
        return time.monotonic() < self._suspended_until

    def suspend(self, reason: str) -> None:
        """Do without a group for some minutes, after attempts that all failed."""
        if not self.suspended:
            self._remember(
                f"{reason}; for {_SUSPENSION / 60:g} minutes collectives go from worker to worker, "
                "which is slower (daskasc.collectives.relay)"
            )
        self._suspended_until = time.monotonic() + _SUSPENSION

    def broken(self, epoch: Epoch) -> asyncio.Event:
        """Set when an epoch has failed."""
        return self._broken.setdefault(epoch.number, asyncio.Event())

    def fail(self, epoch: Epoch, reason: str) -> None:
        """A collective of `epoch` failed; all its gangs in flight fail with it."""
        if not epoch.dead:
            self._remember(f"Epoch {epoch.number} of the collectives failed: {reason}")
        self.book.fail(epoch)
        self.broken(epoch).set()

    def lost(self, address: str) -> None:
        """A worker was removed from the cluster."""
        epoch = self.book.current
        if self.book.lost(address) and epoch is not None:
            self._remember(f"Epoch {epoch.number} of the collectives failed: worker {address} left")
            self.broken(epoch).set()
        elif epoch is not None and address in epoch.members:
            self.reasons.append(f"Epoch {epoch.number} ended: worker {address} left")
        if address in self._forming:
            self._forming_lost.set()

    def _remember(self, reason: str) -> None:
        self.reasons.append(reason)
        logger.warning("%s", reason)

    async def call(self, address: str, operation: str, limit: float, **kwargs: Any) -> Any:
        """Call a collective operation of a worker.

        Raises
        ------
        OSError
            The worker cannot be reached.
        TimeoutError
            It did not answer within `limit` seconds.
        """
        return await asyncio.wait_for(
            getattr(self.scheduler.rpc(address), f"daskasc_{operation}")(**kwargs), limit
        )

    async def ensure(self, needed: Iterable[str]) -> Epoch:
        """Return an epoch whose group holds the workers `needed`, forming one if there is none.

        The work goes on when the caller is cancelled: half a restart would leave a process that
        must not be used again, and restarting an owner cancels the very drive that waits here.

        Raises
        ------
        Moved
            A worker in `needed` is gone, or serves no card any more.
        NoGroup
            None could be formed within the allowed attempts.
        """
        task = asyncio.create_task(self._ensure(set(needed)))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Epoch]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen, should the caller be gone

    async def close(self) -> None:
        """Stop forming and restarting."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ensure(self, wanted: set[str]) -> Epoch:
        async with self._lock:
            if self.book.usable(self.book.current, wanted):
                assert self.book.current is not None
                return self.book.current
            for _ in range(self.retries + 1):
                await self._drain()
                await self._restart_entered()
                members = self.members()
                if not wanted <= set(members):
                    raise Moved(
                        f"workers {sorted(wanted - set(members))} left while a group was formed"
                    )
                problem = await self._form(members)
                if problem is None:
                    assert self.book.current is not None
                    return self.book.current
                self.counters["forming_failures"] += 1
                self._remember(f"Forming the group of collectives failed: {problem}")
            raise NoGroup(
                f"no group of {len(members)} workers passed its self-test in {self.retries + 1} "
                f"attempts; last: {problem}. See the workers' logs, and "
                "daskasc.collectives.timeout and .retries"
            )

    def members(self) -> tuple[str, ...]:
        """Addresses of the workers that serve cards, by their lowest card."""
        hosts = placement_of(self.scheduler).map.hosts().values()
        return tuple(dict.fromkeys(a for a in hosts if a in self.scheduler.workers))

    async def _drain(self) -> None:
        epoch = self.book.current
        if epoch is None:
            return
        self.book.close(epoch)
        while epoch.in_flight:
            await asyncio.sleep(_POLL)
        self._broken.pop(epoch.number, None)

    async def _form(self, members: tuple[str, ...]) -> str | None:
        number = self.book.next_number()
        self._forming, self._forming_lost = members, asyncio.Event()
        try:
            return await self._join_all(number, members)
        finally:
            self._forming = ()

    async def _join_all(self, number: int, members: tuple[str, ...]) -> str | None:
        limit = self.timeout + _EXIT_LIMIT
        try:
            store = await self.call(
                members[0], "group_host", limit, epoch=number, timeout=self.timeout
            )
        except (OSError, TimeoutError) as error:
            return f"worker {members[0]} could not host the store: {error!r}"
        if store["status"] != "OK":
            return str(store["message"])
        servers = self._servers(members)
        local = all("127.0.0.1" in a or "[::1]" in a for a in members)
        calls = [
            asyncio.ensure_future(
                self.call(
                    address,
                    "group_join",
                    limit,
                    epoch=number,
                    rank=rank,
                    size=len(members),
                    host=store["host"],
                    port=store["port"],
                    timeout=self.timeout,
                    loopback=local,
                    servers=servers,
                )
            )
            for rank, address in enumerate(members)
        ]
        replies = await _all_or_event(calls, self._forming_lost)
        problems = [
            f"{address}: {_problem(reply)}"
            for address, reply in zip(members, replies, strict=True)
            if _problem(reply)
        ]
        if not problems:
            self.book.open(number, members)
            self.counters["epochs"] += 1
            return None
        # Those that waited for a lost peer may sit inside a collective of the self-test.
        self.book.enter(a for a in members if a in self.scheduler.workers)
        return "; ".join(problems)

    def _servers(self, members: tuple[str, ...]) -> tuple[int, ...]:
        """Server of each rank; empty where all are in one, or where that is not known."""
        found = placement_of(self.scheduler).map
        names = [found.server_of(address) for address in members]
        if None in names or len(set(names)) == 1:
            return ()
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return tuple(numbers[name] for name in names)

    async def _restart_entered(self) -> None:
        if not self.book.entered:
            return
        await self._remove_the_dead()
        await self._lost_cards_back()
        while self.book.entered:
            address = self.book.entered[0]
            worker = self.scheduler.workers.get(address)
            if worker is not None:
                await self._restart(worker)
            if address in self.book.entered:
                self.book.entered.remove(address)

    async def _remove_the_dead(self) -> None:
        """Let the scheduler know of workers that are gone before it does by itself.

        A survivor's collective fails the moment its peer dies, often before the scheduler's own
        connection does; data evacuated to the dead peer would be lost.
        """
        addresses = list(self.scheduler.workers)
        alive = await asyncio.gather(*(self._answers(address) for address in addresses))
        for address, answered in zip(addresses, alive, strict=True):
            if not answered and address in self.scheduler.workers:
                await self.scheduler.remove_worker(
                    address, stimulus_id=f"daskasc-dead-{time.time()}", close=False
                )

    async def _answers(self, address: str) -> bool:
        try:
            await asyncio.wait_for(self.scheduler.rpc(address).identity(), self.timeout)
        except (OSError, TimeoutError):
            return False
        return True

    async def _lost_cards_back(self) -> None:
        missing = placement_of(self.scheduler).map.missing
        await self._until(lambda: not missing(), min(self.timeout, config.rejoin_timeout()))

    async def _restart(self, worker: WorkerState) -> None:
        scheduler, stimulus = self.scheduler, f"daskasc-restart-{time.time()}"
        address, name, nanny = worker.address, worker.name, worker.nanny
        logger.warning("Restarting worker %s: a collective failed in it", address)
        self.counters["restarts"] += 1
        # Paused in the scheduler's view only: no new tasks, while running ones may finish.
        scheduler.handle_worker_status_change(Status.paused, worker, stimulus)
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError, OSError):
            await asyncio.wait_for(self._evacuate(worker), self.timeout)
        await scheduler.remove_worker(address, stimulus_id=stimulus, expected=True, close=False)
        if not await self._ask(address, "daskasc_exit") and nanny:
            await self._ask(nanny, "kill", reason=stimulus)
        if nanny:
            await self._until(lambda: self._running(name), self.timeout)

    def _running(self, name: object) -> bool:
        address = self.scheduler.aliases.get(name)
        worker = self.scheduler.workers.get(address) if address else None
        return worker is not None and worker.status == Status.running

    async def _ask(self, address: str, operation: str, **kwargs: Any) -> bool:
        """Ask a process to end; True when it did (the connection breaks) or said that it will."""
        with contextlib.suppress(OSError):
            async with rpc(address, connection_args=self.scheduler.connection_args) as remote:
                try:
                    await asyncio.wait_for(getattr(remote, operation)(**kwargs), _EXIT_LIMIT)
                except TimeoutError:
                    return False
        return True

    async def _evacuate(self, worker: WorkerState) -> None:
        for _ in range(3):
            targets = self._targets(worker)
            only_here = [
                task
                for task in worker.has_what
                if set(task.who_has or ()) == {worker} and (task.waiters or task.who_wants)
            ]
            if not targets or not only_here:
                return
            load = {target: target.nbytes for target in targets}
            moves: dict[str, dict[Any, list[str]]] = {}
            for task in sorted(only_here, key=lambda t: t.nbytes, reverse=True):
                target = min(load, key=lambda w: load[w])
                load[target] += task.nbytes
                moves.setdefault(target.address, {})[task.key] = [worker.address]
            copies = [self.scheduler.gather_on_worker(a, keys) for a, keys in moves.items()]
            failed = await asyncio.gather(*copies, return_exceptions=True)
            lost = sum(len(f) for f in failed if isinstance(f, set))
            self.counters["evacuated_keys"] += len(only_here) - lost
            if any(failed):  # a target may have died; the next round takes those alive
                await asyncio.sleep(10 * _POLL)

    def _targets(self, leaving: WorkerState) -> list[WorkerState]:
        others = [w for w in self.scheduler.running if w is not leaving]
        return [w for w in others if w.address not in self.book.entered] or others

    async def _until(self, condition: Any, limit: float) -> bool:
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL)
        return True


def _problem(reply: Any) -> str | None:
    if isinstance(reply, BaseException):
        return repr(reply)
    return None if reply["status"] == "OK" else str(reply["message"])


async def _all_or_event(
    calls: Sequence[asyncio.Future[Any]], event: asyncio.Event
) -> list[Any | BaseException]:
    """Replies of all calls; once `event` is set or one call fails, the rest is given up."""
    watch = asyncio.ensure_future(event.wait())
    pending: set[asyncio.Future[Any]] = set(calls)
    try:
        while pending:
            done, _ = await asyncio.wait({*pending, watch}, return_when=asyncio.FIRST_COMPLETED)
            pending -= done
            if watch in done or any(_problem(_reply(call)) for call in done if call is not watch):
                break
    finally:
        for call in (*pending, watch):
            call.cancel()
        await asyncio.gather(*pending, watch, return_exceptions=True)
    return [_reply(call) for call in calls]


def _reply(call: asyncio.Future[Any]) -> Any | BaseException:
    if call.cancelled():
        return GroupChangedError("given up because another member failed")
    return call.exception() or call.result()

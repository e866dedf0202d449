"""Drives every collective from "all partials are there" to "done on all cards", in one order.

A barrier task asks the scheduler to run its gang and waits for the answer::

    barrier task --RPC--> [agree? -> locate partials -> group -> prepare -> stamp -> run] --> answer

- *agree*: the manifests of the partials are compared; a difference is an error, nothing is sent;
- *locate*: each partial is brought in by the worker that holds it;
- *prepare*: each of those workers takes hold of the value and reports ready;
- *stamp*: the gang gets ``(epoch, seq)``, see :mod:`scheduler_plugins._sequence`;
- *run*: every worker of the group is told; its one collective thread runs the gang in that order.

Gangs go through this concurrently, and only the stamp orders them. When an epoch fails, its gangs
in flight start over in a new group, at most ``daskasc.collectives.retries`` times; then, and for
the next minutes, gangs are *relayed*: without a group, from worker to worker.

A drive lives as long as its barrier task is processing. Once Dask takes the task back (a token was
lost with its worker, or the client cancelled), the drive is *abandoned*: callers are told to come
again, a gang that is stamped already runs to its end (all workers count on it), and its result is
dropped. A result whose owner is lost before it was collected makes the barrier run again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import pickle
import time
from collections import Counter, deque
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import click
from distributed.diagnostics.plugin import SchedulerPlugin

from daskasc.errors import (
    CollectiveError,
    CollectiveMismatchError,
    CollectiveTimeoutError,
    GroupChangedError,
)
from scheduler_plugins._drive import Drive, problem_in
from scheduler_plugins._group_keeper import GroupKeeper, NoGroup
from scheduler_plugins._locate import whereabouts
from scheduler_plugins._relay import EPOCH, relay
from scheduler_plugins._results import Published, ResultBook
from scheduler_plugins._sequence import Epoch, GangPlan, Moved, disagreement, order_of

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

logger = logging.getLogger(__name__)

NAME = "daskasc-sequencer"

_POLL = 0.01
_MOVES = 20  # times that a gang looks for its partials anew before it gives up
_REDOS = 5  # times that a lost result makes one barrier run again
_AGAIN = {"status": "again"}


class CollectiveSequencer(SchedulerPlugin):
    """Scheduler plugin that orders and drives collectives.

    Attributes
    ----------
    counters : Counter
        ``gangs`` finished in a group, ``relayed`` without one, ``failures``, ``retries``, ``redos``
        (and the group keeper's own).
    log : deque of (epoch, seq, gang id, outcome)
        The latest stamped gangs.
    """

    name = NAME

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self.log: deque[tuple[int, int, str, str]] = deque(maxlen=10_000)
        self._drives: dict[Hashable, Drive] = {}
        self._ending: dict[Hashable, set[asyncio.Task[None]]] = {}
        self._results = ResultBook()
        self._redos: Counter[Hashable] = Counter()
        self._failures: Counter[Hashable] = Counter()
        self._holds = itertools.count()
        self._relayed = itertools.count()
        self._progress = time.monotonic()

    async def start(self, scheduler: Scheduler) -> None:
        """Register the operations that workers call."""
        self._scheduler = scheduler
        self.keeper = GroupKeeper(scheduler)
        scheduler.handlers["daskasc_barrier"] = self.barrier
        scheduler.handlers["daskasc_redo"] = self.redo

    async def before_close(self) -> None:
        """Stop all drives."""
        tasks = [d.task for d in self._drives.values() if d.task is not None]
        tasks += [task for ending in self._ending.values() for task in ending]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.keeper.close()

    def stats(self) -> dict[str, Any]:
        """Counters, members of the current group, the log and failures, in plain values."""
        current = self.keeper.book.current
        return {
            **dict(self.counters),
            **dict(self.keeper.counters),
            "epoch": current.number if current else 0,
            "members": current.members if current else (),
            "waiting_results": len(self._results),
            "running": len(self._drives),
            "log": list(self.log),
            "reasons": list(self.keeper.reasons),
        }

    # -- operations called by workers

    async def barrier(self, gang: dict[str, Any], manifests: Sequence[dict[str, Any]]) -> Any:
        """Run a gang, or join its run; answers once all workers have finished it.

        Returns
        -------
        dict
            ``status`` "done" with ``epoch`` and ``seq``, or "again": reschedule the barrier task.
        """
        plan = GangPlan.from_message(gang)
        key = plan.barrier_key
        if self._state(key) != "processing":
            return _AGAIN
        drive = self._drives.get(key)
        if drive is not None and list(drive.manifests) != list(manifests):
            self._abandon(drive)
            drive = None
        if drive is None:
            outcome = asyncio.get_running_loop().create_future()
            drive = Drive(plan, tuple(manifests), outcome, next(self._holds))
            drive.outcome.add_done_callback(_retrieve)
            self._drives[key] = drive
            drive.task = asyncio.create_task(self._run(drive))
        return await asyncio.shield(drive.outcome)

    async def redo(
        self, barrier_key: Hashable, collect_keys: Sequence[Hashable], epoch: int, seq: int
    ) -> Any:
        """A result is not where its collect task looks for it: run the barrier again."""
        record = self._results.get(barrier_key)
        if record is not None and (record.epoch, record.seq) != (epoch, seq):
            return _AGAIN
        if self._state(barrier_key) == "memory":
            # several members of an exchange may miss theirs: what counts is the first to say so
            self._redos[barrier_key] += 1
            if self._redos[barrier_key] > _REDOS:
                return {"status": "failed", "message": f"its result was lost {_REDOS} times"}
            self._release_barrier(barrier_key, collect_keys)
        return _AGAIN

    # -- hooks of the scheduler

    def transition(
        self, key: Hashable, start: str, finish: str, *args: Any, stimulus_id: str, **kwargs: Any
    ) -> None:
        """Abandon drives whose task was taken back; forget results collected or given up."""
        drive = self._drives.get(key)
        if drive is not None and start == "processing" and finish not in ("processing", "memory"):
            self._abandon(drive)
        if finish == "memory":
            barrier_key = self._results.taken(key)
            if barrier_key is not None:
                self._redos.pop(barrier_key, None)
        elif finish in ("released", "forgotten", "erred"):
            self._discard(self._results.pop(key))
        if finish == "forgotten":
            self._redos.pop(key, None)
            self._failures.pop(key, None)

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Fail what the lost worker took part in; run barriers again whose results it held."""
        self.keeper.lost(worker)
        for key in self._results.held_by(worker):
            record = self._results.pop(key)
            assert record is not None
            self._discard(record)
            self._release_barrier(key, record.plan.keepers)

    def _release_barrier(self, key: Hashable, collect_keys: Sequence[Hashable]) -> None:
        if self._state(key) == "memory":
            self.counters["redos"] += 1
            # the other cards' collect tasks too, if they are done: only they keep partials alive
            self._release([key, *collect_keys])

    def _release(self, keys: Sequence[Hashable]) -> None:
        """Have tasks run again whose results are there, as far as somebody waits for these."""
        again = dict.fromkeys((k for k in keys if self._state(k) == "memory"), "released")
        self._scheduler.transitions(again, stimulus_id=f"{NAME}-{time.time()}")

    def _state(self, key: Hashable) -> str | None:
        return getattr(self._scheduler.tasks.get(key), "state", None)

    # -- a drive

    def _abandon(self, drive: Drive) -> None:
        drive.abandoned = True
        key = drive.plan.barrier_key
        if self._drives.get(key) is drive:
            del self._drives[key]
        if not drive.outcome.done():
            drive.outcome.set_result(_AGAIN)
        if drive.task is not None and not drive.task.done():
            self._ending.setdefault(key, set()).add(drive.task)
            if not drive.stamped:
                drive.task.cancel()

    async def _run(self, drive: Drive) -> None:
        key = drive.plan.barrier_key
        try:
            # A stamped run of this gang that was abandoned must end before its successor starts.
            predecessors = self._ending.get(key, set()) - {asyncio.current_task()}
            if predecessors:
                await asyncio.wait(predecessors)
            answer = await self._attempts(drive)
            if not drive.outcome.done():
                drive.outcome.set_result(answer)
        except asyncio.CancelledError:
            if not drive.outcome.done():
                drive.outcome.set_result(_AGAIN)
            raise
        except Exception as error:
            self.counters["failures"] += 1
            if not isinstance(error, CollectiveError):
                logger.exception("Collective %s failed", drive.plan.id)
                error = CollectiveError(f"collective {drive.plan.id}: {error!r}")
            if not drive.outcome.done():
                drive.outcome.set_exception(error)
        finally:
            if self._drives.get(key) is drive:
                del self._drives[key]
            ending = self._ending.get(key)
            if ending is not None:
                ending.discard(asyncio.current_task())
                if not ending:
                    del self._ending[key]
            self._let_go(drive)

    async def _attempts(self, drive: Drive) -> dict[str, Any]:
        plan = drive.plan
        problem = disagreement(plan.op, plan.members, drive.manifests)
        if problem:
            raise CollectiveMismatchError(f"collective {plan.id}: {problem}")
        key, moves, last = plan.barrier_key, 0, "see the scheduler's log"
        while True:
            if self._failures[key] > self.keeper.retries:
                problem = (
                    f"collective {plan.id} failed {self._failures.pop(key)} times, "
                    f"daskasc.collectives.retries is {self.keeper.retries}; last: {last}"
                )
                if not self.keeper.may_relay:
                    raise CollectiveError(problem)
                self.keeper.suspend(problem)
            last_resort = self.keeper.suspended
            try:
                if last_resort:
                    return await self._relay(drive)
                sources, hosts = await self._located(drive)
                epoch = await self.keeper.ensure({*sources.values(), *hosts.values()})
                await self._held(drive, sources)
                if not self.keeper.book.usable(epoch):
                    raise Moved("the group changed before the collective was stamped")
                return await self._execute(drive, epoch, sources, hosts)
            except Moved as moved:
                moves += 1
                if moves > _MOVES:
                    raise CollectiveError(
                        f"collective {plan.id}: its partials moved {_MOVES} times; last: {moved}"
                    ) from None
                # Longer each time: the scheduler may need seconds to notice a lost worker.
                await asyncio.sleep(min(1.0, _POLL * 2**moves))
            except NoGroup as error:
                if not self.keeper.may_relay:
                    raise
                self.keeper.suspend(str(error))
            except GroupChangedError as error:
                # Counted by key: a drive that is abandoned hands the count to its successor.
                self._failures[key] += 1
                self.counters["retries"] += 1
                last = str(error)
            if drive.abandoned:
                raise asyncio.CancelledError

    async def _located(self, drive: Drive) -> tuple[dict[int, str], dict[int, str]]:
        """Wait for all partials; workers that bring them in, workers that take results."""
        plan = drive.plan
        deadline = time.monotonic() + self.keeper.timeout
        while True:
            found = whereabouts(self._scheduler, plan, self.keeper.members())
            if not found.waiting:
                return found.sources, found.hosts
            if found.computing:  # Dask, or the placement's deadline, brings this wait to an end
                deadline = time.monotonic() + self.keeper.timeout
            elif not drive.recalled:  # it runs again for one card, and its neighbours were done
                drive.recalled = True
                self._release(drive.plan.keepers)
            elif time.monotonic() > deadline:
                raise CollectiveTimeoutError(
                    f"collective {plan.id}: {', '.join(found.waiting)} not there within "
                    f"{self.keeper.timeout:g} s (daskasc.collectives.timeout)"
                )
            await asyncio.sleep(_POLL)

    async def _held(self, drive: Drive, sources: dict[int, str]) -> None:
        """Have workers take hold of the partials that they bring in."""
        plan = drive.plan
        wanted: dict[str, list[int]] = {}
        for index, card in enumerate(plan.members):
            wanted.setdefault(sources[card], []).append(index)
        drive.prepared.update(wanted)
        replies = await asyncio.gather(
            *(
                self.keeper.call(
                    address,
                    "collective_prepare",
                    self.keeper.timeout,
                    hold=drive.hold,
                    partials=[(plan.partial_keys[i], drive.manifests[i]) for i in indices],
                )
                for address, indices in wanted.items()
            ),
            return_exceptions=True,
        )
        for address, reply in zip(wanted, replies, strict=True):
            if isinstance(reply, BaseException):
                raise Moved(f"worker {address}: {reply!r}")
            if reply["status"] == "differs":
                raise CollectiveMismatchError(f"collective {plan.id}: {reply['message']}")
            if reply["status"] != "OK":
                raise Moved(f"worker {address}: {reply['message']}")

    async def _relay(self, drive: Drive) -> dict[str, Any]:
        """Run a gang without a group; see :mod:`scheduler_plugins._relay`."""
        sources, hosts = await self._located(drive)
        await self._held(drive, sources)
        seq = next(self._relayed)
        drive.stamped = True  # what it has begun it ends, should the task be taken back
        try:
            await relay(self.keeper, drive, seq, sources, hosts)
        finally:
            drive.stamped = False
        self.log.append((EPOCH, seq, drive.plan.id, "relayed"))
        self.counters["relayed"] += 1
        return self._finished(drive, EPOCH, seq, hosts)

    async def _execute(
        self, drive: Drive, epoch: Epoch, sources: dict[int, str], hosts: dict[int, str]
    ) -> dict[str, Any]:
        plan, book = drive.plan, self.keeper.book
        if not book.current or not book.current.in_flight:
            self._progress = time.monotonic()
        seq = book.stamp(epoch, plan.id)
        drive.stamped = True
        outcome = "failed"
        try:
            replies = await self._told(epoch, seq, drive, sources, hosts)
            outcome = replies[0]["status"]
            bad = [reply for reply in replies if reply["status"] != "OK"]
            if bad:
                outcome = bad[0]["status"]
                kind = CollectiveMismatchError if outcome == "mismatch" else CollectiveError
                # The rank that refused knows why; the others only know that it did.
                reason = max((str(r["message"]) for r in bad), key=len)
                raise kind(f"collective {plan.id}: {reason}")
        finally:
            drive.stamped = False
            book.finish(epoch, seq)
            self.log.append((epoch.number, seq, plan.id, outcome))
        self._progress = time.monotonic()
        self.counters["gangs"] += 1
        return self._finished(drive, epoch.number, seq, hosts)

    def _finished(
        self, drive: Drive, epoch: int, seq: int, hosts: dict[int, str]
    ) -> dict[str, Any]:
        """Note the results of a gang, which wait on their workers."""
        plan = drive.plan
        self._failures.pop(plan.barrier_key, None)
        record = Published.of(plan, epoch, seq, hosts)
        if drive.abandoned:
            self._discard(record)
            raise asyncio.CancelledError
        # what a task took from an earlier run is as good
        done = {key: record.waiting.pop(key) for key in plan.takers if not self._wanted(key)}
        self._discard(Published(plan, epoch, seq, done))
        self._results.add(record)
        return {"status": "done", "epoch": epoch, "seq": seq}

    async def _told(
        self,
        epoch: Epoch,
        seq: int,
        drive: Drive,
        sources: dict[int, str],
        hosts: dict[int, str],
    ) -> list[dict[str, Any]]:
        """Tell all workers of the group to run a gang; fails as a whole with the epoch."""
        plan = drive.plan
        told = {
            **order_of(plan, epoch, sources, hosts),
            "seq": seq,
            "hold": drive.hold,
            "manifests": drive.manifests,
        }
        # once for all: it names every member, so to write it anew for each would be quadratic
        order = pickle.dumps(told, protocol=4)
        calls = {
            asyncio.ensure_future(self._scheduler.rpc(a).daskasc_collective_run(order=order)): a
            for a in epoch.members
        }
        watch = asyncio.ensure_future(self.keeper.broken(epoch).wait())
        pending: set[asyncio.Future[Any]] = set(calls)
        try:
            while pending:
                limit = self._progress + 2 * self.keeper.timeout - time.monotonic()
                done, _ = await asyncio.wait(
                    {*pending, watch}, timeout=max(0.0, limit), return_when="FIRST_COMPLETED"
                )
                pending -= done
                problem = problem_in(calls, done - {watch}, epoch, watch)
                if not done and time.monotonic() - self._progress > 2 * self.keeper.timeout:
                    problem = f"no answer from {sorted(calls[c] for c in pending)}"
                if problem:
                    reason = f"collective {plan.id}: {problem}"
                    self.keeper.fail(epoch, reason)
                    raise GroupChangedError(reason)
            return [call.result() for call in calls]
        finally:
            for call in (*pending, watch):
                call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*pending, watch, return_exceptions=True)

    # -- results and holds on workers

    def _discard(self, record: Published | None) -> None:
        if record is None:
            return
        stamp = {"gang": record.plan.id, "epoch": record.epoch, "seq": record.seq}
        for address, card in record.waiting.values():
            self._tell(address, {"op": "daskasc-drop-result", "card": card, **stamp})

    def _wanted(self, key: Hashable) -> bool:
        return self._state(key) not in (None, "memory", "erred", "forgotten")

    def _let_go(self, drive: Drive) -> None:
        for address in drive.prepared:
            self._tell(address, {"op": "daskasc-let-go", "hold": drive.hold})

    def _tell(self, address: str, message: dict[str, Any]) -> None:
        stream = self._scheduler.stream_comms.get(address)
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.send(message)


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Mark an exception as seen, should its caller be gone."""
    if not future.cancelled():
        future.exception()


@click.command()
def dask_setup(scheduler: Scheduler) -> None:
    """Install the sequencer in a scheduler, which starts it after its preloads."""
    scheduler.add_plugin(CollectiveSequencer())

"""A cluster of all cards of this machine: one nanny and one spawned process a card.

The parent holds scheduler and nannies and never touches a card. Each worker process sees one card
only (its visibility variable is set before anything in it can look), has one task thread, and is
named by its card's number; tasks are pinned by that name, also after a worker was restarted.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import traceback
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any

import dask.config
from distributed.core import Status
from distributed.deploy.local import LocalCluster

from daskasc import config, device
from daskasc.cluster._environment import pre_spawn_environment, worker_environment
from daskasc.cluster._nanny import CardNanny
from daskasc.cluster._options import Cards, ClusterOptions
from daskasc.cluster._report import CardReport, RunReport
from daskasc.cluster._settings import Settings
from daskasc.cluster._spawning import refuse_while_main_is_imported
from daskasc.cluster._store import DeviceStore
from daskasc.cluster._worker import CardPlugin
from daskasc.collectives import CollectivesPlugin
from daskasc.errors import ConfigurationError, DaskascError, DeviceError
from daskasc.planner import Planner, SchedulerPlanner

if TYPE_CHECKING:
    from distributed.deploy.adaptive import Adaptive
    from tornado.ioloop import IOLoop

_SCHEDULER_PLUGINS = {
    "scheduler_plugins.chunk_placement": "daskasc-placement",
    "scheduler_plugins.collective_sequencer": "daskasc-sequencer",
}
_logger = logging.getLogger(__name__)

_REPORT_TIMEOUT = 30.0
_ABANDON_INTERVAL = 0.1
# of start_timeout: so a card that hangs is named before the nanny gives the whole process up
_ATTACH_SHARE = 0.7
# beyond start_timeout, for the nannies to end what they started
_CLEAN_UP = 30.0


class LocalNPUCluster(LocalCluster):
    """One worker process a card on this machine.

    While the cluster is open, dask's configuration plans graphs for its cards; closing restores
    what was configured before. With two clusters open in one process, the one opened last plans.
    For graphs that run on the other one::

        with dask.config.set(array_optimize=first.planner):
            x.mean(axis=0).compute(scheduler=client_of_first)

    Parameters
    ----------
    n_workers : int, optional
        Number of cards; default is every visible one.
    asynchronous : bool
        Whether to use the cluster in an event loop, with ``await`` and ``async with``.
    loop : IOLoop, optional
        Event loop to run in.
    **options
        Further options, see :class:`~daskasc.cluster.ClusterOptions`.

    Raises
    ------
    ConfigurationError
        An option is unknown or malformed, there are fewer cards than wanted, or the main program
        opens the cluster outside ``if __name__ == "__main__":``.
    DeviceError
        A card could not be attached, or the workers did not start in time. Nothing is left running.

    Examples
    --------
    >>> with LocalNPUCluster(n_workers=2, device="cpu") as cluster:  # doctest: +SKIP
    ...     client = cluster.get_client()
    """

    def __init__(
        self,
        n_workers: int | None = None,
        *,
        asynchronous: bool = False,
        loop: IOLoop | None = None,
        **options: Any,
    ) -> None:
        refuse_while_main_is_imported()
        self.options = ClusterOptions.make(n_workers=n_workers, **options)
        self.cards: Cards = self.options.resolve()
        self._planner = self._planner_for(self.cards.capacity)
        self._steps: list[asyncio.Future[Any]] = []
        self._settings = Settings(self._dask_settings())
        self._settings.install()
        # nannies put these into this process's environment before they start a worker
        names = [*dask.config.get("distributed.nanny.pre-spawn-environ"), "PYTHONHASHSEED"]
        self._unset = [name for name in names if name not in os.environ]
        try:
            self._start_scheduler(asynchronous, loop)
            self.worker_spec = {card: self._spec(card) for card in range(self.cards.count)}
            if not self.called_from_running_loop:
                self._start_workers()
        except BaseException as error:
            self._end_failed_start()
            named = self._named(error)
            if named is error:
                raise
            raise named from None

    @property
    def planner(self) -> SchedulerPlanner:
        """What plans graphs for this cluster's cards, as the configured ``array_optimize``."""
        return self._planner

    def _planner_for(self, capacity: int | None) -> SchedulerPlanner:
        """Planner for cards with `capacity` bytes of memory; None where they are not known yet."""
        limit = None
        if capacity is not None:
            limit = config.parse_memory_limit(
                self.options.device_memory_limit, capacity, name="device_memory_limit"
            )
        return SchedulerPlanner(
            Planner(
                cards=self.cards.count,
                capacity=capacity,
                stored_limit=limit,
                padding=device.allocation_padding(self.cards.kind),
                asynchronous=device.is_asynchronous(self.cards.kind),
            )
        )

    # -- starting --------------------------------------------------------------------------------

    def _dask_settings(self) -> dict[str, Any]:
        """Dask configuration that holds while the cluster is open."""
        environ = dask.config.get("distributed.nanny.pre-spawn-environ")
        settings: dict[str, Any] = {
            # the peer-to-peer rechunk takes host buffers of chunks
            "array.rechunk.method": "tasks",
            # a worker that is being restarted must not lose its nanny meanwhile
            "distributed.deploy.lost-worker-timeout": self.options.seconds("start_timeout"),
            "distributed.nanny.pre-spawn-environ": {**pre_spawn_environment(), **environ},
        }
        if self.cards.kind != "cuda":
            settings["distributed.diagnostics.nvml"] = False
        # asks the configuration itself, each time, whether it is switched on
        settings["array_optimize"] = self._planner
        return settings

    def _start_scheduler(self, asynchronous: bool, loop: IOLoop | None) -> None:
        options = self.options
        modules, arguments = self._scheduler_preloads()
        super().__init__(
            name=options.name,
            n_workers=0,
            threads_per_worker=1,
            worker_class=CardNanny,
            loop=loop,
            asynchronous=asynchronous,
            host=options.host,
            interface=options.interface,
            protocol=options.protocol,
            scheduler_port=options.scheduler_port,
            dashboard_address=options.dashboard_address,
            worker_dashboard_address=options.worker_dashboard_address,
            security=options.security,
            silence_logs=options.silence_logs,
            scheduler_kwargs={"preload": modules, "preload_argv": arguments},
            memory_limit=self.cards.host_limit,
            local_directory=options.local_directory,
            preload=self._worker_preloads(),
            preload_argv=list(options.preload_argv),
            death_timeout=options.seconds("start_timeout"),
        )

    def _scheduler_preloads(self) -> tuple[list[str], list[list[str]]]:
        # an explicit list replaces the configured one, so that is repeated here
        configured = _as_list(dask.config.get("distributed.scheduler.preload"))
        argv = _as_list(dask.config.get("distributed.scheduler.preload-argv"))
        if not argv or isinstance(argv[0], str):  # the same arguments for all, or none
            argv = [argv] * len(configured)
        further = list(self.options.scheduler_preload)
        return (
            [*_SCHEDULER_PLUGINS, *configured, *further],
            [["--cards", str(self.cards.count)], [], *argv, *([[]] * len(further))],
        )

    def _worker_preloads(self) -> list[str]:
        return [*_as_list(dask.config.get("distributed.worker.preload")), *self.options.preload]

    def _spec(self, card: int) -> dict[str, Any]:
        """Specification of the worker of one card."""
        options, cards = self.options, self.cards
        common = self.new_spec["options"]
        return {
            "cls": CardNanny,
            "options": {
                **common,
                "name": card,
                "nthreads": 1,
                "env": worker_environment(cards, card, options),
                "data": (DeviceStore, _store_options(cards)),
                "plugins": (
                    CardPlugin(
                        cards.kind,
                        card,
                        options.device_memory_limit,
                        cards.capacity,
                        cards.threads,
                        _ATTACH_SHARE * options.seconds("start_timeout"),
                    ),
                    CollectivesPlugin(),
                ),
            },
        }

    def _start_workers(self) -> None:
        limit = self.options.seconds("start_timeout") + _CLEAN_UP
        self.sync(self._undisturbed, self._correct_state, callback_timeout=limit)
        self._check_plugins()
        if self.cards.capacity is None:
            self.sync(self._learn_capacity)

    def __await__(self) -> Generator[Any, Any, LocalNPUCluster]:
        return self._started().__await__()

    async def _started(self) -> LocalNPUCluster:
        limit = self.options.seconds("start_timeout") + _CLEAN_UP
        try:
            await asyncio.wait_for(self._undisturbed(self._await_base), limit)
            self._check_plugins()
            if self.cards.capacity is None:
                await self._learn_capacity()
        except BaseException as error:
            await self._abandon_start()
            named = self._named(error)
            if named is error:
                raise
            raise named from None
        return self

    async def _learn_capacity(self) -> None:
        """Plan for the memory that the workers found on their cards."""
        answers = await self._ask("daskasc_report")
        capacity = min((int(answer["capacity_device_bytes"]) for answer in answers), default=None)
        self._planner = self._planner_for(capacity)
        self._settings.change("array_optimize", self._planner)

    async def _start(self) -> None:
        await self._undisturbed(super()._start)

    async def _undisturbed(self, step: Callable[[], Awaitable[Any]]) -> None:
        """Await a step of the start; an interrupt or a time limit ends the waiting only.

        distributed cannot close a cluster whose start was cancelled half-way.
        """
        running = asyncio.ensure_future(step())
        self._steps.append(running)
        await asyncio.shield(running)

    async def _abandon_start(self) -> None:
        """Let the steps of a failed start come to an end, quickly, and close."""
        pending = {step for step in self._steps if not step.done()}
        while pending:
            for nanny in list(self._created):
                nanny.abandon()
            _, pending = await asyncio.wait(pending, timeout=_ABANDON_INTERVAL)
        for step in self._steps:
            if not step.cancelled():
                step.exception()  # known to whoever awaited it
        await self._close()

    def _end_failed_start(self) -> None:
        try:
            # else nothing was started yet
            if self._steps:
                limit = self.options.seconds("close_timeout")
                self.sync(self._abandon_start, callback_timeout=limit)
                self.close()
        except Exception:
            _logger.warning("a cluster that did not start could not be closed", exc_info=True)
        finally:
            self._restore()

    async def _await_base(self) -> None:
        await _Awaitable(super().__await__())

    def _check_plugins(self) -> None:
        # errors of a preload's setup are logged and dropped by distributed
        missing = [
            module
            for module, plugin in _SCHEDULER_PLUGINS.items()
            if plugin not in self.scheduler.plugins
        ]
        if missing:
            raise ConfigurationError(
                f"the scheduler could not load {', '.join(missing)}; its log says why"
            )

    def _named(self, error: BaseException) -> BaseException:
        """The error of ours below distributed's wrappers, or one that says what was not reached.

        Anything else, such as an interrupt, is returned as it is.
        """
        chain: list[BaseException] = [error]
        while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
            chain.append(cause)
        for cause in chain:
            # frames keep the queues of processes that never started, hence named semaphores
            traceback.clear_frames(cause.__traceback__)
        gc.collect()
        if not isinstance(error, Exception):
            return error
        for cause in chain:
            if isinstance(cause, DaskascError):
                return cause.with_traceback(None)
        cause = chain[-1]
        if not getattr(self, "_created", None) and isinstance(cause, (OSError, ValueError)):
            names = ("host", "interface", "protocol", "scheduler_port", "dashboard_address")
            given = ", ".join(f"{name}={getattr(self.options, name)!r}" for name in names)
            return ConfigurationError(f"the scheduler could not start: {cause}; look at {given}")
        if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
            return DeviceError(
                f"the workers of {self.cards.count} {self.cards.kind} cards did not start within "
                f"{self.options.seconds('start_timeout'):g} s (start_timeout); see their logs"
            )
        return error

    # -- running ---------------------------------------------------------------------------------

    def scale(self, n: int = 0, memory: Any = None, cores: Any = None) -> Any:
        """Refuse another number of workers: plans and placement belong to the cards there are.

        ``scale(number of cards)`` starts workers that were lost for good.
        """
        if self.status in (Status.closing, Status.closed, Status.failed):
            return super().scale(n)
        if n != self.cards.count or memory is not None or cores is not None:
            raise ConfigurationError(
                f"this cluster has {self.cards.count} {self.cards.kind} cards with one worker each "
                f"and cannot be scaled to {n}; open a new cluster with n_workers={n}"
            )
        return super().scale(n)

    scale_up = scale

    def adapt(self, *args: Any, **kwargs: Any) -> Adaptive:
        """Refuse: the number of cards is fixed, see :meth:`scale`."""
        raise ConfigurationError(
            f"this cluster has {self.cards.count} {self.cards.kind} cards with one worker each, "
            "a number that cannot adapt"
        )

    def report(self) -> RunReport | Any:
        """Figures of the run since the last :meth:`reset_counters`.

        Returns
        -------
        RunReport
            Awaitable in an asynchronous cluster.

        Raises
        ------
        TimeoutError
            The workers did not answer within 30 seconds.
        """
        return self.sync(self._report)

    def reset_counters(self) -> Any:
        """Start all figures of :meth:`report` again from now."""
        return self.sync(self._reset_counters)

    async def _report(self) -> RunReport:
        answers = await self._ask("daskasc_report")
        cards = sorted((CardReport.from_message(m) for m in answers), key=lambda c: c.card)
        answered = {card.card for card in cards}
        return RunReport(
            device=self.cards.kind,
            cards=tuple(cards),
            collectives=self._collectives() - self._collectives_before,
            missing=tuple(c for c in range(self.cards.count) if c not in answered),
        )

    async def _reset_counters(self) -> None:
        await self._ask("daskasc_reset")
        self._collectives_before = self._collectives()

    _collectives_before = 0

    def _collectives(self) -> int:
        return int(self.scheduler.plugins["daskasc-sequencer"].stats().get("gangs", 0))

    async def _ask(self, operation: str) -> list[Any]:
        """Answers of all workers that can answer."""
        asking = self.scheduler.broadcast(msg={"op": operation}, on_error="ignore")
        answers = await asyncio.wait_for(asking, _REPORT_TIMEOUT)
        return list(answers.values())

    # -- closing ---------------------------------------------------------------------------------

    def close(self, timeout: float | None = None) -> Any:
        """Close workers and scheduler, and restore dask's configuration.

        Parameters
        ----------
        timeout : float, optional
            Seconds; default is the option ``close_timeout``.
        """
        return super().close(timeout or self.options.seconds("close_timeout"))

    async def _close(self) -> None:
        try:
            await super()._close()
        finally:
            self._restore()

    def _restore(self) -> None:
        self._settings.restore()
        for name in self._unset:
            os.environ.pop(name, None)
        self._unset = []


class _Awaitable:
    """Makes the generator that ``__await__`` returned awaitable again."""

    def __init__(self, generator: Generator[Any, Any, Any]) -> None:
        self._generator = generator

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._generator


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or ())


def _store_options(cards: Cards) -> dict[str, Any]:
    target = dask.config.get("distributed.worker.memory.target")
    spill = dask.config.get("distributed.worker.memory.spill")
    share = target or spill
    limited = cards.host_limit is not None and bool(share)
    return {
        "host_target": int(cards.host_limit * share) if limited and cards.host_limit else None,
        "shared_memory": cards.kind == "cpu",
    }

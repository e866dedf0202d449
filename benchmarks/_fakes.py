"""Workers that compute nothing: tasks finish the moment they arrive.

All of them live in one thread of this process. Each has a connection of its own to the scheduler,
and all messages go through sockets, as from real workers; so the scheduler does all that it does
for real ones, and its CPU time can be told apart: it is that of the process without this thread
(and without the one that waits for the results).

Requests go to one listener: worker *c* of server *s* has the address ``127.1.s.c``, and the
listener has all of them. Barrier tasks ask the scheduler's sequencer to run their collective, as
real ones do, and every member answers at once that it has.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import threading
import time
from typing import Any

import distributed
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError, connect
from distributed.core import Server
from distributed.versions import get_versions

from daskasc import topology
from daskasc.collectives import Gang
from daskasc.collectives._manifest import describe

_PLUGINS = ["scheduler_plugins.chunk_placement", "scheduler_plugins.collective_sequencer"]
_TYPE = pickle.dumps(bytes)
_METRICS = {
    "bandwidth": {"total": 1e8, "workers": {}, "types": {}},
    "digests_total_since_heartbeat": {},
    "memory": 0,
    "managed_bytes": 0,
    "spilled_bytes": {"memory": 0, "disk": 0},
    "cpu": 0.0,
    "task_counts": {},
}
START = 300.0


async def _well(**request: Any) -> dict[str, Any]:
    return {"status": "OK", "message": "", "host": "127.0.0.1", "port": 1}


class Fakes:
    """Fake workers of a cluster, one a card.

    Parameters
    ----------
    cluster : LocalCluster
        A cluster without workers.
    cards, servers : int
        Their number, and that of the servers that they say they are in.
    nbytes : int
        Size of each result, as they tell it.
    """

    def __init__(self, cluster: LocalCluster, cards: int, servers: int, nbytes: int) -> None:
        self._cluster, self._nbytes = cluster, nbytes
        self._servers = topology.even_servers(cards, servers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fakes", daemon=True)
        self._streams: list[asyncio.Task[None]] = []
        self._versions = get_versions()
        self._partial = describe([b""])
        self._server: Server | None = None
        self._thread.start()
        self.clock = time.pthread_getcpuclockid(self._thread.ident or 0)
        self.tasks = 0

    @property
    def cpu(self) -> float:
        """CPU seconds of the fakes so far."""
        return time.clock_gettime(self.clock)

    def start(self) -> None:
        """Start them all, and wait until the scheduler knows them."""
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(START)
        deadline = time.monotonic() + START
        while len(self._cluster.scheduler.workers) < len(self._servers):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(self._cluster.scheduler.workers)} fake workers started")
            time.sleep(0.05)

    async def _start(self) -> None:
        names = ("group_host", "group_join", "collective_prepare", "collective_run")
        handlers = {f"daskasc_{name}": _well for name in names}
        self._server = Server(handlers)
        await self._server.listen("tcp://0.0.0.0:0")
        await asyncio.gather(*(self._join(card) for card in range(len(self._servers))))

    async def _join(self, card: int) -> None:
        server = self._servers[card]
        assert self._server is not None
        address = f"tcp://127.1.{server + 1}.{card % 250 + 1}:{self._server.port}"
        comm = await connect(self._cluster.scheduler_address, deserialize=False, timeout=START)
        await comm.write(
            {
                "op": "register-worker",
                "reply": False,
                "address": address,
                "status": "running",
                "nthreads": 1,
                "name": card,
                "now": time.time(),
                "resources": {},
                "memory_limit": 2**36,
                "local_directory": "",
                "services": {},
                "nanny": "",
                "pid": 0,
                "versions": self._versions,
                "metrics": _METRICS,
                "extra": {topology.NODE: f"server-{server}"},
                "stimulus_id": f"fake-{card}",
                "server_id": f"fake-{card}",
            }
        )
        answer = await comm.read()
        if answer["status"] != "OK":
            raise RuntimeError(f"the scheduler does not take fake worker {card}: {answer}")
        self._streams.append(asyncio.create_task(self._serve(comm)))

    async def _serve(self, comm: Any) -> None:
        with contextlib.suppress(CommClosedError):
            while True:
                messages = await comm.read()
                answers = []
                for message in messages if isinstance(messages, (list, tuple)) else (messages,):
                    if message.get("op") != "compute-task":
                        continue
                    if "-barrier-" in str(message["key"]):
                        asking = self._barrier(comm, message)
                        self._streams.append(asyncio.create_task(asking))
                    else:
                        answers.append(self._finished(message))
                if answers:
                    await comm.write(answers)

    def _finished(self, message: dict[str, Any]) -> dict[str, Any]:
        self.tasks += 1
        now = time.time()
        return {
            "op": "task-finished",
            "status": "OK",
            "key": message["key"],
            "run_id": message["run_id"],
            "nbytes": self._nbytes,
            "type": _TYPE,
            "typename": "bytes",
            "metadata": {},
            "thread": 1,
            "startstops": [{"action": "compute", "start": now, "stop": now + 1e-6}],
            "stimulus_id": "fake",
        }

    async def _barrier(self, comm: Any, message: dict[str, Any]) -> None:
        gang: Gang = message["run_spec"].args[0]
        async with distributed.rpc(self._cluster.scheduler_address) as scheduler:
            answer = await scheduler.daskasc_barrier(
                gang=gang.message(), manifests=[self._partial] * len(gang.members)
            )
        if answer["status"] == "done":
            await comm.write([self._finished(message)])

    def stop(self) -> None:
        """Close all connections and end the thread."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(START)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START)
        self._loop.close()

    async def _stop(self) -> None:
        for stream in self._streams:
            stream.cancel()
        await asyncio.gather(*self._streams, return_exceptions=True)
        if self._server is not None:
            await self._server.close()


@contextlib.contextmanager
def fake_cluster(cards: int, servers: int, nbytes: int) -> Any:
    """A scheduler with this project's plugins, a client, and fake workers."""
    cluster = LocalCluster(
        n_workers=0,
        dashboard_address=None,
        scheduler_kwargs={"preload": _PLUGINS, "preload_argv": [["--cards", str(cards)], []]},
    )
    with cluster, Client(cluster) as client:
        fakes = Fakes(cluster, cards, servers, nbytes)
        try:
            fakes.start()
            yield client, fakes
        finally:
            fakes.stop()

"""A worker killed in each phase, coming back or not, with one or two clients at work.

Every cell ends within a minute in the right result, or, where the card never comes back, in the
right result or one of this package's errors; afterwards the cluster computes as before.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

import daskasc
from daskasc.errors import CollectiveError, PlacementError
from daskasc.planner import _selections
from tests.collectives.gangs import holdings
from tests.faults import deaths
from tests.integration.sources import worker_of

CARDS = 3
VICTIM = 1
SECONDS = 60
# what is computed: of dask's array, and of NumPy's with the same values
STD = (lambda x: x.std(axis=0),) * 2
PENCILS = (lambda x: x.rechunk((deaths.ROWS * deaths.CHUNK[0], 2)), lambda x: x)
MEDIAN = (lambda x: da.median(x, axis=(0, 1)), np.median)
# where the worker dies, and in what
PHASES: dict[str, tuple[Any, tuple[Any, Any]]] = {
    "load": (None, STD),
    "chunk": (None, STD),
    "deposit": (deaths.in_deposit, STD),
    "barrier": (deaths.in_barrier, STD),
    "prepare": (deaths.in_prepare, STD),
    "forming": (deaths.in_forming, STD),
    "collective": (deaths.in_collective, STD),
    "collect": (deaths.in_collect, STD),
    "all-to-all": (deaths.in_collective, PENCILS),
    "receive": (deaths.in_collect, PENCILS),
    "counting": (deaths.in_collective, MEDIAN),
}

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


@contextlib.contextmanager
def cluster(folder: Path, returns: bool) -> Iterator[daskasc.LocalNPUCluster]:
    settings = {
        "daskasc.collectives.timeout": "20s",
        "daskasc.placement.rejoin-timeout": "40s" if returns else "1s",
    }
    with (
        dask.config.set(settings),
        daskasc.LocalNPUCluster(
            n_workers=CARDS, dashboard_address=":0", local_directory=str(folder)
        ) as found,
    ):
        yield found


def outcome(future: Any, deadline: float) -> Any:
    """Result of a future, or the package's error that it ended with."""
    try:
        return future.result(timeout=max(0.1, deadline - time.monotonic()))
    except (CollectiveError, PlacementError) as error:
        return error


def states(dask_scheduler: Any) -> set[str]:
    return {task.state for task in dask_scheduler.tasks.values()}


@pytest.mark.parametrize("clients", [1, 2], ids="{} clients".format)
@pytest.mark.parametrize("returns", [True, False], ids=["returns", "stays away"])
@pytest.mark.parametrize("phase", PHASES)
def test_killed(tmp_path: Path, monkeypatch: Any, phase: str, returns: bool, clients: int) -> None:
    monkeypatch.setattr(_selections, "counted_bytes", lambda found: 0)  # for small arrays too
    flag = tmp_path / "died"
    arm, (function, numpys) = PHASES[phase]
    with cluster(tmp_path / "cards", returns) as cards, cards.get_client() as client:
        if phase != "forming":  # a group is there already
            np.testing.assert_allclose(
                deaths.made(9).mean(axis=0).compute(), 2 * deaths.whole(9).mean(axis=0), rtol=1e-5
            )
        victim = worker_of(client, VICTIM)
        if not returns:
            cards.workers[VICTIM].auto_restart = False
        if arm is not None:
            client.run(arm, str(flag), workers=[victim])
        lazy = function(
            deaths.made(
                1,
                load=str(flag) if phase == "load" else None,
                work=str(flag) if phase == "chunk" else None,
            )
        )
        deadline = time.monotonic() + SECONDS
        with contextlib.ExitStack() as stack:
            futures = [client.compute(lazy)]
            wanted = [2 * numpys(deaths.whole(1))]
            if clients == 2:
                other = stack.enter_context(Client(cards, set_as_default=False))
                futures.append(other.compute(deaths.made(2).max(axis=0)))
                wanted.append(2 * deaths.whole(2).max(axis=0))
            if phase == "chunk":
                flag.with_suffix(".armed").touch()
            for future, right in zip(futures, wanted, strict=True):
                found = outcome(future, deadline)
                if isinstance(found, Exception):
                    assert not returns, found
                else:
                    np.testing.assert_allclose(found, right, rtol=1e-5)
            assert flag.exists(), "nobody died"
            del futures, future
        # what follows runs as ever, and nothing is held for a collective that is over
        np.testing.assert_allclose(
            deaths.made(3).sum(axis=0).compute(), 2 * deaths.whole(3).sum(axis=0), rtol=1e-5
        )
        assert "no-worker" not in client.run_on_scheduler(states)
        for waiting in client.run(holdings).values():
            assert waiting == {"held": 0, "published": 0}

"""Workers of a test that is about to be ended for its time tell where they are."""

from __future__ import annotations

from tests import watching


def test_workers_that_print_their_stacks_live_on(client4):
    def pids():
        return set(client4.run(_pid).values())

    before = pids()
    assert before <= set(watching.ask())
    assert pids() == before


def _pid():
    import os

    return os.getpid()

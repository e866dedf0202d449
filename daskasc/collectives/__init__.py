"""Collective operations over cards, run in one order on all of them.

The graph of one collective consists of :func:`deposit`, :func:`barrier` and :func:`collect` tasks
around a :class:`Gang`, of an exchange :func:`settle` and :func:`receive` tasks too;
:mod:`scheduler_plugins.collective_sequencer` drives it, and each worker runs its part (installed by
:func:`install`). Importing this package imports no torch, because the scheduler unpickles these
names from graphs.
"""

from daskasc.collectives._gang import Gang, Stamp, Token, by_server
from daskasc.collectives._parcels import Cut, Part, join, pack
from daskasc.collectives._tasks import barrier, collect, deposit, receive, settle
from daskasc.collectives._views import executed, methods, stats
from daskasc.collectives._worker import CollectivesPlugin, install

__all__ = [
    "CollectivesPlugin",
    "Cut",
    "Gang",
    "Part",
    "Stamp",
    "Token",
    "barrier",
    "by_server",
    "collect",
    "deposit",
    "executed",
    "install",
    "join",
    "methods",
    "pack",
    "receive",
    "settle",
    "stats",
]

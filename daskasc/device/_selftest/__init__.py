"""The self-check: compares the tables of what cards lack with the hardware it runs on.

The tables (:mod:`.._capabilities`, :mod:`.._collectives`) were read from documentation. Each of
their lines becomes a question (:mod:`._questions`) to child processes (:mod:`._crew`), one a card,
which try the call on a small input whose values the CPU knows (:mod:`._member`,
:mod:`._operators`, :mod:`._groups`). A child that dies or hangs is an answer, and another one goes
on. What differs from the tables is a :class:`Report`.

::

    tables -> questions -> crew of children, asked one by one -> findings -> report
                              ^ died, hung, or card unusable: a new crew
"""

from __future__ import annotations

from daskasc.device._selftest._report import Finding, Report
from daskasc.device._selftest._run import selftest

__all__ = ["Finding", "Report", "selftest"]

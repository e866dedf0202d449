"""Puts all questions within the time there is, and makes the report of the answers."""

from __future__ import annotations

import datetime
import math
import platform
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from daskasc.device import _capabilities, _discovery
from daskasc.device._selftest._crew import Answer, Crew, CrewError
from daskasc.device._selftest._names import every_operator
from daskasc.device._selftest._questions import Question, of_collectives, of_operators
from daskasc.device._selftest._report import Finding, Report
from daskasc.errors import ConfigurationError, DeviceUnavailableError

_START = 120.0  # seconds that a crew has to get ready: drivers and libraries load slowly
_FOR_COLLECTIVES = 0.3  # share of the time
_MOST_CARDS = 4
# errors are those of the call that is made, and torch_npu's own way to the CPU is an error
_VARIABLES = {"TASK_QUEUE_ENABLE": "0", "TORCH_NPU_FALLBACK_CPU_DISABLE": "1"}


def selftest(
    kind: str = "auto",
    *,
    card: int = 0,
    cards: int | None = None,
    limit: float = 120.0,
    call_limit: float = 10.0,
    family: str | None = None,
    operators: Collection[str] | None = None,
    dtypes: Collection[str] | None = None,
    collectives: bool = True,
) -> Report:
    """Compare the tables of what cards lack with the hardware.

    Every function and dtype of the capability table, its notes, and every collective of the
    library's table is tried in child processes on a small input whose values are known; this
    process makes no context and leaves nothing behind.

    Parameters
    ----------
    kind : {"auto", "npu", "cuda", "cpu"}
        Kind of card; ``cpu`` is the stand-in, which lacks nothing.
    card : int
        Logical card on which functions are tried.
    cards : int, optional
        Cards between which collectives are tried, from 0 on; by default 2 or 4 if there are as
        many, and 2 stand-in cards.
    limit : float
        Seconds in all, but for the last call and for the first start of processes, of functions
        and of collectives (some 10 seconds each). What was not reached is listed in the report.
    call_limit : float
        Seconds of one call, after which it counts as hanging.
    family : str, optional
        Table to compare with, a key of ``device.capabilities.FAMILIES``; by default the card's.
    operators : collection of str, optional
        torch's names of the functions to try (without notes); by default all.
    dtypes : collection of str, optional
        NumPy's names of the dtypes to try; by default all.
    collectives : bool
        Whether to try collectives.

    Returns
    -------
    Report
        Printed, it is a text for a report; ``differences`` is empty if the tables hold.

    Raises
    ------
    DeviceUnavailableError
        There is no such card, or its software cannot be loaded.
    ConfigurationError
        An argument is none of the above.
    """
    kind = _discovery.resolve(kind)
    chosen = tuple(_known("dtypes", dtypes, _capabilities.ALL))
    if operators is not None:
        operators = _known("operators", operators, every_operator())
    if family is not None and family not in _capabilities.FAMILIES:
        known = ", ".join(_capabilities.FAMILIES)
        raise ConfigurationError(f"family is {family!r}; allowed: {known}")
    begin = time.monotonic()
    members = _members(kind, cards) if collectives else 0
    share = _FOR_COLLECTIVES if members > 1 else 0
    findings: list[Finding] = []
    untried: list[str] = []
    facts = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}",
    }

    def for_operators() -> Crew:
        return _crew(kind, [card], [])

    try:
        first = for_operators()
    except CrewError as error:
        raise DeviceUnavailableError(f"{kind} card {card} cannot be used: {error}") from error
    facts |= {"kind": kind, **first.hello}
    facts["table"] = family = family or facts.pop("family")
    library = facts.pop("library")
    questions = of_operators(family, operators, chosen)
    seconds = limit * (1 - share)
    _collect(questions, first, for_operators, seconds, call_limit, findings, untried)
    if members > 1:
        facts["collectives"] = f"{library}, {members} cards"
        with tempfile.TemporaryDirectory(prefix="daskasc-selftest-") as folder:
            starts = iter(range(1 << 30))

            def for_collectives() -> Crew:
                store = str(Path(folder) / f"store-{next(starts)}")
                return _crew(kind, list(range(members)), [store, str(call_limit)])

            questions = of_collectives(library, chosen)
            seconds = limit * share
            _collect(questions, None, for_collectives, seconds, call_limit, findings, untried)
    elif collectives:
        facts["collectives"] = f"not tried: {members} card; they need two"
    facts["time"] = f"{time.monotonic() - begin:.0f} s"
    return Report(facts, tuple(findings), tuple(untried))


def _known(what: str, given: Collection[str] | None, known: Collection[str]) -> list[str]:
    unknown = sorted(set(given or ()) - set(known))
    if unknown:
        raise ConfigurationError(
            f"{what} {', '.join(unknown)} are unknown; allowed: {', '.join(known)}"
        )
    return [name for name in (known if given is None else given)]


def _members(kind: str, cards: int | None) -> int:
    there = _discovery.count(kind)
    if cards is not None:
        if kind != "cpu" and cards > there:
            raise ConfigurationError(f"cards is {cards}; {kind} cards here: {there}")
        return cards
    if kind == "cpu":
        return 2
    # some calls are documented for sizes that are powers of two only
    return 1 << (min(there, _MOST_CARDS).bit_length() - 1) if there else 0


def _crew(kind: str, cards: list[int], group: list[str]) -> Crew:
    variables = dict(_VARIABLES)
    if kind == "cpu":
        variables["GLOO_SOCKET_IFNAME"] = "lo"  # a host's name need not resolve
    environments = [variables | _discovery.visibility_env(kind, card) for card in cards]
    size = str(len(cards))
    arguments = [[kind, str(card), *([size, *group] if group else [])] for card in cards]
    return Crew(environments, arguments, _START)


def _collect(
    questions: list[Question],
    crew: Crew | None,
    start: Callable[[], Crew],
    seconds: float,
    call_limit: float,
    findings: list[Finding],
    untried: list[str],
) -> None:
    """Turn questions into findings; those without an answer go to `untried`."""
    asked = 0
    for question, answer in _answers(questions, crew, start, seconds, call_limit):
        asked += 1
        findings.append(
            Finding(
                *question.case,
                expected=question.expected,
                outcome=answer.outcome,
                detail=answer.detail,
                source=question.source,
            )
        )
    untried += [str(question.case) for question in questions[asked:]]


def _answers(
    questions: list[Question],
    crew: Crew | None,
    start: Callable[[], Crew],
    seconds: float,
    call_limit: float,
) -> Iterator[tuple[Question, Answer]]:
    # the first start does not count
    end = math.inf if seconds > 0 else 0.0
    try:
        for question in questions:
            if time.monotonic() >= end:
                return
            if crew is not None and question.alone:
                crew.close()
                crew = None
            if crew is None:
                try:
                    crew = start()
                except CrewError as error:
                    # the processes do not start (again): the question that waits is told
                    yield question, Answer("crashed", f"before the call: {error}", False)
                    return
            end = min(end, time.monotonic() + seconds)
            answer = crew.ask(question.case, call_limit)
            if not answer.usable or question.alone:
                crew.close(0 if not answer.usable else 3)
                crew = None
            yield question, answer
    finally:
        if crew is not None:
            crew.close()

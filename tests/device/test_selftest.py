"""The self-check on stand-in cards: a few lines of the tables, and children that fail."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest
import torch
from click.testing import CliRunner

from daskasc import device
from daskasc.device import _collectives, capabilities
from daskasc.device._selftest import _crew, _examples, _member, _names, _questions, _run
from daskasc.device._selftest._crew import Crew, CrewError
from daskasc.device._selftest._inputs import Inputs
from daskasc.device._selftest._report import Finding
from daskasc.errors import ConfigurationError, DeviceUnavailableError

A2 = "ascend-a2"
HOST = torch.device("cpu")


@pytest.mark.asks_the_driver  # some function of torch does, also for tensors of the host
@pytest.mark.filterwarnings("ignore")  # torch's, about dtypes that it is not sure of
def test_every_function_of_the_tables_has_an_example_that_runs():
    assert set(_names.every_operator()) == set(_examples.EXAMPLES)
    for name, call in _examples.EXAMPLES.items():
        ran = []
        for dtype in capabilities.ALL:
            try:
                call(_examples.function(name), Inputs(dtype, HOST))
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue
            ran.append(dtype)
        assert ran, name


def test_every_note_is_asked():
    texts = [text for notes in capabilities.NOTES.values() for text, _ in notes]
    by_axes = [text for text in texts if "axes" in text]
    assert set(texts) - set(by_axes) == set(_names.NOTES)
    assert len(by_axes) == bool(capabilities.MOST_AXES[A2])
    asked = [q for q in _questions.of_operators(A2, None, capabilities.ALL)]
    assert [q.case.variant for q in asked if q.case.subject == "axes"] == ["6", "7", "7", "8"]
    assert [q.case.name for q in asked if q.alone] == [
        "index_put_ with a mask crashed a context (507018)"
    ]


def test_every_line_of_the_table_is_a_question():
    asked = {
        (q.case.name, q.case.dtype): q.expected
        for q in _questions.of_operators(A2, None, capabilities.ALL)
        if q.case.subject == "operator"
    }
    for name, rows in capabilities.lacking(A2).items():
        assert all(asked[name, dtype] == "missing" for dtype in rows)
    assert asked["add", "float64"] == asked["abs", "uint64"] == "works"
    assert ("zeros", "uint16") not in asked  # a note's
    remedies = {
        (q.case.name, q.case.dtype)
        for q in _questions.of_operators(A2, None, capabilities.ALL)
        if q.case.subject == "remedy"
    }
    assert {("amin", "float64"), ("where", "complex128"), ("max", "int8")} <= remedies
    assert ("roll", "complex128") not in remedies
    on_other_cards = _questions.of_operators("cuda", None, capabilities.ALL)
    assert {q.expected for q in on_other_cards} == {"works"}


@pytest.mark.parametrize("name", ["roll", "where", "index_select", "max", "amin", "cummin"])
def test_remedies_give_the_values(name: str):
    backend = device.current()
    tried = 0
    for dtype, row in capabilities.lacking(A2)[name].items():
        if not row.remedy or (dtype == "complex128" and name not in _names.IN_PARTS):
            continue
        for family in (A2, "cpu"):
            backend.family = family  # what moves bits depends on it
            try:
                pair = _member_ask(backend, ["remedy", name, dtype, row.remedy])
            finally:
                del backend.family
            if pair is not None:
                tried += 1
                assert _member.difference(*pair) == "", (dtype, family)
    assert tried


def _member_ask(backend: device.Backend, case: list[str]):
    from daskasc.device._selftest._operators import ask

    return ask(backend, case)


def test_a_collective_of_every_kind_is_asked_what_is_refused_last():
    asked = _questions.of_collectives("hccl", capabilities.ALL)
    assert len(asked) == (2 * 4 + 3) * len(capabilities.ALL)
    expected = [question.expected for question in asked]
    assert expected == sorted(expected, reverse=True)  # works, then missing
    assert not _collectives.carries("hccl", "all_reduce", "float64", "sum")
    assert not _collectives.carries("hccl", "all_reduce", "bfloat16", "prod")
    assert not _collectives.carries("hccl", "reduce_scatter", "uint8", "sum")
    assert _collectives.carries("hccl", "all_gather", "float64")


def test_stand_in_agrees_with_its_tables():
    report = device.selftest(
        "cpu", operators=["add", "sort", "where"], dtypes=["float32", "int16", "bool", "complex64"]
    )
    assert report.differences == ()
    assert report.untried == ()
    outcomes = {(f.name, f.variant, f.dtype): f.outcome for f in report.findings}
    assert outcomes["add", "", "float32"] == "right"
    assert outcomes["sort", "", "complex64"] == "absent"
    assert outcomes["all_reduce", "sum", "float32"] == "right"
    assert outcomes["broadcast", "", "int16"] == "refused"
    known = json.loads(json.dumps(report.as_dict()))
    assert known["differences"] == []
    assert known["facts"]["torch"] == torch.__version__
    assert "differences: 0" in str(report)
    assert known["facts"]["date"] in str(report)


def test_table_of_another_family_is_refuted_by_the_stand_in():
    report = device.selftest(
        "cpu",
        family=A2,
        operators=["cumsum", "amin"],
        dtypes=["float64", "float32"],
        collectives=False,
    )
    told = [(f.subject, f.name, f.dtype, f.expected, f.outcome) for f in report.differences]
    assert told == [
        ("operator", "cumsum", "float64", "missing", "right"),
        ("operator", "amin", "float64", "missing", "right"),
    ]
    assert "operator cumsum float64: table says missing, card computes right" in str(report)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"kind": "tpu"}, "device is 'tpu'"),
        ({"kind": "cpu", "family": "a9"}, "family is 'a9'; allowed: ascend-a2, cuda, cpu"),
        ({"kind": "cpu", "dtypes": ["f4"]}, "dtypes f4 are unknown"),
        ({"kind": "cpu", "operators": ["sinus"]}, "operators sinus are unknown"),
    ],
)
def test_arguments(arguments: dict[str, object], text: str):
    with pytest.raises(ConfigurationError, match=text):
        device.selftest(**arguments)


def test_program_lists_what_time_does_not_suffice_for(tmp_path):
    from daskasc.device.__main__ import main

    place = tmp_path / "report.json"
    options = ["--device", "cpu", "--limit", "0", "--cards", "1", "--json", str(place)]
    done = CliRunner().invoke(main, ["selftest", *options])
    assert done.exit_code == 0, done.output
    assert "differences: 0" in done.output
    assert "not tried: 1 card; they need two" in done.output
    untried = json.loads(place.read_text())["untried"]
    assert "operator add int8" in untried
    assert f"not tried for want of time: {len(untried)}\n  operator abs (15)" in done.output
    done = CliRunner().invoke(main, ["selftest", "--device", "cpu", "--family", "a9"])
    assert done.exit_code == 1
    assert "family is 'a9'" in done.output


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch):
    """Starts crews of members that do what the names of their questions say."""
    monkeypatch.setattr(_crew, "_MODULE", "tests.device.selftest_member")
    made: list[Crew] = []

    def start(members: int = 1, how: str = "ready", limit: float = 20) -> Crew:
        made.append(Crew([{}] * members, [[how]] * members, limit))
        return made[-1]

    yield start
    for each in made:
        each.close(0)


def test_a_member_that_dies_is_an_answer(crew: Callable[..., Crew]):
    some = crew(2)
    assert some.hello == {"family": "cpu"}
    assert some.ask(["right"], 10) == ("right", "", True)
    outcome, detail, usable = some.ask(["die"], 10)
    assert (outcome, usable) == ("crashed", False)
    assert detail == "SIGKILL; last words"


def test_a_member_that_hangs_is_an_answer(crew: Callable[..., Crew]):
    assert crew().ask(["hang"], 0.3) == ("hung", "no answer in 0.3 s", False)


def test_a_member_that_does_not_start_is_an_error(crew: Callable[..., Crew]):
    with pytest.raises(CrewError, match="crashed: exit code 3; last words"):
        crew(how="die")
    with pytest.raises(CrewError, match=r"hung: no answer in 0\.5 s"):
        crew(how="hang", limit=0.5)


def test_others_answer_after_one_that_died(
    crew: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch
):
    questions = [
        _questions.Question(_questions.Case(name, "", "", ""), "works")
        for name in ("right", "die", "right", "hang", "right")
    ]
    started = itertools.count()

    def start() -> Crew:
        next(started)
        return crew()

    found: list[Finding] = []
    untried: list[str] = []
    _run._collect(questions, None, start, float("inf"), 1.0, found, untried)
    assert [f.outcome for f in found] == ["right", "crashed", "right", "hung", "right"]
    assert [f.differs for f in found] == [False, True, False, True, False]
    assert untried == []
    assert next(started) == 3


def test_a_card_that_cannot_be_used_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_crew, "_MODULE", "tests.device.no_such_module")
    with pytest.raises(DeviceUnavailableError, match=r"cpu card 0 cannot be used: crashed: exit"):
        device.selftest("cpu")


@pytest.mark.parametrize(
    ("found", "right", "text"),
    [
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("nan")]), ""),
        (torch.tensor([1.0001]), torch.tensor([1.0]), ""),
        (torch.tensor([1.1]), torch.tensor([1.0]), "[1.100000023841858], expected [1.0]"),
        (torch.tensor([2]), torch.tensor([3]), "[2], expected [3]"),
        (torch.tensor([2]), torch.tensor([2.0]), "dtype torch.int64, expected torch.float32"),
        (torch.tensor([2]), torch.tensor(2), "shape (1,), expected ()"),
        ((torch.tensor(1),), (torch.tensor(1), torch.tensor(2)), "1 results, expected 2"),
        ([torch.tensor(1)], [torch.tensor(2)], "[1], expected [2]"),
    ],
)
def test_difference(found: object, right: object, text: str):
    assert _member.difference(found, right) == text

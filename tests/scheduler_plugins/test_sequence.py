from __future__ import annotations

import pytest

from scheduler_plugins._sequence import EpochBook, GangPlan, contributor, disagreement


def manifest(text="*", leaves=(("device", "float32", (3,), b""),)):
    return {"text": text, "skeleton": b"", "leaves": leaves}


def test_stamps_are_dense():
    book = EpochBook()
    epoch = book.open(book.next_number(), ["a", "b"])
    assert [book.stamp(epoch, f"g{i}") for i in range(3)] == [0, 1, 2]
    assert epoch.in_flight == {0: "g0", 1: "g1", 2: "g2"}
    book.finish(epoch, 1)
    assert 1 not in epoch.in_flight


def test_only_the_newest_epoch_takes_stamps():
    book = EpochBook()
    old = book.open(book.next_number(), ["a"])
    new = book.open(book.next_number(), ["a", "b"])
    assert new.number > old.number
    assert not book.usable(old)
    assert book.usable(new, ["b"])
    assert not book.usable(new, ["c"])
    with pytest.raises(ValueError, match="takes no more"):
        book.stamp(old, "g")


def test_loss_in_flight_makes_the_survivors_restart():
    book = EpochBook()
    epoch = book.open(1, ["a", "b", "c"])
    book.stamp(epoch, "g")
    assert book.lost("b")
    assert epoch.dead
    assert book.entered == ["a", "c"]
    assert not book.lost("a")  # restarted
    assert book.entered == ["c"]


def test_loss_while_idle_spares_the_survivors():
    book = EpochBook()
    epoch = book.open(1, ["a", "b"])
    book.finish(epoch, book.stamp(epoch, "g"))
    assert not book.lost("b")
    assert book.entered == []
    assert not book.usable(epoch)


def test_loss_of_a_stranger_changes_nothing():
    book = EpochBook()
    epoch = book.open(1, ["a", "b"])
    book.stamp(epoch, "g")
    assert not book.lost("z")
    assert book.usable(epoch)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (manifest("[*]"), "structure"),
        (manifest(leaves=(("device", "float64", (3,), b""),)), "float64"),
        (manifest(leaves=(("device", "float32", (4,), b""),)), r"\[4\]"),
        (manifest(leaves=(("python", "", (), b"x"),)), "Python object"),
    ],
)
def test_disagreement_names_both(other, said):
    message = disagreement("sum", [1, 3], [manifest(), other])
    assert message is not None
    assert said.strip("\\") in message or said.replace("\\", "") in message
    assert "card 1" in message
    assert "card 3" in message
    assert disagreement("gather", [1, 3], [manifest(), other]) is None


def test_agreement():
    assert disagreement("sum", [0, 1], [manifest(), manifest()]) is None
    assert "median" in str(disagreement("median", [0], [manifest()]))


@pytest.mark.parametrize(
    ("host", "holders", "expected"),
    [
        ("a", ["a", "b"], ("a", False)),
        ("a", ["c", "b"], ("b", False)),
        ("a", ["z"], ("a", True)),
        (None, ["z"], (None, True)),
        (None, ["c"], ("c", False)),
    ],
)
def test_contributor(host, holders, expected):
    assert contributor(host, holders, ["a", "b", "c"]) == expected


def test_plan_from_message():
    plan = GangPlan.from_message(
        {
            "id": "g",
            "op": "sum",
            "members": [0, 2],
            "owner": 2,
            "partial_keys": ["p0", ("p", 1)],
            "barrier_key": "b",
            "collect_keys": ["c0", "c2"],
        }
    )
    assert plan.takers == {"c2": 2}
    assert plan.partial_keys == ("p0", ("p", 1))

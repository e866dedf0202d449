from __future__ import annotations

from scheduler_plugins._results import Published, ResultBook
from scheduler_plugins._sequence import Epoch, GangPlan, order_of

EXCHANGE = GangPlan(
    "x",
    "exchange",
    (0, 1, 2),
    0,
    ("p0", "p1", "p2"),
    "barrier",
    ("c0", "c1", "c2"),
    receive_keys=("r0", None, "r2"),
    settle_key="s",
)
HOSTS = {0: "a", 2: "b"}


def published():
    return Published.of(EXCHANGE, 1, 7, HOSTS)


def test_every_member_that_takes_something_has_a_result():
    assert EXCHANGE.takers == {"r0": 0, "r2": 2}
    assert EXCHANGE.keepers == ("c0", "c1", "c2", "s")
    assert published().waiting == {"r0": ("a", 0), "r2": ("b", 2)}
    one = GangPlan("g", "sum", (0, 2), 2, ("p0", "p2"), "barrier", ("c0", "c2"))
    assert one.keepers == ("c0", "c2")
    assert Published.of(one, 1, 7, HOSTS).waiting == {"c2": ("b", None)}


def test_a_record_is_kept_until_all_is_taken():
    book = ResultBook()
    book.add(published())
    assert len(book) == 1
    assert book.taken("other") is None
    assert book.taken("r0") == "barrier"
    assert book.taken("r0") is None
    assert book.held_by("a") == []
    assert book.held_by("b") == ["barrier"]
    assert book.taken("r2") == "barrier"
    assert len(book) == 0
    assert book.pop("barrier") is None


def test_a_record_taken_back_is_forgotten_whole():
    book = ResultBook()
    book.add(published())
    assert book.pop("barrier") == published()
    assert book.taken("r0") is None
    book.add(Published(EXCHANGE, 1, 8))
    assert len(book) == 0


def test_the_order_names_ranks():
    epoch = Epoch(3, ("b", "a"))
    order = order_of(EXCHANGE, epoch, {0: "a", 1: "a", 2: "b"}, HOSTS)
    assert order["sources"] == [1, 1, 0]
    assert order["targets"] == [1, -1, 0]
    assert order["owner"] == 1

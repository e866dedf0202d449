"""Fixtures of the array tests: modes of the host fallback, and the card of this process."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import pytest

from daskasc import device


@pytest.fixture
def no_fallback() -> Iterator[None]:
    """Computing on the host is an error, but where the card's table says that a kernel is missing.

    Stand-in cards have no such table.
    """
    with dask.config.set({"daskasc.fallback": "error"}):
        yield


@pytest.fixture
def quiet_fallback() -> Iterator[None]:
    """Computing on the host is allowed and not said."""
    with dask.config.set({"daskasc.fallback": "silent"}):
        yield


@pytest.fixture(autouse=True)
def arrays_on_the_card(card_kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Arrays live on card 0, unless the cards are stand-ins: those need not be owned.

    Where the card's table says that a kernel is missing, the host computes, counted and silently.
    """
    if card_kind == "cpu":
        yield
        return
    from daskasc.array import _dispatch

    from . import gaps

    monkeypatch.setattr(_dispatch, "_mode", gaps.allowing(_dispatch._mode))
    device.attach(card_kind, 0)
    yield
    device.detach()


@pytest.fixture
def stand_ins_only(card_kind: str) -> None:
    """Skip a test of what only stand-in cards, or cards without gaps, do."""
    if card_kind != "cpu":
        pytest.skip(f"about stand-in cards, which {card_kind} cards are not")


@pytest.fixture
def stand_in(stand_ins_only: None) -> Iterator[device.Backend]:
    """This process owns stand-in card 0 for the length of a test."""
    backend = device.attach("cpu", 0)
    yield backend
    device.detach()

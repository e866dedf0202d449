"""Which worker serves which logical card: the decisions behind ``chunk_placement``.

A plan names logical cards 0..n-1. Card *c* has a *home*, the worker whose name is ``str(c)``, and a
*host*, the worker that serves it now. Normally both are one worker::

    joined(home)                     host = home's address
    lost(host)                       host = None, a deadline starts
      joined(home) before it         host = home's new address
      deadline passes                host = one of the workers left, round robin ("re-owned");
                                     with none left the card is *abandoned*: its tasks must fail
    joined(home) after it            host = home again, for new work

A card that is asked for and has never been seen gets the same deadline. Where the number of cards
was given, it is then re-owned like a lost one; where it was learnt from the workers, the plan was
made for another cluster, and it is abandoned. An abandoned card that is asked for again starts a
new deadline, so every wait ends.

Workers are in servers. A card is re-owned by a worker of its own server, if one is left there.

Invariants: a host is the address of a live worker; a card has a deadline only while it has no host.
This module knows no Dask: time comes in as an argument, addresses are opaque strings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Changes:
    """What an event changed: cards that got another host, and cards given up."""

    moved: frozenset[int] = field(default_factory=frozenset)
    abandoned: frozenset[int] = field(default_factory=frozenset)


class CardMap:
    """Map of logical cards to the workers that serve them.

    Parameters
    ----------
    cards : int or None
        Number of logical cards; None learns it from the names of the workers that join.
    patience : float
        Seconds that a card without a host waits for its home worker.
    """

    def __init__(self, cards: int | None, patience: float) -> None:
        self._given = cards
        self._patience = patience
        self._homes: dict[int, str] = {}
        self._servers: dict[int, str] = {}  # of the home, also after it was lost
        self._hosts: dict[int, str] = {}
        self._deadlines: dict[int, float] = {}
        self._seen = 0
        self._turn = 0

    @staticmethod
    def card_of(name: object) -> int | None:
        """Card whose home is a worker of this name; None for names that are no card."""
        text = str(name)
        return int(text) if text.isascii() and text.isdigit() and str(int(text)) == text else None

    @property
    def cards(self) -> int:
        """Number of logical cards given, or learnt so far."""
        return self._seen if self._given is None else self._given

    @property
    def fixed(self) -> bool:
        """Whether the number of cards was given rather than learnt."""
        return self._given is not None

    def known(self, card: int) -> bool:
        """Whether a plan may use `card`."""
        return 0 <= card < self.cards

    def host(self, card: int) -> str | None:
        """Address of the worker that serves `card`; None while it has none."""
        return self._hosts.get(card)

    def hosts(self) -> dict[int, str]:
        """Every served card and its worker, in the order of the cards."""
        return dict(sorted(self._hosts.items()))

    def missing(self) -> frozenset[int]:
        """Cards without a host that wait for their home worker."""
        return frozenset(self._deadlines)

    def next_deadline(self) -> float | None:
        """Earliest time at which :meth:`expire` has something to do."""
        return min(self._deadlines.values(), default=None)

    def servers(self) -> tuple[int, ...]:
        """Server of each card, numbered by their lowest cards; empty until all are known."""
        names = [self._servers.get(card) for card in range(self.cards)]
        if None in names:
            return ()
        numbers: dict[str | None, int] = {}
        return tuple(numbers.setdefault(name, len(numbers)) for name in names)

    def server_of(self, address: str) -> str | None:
        """Server of the worker at `address`; None for a worker without a card of its own."""
        for card, home in self._homes.items():
            if home == address:
                return self._servers[card]
        return None

    def joined(self, name: object, address: str, server: str = "") -> Changes:
        """A worker arrived; it gets its card, wherever that was served meanwhile."""
        card = self.card_of(name)
        if card is None or (self._given is not None and card >= self._given):
            return Changes()
        self._seen = max(self._seen, card + 1)
        self._homes[card] = address
        self._servers[card] = server
        self._hosts[card] = address
        self._deadlines.pop(card, None)
        return Changes(moved=frozenset({card}))

    def lost(self, address: str, now: float) -> Changes:
        """A worker left; the cards that it served wait for their home worker."""
        for card in [c for c, home in self._homes.items() if home == address]:
            del self._homes[card]
        orphans = frozenset(c for c, host in self._hosts.items() if host == address)
        for card in orphans:
            del self._hosts[card]
            self._deadlines[card] = now + self._patience
        return Changes(moved=orphans)

    def wanted(self, cards: Iterable[int], now: float) -> None:
        """Tasks ask for `cards`; those without a host get a deadline."""
        for card in cards:
            if card not in self._hosts:
                self._deadlines.setdefault(card, now + self._patience)

    def expire(self, now: float) -> Changes:
        """Re-own or give up the cards whose deadline has passed."""
        due = sorted(card for card, deadline in self._deadlines.items() if deadline <= now)
        moved: set[int] = set()
        abandoned: set[int] = set()
        for card in due:
            del self._deadlines[card]
            if self._homes and self.known(card):
                near = [c for c in self._homes if self._servers[c] == self._servers.get(card)]
                keepers = [self._homes[c] for c in sorted(near or self._homes)]
                self._hosts[card] = keepers[self._turn % len(keepers)]
                self._turn += 1
                moved.add(card)
            else:
                abandoned.add(card)
        return Changes(frozenset(moved), frozenset(abandoned))

"""What a run moved and used, card by card.

Workers answer two messages, ``daskasc_report`` and ``daskasc_reset``; the cluster asks all of them
at once through its scheduler, so no client is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskasc.cluster import _table


@dataclass(frozen=True)
class CardReport:
    """Figures of one card since its counters were reset; sizes in bytes."""

    card: int
    used_device_bytes: int
    peak_device_bytes: int
    capacity_device_bytes: int
    stored_device_bytes: int
    bytes_host_to_device: int
    bytes_device_to_host: int
    bytes_from_peers: int
    bytes_collective: int
    bytes_spilled_to_host: int
    bytes_spilled_to_disk: int
    host_copies: int
    fallbacks: Mapping[str, tuple[int, int]]

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> CardReport:
        """Build from a worker's answer; message formats know lists only."""
        fallbacks = {name: (int(n), int(size)) for name, (n, size) in message["fallbacks"].items()}
        return cls(**{**message, "fallbacks": fallbacks})


@dataclass(frozen=True)
class RunReport:
    """Figures of a cluster since its counters were reset; sizes in bytes.

    Printed, it is a table with one line a card.

    Attributes
    ----------
    device : {"npu", "cuda", "cpu"}
        Kind of the cards; ``"cpu"`` is stand-in cards.
    cards : tuple of CardReport
        One entry a card that answered, by number.
    collectives : int
        Collective operations that the scheduler let run.
    missing : tuple of int
        Cards whose worker did not answer, for example because it is being restarted.
    """

    device: str
    cards: tuple[CardReport, ...]
    collectives: int
    missing: tuple[int, ...] = ()

    @property
    def peak_device_bytes(self) -> tuple[int, ...]:
        """Peak device memory of each card."""
        return tuple(card.peak_device_bytes for card in self.cards)

    @property
    def bytes_host_to_device(self) -> int:
        """Bytes copied from host memory to cards."""
        return sum(card.bytes_host_to_device for card in self.cards)

    @property
    def bytes_device_to_host(self) -> int:
        """Bytes copied from cards to host memory."""
        return sum(card.bytes_device_to_host for card in self.cards)

    @property
    def bytes_between_cards(self) -> int:
        """Bytes that cards received from other cards, as chunks or in collectives."""
        return sum(card.bytes_from_peers + card.bytes_collective for card in self.cards)

    @property
    def host_copies(self) -> int:
        """Chunks that were implicitly copied to the host."""
        return sum(card.host_copies for card in self.cards)

    @property
    def fallbacks(self) -> dict[str, tuple[int, int]]:
        """Functions computed on the host: name to (calls, bytes), over all cards."""
        total: dict[str, tuple[int, int]] = {}
        for card in self.cards:
            for name, (calls, size) in card.fallbacks.items():
                before = total.get(name, (0, 0))
                total[name] = (before[0] + calls, before[1] + size)
        return total

    def __str__(self) -> str:
        return _table.as_text(self)

    def _repr_html_(self) -> str:
        return _table.as_html(self)

    def as_dict(self) -> dict[str, Any]:
        """All figures, sums included, as plain containers (for JSON)."""
        plain = dataclasses.asdict(self)
        plain["peak_device_bytes"] = list(self.peak_device_bytes)
        plain["bytes_host_to_device"] = self.bytes_host_to_device
        plain["bytes_device_to_host"] = self.bytes_device_to_host
        plain["bytes_between_cards"] = self.bytes_between_cards
        plain["host_copies"] = self.host_copies
        plain["fallbacks"] = self.fallbacks
        return plain

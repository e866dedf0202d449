"""Peak memory: the process's own, and the one that is measured beside it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from daskasc import device
from daskasc.array import from_numpy
from daskasc.device._accelerator import AcceleratorBackend

KIB = 1024


@pytest.fixture
def card() -> Iterator[device.Backend]:
    yield device.attach("cpu", 0)
    device.detach()


def test_marked_peak_of_a_stand_in(card: device.Backend) -> None:
    base = card.memory().used
    x = from_numpy(np.zeros(64 * KIB, "u1"))
    del x
    card.mark_peak()
    y = from_numpy(np.zeros(16 * KIB, "u1"))
    assert card.peak_since_mark() == base + 16 * KIB
    assert card.memory().peak >= base + 64 * KIB
    del y
    assert card.mark_peak() == base + 16 * KIB
    assert card.peak_since_mark() == base


def test_no_books_without_a_card() -> None:
    assert device.current().mark_peak() is None
    assert device.current().peak_since_mark() is None


def test_small_arrays_are_not_accounted(card: device.Backend) -> None:
    base = card.memory().used
    x = from_numpy(np.zeros(KIB - 1, "u1"))
    y = x + x
    assert card.memory().used == base
    z = from_numpy(np.zeros(KIB, "u1"))
    small_part = z[:4]  # holds the whole storage
    del z
    assert card.memory().used == base + KIB
    w = small_part + small_part
    assert card.memory().used == base + KIB
    del small_part
    assert card.memory().used == base
    assert x.shape == y.shape
    assert w.shape == (4,)


class Allocator:
    """The memory figures of a driver module."""

    def __init__(self) -> None:
        self.used = self.peak = 0

    def take(self, n: int) -> None:
        self.used += n
        self.peak = max(self.peak, self.used)

    def memory_stats(self) -> dict[str, int]:
        return {"allocated_bytes.all.current": self.used, "allocated_bytes.all.peak": self.peak}

    def reset_peak_memory_stats(self) -> None:
        self.peak = self.used


class Card(AcceleratorBackend):
    kind = "cuda"
    visibility = "NONE"


def test_marked_peak_of_a_card_with_an_allocator() -> None:
    memory = Allocator()
    driver: Any = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 1,
        set_device=lambda index: None,
        mem_get_info=lambda: (1000, 1000),
        memory_stats=memory.memory_stats,
        reset_peak_memory_stats=memory.reset_peak_memory_stats,
    )
    card = Card(0, driver, None, None)
    memory.take(100)
    memory.take(-90)
    card.mark_peak()
    memory.take(20)
    memory.take(-20)
    assert card.peak_since_mark() == 30
    assert card.memory().peak == 100
    card.reset_peak()
    assert card.peak_since_mark() == 30
    assert card.memory().peak == 10
    memory.take(5)
    assert card.memory().peak == 15
    assert card.mark_peak() == 30
    assert card.peak_since_mark() == 15
    assert card.memory().peak == 15

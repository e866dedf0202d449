"""Staging buffers: reuse, sizes, bounds."""

from __future__ import annotations

import dask
import numpy as np
import pytest

from daskasc.device import StagingPool
from daskasc.device._staging import size_class


def address(buffer: np.ndarray) -> int:  # type: ignore[type-arg]
    return int(buffer.__array_interface__["data"][0])


def test_buffers_are_reused() -> None:
    pool = StagingPool()
    with pool.take(5000) as first:
        assert (first.dtype, first.size) == (np.uint8, 5000)
        first[:] = 1
        with pool.take(5000) as second:
            assert address(first) != address(second)
        place = address(second)
    with pool.take(5100) as third:
        assert address(third) in (place, address(first))
    pool.clear()
    assert pool.idle_bytes == 0


@pytest.mark.parametrize("nbytes", [0, 1, 4096, 4097, 10_000, 1 << 20, (1 << 20) + 1, 10**8])
def test_size_classes_waste_at_most_a_quarter(nbytes: int) -> None:
    size = size_class(nbytes)
    assert max(nbytes, 4096) <= size <= max(nbytes * 1.25 + 1, 4096)
    assert size_class(size) == size


def test_idle_bytes_are_bounded() -> None:
    pool = StagingPool()
    with dask.config.set({"daskasc.memory.staging": 100_000}):
        for nbytes in (60_000, 50_000, 40_000, 200_000):
            with pool.take(nbytes):
                pass
            assert pool.idle_bytes <= 100_000
        with pool.take(1 << 16), pool.take(1 << 16), pool.take(1 << 16):
            pass
        assert pool.idle_bytes <= 100_000
    with dask.config.set({"daskasc.memory.staging": 0}), pool.take(10):
        pass
    assert pool.idle_bytes <= 100_000


def test_negative_size() -> None:
    with pytest.raises(ValueError, match="nbytes is -1"), StagingPool().take(-1):
        pass


def test_a_finalizer_gives_back_while_its_thread_is_in_the_pool() -> None:
    pool = StagingPool()
    loan = pool.lend(5000)
    place = address(loan.buffer)
    with pool._lock:  # the collector may run a finalizer wherever something is allocated
        loan.abandon(None)
    loan.release()
    assert pool.idle_bytes >= 5000
    with pool.take(5000) as buffer:
        assert address(buffer) == place
    assert pool.idle_bytes == size_class(5000)

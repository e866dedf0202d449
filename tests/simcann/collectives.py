"""Collectives of simulated cards, a process a rank: ``python collectives.py NAME RANKS FOLDER``."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def _raises(text: str, function: Callable[[], object]) -> None:
    try:
        function()
        torch.npu.synchronize()
    except RuntimeError as error:
        if text not in str(error):
            raise AssertionError(f"another message: {error}") from error
        return
    raise AssertionError("no RuntimeError")


def right_values(rank: int, size: int, place: str) -> None:
    """Reductions, gathers, broadcasts and messages, compared with what they have to give."""
    total = size * (size + 1) / 2
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64):
        ones = torch.full((1000,), rank + 1, device=place).to(dtype)
        dist.all_reduce(ones)
        assert ones.cpu().float().eq(total).all(), dtype
    large = torch.arange(3_000_000, dtype=torch.float32, device=place) * (rank + 1)
    dist.all_reduce(large)
    assert torch.allclose(large.cpu(), torch.arange(3_000_000.0) * total)
    least = torch.tensor([rank, -rank], dtype=torch.int32, device=place)
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    assert least.tolist() == [0, 1 - size]
    mask = torch.tensor([rank == 0, False], device=place)
    dist.all_reduce(mask)
    assert mask.tolist() == [True, False]
    gathered = torch.empty(size, dtype=torch.float64, device=place)
    dist.all_gather_into_tensor(gathered, torch.tensor([float(rank)], dtype=torch.float64).npu())
    assert gathered.tolist() == list(range(size))
    sent = torch.full((5,), float(rank), device=place)
    dist.broadcast(sent, size - 1)
    assert sent.eq(size - 1).all()
    turned = torch.empty(size, device=place)
    dist.all_to_all_single(turned, torch.arange(float(size), device=place) + 10 * rank)
    assert turned.tolist() == [10.0 * other + rank for other in range(size)]
    received = torch.empty(4, device=place)
    operations = [
        dist.P2POp(dist.isend, torch.full((4,), float(rank), device=place), (rank + 1) % size),
        dist.P2POp(dist.irecv, received, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert received.eq((rank - 1) % size).all()


def takes_memory(rank: int, size: int, place: str) -> None:
    """A communicator has two buffers of 200 MiB in the card's memory."""
    one = torch.ones(3, device=place)
    torch.npu.synchronize()
    before, _ = torch.npu.mem_get_info()
    dist.all_reduce(one)
    torch.npu.synchronize()
    assert before - torch.npu.mem_get_info()[0] >= 400 << 20


def saturates(rank: int, size: int, place: str) -> None:
    """Sums over cards without infinities: overflow is the largest number, NaN is 0."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        most = torch.finfo(dtype).max
        given = torch.tensor([most, -most, 1.0], dtype=dtype).npu()
        dist.all_reduce(given)
        assert given.tolist() == [most, -most, size], dtype


def refuses(rank: int, size: int, place: str) -> None:
    """The dtypes and operations that HCCL's documentation excludes.

    Run with TASK_QUEUE_ENABLE=0: an error inside torch_npu's task queue may leave it stuck.
    """
    short = torch.ones(3, dtype=torch.int16).npu()
    dist.all_reduce(short)
    assert short.tolist() == [size] * 3
    wide = torch.ones(3, dtype=torch.float64).npu()
    _raises("not supported", lambda: dist.all_reduce(wide))
    _raises("not support feature", lambda: dist.all_reduce(short, op=dist.ReduceOp.PRODUCT))
    dist.barrier()
    torch.npu.synchronize()
    os._exit(0)  # a group that saw an error is not taken down


def fails(rank: int, size: int, place: str) -> None:
    """A rank that stalls or dies in the second collective: the others get an error, no value."""
    one = torch.ones(3, device=place)
    dist.all_reduce(one)
    torch.npu.synchronize()
    assert one.tolist() == [size] * 3
    two = torch.ones(3, device=place)
    try:
        dist.all_reduce(two)
        torch.npu.synchronize()
    except RuntimeError:
        os._exit(3)
    os._exit(0)


_ALL = (right_values, takes_memory, saturates, refuses, fails)
CHECKS = {function.__name__: function for function in _ALL}


def main(rank: int, name: str, size: int, store: str, fault: str) -> None:
    """One rank."""
    if fault and rank == 1:
        os.environ["SIMCANN_FAULT"] = fault
    torch.npu.set_device(rank)
    dist.init_process_group(
        "hccl",
        rank=rank,
        world_size=size,
        init_method=f"file://{store}",
        timeout=datetime.timedelta(seconds=60),
    )
    CHECKS[name](rank, size, f"npu:{rank}")
    dist.destroy_process_group()


if __name__ == "__main__":
    check, ranks, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    wanted = os.environ.pop("FAULT", "")
    context = mp.get_context("spawn")
    processes = [
        context.Process(target=main, args=(rank, check, ranks, str(folder / "store"), wanted))
        for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(200)
    codes = [process.exitcode for process in processes]
    expected = [0] * ranks
    if wanted:
        expected = [3] * ranks
        if wanted.startswith("die"):
            expected[1] = -9
        # torch's watchdog may end a survivor before the error reaches it
        codes = [3 if code == -6 else code for code in codes]
    assert codes == expected, codes
    print("passed")

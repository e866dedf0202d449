"""What the simulation has to show, one function a check; run by ``python checks.py NAME`` in a
simulated process. A check that fails raises.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

import torch

CHECKS: dict[str, Callable[[], None]] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    """Register a check under its name."""
    CHECKS[function.__name__] = function
    return function


def raises(kind: type[Exception], text: str, function: Callable[[], object]) -> None:
    """Assert that a call raises `kind` with `text` in its message."""
    try:
        function()
    except kind as error:
        if text not in str(error):
            raise AssertionError(f"another message: {error}") from error
        return
    raise AssertionError(f"no {kind.__name__}")


@check
def computes() -> None:
    """Operators, views and writes give the CPU's results."""
    host = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    card = host.npu()
    assert card.device.type == "npu"
    assert torch.equal((card.T @ card).cpu(), host.T @ host)
    card[1] += 5
    card[:, 2].mul_(3)
    host[1] += 5
    host[:, 2].mul_(3)
    assert torch.equal(card.cpu(), host)
    assert torch.equal(torch.sort(card, dim=0).values.cpu(), torch.sort(host, dim=0).values)


@check
def shows_old_data_without_synchronize() -> None:
    """A copy to pinned memory that nobody waits for has not happened yet, some time."""
    stale = 0
    for turn in range(40):
        card = torch.full((1000,), float(turn + 1), device="npu")
        host = torch.zeros(1000).pin_memory()
        host.copy_(card, non_blocking=True)
        stale += bool((host == 0).any())
        torch.npu.synchronize()
        assert bool((host == turn + 1).all())
    assert stale, "every copy was complete at once"


@check
def reads_a_source_late() -> None:
    """A staging buffer that is filled again too early gives wrong data."""
    wrong = 0
    staging = torch.zeros(1000).pin_memory()
    for turn in range(40):
        torch.npu.synchronize()
        staging.fill_(turn)
        card = torch.empty(1000, device="npu").copy_(staging, non_blocking=True)
        staging.fill_(-1)
        wrong += bool((card.cpu() != turn).any())
    assert wrong, "every upload was complete at once"


@check
def streams_need_events() -> None:
    """Work of another stream is seen after its event, and may not be before."""
    other = torch.npu.Stream()
    unordered = 0
    for turn in range(60):
        with torch.npu.stream(other):
            made = torch.full((100,), float(turn + 1), device="npu") + 0
        early = made + 0
        torch.npu.current_stream().wait_stream(other)
        late = made + 0
        assert bool((late.cpu() == turn + 1).all())
        unordered += bool((early.cpu() != turn + 1).any())
        torch.npu.synchronize()
    assert unordered, "the other stream was always done"


@check
def an_operator_waits_for_nobody() -> None:
    """A staging buffer that is filled again too early is seen with an operator behind the copy."""
    wrong = 0
    staging = torch.zeros(1000).pin_memory()
    for turn in range(1, 41):
        torch.npu.synchronize()
        staging.fill_(turn)
        card = torch.empty(1000, device="npu").copy_(staging, non_blocking=True)
        double = card * 2
        staging.fill_(-1)
        wrong += bool((double.cpu() != 2 * turn).any())
    assert wrong, "the operator waited for its operand"


def _overwritten(recorded: bool) -> int:
    """How often memory was reused while another stream's operator had still to read it."""
    other = torch.npu.Stream()
    found = 0
    for turn in range(1, 61):
        made = torch.full((100_000,), float(turn), device="npu")
        other.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(other):
            double = made * 2
        if recorded:
            made.record_stream(other)
        del made
        again = torch.full((100_000,), -1.0, device="npu")
        torch.npu.current_stream().synchronize()
        torch.npu.current_stream().wait_stream(other)
        found += bool((double.cpu() != 2 * turn).any())
        torch.npu.synchronize()
        del again
    return found


@check
def memory_of_another_stream_needs_record_stream() -> None:
    """Memory that is let go of while another stream still reads it is reused, but with a record."""
    assert _overwritten(recorded=False), "nothing was reused too early"
    assert not _overwritten(recorded=True)


@check
def copies_of_another_card_come_first() -> None:
    """Operators of a card that is not the thread's current one wait for that card's task queue."""
    for turn in range(1, 21):
        pinned = torch.full((1000,), float(turn)).pin_memory()
        card = torch.empty(1000, device="npu:1").copy_(pinned, non_blocking=True)
        for found in (card + 1, torch.flip(card, (0,)) + 1):
            torch.npu.synchronize(1)
            assert bool((found.cpu() == turn + 1).all())


@check
def a_failed_operator_is_heard_of() -> None:
    """Whoever waits for an event hears of operators before it that failed."""
    zeros = torch.zeros(3, dtype=torch.int32, device="npu")
    event = torch.npu.Event()
    torch.div(zeros, zeros, rounding_mode="floor")
    event.record()
    raises(RuntimeError, "507018", event.synchronize)


@check
def operators_are_queued() -> None:
    """Elementwise operators, reductions, products and joins run on the thread of their stream."""
    import simcann_operators

    x = torch.arange(12, dtype=torch.float32, device="npu").reshape(3, 4)
    calls: list[Callable[[], object]] = [
        lambda: x + 1,
        lambda: x.add_(0),
        lambda: torch.add(x, x, out=torch.empty_like(x)),
        lambda: x < 3,
        lambda: torch.where(x > 3, x, 0.0),
        lambda: x.sum(0),
        lambda: x.mean(),
        lambda: x @ x.T,
        lambda: torch.cat([x, x]),
        lambda: torch.sort(x, dim=0),
        lambda: torch.cumsum(x, 1),
        lambda: x.amax(1),
    ]
    for number, call in enumerate(calls):
        before = simcann_operators.queued()
        call()
        assert simcann_operators.queued() > before, f"call {number} was not queued"


@check
def operators_come_behind_copies_in_the_task_queue() -> None:
    """Memory of one thread's queued copy may be an operator's result in another thread."""
    size, turns = 1024, 12
    torch.set_num_threads(1)
    host = torch.full((size, size), -1.0).pin_memory()
    done = threading.Event()

    def copies() -> None:
        with torch.npu.device(0):
            while not done.wait(0.006):  # the queue hands over two in 4 ms
                for _ in range(2):
                    torch.empty(size, size, device="npu").copy_(host, non_blocking=True)

    one = torch.ones(size, size, device="npu")
    torch.npu.synchronize()
    other = threading.Thread(target=copies)
    other.start()
    try:
        # the product takes longer than the other thread sleeps
        overwritten = sum(bool(((one @ one).cpu() != size).any()) for _ in range(turns))
    finally:
        done.set()
        other.join(60)
    assert not overwritten, f"{overwritten} of {turns} results were overwritten by a copy"


@check
def refuses_what_is_not_documented() -> None:
    """Dtypes outside the table fail; documented fallbacks fail where the CPU is forbidden."""
    wide = torch.ones(3, dtype=torch.float64).npu()
    raises(RuntimeError, "161002", lambda: wide * wide)
    raises(RuntimeError, "161002", lambda: torch.sort(wide))
    single = torch.ones(3).npu()
    raises(RuntimeError, "161002", lambda: torch.arange(3).npu() * torch.tensor(2.0).double())
    raises(RuntimeError, "161002", lambda: single + 1j)
    for function in (torch.cumsum, torch.mean, torch.nansum):
        raises(RuntimeError, "161002", lambda f=function: f(single, 0, dtype=torch.float64))
    whole = torch.ones(2, 2, dtype=torch.int32).npu()
    raises(RuntimeError, "161002", lambda: whole @ whole)
    raises(RuntimeError, "not supported", lambda: torch.trunc(torch.ones(3).npu()))


@check
def mask_write_kills_the_context() -> None:
    """Writing through a boolean index is error 507018, and the device stays dead."""
    card = torch.ones(3, device="npu")
    mask = card > 0
    masks = {"card": mask, "host": mask.cpu(), "bytes": mask.to(torch.uint8), "itself": mask}
    index = masks[os.environ["MASK"]]
    target = mask if os.environ["MASK"] == "itself" else card

    def write() -> None:
        target[index] = torch.zeros(3, device="npu", dtype=target.dtype)

    raises(RuntimeError, "507018", write)
    raises(RuntimeError, "507018", lambda: (card + 1).cpu())


@check
def memory_is_limited() -> None:
    """Beyond SIMCANN_MEM it is torch's own error, and the card stays usable."""
    raises(torch.OutOfMemoryError, "out of memory", lambda: torch.empty(2**31, device="npu"))
    assert float(torch.ones(3, device="npu").sum()) == 3


@check
def saturates() -> None:
    """Infinity is the largest number, NaN is 0: of operators, casts and complex numbers."""
    most = torch.finfo(torch.float32).max
    found = (torch.tensor([1.0, 0.0], device="npu") / 0).cpu()
    assert found.tolist() == [most, 0.0]
    narrow = torch.tensor([1e30, -1e30, 2.0]).npu().half().cpu()
    assert narrow.tolist() == [65504.0, -65504.0, 2.0]
    large = torch.tensor([complex(most, 1.0)]).npu()
    assert (large * 2).cpu().tolist() == [complex(most, 2.0)]
    into = torch.tensor([most], device="npu")
    assert into.mul_(2).cpu().tolist() == [most]


@check
def visible_cards() -> None:
    """The list of visible cards as the driver reads it."""
    assert torch.npu.device_count() == int(os.environ["EXPECTED"])


@check
def fork_is_refused() -> None:
    """A child that was forked after a question to the driver cannot use a device."""
    import ctypes

    driver = ctypes.CDLL("libascendcl.so")
    if os.environ["FIRST"] == "question":
        driver.aclrtGetSocName()
    else:
        torch.ones(3, device="npu").cpu()
    child = os.fork()
    if not child:
        os._exit(driver.aclrtSetDevice(0) != 0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 1


@check
def forbidden_context() -> None:
    """A process that may not use a card cannot."""
    raises(RuntimeError, "107002", lambda: torch.ones(3, device="npu"))


@check
def an_allocation_fails() -> None:
    """The second allocation is out of memory, as SIMCANN_FAULT says; the next one is not."""
    torch.ones(1 << 22, device="npu")
    size = 1 << 26
    raises(torch.OutOfMemoryError, "", lambda: torch.empty(size, device="npu"))
    assert torch.empty(size, device="npu").fill_(2).sum().item() == 2 * size


@check
def faults() -> None:
    """The third copy fails, as SIMCANN_FAULT says, and the first two do not."""
    for _ in range(2):
        torch.ones(3).npu()
    raises(RuntimeError, "", lambda: torch.ones(3).npu().cpu())


@check
def lost_device() -> None:
    """After so many calls the device is lost, for all that follows."""

    def until_lost() -> None:
        for _ in range(1000):
            torch.ones(3, device="npu").cpu()

    raises(RuntimeError, "507899", until_lost)
    raises(RuntimeError, "507899", lambda: torch.ones(3, device="npu").cpu())


if __name__ == "__main__":
    CHECKS[sys.argv[1]]()
    print("passed", flush=True)
    os._exit(0)  # torch_npu's way out waits for a device that may be lost

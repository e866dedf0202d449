"""Dispatch overhead: what a call costs over the bare torch call, with arrays of few elements.

Each row runs the same computation on torch tensors, on AscendArrays and on NumPy arrays, in short
blocks that take turns, so that all three see the same load. Times are CPU times of the thread. The
figure of a side is the lower quartile of its blocks, which a busy machine moves less than the
median; the overhead is the difference. Results are compared before times.

Usage: ``python benchmarks/dispatch.py [--attached] [--blocks 400] [--calls 50] [--size 10]
[--json FILE]``

``--attached`` measures in a process that owns a stand-in card, where every array also keeps the
books of its storage.
"""

from __future__ import annotations

import operator
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _measure import Result, compared, header, interleaved, medians, parser, row, write

from daskasc import device
from daskasc.array import asnumpy, from_numpy

LIMITS = {"operator": 1.0, "ufunc": 2.0, "general": 6.0}
# bare torch `x + y` where the limits were set: a slower machine is slower at everything
REFERENCE = 0.92


class Case(NamedTuple):
    """One row: its kind (which has the limit), the expression, and what torch would call."""

    kind: str
    name: str
    ours: Callable[..., Any]
    torch: Callable[..., Any]


def cases(size: int = 10) -> list[Case]:
    """All rows; functions of ``x, y, mask`` (small arrays)."""
    torch = device.torch()
    return [
        Case("operator", "x + y", lambda x, y, m: x + y, lambda x, y, m: x + y),
        Case("operator", "x * y", lambda x, y, m: x * y, lambda x, y, m: x * y),
        Case("operator", "x / y", lambda x, y, m: x / y, lambda x, y, m: x / y),
        Case("operator", "x < y", lambda x, y, m: x < y, lambda x, y, m: x < y),
        Case("operator", "x + 1.0", lambda x, y, m: x + 1.0, lambda x, y, m: x + 1.0),
        Case("operator", "2 * x", lambda x, y, m: 2 * x, lambda x, y, m: 2 * x),
        Case("operator", "x > 0.5", lambda x, y, m: x > 0.5, lambda x, y, m: x > 0.5),
        Case("operator", "-x", lambda x, y, m: -x, lambda x, y, m: -x),
        Case("operator", "abs(x)", lambda x, y, m: abs(x), lambda x, y, m: abs(x)),
        Case("operator", "x ** 2", lambda x, y, m: x**2, lambda x, y, m: x * x),
        Case(
            "ufunc", "np.add(x, y)", lambda x, y, m: np.add(x, y), lambda x, y, m: torch.add(x, y)
        ),
        Case("ufunc", "np.add(x, 1.0)", lambda x, y, m: np.add(x, 1.0), lambda x, y, m: x + 1.0),
        Case("ufunc", "np.sqrt(x)", lambda x, y, m: np.sqrt(x), lambda x, y, m: torch.sqrt(x)),
        Case("ufunc", "np.exp(x)", lambda x, y, m: np.exp(x), lambda x, y, m: torch.exp(x)),
        Case(
            "ufunc",
            "np.maximum(x, y)",
            lambda x, y, m: np.maximum(x, y),
            lambda x, y, m: torch.maximum(x, y),
        ),
        Case("general", "np.sum(x)", lambda x, y, m: np.sum(x), lambda x, y, m: torch.sum(x)),
        Case(
            "general",
            "x.mean(axis=0)",
            lambda x, y, m: x.mean(axis=0),
            lambda x, y, m: torch.mean(x, dim=0),
        ),
        Case("general", "x.max()", lambda x, y, m: x.max(), lambda x, y, m: torch.amax(x)),
        Case(
            "general",
            "np.concatenate",
            lambda x, y, m: np.concatenate([x, y]),
            lambda x, y, m: torch.cat([x, y]),
        ),
        Case(
            "general",
            "np.where(m, x, y)",
            lambda x, y, m: np.where(m, x, y),
            lambda x, y, m: torch.where(m, x, y),
        ),
        Case(
            "general",
            f"x.reshape(2, {size // 2})",
            lambda x, y, m: x.reshape(2, size // 2),
            lambda x, y, m: x.reshape(2, size // 2),
        ),
        Case("general", "x[2:5]", lambda x, y, m: x[2:5], lambda x, y, m: x[2:5]),
        Case("general", "x[mask]", lambda x, y, m: x[m], lambda x, y, m: x[m]),
    ]


class Least:
    """Only wraps a tensor: what a class written in Python cannot do without.

    It looks at nothing: no dtype, no type of the other operand, no error, no accounts.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __mul__(self, other: Any) -> Any:
        made = _new(Least)
        made.tensor = _multiply(self.tensor, other.tensor)
        return made

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        left, right = inputs
        return left * right


_new = object.__new__
_multiply = operator.mul


def least(blocks: int, calls: int, size: int) -> tuple[float, float]:
    """Microseconds over bare torch of an operator and of a ufunc call on :class:`Least`."""
    torch = device.torch()
    tensors = (torch.ones(size), torch.ones(size))
    wrapped = tuple(map(Least, tensors))
    turns = {
        "bare": lambda: block(lambda x, y: x * y, tensors, calls),
        "operator": lambda: block(lambda x, y: x * y, wrapped, calls),
        "ufunc": lambda: block(lambda x, y: np.multiply(x, y), wrapped, calls),
    }
    found = {side: quartile(times) for side, times in interleaved(turns, blocks).items()}
    return found["operator"] - found["bare"], found["ufunc"] - found["bare"]


def quartile(times: list[float]) -> float:
    """Lower quartile."""
    return statistics.quantiles(times, n=4)[0]


def block(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """Microseconds a call over one block."""
    start = time.thread_time()
    for _ in range(calls):
        function(*arguments)
    return (time.thread_time() - start) / calls * 1e6


def measure(case: Case, blocks: int, calls: int, size: int) -> dict[str, list[float]]:
    """Microseconds a call in each block of bare torch, of AscendArray and of NumPy."""
    host = np.linspace(0.1, 2.0, size, dtype=np.float32)
    there = host[::-1].copy()
    mask = host > there
    on_host = (host, there, mask)
    on_card = tuple(map(from_numpy, on_host))
    bare = tuple(array.tensor for array in on_card)
    expected = case.ours(*on_host)
    np.testing.assert_allclose(asnumpy(case.ours(*on_card)), expected, rtol=1e-6)
    np.testing.assert_allclose(case.torch(*bare).numpy(), expected, rtol=1e-6)
    turns = {
        "torch": lambda: block(case.torch, bare, calls),
        "AscendArray": lambda: block(case.ours, on_card, calls),
        "NumPy": lambda: block(case.ours, on_host, calls),
    }
    return interleaved(turns, blocks)


def table(blocks: int, calls: int, size: int) -> list[Result]:
    """Print the table and the line below it."""
    print(f"scaled: the overhead on a machine whose bare torch x + y takes {REFERENCE} us")
    header(["case", "bare torch", "AscendArray", "NumPy", "overhead", "scaled", "limit"])
    results: list[Result] = []
    scale = None
    for case in cases(size):
        times = measure(case, blocks, calls, size)
        bare, ours, numpy = map(quartile, times.values())
        scale = scale or REFERENCE / bare  # the first case is x + y
        overhead = ours - bare
        shown = (bare, ours, numpy, overhead, overhead * scale)
        row([case.name, *(f"{figure:.2f}" for figure in shown), f"{LIMITS[case.kind]:.0f}"])
        in_seconds = {side: value / 1e6 for side, value in medians(times).items()}
        results += compared(case.name, in_seconds, {"elements": size})
    by_operator, by_ufunc = least(blocks, calls, size)
    print(
        f"a class in Python that only wraps: operators {by_operator:.2f}, ufunc calls "
        f"{by_ufunc:.2f} over bare torch"
    )
    return results


def main(arguments: list[str] | None = None) -> None:
    """Print one line a case."""
    options = parser(__doc__, 10, "elements of the arrays, an even number from 10")
    options.add_argument("--attached", action="store_true")
    options.add_argument("--blocks", type=int, default=400)
    options.add_argument("--calls", type=int, default=50)
    chosen = options.parse_args(arguments)
    if chosen.size < 10 or chosen.size % 2:
        options.error(f"--size is {chosen.size}; allowed: even numbers from 10")
    if chosen.blocks < 2:
        options.error(f"--blocks is {chosen.blocks}; a quartile needs at least 2")
    if chosen.attached:
        device.attach("cpu", 0)
    before = device.torch().get_num_threads()
    try:
        device.torch().set_num_threads(1)
        where = "attached to a stand-in card" if chosen.attached else "unattached"
        print(f"{where}; microseconds, {chosen.blocks} blocks of {chosen.calls} calls")
        write(chosen.json, table(chosen.blocks, chosen.calls, chosen.size))
    finally:
        device.torch().set_num_threads(before)
        if chosen.attached:
            device.detach()


if __name__ == "__main__":
    main()

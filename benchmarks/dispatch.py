"""Dispatch overhead: what a call costs over the bare torch call, with arrays of ten elements.

Each row runs the same computation on torch tensors, on AscendArrays and on NumPy arrays, in short
blocks that take turns, so that all three see the same load. Times are CPU times of the thread. The
figure of a side is the lower quartile of its blocks, which a busy machine moves less than the
median; the overhead is the difference. Results are compared before times.

Usage: ``python benchmarks/dispatch.py [--attached] [--blocks 400] [--calls 50]``

``--attached`` measures in a process that owns a stand-in card, where every array also keeps the
books of its storage.
"""

from __future__ import annotations

import argparse
import operator
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

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


def cases() -> list[Case]:
    """All rows; functions of ``x, y, mask`` (arrays of ten elements)."""
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
            "x.reshape(2, 5)",
            lambda x, y, m: x.reshape(2, 5),
            lambda x, y, m: x.reshape(2, 5),
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


def least(blocks: int, calls: int) -> tuple[float, float]:
    """Microseconds over bare torch of an operator and of a ufunc call on :class:`Least`."""
    torch = device.torch()
    tensors = (torch.ones(10), torch.ones(10))
    wrapped = tuple(map(Least, tensors))
    times: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(blocks):
        times[0].append(block(lambda x, y: x * y, tensors, calls))
        times[1].append(block(lambda x, y: x * y, wrapped, calls))
        times[2].append(block(lambda x, y: np.multiply(x, y), wrapped, calls))
    bare, by_operator, by_ufunc = (statistics.quantiles(side, n=4)[0] for side in times)
    return by_operator - bare, by_ufunc - bare


def block(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """Microseconds a call over one block."""
    start = time.thread_time()
    for _ in range(calls):
        function(*arguments)
    return (time.thread_time() - start) / calls * 1e6


def measure(case: Case, blocks: int, calls: int) -> tuple[float, ...]:
    """Microseconds a call of bare torch, of AscendArray and of NumPy."""
    host = np.linspace(0.1, 2.0, 10, dtype=np.float32)
    there = host[::-1].copy()
    mask = host > there
    on_host = (host, there, mask)
    on_card = tuple(map(from_numpy, on_host))
    bare = tuple(array.tensor for array in on_card)
    expected = case.ours(*on_host)
    np.testing.assert_allclose(asnumpy(case.ours(*on_card)), expected, rtol=1e-6)
    np.testing.assert_allclose(case.torch(*bare).numpy(), expected, rtol=1e-6)
    times: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(blocks):
        times[0].append(block(case.torch, bare, calls))
        times[1].append(block(case.ours, on_card, calls))
        times[2].append(block(case.ours, on_host, calls))
    return tuple(statistics.quantiles(side, n=4)[0] for side in times)


def main(arguments: list[str] | None = None) -> None:
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attached", action="store_true")
    parser.add_argument("--blocks", type=int, default=400)
    parser.add_argument("--calls", type=int, default=50)
    options = parser.parse_args(arguments)
    if options.attached:
        device.attach("cpu", 0)
    before = device.torch().get_num_threads()
    try:
        device.torch().set_num_threads(1)
        where = "attached to a stand-in card" if options.attached else "unattached"
        print(f"{where}; microseconds, {options.blocks} blocks of {options.calls} calls")
        print(f"scaled: the overhead on a machine whose bare torch x + y takes {REFERENCE} us")
        print("| case | bare torch | AscendArray | NumPy | overhead | scaled | limit |")
        print("|---|---|---|---|---|---|---|")
        scale = None
        for case in cases():
            bare, ours, numpy = measure(case, options.blocks, options.calls)
            scale = scale or REFERENCE / bare  # the first case is x + y
            overhead, limit = ours - bare, LIMITS[case.kind]
            print(
                f"| {case.name} | {bare:.2f} | {ours:.2f} | {numpy:.2f} | {overhead:.2f} "
                f"| {overhead * scale:.2f} | {limit:.0f} |"
            )
        by_operator, by_ufunc = least(options.blocks, options.calls)
        print(
            f"a class in Python that only wraps: operators {by_operator:.2f}, ufunc calls "
            f"{by_ufunc:.2f} over bare torch"
        )
    finally:
        device.torch().set_num_threads(before)
        if options.attached:
            device.detach()


if __name__ == "__main__":
    main()

"""Drawing from an urn without putting back: the hypergeometric distributions.

Samples that leave, or take, at most ten are drawn one ball after the other; larger ones by
Stadlober's ratio of uniforms (HRUA), as NumPy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import torch
from daskasc.random._arguments import NUMPYS, scalar_types
from daskasc.random._rejection import rejection
from daskasc.random._words import Source, shape_of

Shape = tuple[int, ...]
_FEW = 10
# 2 sqrt(2 / e) and 3 - 2 sqrt(3 / e)
_D1 = 2.0 * math.sqrt(2.0 / math.e)
_D2 = 3.0 - 2.0 * math.sqrt(3.0 / math.e)


def hypergeometric(
    source: Source, shape: Shape, dtype: Any, ngood: Any, nbad: Any, nsample: Any
) -> Any:
    """Good ones in a sample; int64."""
    good, bad, sample = (
        x.to(torch.float64).expand(shape).reshape(-1) for x in (ngood, nbad, nsample)
    )
    # drawing the smaller of the sample and the rest, which of good and bad is fewer
    total = good + bad
    drawn = torch.minimum(sample, total - sample)
    fewer, more = torch.minimum(good, bad), torch.maximum(good, bad)
    out = torch.zeros_like(good)
    for method, mask in ((_one_by_one, drawn <= _FEW), (_ratio, drawn > _FEW)):
        place = mask.nonzero().reshape(-1)
        if place.numel():
            some = [p.index_select(0, place) for p in (fewer, more, drawn)]
            out.index_copy_(0, place, method(source, *some))
    out = torch.where(good > bad, drawn - out, out)
    return torch.where(drawn < sample, good - out, out).to(torch.int64).reshape(shape)


def _one_by_one(source: Source, fewer: Any, more: Any, drawn: Any) -> Any:
    left, total = fewer.clone(), fewer + more
    for i in range(_FEW):
        u = source.random((left.numel(),), torch.float64)
        left.sub_(((u * (total - i) < left) & (drawn > i)).to(torch.float64))
    return fewer - left


def _ratio(source: Source, fewer: Any, more: Any, drawn: Any) -> Any:
    def factorials(k: Any, fewer: Any, more: Any, drawn: Any) -> Any:
        parts = (k, fewer - k, drawn - k, more - drawn + k)
        return sum(torch.lgamma(part + 1.0) for part in parts)

    def propose(count: int, fewer: Any, more: Any, drawn: Any) -> tuple[Any, Any]:
        total = fewer + more
        share = fewer / total
        middle = drawn * share + 0.5
        variance = (total - drawn) * drawn * share * (1.0 - share) / (total - 1.0)
        spread = torch.sqrt(variance + 0.5)
        mode = torch.floor((drawn + 1.0) * (fewer + 1.0) / (total + 2.0))
        end = torch.minimum(torch.minimum(drawn, fewer) + 1.0, torch.floor(middle + 16.0 * spread))
        u = source.open((count,), torch.float64)
        v = source.open((count,), torch.float64)
        x = middle + (_D1 * spread + _D2) * (v - 0.5) / u
        inside = (x >= 0.0) & (x < end)
        k = torch.where(inside, torch.floor(x), mode)
        height = factorials(mode, fewer, more, drawn) - factorials(k, fewer, more, drawn)
        return k, inside & (2.0 * torch.log(u) <= height)

    return rejection(propose, fewer.numel(), fewer, more, drawn)


def multivariate_hypergeometric(
    source: Source, colors: Any, nsample: Any, size: Any, method: str
) -> Any:
    """As :meth:`numpy.random.Generator.multivariate_hypergeometric`.

    One colour after the other, whatever the method: both draw from the same distribution.
    """
    counts = np.asarray(colors.asnumpy() if is_array(colors) else colors)
    sample = nsample if scalar_types(nsample) else nsample.item()
    checks: Any = NUMPYS.multivariate_hypergeometric
    checks(counts, sample, size=0, method=method)
    source.floats(np.float64)
    shape = shape_of(size)
    left = torch.full(shape, int(sample), dtype=torch.int64, device=source.place)
    rest, columns = int(counts.sum()), []
    for many in counts.tolist():
        rest -= many
        good, bad = (source.tensor(n, torch.float64) for n in (many, rest))
        columns.append(hypergeometric(source, shape, torch.float64, good, bad, left))
        left = left - columns[-1]
    if not columns:
        return source.array(torch.empty((*shape, 0), dtype=torch.int64, device=source.place))
    return source.array(torch.stack(columns, -1))

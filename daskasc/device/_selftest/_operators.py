"""Functions, remedies, notes and limits of axes that a single member tries on its card.

Each gives (found, right): what came of it on the card, and on the host.
"""

from __future__ import annotations

import functools
from typing import Any

from daskasc.device import _capabilities
from daskasc.device._backend import Backend
from daskasc.device._selftest._examples import EXAMPLES, UNSET, function
from daskasc.device._selftest._inputs import Inputs
from daskasc.device._selftest._names import NOTES
from daskasc.device._torch import torch

_OPPOSITE = {"amin": "amax"}
_SIGNED = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}


def ask(backend: Backend, case: list[str]) -> tuple[Any, Any] | None:
    """Answer one case; None if torch has no such function for the dtype on the CPU either."""
    subject, name, dtype, variant = case
    place = backend.torch_device
    if subject == "note":
        return _note(NOTES[name].probe, dtype, place)
    if subject == "axes":
        return _axes(name, dtype, int(variant), place)
    call, known = EXAMPLES[name], function(name)
    try:
        right = call(known, _inputs(dtype, torch().device("cpu")))
    except Exception:  # whatever torch refuses things with
        return None
    if subject == "remedy":
        inputs = _inputs(dtype, place, variant, _way(backend.family, name, right))
        other = function(_OPPOSITE[name]) if variant == "negated" else known
        return inputs.back(call(other, inputs)), right
    found = call(known, _inputs(dtype, place))
    if name in UNSET:
        found, right = found.fill_(1), right.fill_(1)
    return found, right


@functools.lru_cache(64)
def _inputs(dtype: str, place: Any, form: str = "", way: str = "") -> Inputs:
    return Inputs(dtype, place, form, way)


def _way(family: str, name: str, right: Any) -> str:
    """How the bits of a function's operands move, as this package moves them."""
    if isinstance(right, torch().Tensor):
        if right.dtype.is_complex and (name == "where" or right.dtype.itemsize > 8):
            return "parts"
        if right.dtype.itemsize == 2 and _capabilities.limit(family, name, "int16"):
            return "values"
    return ""


def _note(probe: str, dtype: str, place: Any) -> tuple[Any, Any]:
    module = torch()
    if probe == "mask":
        target = module.tensor([1.0, 2.0, 3.0]).to(place)
        target[target > 1.5] = module.tensor([9.0, 8.0]).to(place)
        return target, module.tensor([1.0, 9.0, 8.0])
    if probe == "repeat":
        four = module.arange(4, dtype=module.int32)
        times = 2**20  # 2**22 elements
        found = module.repeat_interleave(four.to(place), times)
        return found, module.repeat_interleave(four, times)
    if probe == "zeros":
        zeros = module.tensor([0.0, -0.0, 0.0])
        return module.unique(zeros.to(place)), module.unique(zeros)
    if probe == "sum":
        halves = module.tensor([1.0, 2.0, 3.0], dtype=module.float16)
        return module.sum(halves.to(place), dtype=module.float32), module.tensor(6.0)
    if probe == "unsigned":
        kind = getattr(module, dtype)
        # compared as integers of the same bytes, which have every function
        found = module.zeros(3, dtype=kind, device=place).view(getattr(module, _SIGNED[dtype]))
        return found, module.zeros_like(found, device="cpu")
    assert probe == "strides", probe
    three = module.tensor([1.0, 2.0, 3.0])
    return module.as_strided(three.to(place), (3,), (-1,), 2), three.flip(0)


def _axes(name: str, dtype: str, axes: int, place: Any) -> tuple[Any, Any]:
    known = function(name)
    values = torch().arange(4, dtype=getattr(torch(), dtype))
    tensor = values.reshape(*[1] * (axes - 2), 2, 2)
    there = tensor.to(place)
    if name == "where":
        mask = tensor > 1
        return known(mask.to(place), there, there + 1), known(mask, tensor, tensor + 1)
    return known(there, there), known(tensor, tensor)


assert {name for table in _capabilities.MOST_AXES.values() for name in table} <= {"matmul", "where"}

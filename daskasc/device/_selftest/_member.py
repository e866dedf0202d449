"""A child of the self-check: ``python -m ... KIND CARD [SIZE STORE LIMIT]``.

Takes its card as workers do, then answers questions, lines of JSON, until there are no more. With
three more arguments it is a rank of a group, its card's number, and answers about collectives.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daskasc.device._backend import Backend
from daskasc.device._state import attach
from daskasc.device._torch import torch

_FALLBACK = ("fall back to run on the CPU", "fallback to run on the CPU", "FALLBACK_CPU_DISABLE")
_TOO_LATE = 5.0  # seconds behind its limit after which a member ends itself
# relative and absolute error that is still the right value: kernels differ in their last bits
_CLOSE = {"float16": 1e-2, "bfloat16": 4e-2, "float32": 1e-3, "complex64": 1e-3}
_CLOSE_DOUBLE = 1e-8


def main() -> None:
    """Say hello, and answer until the input ends."""
    # libraries may write to the standard output, too
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    kind, card, *group = sys.argv[1:]
    backend = attach(kind, int(card), threads=1)
    ask, probe = _group(backend, group) if group else _alone(backend)
    probe()
    say(_hello(backend))
    for line in sys.stdin:
        question = json.loads(line)
        faulthandler.dump_traceback_later(question["limit"] + _TOO_LATE, exit=True)
        outcome, detail = outcome_of(backend, ask, question["case"])
        usable = True
        if outcome not in ("right", "absent"):
            try:
                probe()
            except Exception as error:
                outcome, usable = "crashed", False
                detail = f"{detail}; afterwards: {_first_line(error)}"
        faulthandler.cancel_dump_traceback_later()
        say({"outcome": outcome, "detail": detail, "usable": usable})
    # the way out of a library may wait for a card or a rank that is lost
    os._exit(0)


def _alone(backend: Backend) -> tuple[Callable[[list[str]], Any], Callable[[], None]]:
    from daskasc.device._selftest._operators import ask

    def probe() -> None:
        ones = torch().ones(3, device=backend.torch_device)
        if float((ones + 1).sum().cpu()) != 6:
            raise RuntimeError("2 + 2 + 2 is not 6 on this card")

    return (lambda case: ask(backend, case)), probe


def _group(
    backend: Backend, arguments: list[str]
) -> tuple[Callable[[list[str]], Any], Callable[[], None]]:
    from daskasc.device._selftest._groups import Group

    size, store, limit = arguments
    group = Group(backend, int(size), store, float(limit))
    return group.ask, group.probe


def outcome_of(
    backend: Backend, ask: Callable[[list[str]], Any], case: list[str]
) -> tuple[str, str]:
    """Make a call; `ask` gives (found, right) or None where there is nothing to compare with."""
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            pair = ask(case)
            backend.synchronize()
        if pair is None:
            return "absent", ""
        detail = difference(*pair)
    except Exception as error:
        text = _first_line(error)
        return ("fallback" if any(word in str(error) for word in _FALLBACK) else "refused"), text
    for each in told:
        if any(word in str(each.message) for word in _FALLBACK):
            return "fallback", _first_line(each.message)
    return ("wrong", detail) if detail else ("right", "")


def _first_line(error: Any) -> str:
    lines = str(error).strip().splitlines()
    text = lines[0].strip() if lines else ""
    name = "" if isinstance(error, Warning | str) else type(error).__name__
    return f"{name}: {text}"[:200] if text else name


def difference(found: Any, right: Any) -> str:
    """What is different between a card's result and the host's; nothing if they agree."""
    if isinstance(right, tuple | list):
        if len(found) != len(right):
            return f"{len(found)} results, expected {len(right)}"
        parts = (difference(a, b) for a, b in zip(found, right, strict=True))
        return next((text for text in parts if text), "")
    module = torch()
    if not isinstance(right, module.Tensor):
        return "" if found == right else f"{found!r}, expected {right!r}"
    found = found.detach().cpu().resolve_conj().resolve_neg()
    if found.dtype is not right.dtype:
        return f"dtype {found.dtype}, expected {right.dtype}"
    if found.shape != right.shape:
        return f"shape {tuple(found.shape)}, expected {tuple(right.shape)}"
    if found.dtype.is_floating_point or found.dtype.is_complex:
        close = _CLOSE.get(str(found.dtype).removeprefix("torch."), _CLOSE_DOUBLE)
        wide = module.complex128 if found.dtype.is_complex else module.float64
        same = module.isclose(
            found.to(wide), right.to(wide), rtol=close, atol=close, equal_nan=True
        ).all()
    else:
        same = found.numpy().tobytes() == right.contiguous().numpy().tobytes()
    return "" if bool(same) else f"{_values(found)}, expected {_values(right)}"


def _values(tensor: Any) -> str:
    return str(tensor.flatten()[:8].tolist())


def _hello(backend: Backend) -> dict[str, str]:
    facts = {
        "family": backend.family,
        "library": backend.collective_backend,
        "card": "stand-in: torch on the CPU",
        "torch": str(torch().__version__),
    }
    driver = getattr(torch(), backend.kind, None)
    if driver is not None and hasattr(driver, "get_device_name"):
        facts["card"] = str(driver.get_device_name(0))
    if backend.kind == "cuda":
        facts["CUDA"] = str(torch().version.cuda)
    if "torch_npu" in sys.modules:
        facts["torch_npu"] = str(sys.modules["torch_npu"].__version__)
        facts["CANN"] = _cann(driver)
    return facts


def _cann(driver: Any) -> str:
    """Version of CANN: torch_npu's answer, or what the installation says."""
    try:
        found = str(driver.utils.get_cann_version() or "")
    except Exception:
        found = ""
    if found:
        return found
    home = Path(os.environ.get("ASCEND_TOOLKIT_HOME", "/usr/local/Ascend/ascend-toolkit/latest"))
    for name in ("version.cfg", "compiler/version.info"):
        try:
            lines = (home / name).read_text().splitlines()
        except OSError:
            continue
        return next((line.strip() for line in lines if "ersion" in line), "not readable")
    return "not readable"


if __name__ == "__main__":
    main()

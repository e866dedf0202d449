"""Configuration: declared once in ``daskasc.yaml``, described in ``daskasc-schema.yaml``.

Importing this module merges the defaults into :mod:`dask.config`. The functions below are the only
readers of ``daskasc.*`` keys in the code; each returns a checked, typed value and raises
:class:`~daskasc.errors.ConfigurationError` with the key, the value found and what is allowed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.config
import yaml
from dask.utils import parse_bytes, parse_timedelta

from daskasc.errors import ConfigurationError

_DEFAULTS_FILE = Path(__file__).with_name("daskasc.yaml")

DEVICES = ("auto", "npu", "cuda", "cpu")
HOST_CONVERSIONS = ("error", "warn", "allow")
FALLBACKS = ("error", "warn", "silent")
PROMOTIONS = ("numpy", "device")
ACCUMULATIONS = ("native", "compensated")
MEMORY_CHECKS = ("error", "warn", "off")


def _load_defaults() -> None:
    with _DEFAULTS_FILE.open() as file:
        defaults = yaml.safe_load(file)
    dask.config.update_defaults(defaults)


def _choice(key: str, allowed: tuple[str, ...]) -> str:
    value = dask.config.get(f"daskasc.{key}")
    if value not in allowed:
        raise ConfigurationError(f"daskasc.{key} is {value!r}; allowed: {', '.join(allowed)}")
    return str(value)


def _integer(key: str, minimum: int) -> int:
    value = dask.config.get(f"daskasc.{key}")
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ConfigurationError(f"daskasc.{key} is {value!r}; allowed: integers >= {minimum}")
    return value


def _boolean(key: str) -> bool:
    value = dask.config.get(f"daskasc.{key}")
    if not isinstance(value, bool):
        raise ConfigurationError(f"daskasc.{key} is {value!r}; allowed: true or false")
    return value


def _seconds(key: str) -> float:
    value = dask.config.get(f"daskasc.{key}")
    try:
        seconds = float(parse_timedelta(value, default="s"))
    except (ValueError, TypeError, KeyError):
        seconds = -1.0
    if seconds <= 0:
        raise ConfigurationError(f'daskasc.{key} is {value!r}; allowed: a time such as "60s"')
    return seconds


def parse_memory_limit(value: Any, capacity: int, *, name: str) -> int | None:
    """Bytes meant by a memory limit.

    Parameters
    ----------
    value : None, "auto", float, int or str
        None is no limit; a number in (0, 1] is a share of `capacity`; anything else is bytes
        (``"256MiB"``). ``"auto"`` takes the configured ``daskasc.memory.device-limit``.
    capacity : int
        Memory of the card in bytes.
    name : str
        What the error message calls the option.

    Returns
    -------
    int or None
        The limit in bytes, at most `capacity`; None for no limit.

    Raises
    ------
    ConfigurationError
        `value` is not a size, or is not positive.
    """
    if isinstance(value, str) and value == "auto":
        value = dask.config.get("daskasc.memory.device-limit")
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    try:
        if 0 < number <= 1:
            limit = int(number * capacity)
        else:
            limit = int(parse_bytes(value))
    except (ValueError, TypeError, AttributeError):
        limit = 0
    if limit <= 0:
        raise ConfigurationError(
            f'{name} is {value!r}; allowed: a size such as "256MiB", a share in (0, 1], or null'
        )
    return min(limit, capacity)


def device() -> str:
    """Kind of card that workers use: ``auto``, ``npu``, ``cuda`` or ``cpu``."""
    return _choice("device", DEVICES)


def host_conversion() -> str:
    """What an implicit conversion to NumPy does: ``error``, ``warn`` or ``allow``."""
    return _choice("host-conversion", HOST_CONVERSIONS)


def fallback() -> str:
    """What a function without a form on the card does: ``error``, ``warn`` or ``silent``."""
    return _choice("fallback", FALLBACKS)


def promotion() -> str:
    """Promotion policy: ``numpy`` or ``device``."""
    return _choice("promotion", PROMOTIONS)


def accumulate() -> str:
    """How floating-point sums are formed: ``native`` or ``compensated``."""
    return _choice("accumulate", ACCUMULATIONS)


def staging_bytes() -> int:
    """Bytes of pooled host staging buffers that a worker keeps for reuse."""
    value = dask.config.get("daskasc.memory.staging")
    try:
        size = int(parse_bytes(value))
    except (ValueError, TypeError, AttributeError):
        size = -1
    if size < 0:
        raise ConfigurationError(
            f'daskasc.memory.staging is {value!r}; allowed: a size such as "256MiB"'
        )
    return size


def planner_enabled() -> bool:
    """Whether reductions are rewritten and chunks pinned to cards."""
    return _boolean("planner.enabled")


def planner_fan_in() -> int:
    """Partial results that one card-local combining task takes; a power of two."""
    value = _integer("planner.fan-in", 2)
    if value & (value - 1):
        raise ConfigurationError(f"daskasc.planner.fan-in is {value}; allowed: powers of two >= 2")
    return value


def planner_in_flight() -> int:
    """Chunks that a card works on at a time."""
    return _integer("planner.in-flight", 1)


def planner_bundle() -> int:
    """Chunks of a reduction that one task takes, one after the other; 1 for no bundles."""
    return _integer("planner.bundle", 1)


def planner_prefetch() -> int | None:
    """Chunks that a bundle reads before they are needed; None leaves it to the kind of card."""
    if dask.config.get("daskasc.planner.prefetch") == "auto":
        return None
    return _integer("planner.prefetch", 0)


def memory_check() -> str:
    """What a task that needs more memory than a card has does: ``error``, ``warn`` or ``off``."""
    if dask.config.get("daskasc.planner.memory-check") is False:  # YAML reads a bare off so
        return "off"
    return _choice("planner.memory-check", MEMORY_CHECKS)


def collective_timeout() -> float:
    """Seconds that the forming of a group, and each collective, may take."""
    return _seconds("collectives.timeout")


def collective_retries() -> int:
    """Further attempts at a collective that failed because a card was lost."""
    return _integer("collectives.retries", 0)


def collective_relay() -> bool:
    """Whether partials go from worker to worker after the last failure of a collective."""
    return _boolean("collectives.relay")


def reproducible() -> bool:
    """Whether floating-point sums keep their bits when the number of cards changes."""
    return _boolean("collectives.reproducible")


def two_level() -> bool:
    """Whether collectives over several servers combine within each server first."""
    return _boolean("collectives.two-level")


def node() -> str | None:
    """Name of the server that this worker runs on; None where its address tells."""
    value = dask.config.get("daskasc.topology.node")
    if isinstance(value, str) and value:
        return None if value == "auto" else value
    # environment variables arrive as numbers where they look so
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ConfigurationError(
        f"daskasc.topology.node is {value!r}; allowed: a name, or auto for the worker's host"
    )


def rejoin_timeout() -> float:
    """Seconds that a lost card has to come back before others take over its chunks."""
    return _seconds("placement.rejoin-timeout")


_load_defaults()

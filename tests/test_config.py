"""Configuration: defaults, schema and readers agree; wrong values are named."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import dask
import pytest
import yaml

from daskasc import config
from daskasc.errors import ConfigurationError

FOLDER = Path(config.__file__).parent


def leaves(tree, prefix=""):
    for key, value in tree.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            yield from leaves(value, path)
        else:
            yield path, value


def schema_leaves(tree, prefix=""):
    assert tree.get("additionalProperties") is False
    for key, value in tree["properties"].items():
        path = f"{prefix}.{key}" if prefix else key
        if value.get("type") == "object":
            yield from schema_leaves(value, path)
        else:
            yield path, value


DEFAULTS = dict(leaves(yaml.safe_load((FOLDER / "daskasc.yaml").read_text())))
SCHEMA = dict(schema_leaves(yaml.safe_load((FOLDER / "daskasc-schema.yaml").read_text())))
TYPES = {"string": str, "number": (int, float), "integer": int, "boolean": bool}


def test_defaults_and_schema_have_the_same_keys():
    assert DEFAULTS.keys() == SCHEMA.keys()


@pytest.mark.parametrize("key", DEFAULTS)
def test_default_is_allowed_by_the_schema(key):
    rule, value = SCHEMA[key], DEFAULTS[key]
    assert rule["description"].endswith(".")
    if "enum" in rule:
        assert value in rule["enum"]
    else:
        types = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        assert value is None if "null" in types and value is None else True
        assert any(isinstance(value, TYPES[name]) for name in types if name in TYPES)


@pytest.mark.parametrize("key", DEFAULTS)
def test_every_key_is_read(key):
    source = inspect.getsource(config)
    short = key.removeprefix("daskasc.")
    assert re.search(rf'"(daskasc\.)?{re.escape(short)}"', source), f"nothing reads {key}"


def test_readers_return_the_defaults():
    with dask.config.set({"daskasc.device": DEFAULTS["daskasc.device"]}):  # --device sets it
        assert config.device() == "auto"
    assert config.host_conversion() == "error"
    assert config.fallback() == "warn"
    assert config.promotion() == "numpy"
    assert config.staging_bytes() == 256 * 2**20
    assert config.planner_enabled() is True
    assert config.planner_fan_in() == 8
    assert config.planner_in_flight() == 3
    assert config.memory_check() == "error"
    assert config.collective_timeout() == 60
    assert config.collective_retries() == 3
    assert config.collective_relay() is True
    assert config.reproducible() is True
    assert config.rejoin_timeout() == 60
    assert config.two_level() is True
    assert config.node() is None


@pytest.mark.parametrize(
    ("key", "value", "reader"),
    [
        ("device", "gpu", config.device),
        ("host-conversion", "maybe", config.host_conversion),
        ("fallback", True, config.fallback),
        ("promotion", None, config.promotion),
        ("topology.node", "", config.node),
        ("topology.node", None, config.node),
        ("collectives.two-level", "yes", config.two_level),
        ("memory.staging", "many", config.staging_bytes),
        ("planner.enabled", "yes", config.planner_enabled),
        ("planner.fan-in", 6, config.planner_fan_in),
        ("planner.fan-in", True, config.planner_fan_in),
        ("planner.in-flight", 0, config.planner_in_flight),
        ("planner.memory-check", "maybe", config.memory_check),
        ("collectives.timeout", "soon", config.collective_timeout),
        ("collectives.timeout", 0, config.collective_timeout),
        ("collectives.retries", -1, config.collective_retries),
        ("collectives.relay", "no", config.collective_relay),
        ("collectives.reproducible", 1, config.reproducible),
        ("placement.rejoin-timeout", None, config.rejoin_timeout),
    ],
)
def test_wrong_values_are_named(key, value, reader):
    with (
        dask.config.set({f"daskasc.{key}": value}),
        pytest.raises(ConfigurationError, match=rf"daskasc\.{re.escape(key)} is .*allowed"),
    ):
        reader()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (0.5, 500),
        (1, 1000),
        ("0.25", 250),
        ("auto", 800),
        ("300B", 300),
        (400, 400),
        ("1GiB", 1000),
    ],
)
def test_memory_limits(value, expected):
    assert config.parse_memory_limit(value, 1000, name="device_memory_limit") == expected


@pytest.mark.parametrize("value", ["lots", 0, -1, "-5MiB"])
def test_wrong_memory_limits(value):
    with pytest.raises(ConfigurationError, match="device_memory_limit is"):
        config.parse_memory_limit(value, 1000, name="device_memory_limit")

from __future__ import annotations

import pytest

from daskasc.collectives._exchange import Order, choose_method
from daskasc.collectives._support import supports_all_reduce


@pytest.mark.parametrize(
    ("library", "op", "dtype", "expected"),
    [
        ("hccl", "sum", "int32", True),
        ("hccl", "sum", "float64", False),
        ("hccl", "sum", "uint8", False),
        ("hccl", "prod", "int16", False),
        ("hccl", "prod", "bfloat16", False),
        ("hccl", "sum", "bfloat16", True),
        ("hccl", "max", "bool", True),
        ("gloo", "min", "float32", False),  # gloo's min does not propagate NaN
        ("gloo", "sum", "float64", True),
        ("nccl", "sum", "int16", False),
        ("gloo", "gather", "int32", False),
        ("mpi", "sum", "int32", False),
    ],
)
def test_table(library, op, dtype, expected):
    assert supports_all_reduce(library, op, dtype) is expected


def order(op="sum", dtype="int64", kind="device", sources=(0, 1)):
    leaves = ((kind, dtype, (2,), b""),)
    manifests = ({"text": "*", "skeleton": b"", "leaves": leaves},) * len(sources)
    members = tuple(range(len(sources)))
    return Order(1, 0, 0, "g", op, members, members, sources, 0, manifests)


@pytest.mark.parametrize(
    ("found", "size", "reproducible", "method"),
    [
        (order(), 2, True, "all_reduce"),
        (order(sources=(1, 0, 1)), 2, True, "all_reduce"),
        (order(), 3, True, "gather"),  # a worker without a member
        (order(op="gather"), 2, True, "gather"),
        (order(dtype="float64"), 2, True, "gather"),
        (order(dtype="float64"), 2, False, "all_reduce"),
        (order(op="max", dtype="float64"), 2, False, "gather"),
        (order(kind="numpy"), 2, True, "gather"),
    ],
)
def test_method(found, size, reproducible, method):
    assert choose_method(found, size, "gloo", reproducible) == method

"""Which reductions a collective library does itself, as data.

Everything else goes as bytes to the owner's card and is combined there. ``hccl`` follows Huawei's
documentation for the Atlas A2 (AllReduce knows no float64, unsigned or complex numbers; prod
excludes int16 and bfloat16); ``nccl`` has no int16. Floating-point reductions depend on the order
of the ring, and gloo's min and max do not propagate NaN, so floats are left to a library only where
the user gave up reproducible results, and then for sums and products alone.
"""

from __future__ import annotations

EXACT = frozenset({"bool", "int8", "uint8", "int16", "int32", "int64"})

_INTEGERS = {
    "gloo": frozenset({"int8", "uint8", "int32", "int64"}),
    "hccl": frozenset({"int8", "int16", "int32", "int64"}),
    "nccl": frozenset({"int8", "uint8", "int32", "int64"}),
}
_FLOATS = {
    "gloo": frozenset({"float32", "float64"}),
    "hccl": frozenset({"float16", "bfloat16", "float32"}),
    "nccl": frozenset({"float16", "bfloat16", "float32", "float64"}),
}
_EXCLUDED = {("hccl", "prod", "int16"), ("hccl", "prod", "bfloat16")}

# Booleans travel as int8 zeros and ones; NumPy's sum of booleans is "or", their product "and".
BOOLEAN_OPS = {"sum": "max", "prod": "min", "min": "min", "max": "max"}


def supports_all_reduce(backend_name: str, op: str, dtype: str) -> bool:
    """Whether ``all_reduce`` of this library gives NumPy's result.

    Parameters
    ----------
    backend_name : {"gloo", "hccl", "nccl"}
        Collective library.
    op : {"sum", "prod", "min", "max"}
        Reduction.
    dtype : str
        torch's name of the dtype, such as ``"int64"`` or ``"bfloat16"``.
    """
    if op not in BOOLEAN_OPS or (backend_name, op, dtype) in _EXCLUDED:
        return False
    if dtype == "bool":
        return backend_name in _INTEGERS
    if dtype in _INTEGERS.get(backend_name, ()):
        return True
    return op in ("sum", "prod") and dtype in _FLOATS.get(backend_name, ())

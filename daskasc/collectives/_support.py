"""Which reductions are left to a collective library.

Everything else goes as bytes to the owner's card and is combined there. What libraries can do is
data of the device layer (``device.collectives``). Of that, floating-point reductions depend on the
order of the ring, and gloo's min and max do not propagate NaN, so floats are left to a library only
where the user gave up reproducible results, and then for sums and products alone; 16-bit floats on
the host and what torch_npu converts around its library are not left to it at all.
"""

from __future__ import annotations

from daskasc.device import collectives

EXACT = frozenset({"bool", "int8", "uint8", "int16", "int32", "int64"})

# in which the order of operations does not matter, whether a library carries them or not
ANY_ORDER = EXACT | {"uint16", "uint32", "uint64"}

_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_NOT_LEFT = {"gloo": frozenset({"float16", "bfloat16"}), "hccl": frozenset({"uint8"})}

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
    if op not in BOOLEAN_OPS or dtype in _NOT_LEFT.get(backend_name, ()):
        return False
    if dtype == "bool":
        return collectives.carries(backend_name, "all_reduce", "int8", BOOLEAN_OPS[op])
    if dtype not in EXACT and not (dtype in _FLOATS and op in ("sum", "prod")):
        return False
    return collectives.carries(backend_name, "all_reduce", dtype, op)

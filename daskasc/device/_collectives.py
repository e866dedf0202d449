"""Which collectives a library does for which dtypes: data, and questions about it.

``hccl`` follows Huawei's documentation for the Atlas A2: reductions know no float64, unsigned or
complex numbers, and products neither int16 nor bfloat16; other collectives carry any dtype. Around
it torch_npu reduces bool and uint8 as int32, and torch splits complex numbers into their parts,
which leaves the sum alone. ``gloo`` was tried (torch 2.13); ``nccl`` follows its documentation. A
self-check on real hardware has to be able to refute each row.
"""

from __future__ import annotations

from daskasc.device._capabilities import ALL

OPERATIONS = ("sum", "prod", "min", "max")
REDUCING = ("all_reduce", "reduce_scatter")
MOVING = ("all_gather", "all_to_all", "broadcast")

_NOT_PROD = ("sum", "min", "max")
_ORDINARY = ("bool", "int8", "int32", "int64", "uint8", "float16", "float32")
_BY_PARTS = ("complex64", "complex128")
_BOTH = {
    **dict.fromkeys((*_ORDINARY, "bfloat16", "float64"), OPERATIONS),
    **dict.fromkeys(_BY_PARTS, ("sum",)),
}

REDUCED: dict[str, dict[str, tuple[str, ...]]] = {
    "hccl": {
        **dict.fromkeys(_ORDINARY, OPERATIONS),
        **dict.fromkeys(("int16", "bfloat16"), _NOT_PROD),
        "complex64": ("sum",),
    },
    "gloo": _BOTH,
    "nccl": _BOTH,
}
# collectives that do less than their library: the dtypes and operations missing there
LESS: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    # what torch_npu and torch make of these dtypes they make in all_reduce alone
    ("hccl", "reduce_scatter"): dict.fromkeys(("bool", "uint8", "complex64"), OPERATIONS),
    # adds bytes: true and true is 2, which is no bool
    ("gloo", "all_reduce"): {"bool": ("sum",)},
}
MOVED: dict[str, frozenset[str]] = {
    "hccl": frozenset(ALL),
    "gloo": frozenset(REDUCED["gloo"]),
    "nccl": frozenset(REDUCED["nccl"]),
}


def carries(library: str, collective: str, dtype: str, operation: str = "") -> bool:
    """Whether a library does a collective for a dtype.

    Parameters
    ----------
    library : {"gloo", "hccl", "nccl"}
    collective : str
        One of ``REDUCING`` or ``MOVING``.
    dtype : str
        NumPy's name.
    operation : {"sum", "prod", "min", "max"}, optional
        Of a reduction.
    """
    if operation in LESS.get((library, collective), {}).get(dtype, ()):
        return False
    if collective in REDUCING:
        return operation in REDUCED.get(library, {}).get(dtype, ())
    return dtype in MOVED.get(library, ())

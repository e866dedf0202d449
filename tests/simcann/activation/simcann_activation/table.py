"""What the vendor documents that an Atlas A2 lacks: aten operator -> torch dtypes.

Written from the documentation, independently of the package's own capability table, which the
simulated card is there to check. ``refused``: the kernel's parameter check fails. ``fallback``:
torch_npu computes on the CPU and warns (or fails, with TORCH_NPU_FALLBACK_CPU_DISABLE=1).
"""

from __future__ import annotations

# names as c10 prints them
BOOL, F64, BF16, F16, F32 = "Bool", "Double", "BFloat16", "Half", "Float"
COMPLEX = ("ComplexFloat", "ComplexDouble")
UNSIGNED = ("UInt16", "UInt32", "UInt64")
SIGNED = ("Char", "Short", "Int", "Long")
INTEGERS = (*SIGNED, "Byte")
FLOATS = (F16, BF16, F32, F64)
EVERYTHING = (BOOL, *INTEGERS, *UNSIGNED, *FLOATS, *COMPLEX)

REFUSED: dict[str, tuple[str, ...]] = {
    "add": (*COMPLEX, *UNSIGNED),
    "sum": (*COMPLEX, *UNSIGNED),
    "sub": (*COMPLEX, *UNSIGNED, BOOL),
    "mul": (F64, *UNSIGNED),
    "div": (F64, *COMPLEX, *UNSIGNED),
    "mean": (F64, BOOL, *INTEGERS, *UNSIGNED),
    "var": (F64, BOOL, *INTEGERS, *UNSIGNED),
    "max": (F64, *COMPLEX, *UNSIGNED, "Char", "Short", "Int", "Byte"),
    "min": (F64, *COMPLEX, *UNSIGNED, "Char", "Short", "Int", "Byte"),
    "amin": (F64, *COMPLEX, *UNSIGNED, "Char", "Short", "Int", "Byte"),
    "amax": (*COMPLEX, *UNSIGNED, "Char", "Short", "Int", "Byte"),
    "sort": (F64, BF16, BOOL, *COMPLEX, *UNSIGNED),
    "argsort": (F64, BF16, BOOL, *COMPLEX, *UNSIGNED),
    "mm": (F64, BF16, BOOL, *INTEGERS, *UNSIGNED, *COMPLEX),
    "bmm": (F64, BF16, BOOL, *INTEGERS, *UNSIGNED, *COMPLEX),
    "matmul": (F64, BF16, BOOL, *INTEGERS, *UNSIGNED, *COMPLEX),
    "where": COMPLEX,
    "index_select": (F64, BF16, "Byte", "Char", *COMPLEX, *UNSIGNED),
    "gather": (F64, BF16, "Byte", "Char", *COMPLEX, *UNSIGNED),
    "cumsum": (F64, *UNSIGNED),
    "nansum": (F64,),
    "nanmean": (F64,),
    "bucketize": (F64,),
    "histc": (F64, BF16, BOOL, *INTEGERS),
    "roll": (F64, BF16, "Byte", "Char", "Short", *COMPLEX, *UNSIGNED),
    "nanquantile": EVERYTHING,
    "std_mean": EVERYTHING,
    "var_mean": EVERYTHING,
    "unique_consecutive": EVERYTHING,
    "heaviside": EVERYTHING,
    "scatter_reduce": EVERYTHING,
    "quantile": EVERYTHING,
    "linalg_eigh": EVERYTHING,
    "_linalg_eigh": EVERYTHING,
    "linalg_inv_ex": EVERYTHING,
    "linalg_solve_ex": EVERYTHING,
    "_linalg_solve_ex": EVERYTHING,
    "linalg_lu_factor_ex": EVERYTHING,
}
FALLBACK = frozenset(
    "scatter index_reduce narrow_copy acosh copysign trunc std _linalg_slogdet linalg_lstsq".split()
)


def rows() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """``{operator: (refused dtypes, dtypes that fall back)}``."""
    found = {name: (dtypes, ()) for name, dtypes in REFUSED.items()}
    for name in FALLBACK:
        found[name] = ((), EVERYTHING)
    return found

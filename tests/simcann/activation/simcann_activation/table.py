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
NOT_AT_ALL = ("*",)  # every call, also of functions that make tensors
PRODUCT = (F64, BF16, BOOL, *INTEGERS, *UNSIGNED, *COMPLEX)

REFUSED: dict[str, tuple[str, ...]] = {
    "add": (*COMPLEX, *UNSIGNED),
    "sum": (*COMPLEX, *UNSIGNED),
    "sub": (*COMPLEX, *UNSIGNED, BOOL),
    "rsub": (*COMPLEX, *UNSIGNED, BOOL),
    "mul": (F64, *UNSIGNED),
    "square": (F64, *UNSIGNED),
    "div": (F64, *COMPLEX, *UNSIGNED),
    "true_divide": (F64, *COMPLEX, *UNSIGNED),
    "reciprocal": (F64, *COMPLEX, *UNSIGNED),
    "mean": (F64, BOOL, *INTEGERS, *UNSIGNED),
    "var": (F64, BOOL, *INTEGERS, *UNSIGNED, *COMPLEX),
    "max": (F64, *COMPLEX, *UNSIGNED, "Char", "Short", "Int", "Byte"),
    "min": (F64, *COMPLEX, *UNSIGNED, "Char", "Short", "Int", "Byte"),
    "amin": (F64, *COMPLEX, *UNSIGNED, "Char", "Short", "Int", "Byte"),
    "amax": (*COMPLEX, *UNSIGNED, "Char", "Short", "Int", "Byte"),
    "sort": (F64, BF16, BOOL, *COMPLEX, *UNSIGNED),
    "argsort": (F64, BF16, BOOL, *COMPLEX, *UNSIGNED),
    **dict.fromkeys("matmul mm bmm mv dot vdot inner addmm addmv baddbmm".split(), PRODUCT),
    "where": (*COMPLEX, *UNSIGNED),
    "index_select": (F64, BF16, "Byte", "Char", *COMPLEX, *UNSIGNED),
    "gather": (F64, BF16, "Byte", "Char", *COMPLEX, *UNSIGNED),
    "take": (F64, BF16, "Byte", "Char", *COMPLEX, *UNSIGNED),
    "cumsum": (F64, BF16, *UNSIGNED),
    # values beyond 2**24 are wrong
    **dict.fromkeys(("cummin", "_cummin_helper"), ("Int",)),
    "nansum": (F64,),
    "nanmean": (F64,),
    "bucketize": (F64,),
    "histc": (F64, BF16, BOOL, *INTEGERS),
    "roll": (F64, BF16, "Byte", "Char", "Short", *COMPLEX, *UNSIGNED),
    "fft_rfftn": tuple(dtype for dtype in EVERYTHING if dtype != F32),
    # tensors of these dtypes arrive by copies alone
    **dict.fromkeys("zeros ones full zero fill arange eye".split(), UNSIGNED),
    **dict.fromkeys(
        "nanquantile std_mean var_mean unique_consecutive heaviside scatter_reduce quantile "
        "linalg_eigh _linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex linalg_solve "
        "linalg_solve_ex _linalg_solve_ex linalg_lu_factor linalg_lu_factor_ex linalg_det "
        "_linalg_det fft_fftfreq fft_rfftfreq fft_fftshift fft_ifftshift".split(),
        NOT_AT_ALL,
    ),
}
# most axes of an argument, first number of elements that is too many, an argument that must not be
LIMITS: dict[str, tuple[int, int, str]] = {
    "matmul": (6, 0, ""),
    "where": (7, 0, ""),
    "repeat_interleave": (0, 2**22, ""),
    "sum": (0, 0, "dtype"),
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

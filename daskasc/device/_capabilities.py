"""Which operators a family of cards has no kernels for, by dtype: data, and questions about it.

Operators are torch's functions by torch's names (``torch.linalg.inv`` is ``linalg_inv``). A row
says for which dtypes a function is documented as missing, why, and whether another form of the
same values exists on the card. What the table does not name is computed on the card. Read from the
vendor's public documentation in 2026-08 (torch_npu for PyTorch 2.11 on Atlas A2, op-plugin); no
card was at hand, and a self-check on real hardware has to be able to refute each row.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from daskasc.device._undocumented import UNDOCUMENTED as UNDOCUMENTED

INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
UNSIGNED = ("uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
ALL = ("bool", *INTEGERS, *UNSIGNED, *FLOATS, *COMPLEX)

_DTYPES = "torch_npu documentation, dtypes of the function on Atlas A2"
_ABSENT = "torch_npu documentation, functions not supported"
_ON_CPU = "torch_npu documentation, computed on the CPU by torch_npu itself"
_NO_KERNEL = "op-plugin, no kernel found"


class Limit(NamedTuple):
    """What a family lacks for some functions.

    Attributes
    ----------
    operators : str
        torch's names, separated by blanks.
    missing : tuple of str
        Dtypes (NumPy's names) without a kernel.
    source : str
        Where the fact was read.
    remedy : {"", "bits", "wider", "negated"}
        Another form of the same values on the card: ``bits`` moves the elements as integers,
        ``wider`` computes in int64 and converts back, ``negated`` negates before and after.
        Without one the host computes.
    """

    operators: str
    missing: tuple[str, ...]
    source: str
    remedy: str = ""


_A2 = (
    Limit("add sum", (*COMPLEX, *UNSIGNED), _DTYPES),
    Limit("sub rsub", (*COMPLEX, *UNSIGNED, "bool"), _DTYPES),
    Limit("mul square", ("float64", *UNSIGNED), _DTYPES),
    Limit("div true_divide reciprocal", ("float64", *COMPLEX, *UNSIGNED), _DTYPES),
    Limit("mean", ("float64", "bool", *INTEGERS, *UNSIGNED), _DTYPES),
    Limit("var", ("float64", *COMPLEX), _DTYPES),
    Limit("amax max", (*COMPLEX, *UNSIGNED), _DTYPES),
    Limit("amax max amin min", ("int8", "int16", "int32", "uint8"), _DTYPES, "wider"),
    Limit("max", ("float64",), _DTYPES),
    Limit("amin min", (*COMPLEX, *UNSIGNED), _DTYPES),
    Limit("amin", ("float64",), _DTYPES, "negated"),
    Limit("min", ("float64",), _DTYPES),
    Limit("sort argsort msort", ("float64", *COMPLEX, *UNSIGNED, "bool", "bfloat16"), _DTYPES),
    Limit(
        "matmul mm bmm mv dot vdot inner einsum tensordot addmm baddbmm linalg_multi_dot",
        ("float64", "bfloat16", *COMPLEX, "bool", *INTEGERS, *UNSIGNED),
        _DTYPES,
    ),
    Limit("where", COMPLEX, _DTYPES, "bits"),
    Limit("where", UNSIGNED, _DTYPES, "bits"),
    Limit("diag", UNSIGNED, f"{_DTYPES}: of a vector it makes zeros", "bits"),
    Limit(
        "index_select gather take take_along_dim",
        ("float64", "bfloat16", "int8", "uint8", *COMPLEX, *UNSIGNED),
        _DTYPES,
        "bits",
    ),
    Limit("conv1d", COMPLEX, f"{_DTYPES}: a complex convolution adds complex numbers"),
    Limit("cumsum", ("float64", "bfloat16", *UNSIGNED), _DTYPES),
    Limit("nansum nanmean", ("float64",), _DTYPES),
    Limit("bucketize", ("float64",), _DTYPES),
    Limit("histc", tuple(dtype for dtype in ALL if dtype not in ("float16", "float32")), _DTYPES),
    Limit(
        "roll",
        ("float64", "bfloat16", "int8", "uint8", "int16", *COMPLEX, *UNSIGNED),
        _DTYPES,
        "bits",
    ),
    Limit("fft_rfftn", tuple(dtype for dtype in ALL if dtype != "float32"), _DTYPES),
    Limit("fft_fftfreq fft_rfftfreq fft_fftshift fft_ifftshift", ALL, _ABSENT),
    Limit(
        "nanquantile std_mean var_mean unique_consecutive heaviside scatter_reduce from_dlpack",
        ALL,
        _ABSENT,
    ),
    Limit(
        "quantile linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex linalg_solve "
        "linalg_solve_ex linalg_lu_factor linalg_lu_factor_ex linalg_det",
        ALL,
        _NO_KERNEL,
    ),
    Limit(
        "scatter index_reduce narrow_copy acosh arccosh copysign trunc fix std linalg_slogdet "
        "slogdet linalg_lstsq",
        ALL,
        _ON_CPU,
    ),
    Limit("cummin", ("int32",), f"{_DTYPES}: values within 2**24 only", "wider"),
)

FAMILIES: dict[str, tuple[Limit, ...]] = {"ascend-a2": _A2, "cuda": (), "cpu": ()}

# used by this package, with dtypes documented and no gap, or made of what the table has: torch's
# views, and what makes, fills and copies tensors
DOCUMENTED = frozenset(
    """
    arange broadcast_tensors cat clone complex conj empty empty_like eye fft_fft fft_ifft
    from_numpy full full_like movedim ones ones_like promote_types result_type searchsorted
    split stack tensor view_as_complex view_as_real zeros zeros_like
    """.split()
)

# limits that no dtype expresses: what, and how this package keeps to it
NOTES: dict[str, tuple[tuple[str, str], ...]] = {
    "ascend-a2": (
        ("index_put_ with a mask crashed a context (507018)", "nonzero, then index_copy"),
        ("repeat_interleave makes fewer than 2**22 elements", "not used; repeat selects indices"),
        ("unique may return both zeros", "not used; unique sorts"),
        ("sum(dtype=) is not supported", "converted first"),
        ("matmul takes at most 6 axes, where at most 7", "the host computes"),
        (
            "tensors of uint16, uint32 and uint64 cannot be made",
            "functions make them signed and view them; uploads send them as they are",
        ),
        ("negative strides do not exist", "x[::-1] is a copy"),
    ),
    "cuda": (),
    "cpu": (),
}

# most axes that a function takes
MOST_AXES: dict[str, dict[str, int]] = {"ascend-a2": {"matmul": 6, "where": 7}}

# NumPy's names where torch's differ
TORCH_NAMES: dict[str, str] = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "maximum.reduce": "amax",
    "minimum.reduce": "amin",
    "max": "amax",
    "min": "amin",
    "take_along_axis": "gather",
    "compress": "index_select",
    "fix": "trunc",
}


def limits(family: str, operator: str) -> list[Limit]:
    """Rows of a family that name an operator, by torch's or NumPy's name.

    Raises
    ------
    KeyError
        There is no such family.
    """
    rows = FAMILIES[family]
    found = [row for row in rows if torch_name(operator) in row.operators.split()]
    return found or [row for row in rows if operator in row.operators.split()]


def limit(family: str, operator: str, dtype: str) -> Limit | None:
    """Return the row that says an operator lacks a dtype, or None."""
    table = lacking(family)
    rows = table.get(torch_name(operator)) or table.get(operator) or {}
    return rows.get(dtype)


def torch_name(operator: str) -> str:
    """Name of torch's function for one of NumPy's."""
    return TORCH_NAMES.get(operator) or operator.replace(".", "_")


@functools.cache
def lacking(family: str) -> dict[str, dict[str, Limit]]:
    """Table of a family by operator and dtype."""
    table: dict[str, dict[str, Limit]] = {}
    for row in FAMILIES[family]:
        for operator in row.operators.split():
            for dtype in row.missing:
                table.setdefault(operator, {}).setdefault(dtype, row)
    return table

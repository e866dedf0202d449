"""Coverage: where each callable of NumPy's top level is computed, and why.

* ``device``: by torch on the card, with an implementation of its own.
* ``composite``: by an algorithm written with other functions of this package, on the card.
* ``host``: by NumPy on the host, or without any array.
* ``about``: answers about arrays on a card (dtypes, shapes, memory); there are no elements to
  compute.
* ``excluded``: not offered for arrays on a card.

A function is ``device`` or ``composite`` if it works on the card for the common dtypes with the
host forbidden (``daskasc.fallback: error``); rarer dtypes and arguments may still go to the host,
counted, as its documentation says. The tests compare this table with the installed NumPy and run
every row. ``python -m daskasc.array.coverage`` prints the page ``docs/coverage.md``.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from daskasc.array import _peers

KINDS = ("device", "composite", "about", "host", "excluded")


class Row(NamedTuple):
    """Where a function is computed, and the reason if not on the card."""

    kind: str
    reason: str


DEVICE = """
abs absolute acos acosh add all amax amin any arange arccos arccosh arcsin arcsinh arctan arctan2
arctanh argmax argmin argpartition argsort argwhere array array_split asanyarray asarray
asarray_chkfinite ascontiguousarray asfortranarray asin asinh astype atan atan2 atanh atleast_1d
atleast_2d atleast_3d bincount bitwise_and bitwise_count bitwise_invert bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays broadcast_to cbrt ceil
choose column_stack compress concat concatenate conj conjugate copy copysign copyto cos cosh
count_nonzero cumprod cumsum cumulative_prod cumulative_sum deg2rad degrees delete diag diag_indices
diag_indices_from diagonal digitize divide divmod dot dsplit dstack einsum empty empty_like equal
exp exp2 expand_dims expm1 extract eye fabs fill_diagonal flatnonzero flip fliplr flipud float_power
floor floor_divide fmax fmin fmod frexp from_dlpack full full_like gcd greater greater_equal
heaviside hsplit hstack hypot i0 identity imag indices insert interp intersect1d invert iscomplex
isfinite isin isinf isnan isnat isneginf isposinf isreal ix_ kron lcm ldexp left_shift less
less_equal lexsort log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
logical_xor matmul matrix_transpose matvec max maximum mean median meshgrid min minimum mod modf
moveaxis multiply nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmedian nanmin
nanpercentile nanprod nanquantile nansum negative nextafter nonzero not_equal ones ones_like outer
packbits partition percentile permute_dims place positive pow power prod put put_along_axis putmask
quantile rad2deg radians ravel ravel_multi_index real reciprocal remainder repeat require reshape
resize right_shift rint roll rollaxis rot90 row_stack searchsorted select sign signbit sin sinh sort
spacing split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh
tensordot tile transpose tri tril tril_indices tril_indices_from trim_zeros triu triu_indices
triu_indices_from true_divide trunc unique unique_all unique_counts unique_inverse unique_values
unpackbits unravel_index unstack var vecdot vecmat vsplit vstack where zeros zeros_like
""".split()

COMPOSITE = """
allclose angle append apply_along_axis apply_over_axes around array_equal array_equiv average
bartlett blackman block clip convolve corrcoef correlate cov cross diagflat diff ediff1d fix
fromfunction geomspace gradient hamming hanning histogram histogram2d histogram_bin_edges
histogramdd inner isclose kaiser linspace logspace mask_indices nanmean nanstd nanvar pad piecewise
poly polyadd polyder polydiv polyfit polyint polymul polysub polyval ptp real_if_close roots round
setdiff1d setxor1d sinc sort_complex trace trapezoid union1d unwrap vander vdot
""".split()

ABOUT = """
can_cast common_type einsum_path iscomplexobj isfortran isrealobj may_share_memory min_scalar_type
ndim result_type shape shares_memory size
""".split()

# computed on the card, but NumPy's own name takes no array there: neither by its first argument
# nor by like=
NAMESPACE_ONLY = frozenset("asarray_chkfinite from_dlpack".split())
# NumPy's own name dispatches by like= alone
BY_LIKE = frozenset("array asanyarray asarray ascontiguousarray asfortranarray require".split())
# take no array, and make one on the card under the package's name (by like= where NumPy has it)
MAKERS = frozenset(
    "arange bartlett blackman diag_indices empty eye fromfunction full hamming hanning identity "
    "indices kaiser mask_indices ones tri tril_indices triu_indices zeros".split()
)

# reason: functions
HOST: dict[str, str] = {
    "text for people: the elements are copied down": ("array2string array_repr array_str "),
    "handles names, numbers or settings; there are no elements to compute": (
        "base_repr binary_repr broadcast_shapes datetime_data format_float_positional "
        "format_float_scientific get_printoptions getbufsize geterr geterrcall isdtype "
        "isscalar issubdtype iterable mintypecode printoptions promote_types "
        "set_printoptions setbufsize seterr seterrcall typename "
    ),
    "business days and the text of dates are NumPy's; the elements are copied down": (
        "busday_count busday_offset datetime_as_string is_busday "
    ),
    "the elements come from the host (file, buffer, iterator, text) and are uploaded once": (
        "frombuffer fromfile fromiter fromstring genfromtxt load loadtxt "
    ),
    "writes a file: the elements are copied down": ("save savetxt savez savez_compressed "),
}

EXCLUDED: dict[str, str] = {
    "asmatrix": "np.matrix is a subclass of ndarray that NumPy advises against",
    "bmat": "builds np.matrix; block does the same for arrays",
    "frompyfunc": "the ufuncs that it makes run on the host and give a NumPy array of objects",
    "fromregex": "makes structured arrays, which torch has not",
    "get_include": "path of NumPy's C headers",
    "info": "prints NumPy's documentation",
    "nested_iters": "iterators over host memory",
    "show_config": "NumPy's own build",
    "show_runtime": "NumPy's own environment",
    "test": "runs NumPy's tests",
}

# names that some supported versions of NumPy do not have
OPTIONAL = frozenset("row_stack fromstring matvec vecmat".split())


def numpy_functions(module: Any = np) -> list[str]:
    """Names of the callables of a NumPy module (its top level) that are no classes."""
    return sorted(
        name
        for name in dir(module)
        if not name.startswith("_")
        and callable(value := getattr(module, name))
        and not isinstance(value, type)
    )


def rows() -> dict[str, Row]:
    """Every row of the table, by the function's name."""
    found = {name: Row("device", "") for name in DEVICE}
    found.update({name: Row("composite", "") for name in COMPOSITE})
    found.update({name: Row("about", "") for name in ABOUT})
    for reason, names in HOST.items():
        found.update({name: Row("host", reason) for name in names.split()})
    found.update({name: Row("excluded", reason) for name, reason in EXCLUDED.items()})
    return dict(sorted(found.items()))


def counts() -> dict[str, int]:
    """How many of the installed NumPy's functions there are of each kind."""
    table = rows()
    counted = Counter(table[name].kind for name in numpy_functions() if name in table)
    return {kind: counted[kind] for kind in KINDS}


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def page() -> str:
    """Return the documentation page, in Markdown."""
    table, total = rows(), len(numpy_functions())
    counted = counts()
    offered = total - counted["excluded"]
    on_card = counted["device"] + counted["composite"]
    takers = on_card - len(MAKERS)
    dispatched = takers - len(BY_LIKE) - len(NAMESPACE_ONLY)
    intro = (
        f"Counted against NumPy {np.__version__}, which has {total} callables at its top level "
        f"that are no classes. {offered} of them are offered. {on_card} compute on the card with "
        f"the host forbidden, all of them by the names of `daskasc.array`. {len(MAKERS)} of them "
        "take no array and make one (`zeros`, `hanning`, ...). Of the other "
        f"{takers} NumPy's own functions reach the card by their arguments in {dispatched} "
        f"cases, by `like=` alone in {len(BY_LIKE)} ({_listed(BY_LIKE)}), and not at all in "
        f"{len(NAMESPACE_ONLY)} ({_listed(NAMESPACE_ONLY)}). "
        f"{counted['about']} more answer about arrays on a card and compute no elements. The table "
        "is `daskasc/array/coverage.py`; the tests run every row. "
        "`numpy.linalg` and `numpy.fft` are complete (`daskasc.array.linalg`, "
        "`daskasc.array.fft`), as are the methods of ufuncs (`reduce`, `accumulate`, `reduceat`, "
        "`outer`, `at`)."
    )
    numbers = (
        '"On the card" means that no operand is brought down, which the tests measure in bytes. '
        "Where a result's shape, or an error, depends on values, a call reads single numbers from "
        "the card (the number of matches, the ends of an axis of a histogram); `split` and "
        "`array_split` read their cut points, once, where these are an array on the card."
    )
    conversions = (
        "NumPy does not dispatch its conversions by their first argument: of an array on a card "
        "`np.array(x)`, `np.asarray(x)`, `np.asanyarray(x)`, `np.asarray_chkfinite(x)`, "
        "`np.ascontiguousarray(x)`, `np.asfortranarray(x)` and `np.require(x)` are implicit "
        "conversions to the host, which raise `HostConversionError`. `daskasc.array.asarray(x)` "
        "and its like keep it on the card, as does `like=x` where NumPy has that argument (all "
        "but `asarray_chkfinite`): these are what the list below means."
    )
    lines = [
        "# Coverage of NumPy",
        "",
        *textwrap.wrap(intro, 100),
        "",
        *textwrap.wrap(numbers, 100),
        "",
        *textwrap.wrap(conversions, 100),
        "",
        "| kind | functions | meaning |",
        "|---|---|---|",
        f"| device | {counted['device']} | by torch on the card |",
        f"| composite | {counted['composite']} | an algorithm over other functions, on the card |",
        f"| about | {counted['about']} | answers about arrays; there are no elements to compute |",
        f"| host | {counted['host']} | by NumPy, or without any array |",
        f"| excluded | {counted['excluded']} | not offered |",
        "",
    ]
    for kind in KINDS:
        lines += [f"## {kind.capitalize()}", ""]
        names = [name for name, row in table.items() if row.kind == kind]
        if kind in ("device", "composite", "about"):
            lines += textwrap.wrap(", ".join(f"`{name}`" for name in names), 100)
        else:
            lines += ["| function | reason |", "|---|---|"]
            lines += [f"| `{name}` | {table[name].reason} |" for name in names]
        lines.append("")
    kinds = {name: row.kind for name, row in table.items()}
    modules = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft}
    callables = {name: numpy_functions(module) for name, module in modules.items()}
    lines += _peers.section(kinds, callables)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")

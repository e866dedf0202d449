"""A call of every function that the tables name, on small inputs.

``f`` is torch's function, ``t`` the :class:`Inputs` of a dtype and place. Eigenvectors and the like
are left out of results, which have to be unique.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskasc.device._torch import torch

Example = Callable[[Any, Any], Any]

_ROWS: tuple[tuple[str, Example], ...] = (
    (
        "abs acos all amax amin aminmax any bitwise_not ceil clone conj cos count_nonzero diag "
        "digamma empty_like erf erfc erfinv exp exp2 expm1 fft_fft fft_fftshift fft_ifft "
        "fft_ifftshift fft_rfftn fix floor frexp from_dlpack i0 isfinite isinf isnan isneginf "
        "isposinf lgamma log log10 log1p log2 logical_not logit max mean min nan_to_num nanmean "
        "nansum neg ones_like prod reciprocal round sigmoid sign signbit sin "
        "special_entr special_erfcx special_i0 special_i0e special_i1 special_i1e "
        "special_log_ndtr special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri "
        "special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 sqrt square std "
        "std_mean sum trunc unique_consecutive var var_mean zeros_like",
        lambda f, t: f(t.x),
    ),
    ("acosh arccosh", lambda f, t: f(t.above)),
    (
        "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
        "complex copysign div dot eq fmax fmin fmod gcd ge gt heaviside hypot inner isin le "
        "logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum minimum mul ne "
        "nextafter pow remainder rsub special_gammainc special_xlog1py special_zeta sub "
        "true_divide vdot xlogy",
        lambda f, t: f(t.x, t.y),
    ),
    ("argmax argmin argsort msort sort", lambda f, t: f(t.distinct)),
    ("cummax", lambda f, t: f(t.distinct, 0)),
    ("cummin", lambda f, t: f(t.long, 0)),
    ("cumprod cumsum", lambda f, t: f(t.x, 0)),
    ("bincount", lambda f, t: f(t.x)),
    ("clamp", lambda f, t: f(t.x, t.number)),
    ("quantile nanquantile", lambda f, t: f(t.x, 0.5)),
    ("histc", lambda f, t: f(t.x, 4, 0, 1)),
    ("roll", lambda f, t: f(t.x, 1)),
    ("pad", lambda f, t: f(t.x, (1, 2))),
    ("bucketize", lambda f, t: f(t.x, t.bounds)),
    ("searchsorted", lambda f, t: f(t.bounds, t.x)),
    ("where", lambda f, t: f(t.mask, t.x, t.y)),
    ("conv1d", lambda f, t: f(t.x.reshape(1, 1, -1), t.v.reshape(1, 1, -1))),
    # indices
    ("index", lambda f, t: t.x[t.i]),
    ("index_put", lambda f, t: f(t.x, (t.i,), t.v)),
    ("index_select gather", lambda f, t: f(t.x, 0, t.i)),
    ("take", lambda f, t: f(t.x, t.i)),
    ("take_along_dim", lambda f, t: f(t.x, t.i, 0)),
    ("scatter", lambda f, t: f(t.x, 0, t.i, t.v)),
    ("scatter_reduce", lambda f, t: f(t.x, 0, t.i, t.v, "sum")),
    ("index_reduce", lambda f, t: f(t.x, 0, t.i, t.v, "prod")),
    ("narrow_copy", lambda f, t: f(t.x, 0, 1, 3)),
    # matrices
    ("matmul mm", lambda f, t: f(t.m, t.m)),
    ("mv", lambda f, t: f(t.m, t.v)),
    ("bmm", lambda f, t: f(t.m[None], t.m[None])),
    ("einsum", lambda f, t: f("ij,jk->ik", t.m, t.m)),
    ("tensordot", lambda f, t: f(t.m, t.m, 1)),
    ("addmm", lambda f, t: f(t.m, t.m, t.m)),
    ("baddbmm", lambda f, t: f(t.m[None], t.m[None], t.m[None])),
    ("rot90 tril", lambda f, t: f(t.m)),
    ("linalg_multi_dot", lambda f, t: f([t.m, t.m, t.m])),
    ("linalg_solve_triangular", lambda f, t: f(t.m, t.m, upper=True)),
    (
        "linalg_det linalg_eigvalsh linalg_inv linalg_inv_ex linalg_lu_factor "
        "linalg_lu_factor_ex linalg_slogdet slogdet",
        lambda f, t: f(t.m),
    ),
    ("linalg_eigh", lambda f, t: f(t.m)[0]),
    ("linalg_lstsq", lambda f, t: f(t.m, t.m)[0]),
    ("linalg_solve linalg_solve_ex", lambda f, t: f(t.m, t.m)),
    # forms
    ("broadcast_tensors", lambda f, t: f(t.x, t.x[:1])),
    ("cat stack", lambda f, t: f([t.x, t.y])),
    ("movedim", lambda f, t: f(t.pairs, 0, 1)),
    ("split", lambda f, t: f(t.x, 4)),
    ("view_as_real", lambda f, t: f(t.x)),
    ("view_as_complex", lambda f, t: f(t.pairs)),
    # out of nothing
    ("arange", lambda f, t: f(5, **t.made)),
    ("empty", lambda f, t: f(3, **t.made)),
    ("eye", lambda f, t: f(3, **t.made)),
    ("ones zeros", lambda f, t: f(3, **t.made)),
    ("full", lambda f, t: f((3,), t.number, **t.made)),
    ("full_like", lambda f, t: f(t.x, t.number)),
    ("tensor", lambda f, t: f([1, 0, 1], **t.made)),
    ("fft_fftfreq fft_rfftfreq", lambda f, t: f(6, **t.made)),
    ("tril_indices triu_indices", lambda f, t: f(3, 3, **t.made)),
)

EXAMPLES: dict[str, Example] = {name: call for names, call in _ROWS for name in names.split()}
# whose elements nobody has set
UNSET = frozenset(("empty", "empty_like"))


def function(name: str) -> Any:
    """Find torch's function by the tables' name; None for what is an operator between values."""
    module = torch()
    if name == "index":
        return None
    if name in ("conv1d", "pad"):
        return getattr(module.nn.functional, name)
    head, _, tail = name.partition("_")
    if tail and head in ("fft", "linalg", "special"):
        return getattr(getattr(module, head), tail)
    return getattr(module, name)

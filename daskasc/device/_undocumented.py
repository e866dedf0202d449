"""Torch functions that this package uses and of which nothing is known for Ascend NPUs.

They are called on the card as they are. A self-check on real hardware has to prove them; what
fails there becomes a row of the capability table.
"""

from __future__ import annotations

UNDOCUMENTED = frozenset(
    """
    abs acos all aminmax any argmax argmin atan2 bincount bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor ceil clamp cos count_nonzero cummax cumprod
    digamma eq erf erfc erfinv exp exp2 expm1 floor fmax fmin fmod frexp gcd ge gt hypot i0
    index index_put isfinite isin isinf isnan isneginf isposinf le lgamma
    linalg_solve_triangular log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
    logical_or logical_xor logit lt maximum minimum nan_to_num ne neg nextafter pad pow prod
    remainder rot90 round sigmoid sign signbit sin special_entr special_erfcx
    special_gammainc special_i0 special_i0e special_i1 special_i1e special_log_ndtr
    special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_xlog1py
    special_zeta sqrt tril tril_indices triu_indices xlogy
    """.split()
)

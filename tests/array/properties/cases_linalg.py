"""numpy.linalg: solvers, norms and decompositions; decompositions by what they guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import Call, Case, Strided, arrays, shapes

KINDS = ("?", "i4", "u1", "f4", "f8", "c8", "c16")
BATCH = st.sampled_from(((), (), (0,), (2,), (1, 2)))


@st.composite
def square(draw: st.DrawFn, regular: bool = True, hermitian: bool = False) -> Strided:
    """Stacks of square matrices: regular (a dominant diagonal), singular, or Hermitian."""
    size = draw(st.integers(0, 3))
    shape = (*draw(BATCH), size, size)
    found = draw(arrays(KINDS if not hermitian else KINDS[3:], shape, special=False))
    host = found.host
    if hermitian:
        host = (host + host.conj().swapaxes(-1, -2)) / 2
    if regular:
        # integers of a dominant diagonal stay below the range of bytes
        one = np.eye(size).astype(host.dtype)
        host = np.zeros_like(host) | one if host.dtype.kind == "b" else host + 80 * one
    elif size and draw(st.booleans()):
        host = host.copy()
        host[..., 0, :] = 0
    return Strided(np.ascontiguousarray(host.astype(found.base.dtype)), (), ())


def tall(kinds: Any = KINDS, least: int = 0) -> Any:
    """Stacks of matrices of any form, one in a few without enough axes."""
    sides = st.tuples(BATCH, st.integers(least, 4), st.integers(least, 4))
    found = sides.flatmap(lambda d: arrays(kinds, (*d[0], d[1], d[2]), special=False))
    return st.one_of(found, found, arrays(kinds, shapes(0, 1, least), special=False))


@st.composite
def solved(draw: st.DrawFn) -> Call:
    """Pairs for solve: vectors, matrices, stacks, and some that do not fit."""
    left = draw(square())
    size = left.base.shape[-1] + (draw(st.integers(0, 9)) == 0)
    shape = draw(st.sampled_from(((size,), (size, 2), (2, size, 1), (size, 0))))
    return Call((left, draw(arrays(("i4", "f4", "f8", "c16"), shape, special=False))), {})


@st.composite
def normed(draw: st.DrawFn) -> Call:
    """Calls of norm: every order, one or two axes."""
    array = draw(arrays(KINDS, shapes(1, 3, 1, 3), special=False))
    ndim = array.host.ndim
    orders = (None, 0, 1, -1, 2, -2, 3, 0.5, np.inf, -np.inf, "fro", "nuc", "wrong")
    kwargs: dict[str, Any] = {"ord": draw(st.sampled_from(orders))}
    if draw(st.booleans()):
        kwargs["keepdims"] = draw(st.booleans())
    way = draw(st.integers(0, 2))
    if way == 1:
        kwargs["axis"] = draw(st.integers(-ndim, ndim - 1))
    elif way == 2 and ndim > 1:
        kwargs["axis"] = tuple(draw(st.permutations(range(ndim)))[:2])
    return Call((array,), kwargs)


@st.composite
def least_squares(draw: st.DrawFn) -> Call:
    """Calls of lstsq with matrices of any form, single and several right sides."""
    array = draw(arrays(KINDS, shapes(2, 2, 1, 4), special=False))
    rows = array.host.shape[0]
    other = draw(st.sampled_from(((rows,), (rows, 2), (rows + 1,))))
    return Call((array, draw(arrays(("f4", "f8", "i4"), other, special=False))), {})


def rebuilt(function: Any, product: Any) -> Any:
    """A function's factors multiplied again, their shapes and dtypes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        shapes_ = [tuple(part.shape) for part in found]
        return [product(*found), str(shapes_ + [part.dtype for part in found])]

    return call


def _svd(u: Any, s: Any, vh: Any) -> Any:
    count = s.shape[-1]
    return [(u[..., :count] * s[..., None, :]) @ vh[..., :count, :], s]


def _eig(values: Any, vectors: Any) -> Any:
    # order of eigenvalues is free: their sums of powers are not
    return [(vectors * values[..., None, :]) @ np.linalg.inv(vectors), (values**2).sum(-1)]


def _eigh(values: Any, vectors: Any) -> Any:
    return [(vectors * values[..., None, :]) @ vectors.conj().swapaxes(-1, -2), values]


def _wide(function: Any, arguments: Any) -> Case:
    # condition numbers multiply the rounding of the dtype
    return Case(function, arguments, rtol=2e-3, atol=2e-3, zeros=False)


TALL = st.tuples(tall())
REGULAR = st.tuples(square())
SINGULAR = st.tuples(square(False))
HERMITIAN = st.tuples(square(True, True))

CASES: dict[str, Case] = {
    "linalg.solve": _wide(np.linalg.solve, solved()),
    "linalg.inv": _wide(np.linalg.inv, REGULAR),
    "linalg.inv[singular]": Case(lambda a: np.linalg.inv(a * 0), st.tuples(square()), zeros=False),
    "linalg.pinv": _wide(np.linalg.pinv, REGULAR),
    # of a matrix that is none, the lower triangle counts
    "linalg.pinv[hermitian]": _wide(lambda a: np.linalg.pinv(a, hermitian=True), HERMITIAN),
    "linalg.svd[hermitian]": _wide(
        lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True), SINGULAR
    ),
    "linalg.det": Case(np.linalg.det, SINGULAR, rtol=1e-4, atol=1e-2, zeros=False),
    "linalg.slogdet": _wide(np.linalg.slogdet, REGULAR),
    "linalg.slogdet[singular]": Case(lambda a: np.linalg.slogdet(a * 0), REGULAR),
    "linalg.cholesky": _wide(np.linalg.cholesky, HERMITIAN),
    "linalg.cholesky[upper]": _wide(lambda a: np.linalg.cholesky(a, upper=True), HERMITIAN),
    "linalg.cholesky[negative]": _wide(lambda a: np.linalg.cholesky(-a), HERMITIAN),
    "linalg.qr": _wide(rebuilt(np.linalg.qr, lambda q, r: q @ r), TALL),
    "linalg.qr[complete]": _wide(
        rebuilt(lambda a: np.linalg.qr(a, "complete"), lambda q, r: q @ r), TALL
    ),
    "linalg.svd": _wide(rebuilt(np.linalg.svd, _svd), TALL),
    "linalg.svd[reduced]": _wide(
        rebuilt(lambda a: np.linalg.svd(a, full_matrices=False), _svd), TALL
    ),
    "linalg.svd[values]": _wide(lambda a: np.linalg.svd(a, compute_uv=False), TALL),
    "linalg.svdvals": _wide(np.linalg.svdvals, TALL),
    "linalg.eigh": _wide(rebuilt(np.linalg.eigh, _eigh), HERMITIAN),
    "linalg.eigh[half]": _wide(rebuilt(lambda a: np.linalg.eigh(a, "U"), _eigh), SINGULAR),
    "linalg.eigvalsh": _wide(np.linalg.eigvalsh, SINGULAR),
    "linalg.eig": _wide(rebuilt(np.linalg.eig, _eig), HERMITIAN),
    "linalg.eigvals": _wide(lambda a: (np.linalg.eigvals(a) ** 2).sum(-1), REGULAR),
    "linalg.lstsq": _wide(lambda a, b: np.linalg.lstsq(a, b)[0], least_squares()),
    "linalg.lstsq[rank]": _wide(lambda a, b: np.linalg.lstsq(a, b)[1:], least_squares()),
    "linalg.norm": _wide(np.linalg.norm, normed()),
    "linalg.matrix_norm": _wide(np.linalg.matrix_norm, TALL),
    "linalg.vector_norm": _wide(
        np.linalg.vector_norm, st.tuples(arrays(KINDS, shapes(0, 3), special=False))
    ),
    "linalg.cond": _wide(np.linalg.cond, REGULAR),
    "linalg.cond[orders]": _wide(
        np.linalg.cond, st.tuples(square(), st.sampled_from((1, -1, 2, -2, np.inf, "fro", "nuc")))
    ),
    "linalg.matrix_rank": Case(np.linalg.matrix_rank, TALL),
    "linalg.matrix_power": _wide(
        np.linalg.matrix_power, st.tuples(square(), st.sampled_from((0, 1, 2, 3, -1, -2)))
    ),
    "linalg.tensorsolve": _wide(
        lambda a: np.linalg.tensorsolve(
            a.reshape(2, 2, 4) + np.eye(4).reshape(2, 2, 4) * 40, np.ones((2, 2))
        ),
        st.tuples(arrays(("f4", "f8", "i4"), (4, 4), special=False)),
    ),
    "linalg.tensorinv": _wide(
        lambda a: np.linalg.tensorinv(a.reshape(4, 2, 2) + np.eye(4).reshape(4, 2, 2) * 40, ind=1),
        st.tuples(arrays(("f4", "f8", "i4"), (4, 4), special=False)),
    ),
    "linalg.diagonal": Case(
        lambda a, k: np.linalg.diagonal(a, offset=k), st.tuples(tall(), st.integers(-2, 2))
    ),
    "linalg.trace": Case(
        lambda a, k: np.linalg.trace(a, offset=k), st.tuples(tall(), st.integers(-2, 2))
    ),
    "linalg.matrix_transpose": Case(np.linalg.matrix_transpose, TALL),
}

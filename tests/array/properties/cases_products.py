"""Products of vectors, matrices and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.strategies import (
    BOOL,
    FLOATS,
    INTEGERS,
    Call,
    Case,
    arrays,
    broadcast_pairs,
    shapes,
)

# finite: inf * 0 and sums of infinities depend on the blocks in which BLAS adds
KINDS = (*BOOL, *INTEGERS, *FLOATS, "c8", "c16")
MATRIX = ("?", "i1", "i8", "u1", "u8", "f4", "f8", "c8", "c16")


@st.composite
def matrices(draw: st.DrawFn, stacked: bool = True, left: int = 1, right: int = 1) -> Call:
    """Pairs of which the last axis of one fits the last but one of the other, mostly."""
    inner = draw(st.integers(0, 3))
    pair = []
    for number, least in ((0, left), (1, right)):
        ndim = draw(st.integers(least, 3 if stacked else 2))
        core = (draw(st.integers(0, 3)), inner) if number == 0 else (inner, draw(st.integers(0, 3)))
        if ndim == 1:
            core = (inner,)
        batch = (draw(st.sampled_from((1, 2))),) * (ndim - 2)
        if draw(st.integers(0, 15)) == 0:
            core = (*core[:-1], core[-1] + 1)
        pair.append(draw(arrays(MATRIX, (*batch, *core), special=False)))
    return Call(tuple(pair), {})


@st.composite
def summed_over(draw: st.DrawFn) -> Call:
    """Calls of tensordot: a number of axes, or the axes of either side."""
    left = draw(shapes(1, 3, 1, 3))
    count = draw(st.integers(0, len(left)))
    if draw(st.booleans()):
        right = left[len(left) - count :] + draw(shapes(0, 1, 1, 3))
        axes: Any = count
    else:
        order = draw(st.permutations(range(len(left))))[:count]
        right = tuple(left[i] for i in order) + draw(shapes(0, 1, 1, 3))
        axes = (list(order), list(range(count)))
    pair = tuple(draw(arrays(MATRIX, shape, special=False)) for shape in (left, right))
    return Call((*pair, axes), {})


SUBSCRIPTS = (
    "ij,jk->ik ij,jk ij,ij ij,ji ij->ji ij->i ij-> ii ii->i ii,i i,j i,i i,j->ij ij,j ij,j->i "
    "ijk,k iji->j ...i,...i ...ij,...jk ...ij->...ji ij...,j ij,jk,kl ij,jk,ik-> i->i , ij,k->ikj "
    "ijk->k aB,Bc ij... b,a"
).split()


@st.composite
def subscripted(draw: st.DrawFn) -> Call:
    """Calls of einsum with operands that fit, of 0 to 3 axes."""
    text = draw(st.sampled_from(SUBSCRIPTS))
    lengths = {letter: draw(st.integers(0, 3)) for letter in "ijklabcBn"}
    operands = []
    for term in text.partition("->")[0].split(","):
        extra = "n" if "..." in term and draw(st.booleans()) else ""
        shape = tuple(lengths[letter] for letter in term.replace("...", extra))
        operands.append(draw(arrays(MATRIX, shape, special=False)))
    return Call((text, *operands), {})


@st.composite
def crossed(draw: st.DrawFn) -> Call:
    """Calls of cross with vectors of two and three elements along any axis."""
    pair, kwargs = [], {}
    batch = draw(shapes(0, 1, 0, 2))
    for name in ("axisa", "axisb"):
        number = draw(st.integers(0, len(batch)))
        length = draw(st.sampled_from((3, 3, 3, 2)))
        shape = (*batch[:number], length, *batch[number:])
        pair.append(draw(arrays(("i4", "i8", "u1", "f4", "f8", "c16"), shape, special=False)))
        kwargs[name] = number
    return Call(tuple(pair), kwargs)


@st.composite
def kroneckered(draw: st.DrawFn) -> Call:
    """Pairs of any shapes."""
    return Call(tuple(draw(arrays(KINDS, shapes(0, 2, 0, 3), special=False)) for _ in "ab"), {})


@st.composite
def along(draw: st.DrawFn) -> Call:
    """Pairs that broadcast, and the axis of both that is summed over."""
    pair = draw(broadcast_pairs(KINDS, special=False))
    return Call(pair, {"axis": -1})


PAIRS = kroneckered()
# the sign of a zero sum depends on the order in which BLAS adds

CASES: dict[str, Case] = {
    "matmul[stacks]": Case(np.matmul, matrices(), zeros=False),
    "matmul[operator]": Case(lambda a, b: a @ b, matrices(), zeros=False),
    "dot": Case(np.dot, matrices(), zeros=False),
    "dot[scalar]": Case(np.dot, PAIRS, zeros=False),
    "inner": Case(np.inner, matrices(), zeros=False),
    "outer": Case(np.outer, PAIRS),
    "vdot": Case(np.vdot, PAIRS, zeros=False),
    "vecdot[axis]": Case(np.vecdot, along(), zeros=False),
    "matvec[stacks]": Case(getattr(np, "matvec", np.matmul), matrices(left=2), zeros=False),
    "vecmat[stacks]": Case(getattr(np, "vecmat", np.matmul), matrices(right=2), zeros=False),
    "tensordot": Case(np.tensordot, summed_over(), zeros=False),
    "einsum": Case(np.einsum, subscripted(), zeros=False),
    "kron": Case(np.kron, PAIRS),
    "cross": Case(np.cross, crossed(), zeros=False, host="deprecated 2-vectors are NumPy's"),
    "linalg.cross": Case(np.linalg.cross, matrices(False, 2, 2)),
    "linalg.outer": Case(np.linalg.outer, PAIRS),
    "linalg.matmul": Case(np.linalg.matmul, matrices(), zeros=False),
    "linalg.vecdot": Case(np.linalg.vecdot, along(), zeros=False),
    "linalg.multi_dot": Case(
        lambda a, b: np.linalg.multi_dot([a, b, a]), matrices(False), zeros=False
    ),
    "linalg.tensordot": Case(
        lambda a, b, axes: np.linalg.tensordot(a, b, axes=axes), summed_over(), zeros=False
    ),
}

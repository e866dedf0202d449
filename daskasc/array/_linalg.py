"""Products: matmul, dot, tensordot, einsum and their relatives.

Dtypes are promoted as NumPy does before torch multiplies. bool, wide unsigned and integer products
run where torch has them on the host; a device without such kernels goes to the host (``require``).
"""

from __future__ import annotations

import math
import operator
import string
from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array import _reductions as reductions
from daskasc.array._dispatch import (
    NeedsHost,
    implements,
    implements_if_there,
    into,
    is_array,
    target_of,
)
from daskasc.array._dtypes import NUMPY, TWINS, is_integer, promote, torch, twin
from daskasc.array._operators import check_output, stored
from daskasc.array._reductions import normalize_axis
from daskasc.array._shaping import common
from daskasc.array._storage import tensor_of, wrap


def _product(
    function: Any, left: Any, right: Any, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """`function` of two tensors of NumPy's common dtype; wrapping integers on their twins."""
    if casting != "same_kind" and dtype is None:
        dtype = promote(NUMPY[left.dtype], NUMPY[right.dtype])
    left, right = common([left, right], dtype, casting)
    kind = left.dtype
    if kind is torch.bool:
        return function(left.to(torch.uint8).float(), right.to(torch.uint8).float()) != 0
    if kind in TWINS:
        signed = TWINS[kind]
        return function(left.view(signed), right.view(signed)).view(kind)
    return function(left, right)


def exactly(result: Any, out: Any) -> Any:
    """Store a product as BLAS would: `out` has to be what the product itself would be."""
    if out is None:
        return result
    target = target_of(out)
    same = target.dtype == result.dtype and target.shape == result.shape
    if not (same and target._t.is_contiguous()):
        raise ValueError(
            f"output array is not acceptable: it is {target.dtype} of shape {target.shape}; it has "
            f"to be {result.dtype} of shape {result.shape}, and C-contiguous"
        )
    return into(target, result)


@implements(np.matmul)
def matmul(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
    **kwargs: Any,
) -> Any:
    """As :func:`numpy.matmul`."""
    if kwargs.keys() - {"order", "subok"}:
        raise NeedsHost("matmul arguments")
    np.can_cast("?", "?", casting)  # type: ignore[arg-type]  # raises for no rule
    left, right = tensor_of(x1), tensor_of(x2)
    for number, tensor in enumerate((left, right)):
        if not tensor.ndim:
            raise ValueError(
                f"matmul: Input operand {number} does not have enough dimensions (has 0, gufunc "
                "core with signature (n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    inner = right.shape[-2] if right.ndim > 1 else right.shape[0]
    if left.shape[-1] != inner:
        raise ValueError(
            f"matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
            f"signature (n?,k),(k,m?)->(n?,m?) (size {inner} is different from {left.shape[-1]})"
        )
    if left.ndim > 2 or right.ndim > 2:
        # torch's error would be a RuntimeError, NumPy's is a ValueError
        np.broadcast_shapes(tuple(left.shape[:-2]), tuple(right.shape[:-2]))
    found = wrap(_product(torch.matmul, left, right, dtype, casting))
    return stored("matmul", found, out, casting)


def _sum_of_products(left: Any, right: Any, axis: int, casting: str = "same_kind") -> Any:
    product = _operators.apply(np.multiply, (wrap(left), wrap(right)), None, casting)
    return reductions.sum(product, axis=axis, dtype=product.dtype)


@implements(np.vecdot)
def vecdot(x1: Any, x2: Any, /, out: Any = None, *, axis: int = -1, **kwargs: Any) -> Any:
    """As :func:`numpy.vecdot`."""
    if kwargs.keys() - {"casting", "order", "subok"}:
        raise NeedsHost("vecdot arguments")
    left, right = tensor_of(x1), tensor_of(x2)
    if not left.ndim or not right.ndim:
        raise ValueError("vecdot: an operand has no axes; both need at least one")
    left, right = (t.movedim(normalize_axis(axis, t.ndim), -1) for t in (left, right))
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(f"vecdot: lengths {left.shape[-1]} and {right.shape[-1]} differ")
    conjugated = torch.conj(left).resolve_conj() if left.is_complex() else left
    casting = kwargs.get("casting", "same_kind")
    return stored("vecdot", _sum_of_products(conjugated, right, -1, casting), out, casting)


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """As :func:`numpy.dot`."""
    left, right = tensor_of(a), tensor_of(b)
    if not left.ndim or not right.ndim:
        found = _operators.apply(np.multiply, (wrap(left), wrap(right)))
        # NumPy gives the dtypes of BLAS to it, but for arrays of more than two axes
        for_blas = found.dtype.char in "fdFD" and found.ndim <= 2
        return exactly(found, out) if for_blas else stored("multiply", found, out)
    if right.ndim == 1:
        if left.shape[-1] != right.shape[0]:
            raise ValueError(f"shapes {tuple(left.shape)} and {tuple(right.shape)} not aligned")
        found = _product(torch.matmul, left, right)
    else:
        found = tensordot(wrap(left), wrap(right), axes=((left.ndim - 1,), (right.ndim - 2,)))._t
    return exactly(wrap(found), out)


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """As :func:`numpy.vdot`."""
    left = tensor_of(a).reshape(-1)
    left = torch.conj(left).resolve_conj() if left.is_complex() else left
    return dot(wrap(left), wrap(tensor_of(b).reshape(-1)))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """As :func:`numpy.inner`."""
    left, right = tensor_of(a), tensor_of(b)
    if not left.ndim or not right.ndim:
        return _operators.apply(np.multiply, (wrap(left), wrap(right)))
    return tensordot(wrap(left), wrap(right), axes=((left.ndim - 1,), (right.ndim - 1,)))


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """As :func:`numpy.outer`."""
    left, right = tensor_of(a).reshape(-1, 1), tensor_of(b).reshape(1, -1)
    return stored("multiply", _operators.apply(np.multiply, (wrap(left), wrap(right))), out)


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """As :func:`numpy.tensordot`."""
    left, right = tensor_of(a), tensor_of(b)
    if isinstance(axes, int | np.integer):
        count = int(axes)
        if count > min(left.ndim, right.ndim):
            raise IndexError(
                f"axes is {count}; the arrays have {left.ndim} and {right.ndim} axes to sum over"
            )
        lefts: Any = list(range(left.ndim - count, left.ndim))
        rights: Any = list(range(count))
    else:
        lefts, rights = axes
        lefts = list(lefts) if isinstance(lefts, tuple | list) else [lefts]
        rights = list(rights) if isinstance(rights, tuple | list) else [rights]
    lefts = [normalize_axis(i, left.ndim) for i in lefts]
    rights = [normalize_axis(i, right.ndim) for i in rights]
    if len(set(lefts)) < len(lefts) or len(set(rights)) < len(rights):
        raise ValueError(f"duplicate axes are not allowed in tensordot; axes is {axes!r}")
    if [left.shape[i] for i in lefts] != [right.shape[i] for i in rights]:
        raise ValueError("shape-mismatch for sum")
    free_left = [i for i in range(left.ndim) if i not in lefts]
    free_right = [i for i in range(right.ndim) if i not in rights]
    shape = [left.shape[i] for i in free_left] + [right.shape[i] for i in free_right]
    n = math.prod(left.shape[i] for i in lefts)
    rows = math.prod(left.shape[i] for i in free_left)
    columns = math.prod(right.shape[i] for i in free_right)
    flat_left = left.permute((*free_left, *lefts)).reshape(rows, n)
    flat_right = right.permute((*rights, *free_right)).reshape(n, columns)
    return wrap(_product(torch.matmul, flat_left, flat_right).reshape(shape))


def _subscripts(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the string form of ``einsum(x, [0, 1], y, [1, 2], [0, 2])``."""

    def letters(numbers: Any) -> str:
        return "".join(
            "..." if n is Ellipsis else string.ascii_letters[operator.index(n)] for n in numbers
        )

    arrays, lists = list(operands[::2]), list(operands[1::2])
    if len(operands) % 2:
        return f"{','.join(map(letters, lists))}->{letters(arrays.pop())}", arrays
    return ",".join(map(letters, lists)), arrays


def _with_output(subscripts: str) -> str:
    """Subscripts that name the output."""
    text = subscripts.replace(" ", "")
    if "->" in text:
        return text
    # NumPy sorts the free letters in alphabetical order, capitals first, as torch does not
    letters = text.replace(",", "").replace("...", "")
    free = sorted(c for c in set(letters) if letters.count(c) == 1)
    return text + "->" + ("..." if "..." in text else "") + "".join(free)


def _only_moves(text: str) -> bool:
    """Whether nothing is summed: every letter of the one operand is in the output."""
    given, wanted = text.split("->")[:2]
    return set(given) <= set(wanted)


def _contracted(text: str, tensors: list[Any]) -> Any:
    try:
        return torch.einsum(text, *tensors)
    except RuntimeError:
        # torch sums an axis of one operand of small integers in int64, and then refuses to
        # multiply it by another, which it has not summed
        if not is_integer(tensors[0]) or tensors[0].dtype is torch.int64:
            raise
        return torch.einsum(text, *(tensor.to(torch.int64) for tensor in tensors))


@implements(np.einsum)
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: Any = "K",
    casting: str = "safe",
) -> Any:
    """As :func:`numpy.einsum`."""
    subscripts, *rest = operands
    if not isinstance(subscripts, str):
        subscripts, rest = _subscripts(operands)
    given = [tensor_of(x) for x in rest]
    text = _with_output(subscripts)
    if out is None and len(given) == 1 and _only_moves(text):
        dtype = None  # NumPy gives a view, whatever dtype= says
    if out is not None and dtype is None and not optimize:
        # the dtype of out counts as an operand's
        dtype = promote(*(NUMPY[t.dtype] for t in given), target_of(out).dtype)
        check_output("einsum", dtype, target_of(out).dtype, casting)
    if dtype is None and casting in ("no", "equiv") and len({t.dtype for t in given}) > 1:
        raise TypeError(f"operands of several dtypes are not cast by the rule '{casting}'")
    tensors = common(given, dtype, casting)
    kind = tensors[0].dtype
    if kind is torch.bool:
        # any product that is not 0 makes a sum that is not
        tensors = [tensor.to(torch.int64) for tensor in tensors]
    tensors = [twin(tensor) for tensor in tensors]
    try:
        found = _contracted(text, tensors)
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    # torch sums small integers in int64
    found = found.to(TWINS[kind]).view(kind) if kind in TWINS else found.to(kind)
    return stored("einsum", wrap(found), out, "same_kind" if optimize else casting)


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """As :func:`numpy.einsum_path`; only shapes matter."""
    stand_ins = [
        np.broadcast_to(np.empty((), x.dtype), x.shape) if is_array(x) else x for x in operands
    ]
    path: Any = np.einsum_path
    return path(*stand_ins, optimize=optimize, einsum_call=einsum_call)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """As :func:`numpy.kron`."""
    left, right = common([tensor_of(a), tensor_of(b)])
    width = max(left.ndim, right.ndim)
    left = left.reshape((1,) * (width - left.ndim) + tuple(left.shape))
    right = right.reshape((1,) * (width - right.ndim) + tuple(right.shape))
    spread_left = left.reshape([n for size in left.shape for n in (size, 1)])
    spread_right = right.reshape([n for size in right.shape for n in (1, size)])
    product = _operators.apply(np.multiply, (wrap(spread_left), wrap(spread_right)))._t
    return wrap(product.reshape([m * n for m, n in zip(left.shape, right.shape, strict=True)]))


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    """As :func:`numpy.cross`, of vectors with three elements."""
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = tensor_of(a), tensor_of(b)
    left = left.movedim(normalize_axis(axisa, left.ndim), -1)
    right = right.movedim(normalize_axis(axisb, right.ndim), -1)
    lengths = (left.shape[-1], right.shape[-1])
    if lengths != (3, 3):
        if set(lengths) <= {2, 3}:
            raise NeedsHost("cross of 2-vectors")
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    # NumPy's ValueError for shapes that do not broadcast
    np.broadcast_shapes(tuple(left.shape[:-1]), tuple(right.shape[:-1]))

    def minor(i: int, j: int) -> Any:
        first = _operators.apply(np.multiply, (wrap(left[..., i]), wrap(right[..., j])))
        second = _operators.apply(np.multiply, (wrap(left[..., j]), wrap(right[..., i])))
        return _operators.apply(np.subtract, (first, second))._t

    found = torch.stack([minor(1, 2), minor(2, 0), minor(0, 1)], dim=-1)
    return wrap(found.movedim(-1, normalize_axis(axisc, found.ndim)))


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """As :func:`numpy.linalg.cross`."""
    if tensor_of(x1).shape[axis] != 3 or tensor_of(x2).shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return cross(x1, x2, axis=axis)


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """As :func:`numpy.linalg.outer`."""
    if tensor_of(x1).ndim != 1 or tensor_of(x2).ndim != 1:
        raise ValueError("Input arrays must be one-dimensional")
    return outer(x1, x2)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """As :func:`numpy.linalg.vecdot`."""
    return vecdot(x1, x2, axis=axis)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    """As :func:`numpy.linalg.matmul`."""
    return matmul(x1, x2)


@implements(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """As :func:`numpy.linalg.tensordot`."""
    return tensordot(x1, x2, axes)


@implements_if_there("matvec")
def matvec(x1: Any, x2: Any, /, out: Any = None, **kwargs: Any) -> Any:
    """As :func:`numpy.matvec`."""
    if kwargs:
        raise NeedsHost("matvec arguments")
    left, right = tensor_of(x1), tensor_of(x2)
    if left.ndim < 2 or not right.ndim or left.shape[-1] != right.shape[-1]:
        raise ValueError(f"matvec: shapes {tuple(left.shape)} and {tuple(right.shape)} mismatch")
    found = matmul(wrap(left), wrap(right.unsqueeze(-1)))
    return stored("matvec", wrap(found._t.squeeze(-1)), out)


@implements_if_there("vecmat")
def vecmat(x1: Any, x2: Any, /, out: Any = None, **kwargs: Any) -> Any:
    """As :func:`numpy.vecmat`; the vector is conjugated."""
    if kwargs:
        raise NeedsHost("vecmat arguments")
    left, right = tensor_of(x1), tensor_of(x2)
    if right.ndim < 2 or not left.ndim or left.shape[-1] != right.shape[-2]:
        raise ValueError(f"vecmat: shapes {tuple(left.shape)} and {tuple(right.shape)} mismatch")
    row = torch.conj(left).resolve_conj() if left.is_complex() else left
    found = matmul(wrap(row.unsqueeze(-2)), wrap(right))
    return stored("vecmat", wrap(found._t.squeeze(-2)), out)

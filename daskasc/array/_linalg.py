"""Products: matmul, dot, tensordot, einsum and their relatives.

Dtypes are promoted as NumPy does before torch multiplies. bool, wide unsigned and integer products
run where torch has them on the host; a device without such kernels goes to the host (``require``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskasc.array import _operators
from daskasc.array import _reductions as reductions
from daskasc.array._dispatch import NeedsHost, implements, into, require
from daskasc.array._dtypes import TWINS, torch
from daskasc.array._reductions import normalize_axis
from daskasc.array._shaping import common
from daskasc.array._storage import tensor_of, wrap


def _product(function: Any, left: Any, right: Any, dtype: Any = None) -> Any:
    """`function` of two tensors of NumPy's common dtype; wrapping integers on their twins."""
    left, right = common([left, right], dtype)
    kind = left.dtype
    require("matmul", left)
    if kind is torch.bool:
        return function(left.to(torch.uint8).float(), right.to(torch.uint8).float()) != 0
    if kind in TWINS:
        signed = TWINS[kind]
        return function(left.view(signed), right.view(signed)).view(kind)
    return function(left, right)


def _gufunc_out(tensor: Any, out: Any) -> Any:
    return wrap(tensor) if out is None else into(out, wrap(tensor))


@implements(np.matmul)
def matmul(x1: Any, x2: Any, /, out: Any = None, *, dtype: Any = None, **kwargs: Any) -> Any:
    """As :func:`numpy.matmul`."""
    if kwargs.keys() - {"casting", "order", "subok"}:
        raise NeedsHost("matmul arguments")
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
    return _gufunc_out(_product(torch.matmul, left, right, dtype), out)


def _sum_of_products(left: Any, right: Any, axis: int) -> Any:
    product = _operators.apply(np.multiply, (wrap(left), wrap(right)))
    return reductions.sum(product, axis=axis, dtype=product.dtype)


@implements(np.vecdot)
def vecdot(x1: Any, x2: Any, /, out: Any = None, *, axis: int = -1, **kwargs: Any) -> Any:
    """As :func:`numpy.vecdot`."""
    left, right = tensor_of(x1), tensor_of(x2)
    if left.shape[axis] != right.shape[axis]:
        raise ValueError(f"vecdot: lengths {left.shape[axis]} and {right.shape[axis]} differ")
    left, right = left.movedim(axis, -1), right.movedim(axis, -1)
    conjugated = torch.conj(left).resolve_conj() if left.is_complex() else left
    return _gufunc_out(_sum_of_products(conjugated, right, -1)._t, out)


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """As :func:`numpy.dot`."""
    left, right = tensor_of(a), tensor_of(b)
    if not left.ndim or not right.ndim:
        result = _operators.apply(np.multiply, (wrap(left), wrap(right)))
        return result if out is None else into(out, result)
    if right.ndim == 1:
        if left.shape[-1] != right.shape[0]:
            raise ValueError(f"shapes {tuple(left.shape)} and {tuple(right.shape)} not aligned")
        found = _product(torch.matmul, left, right)
    else:
        found = tensordot(wrap(left), wrap(right), axes=((left.ndim - 1,), (right.ndim - 2,)))._t
    return _gufunc_out(found, out)


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """As :func:`numpy.vdot`."""
    left = _operators.apply(np.conjugate, (wrap(tensor_of(a).reshape(-1)),))
    return dot(left, wrap(tensor_of(b).reshape(-1)))


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
    return _gufunc_out(_operators.apply(np.multiply, (wrap(left), wrap(right)))._t, out)


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """As :func:`numpy.tensordot`."""
    left, right = tensor_of(a), tensor_of(b)
    if isinstance(axes, int | np.integer):
        count = int(axes)
        lefts: Any = list(range(left.ndim - count, left.ndim))
        rights: Any = list(range(count))
    else:
        lefts, rights = axes
        lefts = list(lefts) if isinstance(lefts, tuple | list) else [lefts]
        rights = list(rights) if isinstance(rights, tuple | list) else [rights]
    lefts = [normalize_axis(i, left.ndim) for i in lefts]
    rights = [normalize_axis(i, right.ndim) for i in rights]
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


@implements(np.einsum)
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: Any = "K",
    casting: str = "safe",
) -> Any:
    """As :func:`numpy.einsum`; the form with subscript lists goes to the host."""
    subscripts, *rest = operands
    if not isinstance(subscripts, str):
        raise NeedsHost("einsum with lists")
    tensors = common([tensor_of(x) for x in rest], dtype, casting)
    require("matmul", tensors[0])
    kind = tensors[0].dtype
    if kind in TWINS or kind is torch.bool:
        raise NeedsHost("einsum")
    text = subscripts.replace(" ", "")
    if "->" not in text:
        # NumPy sorts the free letters in alphabetical order, capitals first, as torch does not
        letters = text.replace(",", "").replace("...", "")
        free = sorted(c for c in set(letters) if letters.count(c) == 1)
        text += "->" + ("..." if "..." in text else "") + "".join(free)
    return _gufunc_out(torch.einsum(text, *tensors), out)


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


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """As :func:`numpy.linalg.norm` for the 2-norm; others go to the host."""
    array = wrap(tensor_of(x))
    vector = (
        array.ndim == 1 or isinstance(axis, int) or (isinstance(axis, tuple) and len(axis) == 1)
    )
    if not (ord is None or (ord == 2 and vector)):
        raise NeedsHost("norm")
    if array.dtype.kind not in "fcV":
        array = array.astype(np.float64)
    size = abs(array)
    return _operators.apply(np.sqrt, (reductions.sum(size * size, axis=axis, keepdims=keepdims),))

"""``numpy.linalg``'s factorizations and solvers, by ``torch.linalg``.

Dtypes are NumPy's: integers compute in float64, float16 is refused. Whether a matrix was singular
is known only after the computation, so functions that raise for it wait for the card. Real results
of ``eig`` and ``eigvals`` need a look at the imaginary parts and wait as well.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from daskasc.array import _extremes as extremes
from daskasc.array import _linalg as products
from daskasc.array import _operators
from daskasc.array import _reductions as reductions
from daskasc.array._dispatch import NeedsHost, implements
from daskasc.array._dtypes import NUMPY, cast, promote, result, torch, torch_dtype
from daskasc.array._storage import tensor_of, wrap

LinAlgError = np.linalg.LinAlgError


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Orthogonal and triangular factors."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Singular vectors and values."""

    U: Any
    S: Any
    Vh: Any


class SlogdetResult(NamedTuple):
    """Sign and logarithm of determinants."""

    sign: Any
    logabsdet: Any


def _inexact(*values: Any) -> list[Any]:
    """Tensors of NumPy's common dtype for linear algebra."""
    tensors = [tensor_of(value) for value in values]
    double = np.dtype("f8")
    given = [double if (d := NUMPY[t.dtype]).kind in "iub" else d for t in tensors]
    for dtype in given:
        if dtype.itemsize == 2:
            raise TypeError(f"array type {dtype.name} is unsupported in linalg")
    dtype = result(promote(*given))
    return [cast(t, torch_dtype(dtype)) for t in tensors]


def matrices(*values: Any, square: bool = False) -> list[Any]:
    """Stacks of matrices, checked as NumPy does: the shapes before the dtypes."""
    for tensor in map(tensor_of, values):
        if tensor.ndim < 2:
            raise LinAlgError(
                f"{tensor.ndim}-dimensional array given. Array must be at least two-dimensional"
            )
        if square and tensor.shape[-1] != tensor.shape[-2]:
            raise LinAlgError("Last 2 dimensions of the array must be square")
    return _inexact(*values)


def _run(name: str, *tensors: Any, **options: Any) -> Any:
    """Call ``torch.linalg.<name>`` with NumPy's error for singular and divergent cases."""
    try:
        return getattr(torch.linalg, name)(*tensors, **options)
    except torch.linalg.LinAlgError as error:
        text = str(error)
        if "singular" in text:
            raise LinAlgError("Singular matrix") from None
        if "positive-definite" in text:
            raise LinAlgError("Matrix is not positive definite") from None
        raise LinAlgError(text) from None


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """As :func:`numpy.linalg.inv`."""
    (tensor,) = matrices(a, square=True)
    return wrap(_run("inv", tensor))


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """As :func:`numpy.linalg.solve`; `b` is a vector only when it has one axis."""
    matrices(a, square=True)
    left, right = _inexact(a, b)
    if not right.ndim:
        raise ValueError(
            "solve: Input operand 1 does not have enough dimensions (has 0, requires 1)"
        )
    vector = right.ndim == 1
    right = right.unsqueeze(-1) if vector else right
    if right.shape[-2] != left.shape[-1]:
        raise ValueError(
            f"solve: Input operand 1 has a mismatch in its core dimension 0 (size "
            f"{right.shape[-2]} is different from {left.shape[-1]})"
        )
    batch = np.broadcast_shapes(tuple(left.shape[:-2]), tuple(right.shape[:-2]))
    left = left.expand(*batch, *left.shape[-2:])
    right = right.expand(*batch, *right.shape[-2:])
    found = _run("solve", left, right)
    return wrap(found.squeeze(-1) if vector else found)


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """As :func:`numpy.linalg.tensorsolve`."""
    left, right = tensor_of(a), tensor_of(b)
    if axes is not None:
        order = list(range(left.ndim))
        for axis in axes:
            if axis not in order:
                raise ValueError(f"axes is {axes!r}; allowed: 0 to {left.ndim - 1}")
            order.remove(axis)
            order.append(axis)
        left = left.permute(order)
    shape = tuple(left.shape[right.ndim :])
    size = right.numel()
    if left.numel() != size * size:
        raise LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == "
            "prod(a.shape[:b.ndim])"
        )
    return wrap(solve(wrap(left.reshape(size, size)), wrap(right.reshape(-1)))._t.reshape(shape))


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """As :func:`numpy.linalg.tensorinv`."""
    tensor = tensor_of(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    first, last = tuple(tensor.shape[:ind]), tuple(tensor.shape[ind:])
    columns = math.prod(last)
    if not columns:
        raise ValueError(f"a has shape {first + last}; the product of the axes from {ind} on is 0")
    found = inv(wrap(tensor.reshape(-1, columns)))
    return wrap(found._t.reshape(last + first))


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """As :func:`numpy.linalg.det`."""
    (tensor,) = matrices(a, square=True)
    return wrap(_run("det", tensor))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """As :func:`numpy.linalg.slogdet`."""
    (tensor,) = matrices(a, square=True)
    sign, logarithm = _run("slogdet", tensor)
    return SlogdetResult(wrap(sign), wrap(logarithm))


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """As :func:`numpy.linalg.cholesky`."""
    (tensor,) = matrices(a, square=True)
    return wrap(_run("cholesky", tensor, upper=bool(upper)))


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """As :func:`numpy.linalg.qr`; mode ``raw`` goes to the host."""
    if mode not in ("reduced", "complete", "r"):
        if mode == "raw":
            raise NeedsHost("qr in LAPACK's raw form")
        raise ValueError(f"Unrecognized mode {mode!r}")
    (tensor,) = matrices(a)
    q, r = _run("qr", tensor, mode=mode)
    return wrap(r) if mode == "r" else QRResult(wrap(q), wrap(r))


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """As :func:`numpy.linalg.svd`."""
    (tensor,) = matrices(a, square=hermitian)
    if not compute_uv:
        return wrap(_singular_values(tensor, hermitian))
    return SVDResult(*map(wrap, _factors(tensor, bool(full_matrices), hermitian)))


def _factors(tensor: Any, full_matrices: bool, hermitian: bool) -> Any:
    """Singular vectors and values; a Hermitian matrix is its lower triangle, as in NumPy."""
    if not hermitian:
        return _run("svd", tensor, full_matrices=full_matrices)
    values, vectors = _run("eigh", tensor)
    s, order = torch.sort(values.abs(), dim=-1, descending=True)
    signs = torch.sign(values.gather(-1, order)).unsqueeze(-2)
    u = vectors.gather(-1, order.unsqueeze(-2).expand(vectors.shape))
    return u, s, (u * signs).mH


def _singular_values(tensor: Any, hermitian: bool = False) -> Any:
    if not hermitian:
        return _run("svdvals", tensor)
    values = _run("eigvalsh", tensor).abs()
    return torch.sort(values, dim=-1, descending=True).values


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """As :func:`numpy.linalg.svdvals`."""
    return svd(x, compute_uv=False)


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """As :func:`numpy.linalg.eigh`."""
    (tensor,) = matrices(a, square=True)
    values, vectors = _run("eigh", tensor, UPLO=_half(UPLO))
    return EighResult(wrap(values), wrap(vectors))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """As :func:`numpy.linalg.eigvalsh`."""
    (tensor,) = matrices(a, square=True)
    return wrap(_run("eigvalsh", tensor, UPLO=_half(UPLO)))


def _half(name: str) -> str:
    if name.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return name.upper()


def _finite(tensor: Any) -> Any:
    if not bool(torch.isfinite(tensor).all()):
        raise LinAlgError("Array must not contain infs or NaNs")
    return tensor


def _real_if_real(given: Any, values: Any, *others: Any) -> list[Any]:
    if not given.is_complex() and bool((values.imag == 0).all()):
        return [wrap(x.real.contiguous()) for x in (values, *others)]
    return [wrap(x) for x in (values, *others)]


@implements(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """As :func:`numpy.linalg.eig`."""
    (tensor,) = matrices(a, square=True)
    values, vectors = _run("eig", _finite(tensor))
    return EigResult(*_real_if_real(tensor, values, vectors))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """As :func:`numpy.linalg.eigvals`."""
    (tensor,) = matrices(a, square=True)
    return _real_if_real(tensor, _run("eigvals", _finite(tensor)))[0]


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """As :func:`numpy.linalg.lstsq`, by singular values."""
    left, right = _inexact(a, b)
    vector = right.ndim == 1
    right = right.unsqueeze(-1) if vector else right
    for tensor in (left, right):
        if tensor.ndim != 2:
            raise LinAlgError(
                f"{tensor.ndim}-dimensional array given. Array must be two-dimensional"
            )
    m, n = left.shape
    if m != right.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    u, s, vh = _run("svd", left, full_matrices=False)
    eps = torch.finfo(s.dtype).eps
    limit = float(eps * max(m, n) if rcond is None else (eps if rcond == -1 else rcond))
    kept = s > limit * s[:1] if s.shape[0] else s > 0
    inverse = torch.where(kept, 1 / s, torch.zeros_like(s))
    found = vh.mH @ (inverse.unsqueeze(-1) * (u.mH @ right))
    rank = int(kept.sum())
    if rank == n and m > n:
        difference = right - left @ found
        residuals = (difference.abs() ** 2).sum(0)
    else:
        residuals = torch.empty(0, dtype=s.dtype, device=s.device)
    found = found.squeeze(-1) if vector else found
    return wrap(found), wrap(residuals), np.int32(rank), wrap(s)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """As :func:`numpy.linalg.pinv`."""
    given = tensor_of(a)
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    elif rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if given.ndim > 1 and not math.prod(given.shape[-2:]):
        return wrap(given.new_empty((*given.shape[:-2], given.shape[-1], given.shape[-2])))
    (tensor,) = matrices(a, square=hermitian)
    u, s, vh = _factors(tensor, False, hermitian)
    if rcond is None:
        rcond = max(tensor.shape[-2:]) * torch.finfo(s.dtype).eps
    limit = tensor_of(rcond).to(s.dtype).to(s.device)
    limit = limit.unsqueeze(-1) if limit.ndim else limit
    kept = s > limit * s.amax(-1, keepdim=True)
    inverse = torch.where(kept, 1 / s, torch.zeros_like(s))
    return wrap(vh.mH @ (inverse.unsqueeze(-1) * u.mH))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """As :func:`numpy.linalg.matrix_rank`."""
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    tensor = tensor_of(A)
    if tensor.ndim < 2:
        return int(not bool((tensor == 0).all()))
    (tensor,) = matrices(A, square=hermitian)
    s = _singular_values(tensor, hermitian)
    if tol is None:
        factor = max(tensor.shape[-2:]) * torch.finfo(s.dtype).eps if rtol is None else rtol
        factor = tensor_of(factor).to(s.dtype).to(s.device)
        largest = s.amax(-1, keepdim=True) if s.shape[-1] else s.new_zeros((*s.shape[:-1], 1))
        limit = largest * (factor.unsqueeze(-1) if factor.ndim else factor)
    else:
        limit = tensor_of(tol).to(s.device)
        limit = limit.unsqueeze(-1) if limit.ndim else limit
    return wrap((s > limit).sum(-1))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """As :func:`numpy.linalg.cond`."""
    shape = tensor_of(x).shape
    if len(shape) > 1 and not math.prod(shape[-2:]):
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        (tensor,) = matrices(x)
        s = _singular_values(tensor)
        found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        (tensor,) = matrices(x, square=True)
        inverse, info = torch.linalg.inv_ex(tensor)
        sizes = [norm(wrap(part), ord=p, axis=(-2, -1))._t for part in (tensor, inverse)]
        found = sizes[0] * sizes[1]
        found = torch.where(info != 0, torch.full_like(found, float("inf")), found)
    broken = torch.isnan(found) & ~torch.isnan(tensor).any(-1).any(-1)
    return wrap(torch.where(broken, torch.full_like(found, float("inf")), found))


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """As :func:`numpy.linalg.matrix_power`."""
    try:
        count = n.__index__()
    except AttributeError:
        raise TypeError("exponent must be an integer") from None
    array = wrap(tensor_of(a))
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if count < 0:
        array, count = inv(array), -count
    if not count:
        made = torch.eye(array.shape[-1], device=array._t.device).to(array._t.dtype)
        return wrap(made.expand(array.shape).clone())
    power: Any = None
    while count:
        if count & 1:
            power = array if power is None else products.matmul(power, array)
        count >>= 1
        if count:
            array = products.matmul(array, array)
    return power.copy() if power is array else power


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """As :func:`numpy.linalg.matrix_norm`."""
    return norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """As :func:`numpy.linalg.vector_norm`."""
    array = wrap(tensor_of(x))
    axes = reductions.Axes(axis, array.ndim, keepdims)
    merged = wrap(axes.merged(array._t))
    return wrap(axes.unmerged(norm(merged, ord=ord, axis=-1)._t))


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """As :func:`numpy.linalg.norm`."""
    array = wrap(tensor_of(x))
    if array.dtype.kind in "iub":
        array = array.astype(result(np.dtype("f8")))
    if axis is None and ord is not None and array.ndim not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    axes = reductions.Axes(axis, array.ndim, keepdims)
    size = _operators.apply(np.absolute, (array,))
    if ord is None or (ord == 2 and len(axes.axes) == 1) or (ord in ("fro", "f")):
        if ord in ("fro", "f") and len(axes.axes) != 2:
            raise ValueError(f"Invalid norm order {ord!r} for vectors")
        squares = reductions.sum(size * size, axis=axes.axes, keepdims=keepdims)
        return _operators.apply(np.sqrt, (squares,))
    if len(axes.axes) == 1:
        return _vector_norm(size, ord, axes.axes[0], keepdims)
    if len(axes.axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    given = axis if axis is not None else (0, 1)
    row, column = (reductions.normalize_axis(i, array.ndim) for i in given)
    return wrap(axes.unmerged(_matrix_norm(array, size, ord, row, column)._t))


def _vector_norm(size: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if ord == np.inf:
        return extremes.max(size, axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return extremes.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return reductions.sum((size != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return reductions.sum(size, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    powers = _operators.apply(np.power, (size, float(ord)))
    total = reductions.sum(powers, axis=axis, keepdims=keepdims)
    return _operators.apply(np.power, (total, 1.0 / float(ord)))


def _matrix_norm(array: Any, size: Any, ord: Any, row: int, column: int) -> Any:
    if ord in (2, -2, "nuc"):
        values = _singular_values(_inexact(wrap(array._t.movedim((row, column), (-2, -1))))[0])
        if ord == "nuc":
            return wrap(values.sum(-1))
        return _largest_or_least(wrap(values), -1, ord)
    if ord in (1, -1):
        summed, along = row, column - (column > row)
    elif ord in (np.inf, -np.inf):
        summed, along = column, row - (row > column)
    else:
        raise ValueError("Invalid norm order for matrices.")
    sums = reductions.sum(size, axis=summed)
    return _largest_or_least(sums, along, ord)


def _largest_or_least(array: Any, axis: int, ord: float) -> Any:
    """Extreme by the sign of `ord`; the norm of nothing is 0, its least part an error."""
    if ord > 0:
        return extremes.max(array, axis=axis, initial=0)
    return extremes.min(array, axis=axis)

"""Polynomials by their coefficients, and the convolutions that multiply them.

Composites: NumPy's algorithms written with arrays on the card. Where an algorithm branches on a
coefficient (leading zeros, the length of a remainder) it waits for the card.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from daskasc.array import _creation as creation
from daskasc.array import _linalg as products
from daskasc.array._dispatch import implements
from daskasc.array._dtypes import COMPLEX, TWINS, promote, torch
from daskasc.array._ranges import vander
from daskasc.array._shaping import common
from daskasc.array._storage import tensor_of, wrap

_HALVES = (torch.float16, torch.bfloat16)


def _correlated(a: Any, v: Any, mode: Any) -> Any:
    """Sliding products of `a` with `v` (not conjugated), NumPy's three modes."""
    modes = {0: "valid", 1: "same", 2: "full"}
    mode = modes.get(mode, mode)
    if mode not in modes.values():
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    left, right = common([a, v])
    for tensor in (left, right):
        if tensor.ndim != 1:
            raise ValueError("object too deep for desired array")
        if not tensor.shape[0]:
            raise ValueError("an array is empty; convolution needs at least one element")
    swapped = left.shape[0] < right.shape[0]
    if swapped:
        left, right = right, left
    n, m = left.shape[0], right.shape[0]
    full = _full(left, right)
    if mode == "valid":
        full = full[m - 1 : n]
    elif mode == "same":
        start = m - m // 2 - 1
        full = full[start : start + n]
    return full.flip(0) if swapped else full.clone()


def _full(left: Any, right: Any) -> Any:
    n, m = left.shape[0], right.shape[0]
    if left.is_floating_point() or left.dtype in COMPLEX:
        wide = left.float() if left.dtype in _HALVES else left
        weight = right.to(wide.dtype)
        if bool(torch.isfinite(weight).all()):
            found = torch.nn.functional.conv1d(wide[None, None], weight[None, None], padding=m - 1)
            return found[0, 0].to(left.dtype)
        # zeros beside the ends would make NaN of infinities: products at the ends one by one
        inner = torch.nn.functional.conv1d(wide[None, None], weight[None, None])[0, 0]
        first = [(wide[: k + 1] * weight[m - 1 - k :]).sum() for k in range(m - 1)]
        last = [(wide[n - k :] * weight[:k]).sum() for k in range(m - 1, 0, -1)]
        ends = [torch.stack(part) if part else inner[:0] for part in (first, last)]
        return torch.cat([ends[0], inner, ends[1]]).to(left.dtype)
    signed = TWINS.get(left.dtype, left.dtype)
    padded = torch.zeros(n + 2 * m - 2, dtype=signed, device=left.device)
    padded[m - 1 : m - 1 + n] = left.view(signed)
    windows = padded.view(left.dtype).unfold(0, m, 1)
    return products.matmul(wrap(windows), wrap(right))._t


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """As :func:`numpy.correlate`."""
    right = tensor_of(v)
    return wrap(_correlated(tensor_of(a), torch.conj(right).resolve_conj(), mode))


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """As :func:`numpy.convolve`."""
    left, right = (t.reshape(1) if not t.ndim else t for t in (tensor_of(a), tensor_of(v)))
    if right.shape[0] > left.shape[0]:
        left, right = right, left
    if not right.shape[0]:
        raise ValueError("v cannot be empty" if left.shape[0] else "a cannot be empty")
    twin = TWINS.get(right.dtype, right.dtype)
    return wrap(_correlated(left, right.view(twin).flip(0).view(right.dtype), mode))


def _coefficients(value: Any) -> Any:
    tensor = tensor_of(value)
    return wrap(tensor.reshape(1) if not tensor.ndim else tensor)


def _zeros(count: int, dtype: Any) -> Any:
    return creation.zeros(count, dtype)


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """As :func:`numpy.poly`."""
    roots_ = _coefficients(seq_of_zeros)
    if roots_.ndim == 2 and roots_.shape[0] == roots_.shape[1] and roots_.shape[0]:
        roots_ = np.linalg.eigvals(roots_)
    elif roots_.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not roots_.shape[0]:
        return 1.0
    known = roots_.dtype in (np.float32, np.float64, np.complex64, np.complex128)
    dtype = roots_.dtype if known else np.dtype(np.float64)
    roots_ = roots_.astype(dtype)
    found = creation.ones(1, dtype)
    for i in range(roots_.shape[0]):
        factor = np.stack([creation.ones((), dtype), -roots_[i]])
        found = convolve(found, factor)
    if found.dtype.kind == "c":
        host = np.sort_complex(roots_)
        if bool((host == np.sort_complex(roots_.conj())).all()):
            found = found.real.copy()
    return found


@implements(np.roots)
def roots(p: Any) -> Any:
    """As :func:`numpy.roots`."""
    array = _coefficients(p)
    if array.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    places = np.flatnonzero(array)
    if not places.shape[0]:
        return creation.zeros(0, np.float64)
    first, last = int(places[0]), int(places[-1])
    trailing = array.shape[0] - last - 1
    array = array[first : last + 1]
    if array.dtype.kind not in "fc":
        array = array.astype(np.float64)
    count = array.shape[0]
    if count > 1:
        companion = wrap(torch.diag(torch.ones(count - 2, device=array._t.device), -1))
        companion = companion.astype(array.dtype)
        companion[0] = -array[1:] / array[0]
        found = np.linalg.eigvals(companion)
    else:
        found = creation.zeros(0, np.float64)
    return np.hstack([found, creation.zeros(trailing, found.dtype)])


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """As :func:`numpy.polyval`."""
    array, places = wrap(tensor_of(p)), wrap(tensor_of(x))
    found = np.zeros_like(places)
    for i in range(array.shape[0]):
        found = found * places + array[i]
    return found


def _padded(left: Any, right: Any) -> tuple[Any, Any]:
    a, b = _coefficients(left), _coefficients(right)
    missing = b.shape[0] - a.shape[0]
    if missing > 0:
        a = np.concatenate([_zeros(missing, a.dtype), a])
    elif missing < 0:
        b = np.concatenate([_zeros(-missing, b.dtype), b])
    return a, b


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """As :func:`numpy.polyadd`."""
    left, right = _padded(a1, a2)
    return left + right


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """As :func:`numpy.polysub`."""
    left, right = _padded(a1, a2)
    return left - right


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """As :func:`numpy.polymul`."""
    left, right = (np.trim_zeros(_coefficients(a), "f") for a in (a1, a2))
    left, right = (a if a.size else _zeros(1, a.dtype) for a in (left, right))
    return convolve(left, right)


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """As :func:`numpy.polydiv`."""
    top, bottom = _coefficients(u) + 0.0, _coefficients(v) + 0.0
    dtype = promote(top.dtype, bottom.dtype)
    m, n = top.shape[0] - 1, bottom.shape[0] - 1
    scale = 1.0 / bottom[0]
    quotient = _zeros(max(m - n + 1, 1), dtype)
    rest = top.astype(dtype)
    for k in range(m - n + 1):
        factor = scale * rest[k]
        quotient[k] = factor
        rest[k : k + n + 1] -= (factor * bottom).astype(dtype)
    # NumPy drops leading coefficients that are nearly zero, but for the last one
    near = np.isclose(rest, 0, rtol=1e-14).asnumpy()
    start = 0
    while near[start] and start < rest.shape[0] - 1:
        start += 1
    return quotient, rest[start:]


@implements(np.polyder)
def polyder(p: Any, m: Any = 1) -> Any:
    """As :func:`numpy.polyder`."""
    order = int(m)
    if order < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    array = wrap(tensor_of(p))
    for _ in range(order):
        array = array[:-1] * creation.arange(array.shape[0] - 1, 0, -1)
    return array


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """As :func:`numpy.polyint`."""
    order = int(m)
    if order < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = _zeros(order, np.float64) if k is None else _coefficients(k)
    if constants.shape[0] == 1 and order > 1:
        constants = constants[0] * creation.ones(order)
    if constants.shape[0] < order:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    array = wrap(tensor_of(p))
    for i in range(order):
        steps = creation.arange(array.shape[0], 0, -1)
        array = np.concatenate([array / steps, constants[i : i + 1]])
    return array


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """As :func:`numpy.polyfit`."""
    order = int(deg) + 1
    places, values = wrap(tensor_of(x)) + 0.0, wrap(tensor_of(y)) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if places.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if not places.size:
        raise TypeError("expected non-empty vector for x")
    if values.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if places.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    if np.float16 in (places.dtype, values.dtype):
        raise TypeError("array type float16 is unsupported in linalg")
    if rcond is None:
        rcond = places.shape[0] * np.finfo(places.dtype).eps
    left, right = vander(places, order), values
    if w is not None:
        weights = wrap(tensor_of(w)) + 0.0
        if weights.shape != values.shape[:1]:
            raise TypeError("expected w and y to have the same length")
        left = left * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    scale = np.sqrt((left * left).sum(axis=0))
    left = left / scale
    found, residuals, rank, s = np.linalg.lstsq(left, right, rcond)
    found = (found.T / scale).T
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if full:
        return found, residuals, rank, s, rcond
    if not cov:
        return found
    base = np.linalg.inv(products.dot(left.T, left)) / np.outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if len(places) <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (len(places) - order)
    if values.ndim == 1:
        return found, base * factor
    return found, base[:, :, None] * factor

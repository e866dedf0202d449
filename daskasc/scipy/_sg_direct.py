"""Direct convolutions of ``scipy.signal``, as sums over shifted views.

The functions have the arguments of SciPy's compiled ones. A kernel of n elements costs n passes
over the array; a NaN reaches exactly the results that it belongs to.
"""

from __future__ import annotations

import itertools
from typing import Any

from daskasc.array._dispatch import NeedsHost
from daskasc.array._dtypes import NUMPY, TWINS, cast, promote, torch, torch_dtype
from daskasc.array._storage import tensor_of, wrap
from daskasc.scipy._nd_boundary import CONSTANT, REFLECT, WRAP, extended
from daskasc.scipy._nd_linear import window

VALID, SAME, FULL = range(3)
# SciPy's numbers of boundaries, shifted by two bits
_BOUNDARIES = {0: CONSTANT, 4: REFLECT, 8: WRAP}


def _common(a: Any, b: Any) -> tuple[Any, Any, Any]:
    tensors = tensor_of(a), tensor_of(b)
    dtype = torch_dtype(promote(*(NUMPY[t.dtype] for t in tensors)))
    if dtype in TWINS or dtype in (torch.bool, torch.float16, torch.bfloat16):
        raise NeedsHost(f"sums of {dtype}")
    left, right = (cast(t, dtype) for t in tensors)
    return left, right, dtype


def _summed(padded: Any, kernel: Any, shape: Any) -> Any:
    """Sum over a kernel's elements of the elements that stand at their place in each window."""
    total = torch.zeros(shape, dtype=padded.dtype, device=padded.device)
    for at in itertools.product(*(range(n) for n in kernel.shape)):
        total.addcmul_(window(padded, at, shape), kernel[at])
    return total


def correlate_nd(in1: Any, in2: Any, out: Any, mode: int) -> Any:
    """Correlate; beyond ``VALID``, `in1` comes with the zeros that follow it.

    The shape of `out` is the result's; its elements are not used.
    """
    padded, kernel, dtype = _common(in1, in2)
    if not kernel.numel():
        return wrap(torch.zeros(out.shape, dtype=dtype, device=kernel.device))
    if mode != VALID:
        for axis, count in enumerate(kernel.shape):
            before = count - 1 if mode == FULL else count // 2
            padded = extended(padded, axis, before, 0, CONSTANT, 0)
    return wrap(_summed(padded, torch.conj(kernel).resolve_conj(), out.shape))


def convolve_2d(in1: Any, in2: Any, flip: int, mode: int, boundary: int, fill: Any) -> Any:
    """Convolve (`flip`) or correlate two arrays with two axes."""
    image, kernel, dtype = _common(in1, in2)
    sizes = tuple(kernel.shape)
    beyond = _BOUNDARIES.get(boundary)
    if not image.numel() or not kernel.numel() or beyond is None:
        raise NeedsHost("convolve2d arguments")
    larger = any(n > m for n, m in zip(sizes, image.shape, strict=True))
    if larger and mode != VALID and beyond != CONSTANT:
        raise NeedsHost("a kernel larger than the array")
    if flip:
        kernel = kernel.flip((0, 1))
    value = 0 if beyond != CONSTANT else tensor_of(fill).to(dtype).item()
    shape = []
    for axis, count in enumerate(sizes):
        length = image.shape[axis]
        if mode == FULL:
            image = extended(image, axis, count - 1, count - 1, beyond, value)
            shape.append(length + count - 1)
        elif mode == SAME:
            before = count // 2 if flip else (count - 1) // 2
            image = extended(image, axis, before, count - 1 - before, beyond, value)
            shape.append(length)
        else:
            shape.append(length - count + 1)
    return wrap(_summed(image, kernel, shape))

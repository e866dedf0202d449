"""``numpy.fft`` by ``torch.fft``, with NumPy's dtypes.

NumPy computes float16 in float32's precision and integers in float64's; results are complex64
beside float32 and complex128 beside float64, as torch's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _repeats as repeats
from daskasc.array._dispatch import check_device, implements, target_of
from daskasc.array._dtypes import COMPLEX, cast, result, torch, torch_dtype
from daskasc.array._operators import stored
from daskasc.array._reductions import normalize_axis
from daskasc.array._storage import from_numpy, tensor_of, wrap

_REAL_INPUT = frozenset(("rfft", "rfft2", "rfftn", "ihfft"))
_COMPLEX_INPUT = frozenset(("irfft", "irfft2", "irfftn", "hfft"))


def _input(name: str, a: Any, out: Any) -> Any:
    """Tensor to transform; in double precision for an ``out=`` that is, as NumPy's loops are."""
    tensor = tensor_of(a)
    if tensor.dtype in COMPLEX:
        if name in _REAL_INPUT:
            raise TypeError(f"ufunc '{name}' did not contain a loop for complex input")
    elif tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.to(torch.float32)
    elif tensor.dtype not in (torch.float32, torch.float64):
        tensor = cast(tensor, torch_dtype(result(np.dtype("f8"))))
    if out is not None and target_of(out).dtype in (np.float64, np.complex128):
        tensor = tensor.to(torch.complex128 if tensor.dtype in COMPLEX else torch.float64)
    if name in _COMPLEX_INPUT and tensor.dtype not in COMPLEX:
        tensor = torch.complex(tensor, torch.zeros_like(tensor))
    return tensor


def _norm(norm: Any) -> str:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm or "backward"


def _finish(name: str, tensor: Any, out: Any) -> Any:
    return stored(name, wrap(tensor.resolve_conj()), out)


def _halved(name: str, a: Any, found: Any) -> Any:
    """NumPy gives real results of one transform of float16 in float16."""
    half = name in _COMPLEX_INPUT and tensor_of(a).dtype is torch.float16
    return found.to(torch.float16) if half else found


def _points(n: Any) -> int:
    """Number of points of a transform; NumPy's errors for what is none."""
    count = operator.index(n)
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")
    return count


def _transformed(function: Any, tensor: Any, axes: list[int], **options: Any) -> Any:
    """Torch's transform; MKL refuses stacks of none, so one is made and dropped again."""
    empty = [i for i, n in enumerate(tensor.shape) if not n and i not in axes]
    if not empty:
        return function(tensor, **options)
    found = function(
        tensor.new_zeros([1 if i in empty else n for i, n in enumerate(tensor.shape)]), **options
    )
    return found[tuple(slice(0) if i in empty else slice(None) for i in range(found.ndim))]


def _length(tensor: Any, axis: int, name: str) -> int:
    """Points of a transform along the whole axis: of a real result, from its half."""
    length = int(tensor.shape[axis])
    return _points(2 * (length - 1) if name in _COMPLEX_INPUT else length)


def _one(name: str) -> Callable[..., Any]:
    function = getattr(torch.fft, name)

    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        tensor = _input(name, a, out)
        number = normalize_axis(axis, tensor.ndim)
        count = _length(tensor, number, name) if n is None else _points(n)
        options = {"n": count, "dim": number, "norm": _norm(norm)}
        found = _transformed(function, tensor, [number], **options)
        return _finish(name, _halved(name, a, found), out)

    transform.__name__ = name
    transform.__doc__ = f"As :func:`numpy.fft.{name}`."
    return transform


def _several(name: str, default_axes: Any) -> Callable[..., Any]:
    function = getattr(torch.fft, name.replace("2", "n"))

    def transform(
        a: Any, s: Any = None, axes: Any = default_axes, norm: Any = None, out: Any = None
    ) -> Any:
        tensor = _input(name, a, out)
        numbers, sizes = _axes_and_sizes(name, tensor, s, axes)
        if not numbers:
            if "r" in name:
                raise IndexError(f"{name}: axes is empty; a transform of reals needs an axis")
            return wrap(tensor_of(a))  # no transform at all, whatever its dtype
        if len(set(numbers)) == len(numbers):
            options = {"s": sizes, "dim": numbers, "norm": _norm(norm)}
            found = _transformed(function, tensor, numbers, **options)
            return _finish(name, _halved(name, a, found) if len(numbers) == 1 else found, out)
        return _finish(name, _repeated(name, tensor, sizes, numbers, norm), out)

    transform.__name__ = name
    transform.__doc__ = f"As :func:`numpy.fft.{name}`."
    return transform


def _axes_and_sizes(name: str, tensor: Any, s: Any, axes: Any) -> tuple[list[int], list[int]]:
    """Axes, and the points along each; -1 and None take an axis as it is."""
    if axes is None:
        axes = range(tensor.ndim) if s is None else range(-len(s), 0)
    if s is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    numbers = [normalize_axis(i, tensor.ndim) for i in axes]
    if s is None:
        kinds = [""] * (len(numbers) - 1) + [name]
        return numbers, [_length(tensor, i, k) for i, k in zip(numbers, kinds, strict=False)]
    return numbers, [
        _points(tensor.shape[i] if n is None or n == -1 else n)
        for n, i in zip(s, numbers, strict=True)
    ]


def _repeated(name: str, tensor: Any, sizes: list[int], axes: list[int], norm: Any) -> Any:
    """Axes that occur twice: one transform after the other, in NumPy's order."""
    way = "ifft" if name.startswith("i") else "fft"
    steps = [(way, n, axis) for n, axis in zip(sizes, axes, strict=True)]
    if name.startswith("irfft"):
        steps[-1] = ("irfft", *steps[-1][1:])  # after the others, which go from left to right
    else:
        if name.startswith("rfft"):
            steps[-1] = ("rfft", *steps[-1][1:])
        steps.reverse()
    for step, n, axis in steps:
        function = getattr(torch.fft, step)
        tensor = _transformed(function, tensor, [axis], n=n, dim=axis, norm=_norm(norm))
    return tensor


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    implements(getattr(np.fft, _name))(_one(_name))
for _name in ("fft", "ifft", "rfft", "irfft"):
    implements(getattr(np.fft, _name + "n"))(_several(_name + "n", None))
    implements(getattr(np.fft, _name + "2"))(_several(_name + "2", (-2, -1)))


@implements(np.fft.fftfreq)
def fftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """As :func:`numpy.fft.fftfreq`; also of another dtype (array API standard)."""
    check_device(device)
    made = np.fft.fftfreq(n, d)
    return from_numpy(made.astype(result(made.dtype) if dtype is None else dtype))


@implements(np.fft.rfftfreq)
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """As :func:`numpy.fft.rfftfreq`; also of another dtype (array API standard)."""
    check_device(device)
    made = np.fft.rfftfreq(n, d)
    return from_numpy(made.astype(result(made.dtype) if dtype is None else dtype))


def _shift(x: Any, axes: Any, sign: int) -> Any:
    array = wrap(tensor_of(x))
    if axes is None:
        axes = tuple(range(array.ndim))
    numbers = (axes,) if isinstance(axes, int | np.integer) else tuple(axes)
    # half the length forwards; the inverse goes back by the same number
    return repeats.roll(array, tuple(sign * (array.shape[i] // 2) for i in numbers), numbers)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """As :func:`numpy.fft.fftshift`."""
    return _shift(x, axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """As :func:`numpy.fft.ifftshift`."""
    return _shift(x, axes, -1)

"""``numpy.fft`` by ``torch.fft``, with NumPy's dtypes.

NumPy computes float16 in float32's precision and integers in float64's; results are complex64
beside float32 and complex128 beside float64, as torch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import _repeats as repeats
from daskasc.array._dispatch import check_device, implements, into
from daskasc.array._dtypes import COMPLEX, cast, result, torch, torch_dtype
from daskasc.array._reductions import normalize_axis
from daskasc.array._storage import from_numpy, tensor_of, wrap

_REAL_INPUT = frozenset(("rfft", "rfft2", "rfftn", "ihfft"))
_COMPLEX_INPUT = frozenset(("irfft", "irfft2", "irfftn", "hfft"))


def _input(name: str, a: Any) -> Any:
    tensor = tensor_of(a)
    if tensor.dtype in COMPLEX:
        if name in _REAL_INPUT:
            raise TypeError(f"ufunc '{name}' did not contain a loop for complex input")
    elif tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.to(torch.float32)
    elif tensor.dtype not in (torch.float32, torch.float64):
        tensor = cast(tensor, torch_dtype(result(np.dtype("f8"))))
    if name in _COMPLEX_INPUT and tensor.dtype not in COMPLEX:
        tensor = torch.complex(tensor, torch.zeros_like(tensor))
    return tensor


def _norm(norm: Any) -> str:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm or "backward"


def _finish(tensor: Any, out: Any) -> Any:
    found = wrap(tensor.resolve_conj())
    return found if out is None else into(out, found)


def _halved(name: str, a: Any, found: Any) -> Any:
    """NumPy gives real results of one transform of float16 in float16."""
    half = name in _COMPLEX_INPUT and tensor_of(a).dtype is torch.float16
    return found.to(torch.float16) if half else found


def _points(n: Any) -> int | None:
    if n is None:
        return None
    count = int(n)
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


def _check_length(length: int, halved: bool) -> None:
    if length < (2 if halved else 1):
        count = 2 * (length - 1) if halved else 0
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")


def _one(name: str) -> Callable[..., Any]:
    function = getattr(torch.fft, name)

    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        tensor = _input(name, a)
        number = normalize_axis(axis, tensor.ndim)
        if n is None:
            _check_length(tensor.shape[number], name in ("irfft", "hfft"))
        options = {"n": _points(n), "dim": number, "norm": _norm(norm)}
        found = _transformed(function, tensor, [number], **options)
        return _finish(_halved(name, a, found), out)

    transform.__name__ = name
    transform.__doc__ = f"As :func:`numpy.fft.{name}`."
    return transform


def _several(name: str, default_axes: Any) -> Callable[..., Any]:
    function = getattr(torch.fft, name.replace("2", "n"))

    def transform(
        a: Any, s: Any = None, axes: Any = default_axes, norm: Any = None, out: Any = None
    ) -> Any:
        tensor = _input(name, a)
        if axes is None:
            chosen = range(tensor.ndim) if s is None else range(tensor.ndim - len(s), tensor.ndim)
        else:
            chosen = axes
        numbers = [normalize_axis(i, tensor.ndim) for i in chosen]
        if s is not None:
            if len(s) != len(numbers):
                raise ValueError("Shape and axes have different lengths.")
            # -1 takes the axis as it is, and None does the same
            s = [
                tensor.shape[i] if n is None or n == -1 else _points(n)
                for n, i in zip(s, numbers, strict=True)
            ]
        else:
            for i in numbers:
                _check_length(tensor.shape[i], name.startswith("irfft") and i == numbers[-1])
        if len(set(numbers)) == len(numbers):
            options = {"s": s, "dim": numbers, "norm": _norm(norm)}
            found = _transformed(function, tensor, numbers, **options)
            return _finish(_halved(name, a, found) if len(numbers) == 1 else found, out)
        return _finish(_repeated(name, tensor, s, numbers, norm), out)

    transform.__name__ = name
    transform.__doc__ = f"As :func:`numpy.fft.{name}`."
    return transform


def _repeated(name: str, tensor: Any, s: Any, axes: list[int], norm: Any) -> Any:
    """Axes that occur twice: one transform after the other, the last axis first."""
    if name not in ("fftn", "ifftn", "fft2", "ifft2"):
        raise ValueError(f"{name}: axes {axes} contain an axis twice")
    function = torch.fft.ifft if name.startswith("i") else torch.fft.fft
    sizes = s if s is not None else [None] * len(axes)
    for size, axis in reversed(list(zip(sizes, axes, strict=True))):
        tensor = function(tensor, n=size, dim=axis, norm=_norm(norm))
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

"""SciPy's own Python code of ``scipy.signal`` over the transforms and sums of this package.

See ``_library`` for how. The signals named in ``UPLOADED`` go to the card; other arrays among
the arguments (windows, breakpoints) are read on the host.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import daskasc.array as namespace
from daskasc.array._creation import empty, zeros
from daskasc.array._dispatch import NeedsHost, is_array
from daskasc.array._dtypes import BFLOAT16
from daskasc.array._storage import from_numpy, tensor_of, wrap
from daskasc.scipy import _sg_direct as direct
from daskasc.scipy import ndimage
from daskasc.scipy._library import At, Overlay, library, rebuilt
from daskasc.scipy._nd_boundary import on_host
from daskasc.scipy._sg_spectra import fft_helper_over, segments_over

UPLOADED = frozenset(("in1", "in2", "x", "y", "data", "volume", "z", "im"))
TOOLS = (
    "convolve convolve2d correlate correlate2d detrend envelope fftconvolve hilbert hilbert2 "
    "medfilt oaconvolve resample wiener"
).split()
SPECTRA = "coherence csd periodogram spectrogram stft welch".split()


def functions() -> dict[str, Callable[..., Any]]:
    """Return the functions on the card by name."""
    fft = _transforms()
    shared = {
        "np": _numpy(),
        "array_namespace": lambda *_: namespace,
        "sp_fft": fft,
        "ndimage": ndimage,
        "_init_nd_shape_and_axes": _shape_and_axes,
        "_numeric_arrays": _are_of_kinds,
    }
    tools_module = library("signal._signaltools")
    tools = rebuilt(
        tools_module,
        {
            **shared,
            "linalg": Overlay(None, lstsq=_lstsq),
            "xpx": _extra(tools_module),
            "_sigtools": Overlay(
                None, _correlateND=direct.correlate_nd, _convolve2d=direct.convolve_2d
            ),
        },
    )
    spectra = rebuilt(
        library("signal._spectral_py"),
        {
            **shared,
            "_signaltools": Overlay(None, detrend=tools["detrend"]),
            "ShortTimeFFT": segments_over(fft, tools["detrend"]),
            "_fft_helper": fft_helper_over(fft),
        },
    )
    module = library("signal._savitzky_golay")
    smooth = rebuilt(
        module,
        {**shared, "convolve1d": ndimage.convolve1d, "xpx": _extra(module)},
    )
    spaces = {
        **{name: tools for name in TOOLS},
        **{name: spectra for name in SPECTRA},
        "savgol_filter": smooth,
    }
    found = {name: _public(space[name]) for name, space in spaces.items() if name in space}
    return {**found, "get_window": get_window}


def get_window(*args: Any, **kwargs: Any) -> Any:
    """As :func:`scipy.signal.get_window`, uploaded."""
    return from_numpy(library("signal").get_window(*args, **kwargs))


def _public(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    def on_card(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        # one object twice stays one: SciPy looks whether y is x
        known: dict[int, Any] = {}
        for key, value in bound.arguments.items():
            if value is None or isinstance(value, str):
                continue
            if key in UPLOADED:
                known.setdefault(id(value), wrap(tensor_of(value)))
                bound.arguments[key] = known[id(value)]
            else:
                bound.arguments[key] = on_host(value)
        return _up(function(*bound.args, **bound.kwargs))

    return on_card


def _up(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_up, value))
    return from_numpy(value) if isinstance(value, np.ndarray) else value


def _numpy() -> Any:
    """NumPy's names for SciPy's code: arrays pass, new ones for results are made on the card."""

    def asarray(value: Any, dtype: Any = None) -> Any:
        if not is_array(value):
            return np.asarray(value, dtype=dtype)
        return value if dtype is None else value.astype(dtype, copy=False)

    return Overlay(np, asarray=asarray, empty=empty, zeros=zeros)


def _shape_and_axes(x: Any, shape: Any, axes: Any) -> Any:
    """SciPy's, which in some versions converts the array for its shape."""
    form = np.broadcast_to(np.zeros(()), x.shape)
    return library("fft._helper")._init_nd_shape_and_axes(form, shape, axes)


def _are_of_kinds(arrays: Any, kinds: str = "buifc", xp: Any = None) -> bool:
    """SciPy's, which beside arrays of other libraries takes every dtype for every kind."""
    listed = arrays if isinstance(arrays, list | tuple) else [arrays]
    return all(_kind(array.dtype) in kinds for array in listed)


def _kind(dtype: np.dtype[Any]) -> str:
    return "f" if dtype == BFLOAT16 else dtype.kind


def _extra(module: Any) -> Any:
    return Overlay(getattr(module, "xpx", None), at=At)


def _transforms() -> Any:
    """``scipy.fft`` by this package's transforms, without the arguments that NumPy's lack."""

    def plain(function: Callable[..., Any]) -> Callable[..., Any]:
        def transform(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop("overwrite_x", None)
            kwargs.pop("workers", None)
            return function(*args, **kwargs)

        return transform

    names = "fft ifft rfft irfft fft2 ifft2 fftn ifftn rfftn irfftn fftshift".split()
    ours = {name: plain(getattr(namespace.fft, name)) for name in names}
    steps = {name: getattr(namespace.fft, name) for name in ("fftfreq", "rfftfreq")}
    return Overlay(library("fft"), **ours, **steps)


def _lstsq(a: Any, b: Any) -> tuple[Any, None, None, None]:
    """Least squares of a matrix on the host and right-hand sides on the card.

    The matrix is a trend's: two columns, well conditioned, so that its pseudoinverse serves.
    """
    if is_array(a):
        raise NeedsHost("lstsq of a matrix on the card")
    if not bool(np.isfinite(b).all()):
        raise ValueError("array must not contain infs or NaNs")
    inverse = np.linalg.pinv(a.astype(np.float64)).astype(a.dtype)
    return inverse @ b, None, None, None

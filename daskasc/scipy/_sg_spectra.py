"""Segments of signals and their spectra: what SciPy's spectral functions are made of.

SciPy's :func:`~scipy.signal.csd` works through :class:`~scipy.signal.ShortTimeFFT`, older versions
and ``stft`` through ``_fft_helper``. Both cut a signal into overlapping segments, take a trend
from each, multiply by a window and transform. :class:`Segments` and :func:`fft_helper` do this for
all segments at once, as views of the signal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array._dispatch import NeedsHost
from daskasc.array._storage import wrap


def _segments(x: Any, length: int, step: int) -> Any:
    """Overlapping segments of the last axis, shape (..., number, length); a copy."""
    return wrap(x._t.unfold(-1, length, step).contiguous())


def fft_helper_over(fft: Any) -> Callable[..., Any]:
    """Return SciPy's ``_fft_helper`` over a namespace of transforms."""

    def fft_helper(
        x: Any, win: Any, detrend: Any, nperseg: int, noverlap: int, nfft: int, sides: str
    ) -> Any:
        segments = win * detrend(_segments(x, nperseg, nperseg - noverlap))
        if sides == "twosided":
            return fft.fft(segments, n=nfft)
        return fft.rfft(segments.real, n=nfft)

    return fft_helper


def segments_over(fft: Any, detrend: Callable[..., Any]) -> type:
    """Return a stand-in for ShortTimeFFT over a namespace of transforms and a ``detrend``."""

    class Segments:
        """The part of :class:`scipy.signal.ShortTimeFFT` that :func:`scipy.signal.csd` uses."""

        def __init__(
            self,
            win: Any,
            hop: int,
            fs: float,
            *,
            fft_mode: str,
            mfft: int,
            scale_to: str,
            phase_shift: Any,
        ) -> None:
            win = np.asarray(win)
            weight = abs(win.sum()) if scale_to == "magnitude" else None
            if weight is None:
                weight = np.sqrt(fs * np.sum(win.real**2 + win.imag**2))
            self._window = win / weight
            self.hop, self.mfft = hop, mfft
            self._onesided = fft_mode == "onesided"
            self.f = (fft.rfftfreq if self._onesided else fft.fftfreq)(mfft, 1 / fs)

        def _transformed(self, x: Any, detr: Any, count: int) -> Any:
            segments = _segments(x, len(self._window), self.hop)[..., :count, :]
            if callable(detr):
                raise NeedsHost("a function as detrend")
            if detr is not None:
                segments = detrend(segments, type=detr, axis=-1)
            transform = fft.rfft if self._onesided else fft.fft
            return transform(segments * self._window.conj(), n=self.mfft)

        def spectrogram(
            self,
            x: Any,
            y: Any = None,
            detr: Any = None,
            *,
            p0: int,
            p1: int,
            k_offset: int,
            axis: int,
        ) -> Any:
            """Product of the spectra of `x` and, conjugate, `y`: the axis `axis`, times last."""
            if p0 != 0 or k_offset != len(self._window) // 2:
                raise NeedsHost("segments that begin elsewhere")
            left = self._transformed(np.moveaxis(x, axis, -1), detr, p1)
            if y is x or y is None:
                product = left.real**2 + left.imag**2
            else:
                right = self._transformed(np.moveaxis(y, axis, -1), detr, p1)
                product = left * right.conj()
            turned = np.moveaxis(product, -2, -1)  # (..., frequency, time)
            where = axis - 1 if axis < 0 else axis
            return np.moveaxis(turned, -2, where)

    return Segments

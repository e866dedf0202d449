"""Which functions of SciPy are computed on the card, and what of them is not.

A function of ``CARD`` works on the card for the common dtypes with the host forbidden
(``daskasc.fallback: error``). ``NOTES`` says for which arguments it goes to the host all the same,
counted. Everything else that SciPy's modules offer is there under its name and goes to the host;
``HOST`` gives reasons for what one might look for. The tests compare this table with the code and
run every row. ``python -m daskasc.scipy.coverage`` prints the page ``docs/scipy.md``.
"""

from __future__ import annotations

import textwrap

import numpy as np

from daskasc.scipy._library import library

CARD: dict[str, list[str]] = {
    "special": """
        boxcox boxcox1p cbrt cosm1 digamma entr erf erfc erfcinv erfcx erfinv exp10 exp2 expit expm1
        gamma gammainc gammaln huber i0 i0e i1 i1e inv_boxcox inv_boxcox1p k0 k0e k1 k1e kl_div
        log1p log_expit log_ndtr log_softmax loggamma logit logsumexp multigammaln ndtr ndtri
        polygamma pseudo_huber psi rel_entr sinc softmax xlog1py xlogy zeta
    """.split(),
    "ndimage": """
        affine_transform black_tophat convolve convolve1d correlate correlate1d gaussian_filter
        gaussian_filter1d gaussian_gradient_magnitude gaussian_laplace generic_gradient_magnitude
        generic_laplace grey_closing grey_dilation grey_erosion grey_opening laplace
        map_coordinates maximum_filter maximum_filter1d median_filter minimum_filter
        minimum_filter1d morphological_gradient morphological_laplace percentile_filter prewitt
        rank_filter rotate shift sobel spline_filter spline_filter1d uniform_filter
        uniform_filter1d white_tophat zoom
    """.split(),
    "signal": """
        coherence convolve convolve2d correlate correlate2d csd detrend envelope fftconvolve
        get_window hilbert hilbert2 medfilt oaconvolve periodogram resample savgol_filter
        spectrogram stft welch wiener
    """.split(),
}

# module: functions: what goes to the host all the same
NOTES: dict[str, dict[str, str]] = {
    "special": {
        "all elementwise functions": (
            "complex numbers, but for expm1 and log1p; long double. float32 is computed in "
            "float64, as in SciPy, where the card has float64; without it those that would lose "
            "digits or overflow on the way (gamma, psi, ndtr, boxcox and the like) go to the host"
        ),
        "gammainc": "float64: torch's error is 1e-9",
        "zeta": "one argument below 1",
    },
    "ndimage": {
        "filters with a window": (
            "a card without float64: integers, and float64. float32 is computed in float64, as in "
            "SciPy, where the card has float64"
        ),
        "gaussian_filter, uniform_filter, sobel, prewitt and their like": (
            "bool to bool in several passes, where SciPy's bool holds numbers other than 0 and 1"
        ),
        "minimum, maximum, rank, median and percentile filters, grey morphology": (
            "NaN, whose place in the order is SciPy's own; asking for NaN waits for the card"
        ),
        "grey_erosion and its like": "integers with a structure",
        "zoom, shift, rotate, affine_transform, map_coordinates": (
            "a card without float64; splines of order 2 and more: results rounded to integers, NaN "
            "and infinities (which waits for the card), lines shorter than 12 to 24 elements in "
            "the mode reflect"
        ),
    },
    "signal": {
        "convolve, correlate, convolve2d, correlate2d": (
            "direct sums over bool, float16, uint16, uint32 and uint64; in two dimensions kernels "
            "larger than the array with a boundary that is not filled"
        ),
        "csd, welch, periodogram": "a function as detrend",
    },
}

HOST: dict[str, dict[str, str]] = {
    "special": {
        "j0 j1 y0 y1": "torch's are wrong by 1e-7",
        "gammaincc": "torch's small values are wrong by 1e-4",
        "beta betaln": "differences of lgamma cancel, and torch has no other form",
        "the other functions": "torch has none",
    },
    "ndimage": {
        "generic_filter generic_filter1d vectorized_filter geometric_transform": (
            "call a function of the user for each window or element"
        ),
        "fourier_*, binary_*, distance_transform_*, label, watershed_ift and measurements": (
            "by SciPy"
        ),
    },
    "signal": {
        "lfilter filtfilt sosfilt sosfiltfilt decimate": "recursive: each element needs the last",
        "resample_poly upfirdn": "SciPy's compiled polyphase filter",
        "find_peaks and its like": "results of a size that the elements decide",
        "filter designs": "no array of a card takes part: SciPy's own functions",
    },
}


def where(name: str) -> tuple[str, str]:
    """Kind and reason of one function, for :func:`daskasc.array.support`.

    Parameters
    ----------
    name : str
        Full name, ``"scipy.ndimage.gaussian_filter"``.

    Returns
    -------
    kind : {"device", "host", "excluded"}
    reason : str
        What goes to the host all the same, or why all of it.

    Raises
    ------
    AttributeError
        SciPy has no such function.
    TypeError
        What has this name is no function.
    MissingLibraryError
        The function is not in the table, and SciPy, which might have it, is not installed.
    """
    module, _, short = name.removeprefix("scipy.").rpartition(".")
    if not module:
        raise TypeError(f"{name} is a module, not a function on arrays")
    if module not in CARD:
        offered = ", ".join(f"scipy.{each}" for each in CARD)
        reason = f"SciPy takes no array of a card there; offered in daskasc.scipy: {offered}"
        return "excluded", reason
    if short in CARD[module]:
        notes = [text for names, text in NOTES[module].items() if short in _words(names)]
        some = f"on the host: {'; '.join(notes)}. " if notes else ""
        return "device", (
            f"by daskasc.{name}. {some}Which arguments go to the host is in docs/scipy.md "
            "(python -m daskasc.scipy.coverage)"
        )
    found = getattr(library(module), short)
    if isinstance(found, type) or not callable(found):
        raise TypeError(f"{name} is a {type(found).__name__}, not a function on arrays")
    reasons = [text for names, text in HOST[module].items() if short in _words(names)]
    return "host", f"by daskasc.{name}: {'; '.join(reasons) or 'SciPy computes it'}"


def _words(names: str) -> list[str]:
    return names.replace(",", " ").split()


_USE = """```bash
pip install "daskasc[scipy]"
```

```python
import daskasc.device

daskasc.device.attach("cpu", 0)

# a stand-in card; on workers of a cluster the card is there already
import numpy as np
from daskasc.array import from_numpy
from daskasc.scipy import ndimage

field = from_numpy(np.random.default_rng(0).normal(size=(2, 180, 360)).astype("f4"))
smooth = ndimage.gaussian_filter(field, sigma=2.0, axes=(1, 2))
print(type(smooth).__name__, smooth.dtype, smooth.shape)
```

prints `AscendArray float32 (2, 180, 360)`. SciPy's own `scipy.ndimage` and `scipy.signal` take no
array of a card.
"""


def page() -> str:
    """Return the documentation page, in Markdown."""
    counts = {name: len(set(library(name).__all__)) for name in CARD}
    version = library("version").version
    found = ", ".join(
        f"{len(CARD[name])} of the {total} names of `scipy.{name}`"
        for name, total in counts.items()
    )
    intro = (
        f"Counted against SciPy {version} and NumPy {np.__version__}: {found} are computed on the "
        "card, with the host forbidden. All other functions of the three modules are there under "
        "their names and go to the host: counted, said once, and an error where "
        "`daskasc.fallback` is `error`. The table is `daskasc/scipy/coverage.py`; the tests run "
        "every row and compare with SciPy. `scipy.special`'s ufuncs are the same objects in "
        "`daskasc.scipy.special`, so `scipy.special.erf(x)` works on an AscendArray, too. "
        "Arguments are checked by the installed SciPy's own code; with other versions than this "
        "one more may go to the host."
    )
    lines = ["# Coverage of SciPy", "", _USE, *textwrap.wrap(intro, 100), ""]
    for name, names in CARD.items():
        lines += [f"## `daskasc.scipy.{name}`", "", "On the card:", ""]
        lines += textwrap.wrap(", ".join(f"`{each}`" for each in sorted(names)), 100)
        for title, table in (
            ("On the card, but for these arguments", NOTES[name]),
            ("On the host", HOST[name]),
        ):
            lines += ["", f"{title}:", "", "| functions | what, or why |", "|---|---|"]
            lines += [f"| {functions} | {reason} |" for functions, reason in table.items()]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")

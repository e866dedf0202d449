"""SciPy's own Python code of ``scipy.ndimage`` over the kernels of this package.

Arguments are checked, and filters put together of others, by SciPy's code; see ``_library``. The
arrays named in ``UPLOADED`` go to the card, other arrays among the arguments (weights, footprints,
matrices) are read on the host. An array given as ``output`` is written at the end, so that it
may share memory with the input, and nothing is written if the call fails or goes to the host.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from daskasc.array import AscendArray, _dispatch
from daskasc.array._creation import empty, zeros
from daskasc.array._dispatch import NeedsHost, is_array
from daskasc.array._dtypes import torch
from daskasc.array._storage import tensor_of, wrap
from daskasc.scipy import _nd_linear as linear
from daskasc.scipy import _nd_ranks as ranks
from daskasc.scipy import _nd_transforms as transforms
from daskasc.scipy._library import At, Overlay, library, rebuilt
from daskasc.scipy._nd_boundary import on_host
from daskasc.scipy._nd_splines import spline_filter1d

UPLOADED = frozenset(("input", "coordinates"))
FILTERS = (
    "convolve convolve1d correlate correlate1d gaussian_filter gaussian_filter1d "
    "gaussian_gradient_magnitude gaussian_laplace generic_gradient_magnitude generic_laplace "
    "laplace maximum_filter maximum_filter1d median_filter minimum_filter minimum_filter1d "
    "percentile_filter prewitt rank_filter sobel uniform_filter uniform_filter1d"
).split()

TRANSFORMS = (
    "affine_transform map_coordinates rotate shift spline_filter spline_filter1d zoom"
).split()
GREY = (
    "black_tophat grey_closing grey_dilation grey_erosion grey_opening morphological_gradient "
    "morphological_laplace white_tophat"
).split()
_KERNELS: dict[str, Callable[..., Any]] = {
    "correlate1d": linear.correlate1d,
    "correlate": linear.correlate,
    "uniform_filter1d": linear.uniform_filter1d,
    "min_or_max_filter1d": ranks.min_or_max_filter1d,
    "min_or_max_filter": ranks.min_or_max_filter,
    "rank_filter": ranks.rank_filter,
    "spline_filter1d": spline_filter1d,
    "geometric_transform": transforms.geometric_transform,
    "zoom_shift": transforms.zoom_shift,
}


def functions() -> dict[str, Callable[..., Any]]:
    """Return the functions on the card by name."""
    shared = {
        "np": Overlay(np, asarray=_asarray, empty=empty, ndarray=(np.ndarray, AscendArray)),
        "_nd_image": Overlay(None, **_KERNELS),
        "_ni_support": _support(),
    }
    filters = rebuilt(
        library("ndimage._filters"),
        {**shared, "_rank_filter_1d": Overlay(None, rank_filter=ranks.rank_filter_1d)},
    )
    module = library("ndimage._interpolation")
    extra = Overlay(getattr(module, "xpx", None), at=At)
    moved = rebuilt(module, {**shared, "xpx": extra})
    grey = rebuilt(library("ndimage._morphology"), {**shared, "_filters": Overlay(None, **filters)})
    spaces = {
        **dict.fromkeys(FILTERS, filters),
        **dict.fromkeys(TRANSFORMS, moved),
        **dict.fromkeys(GREY, grey),
    }
    return {name: _public(space[name], name) for name, space in spaces.items() if name in space}


def _support() -> Any:
    module = library("ndimage._ni_support")
    space = rebuilt(module, {"np": Overlay(np, zeros=zeros, asarray=_asarray)})
    return Overlay(module, _get_output=space["_get_output"])


def _asarray(value: Any, dtype: Any = None) -> Any:
    if not is_array(value):
        return np.asarray(value, dtype=dtype)
    return value if dtype is None else value.astype(dtype, copy=False)


def _public(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    signature = inspect.signature(function)

    def on_card(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments
        for key, value in given.items():
            if key in UPLOADED:
                given[key] = wrap(tensor_of(value))
            elif key != "output":
                given[key] = on_host(value)
        output: Any = given.get("output")
        if isinstance(output, np.ndarray):
            raise TypeError(
                f"output of {name} is a NumPy array; a result on the card can only be stored in "
                "an AscendArray. Call .asnumpy() on the result instead"
            )
        if is_array(output):
            given["output"] = zeros(output.shape, output.dtype)
        if name in ("zoom", "shift") and given["input"].dtype.kind == "c":
            result = _by_parts(function, bound)
        else:
            result = function(*bound.args, **bound.kwargs)
        return _dispatch.into(output, result) if is_array(output) else result

    return on_card


def _by_parts(function: Callable[..., Any], bound: Any) -> Any:
    """Real and imaginary parts, for functions that import SciPy's own for that."""
    given = bound.arguments
    whole, cval = given["input"], given.get("cval", 0.0)
    # of complex numbers SciPy forgets grid_mode
    if given.get("output") is not None or given.get("grid_mode"):
        raise NeedsHost("options for complex numbers")
    parts = []
    for part in ("real", "imag"):
        given["input"], given["cval"] = getattr(whole, part), getattr(np, part)(cval)
        parts.append(function(*bound.args, **bound.kwargs)._t)
    return wrap(torch.complex(*parts))


def fall_back(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    why: Exception | None = None,
) -> Any:
    """Compute on the host by SciPy; an array given as ``output`` is filled and returned."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    output: Any = bound.arguments.get("output")
    if not is_array(output):
        return _dispatch.on_host(name, function, args, kwargs, why)
    bound.arguments["output"] = np.zeros(output.shape, output.dtype)
    result = _dispatch.on_host(name, function, bound.args, bound.kwargs, why)
    return _dispatch.into(output, result)

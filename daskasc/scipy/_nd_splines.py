"""B-splines on uniform knots: the prefilter, and the weights of neighbours.

An interpolating spline of order 2 to 5 needs coefficients c with ``(b * c)[k] = x[k]``, b the
B-spline at the integers. The inverse of b is, for each of its poles z, a causal and an anticausal
exponential (Unser, Aldroubi and Eden, 1991):

    y[i] = x[i] + z y[i - 1]        c[i] = (1 - z)^2 (y[i] + z y[i + 1] + z^2 y[i + 2] + ...)

SciPy runs along each line. Here both sums are built by doubling: with s = 1, 2, 4, ... adding
``z^s`` times the array shifted by s doubles the number of terms each time. |z| < 0.44, so that 47
terms reach the last bit of float64. The line is extended by that many elements under SciPy's
boundary mode, of which the result has the same symmetry.

In the mode ``reflect`` SciPy's start of the causal sum is wrong by ``z ** (2 n - 1)`` on a line of
n elements. Lines so short that this is more than a last bit go to the host.
"""

from __future__ import annotations

import math
from typing import Any

from daskasc.array._dispatch import MissingKernel, NeedsHost
from daskasc.array._dtypes import torch
from daskasc.scipy._nd_boundary import (
    GRID_WRAP,
    MIRROR,
    NEAREST,
    REFLECT,
    WRAP,
    computed,
    extended,
    store,
)

_POLES: dict[int, tuple[float, ...]] = {
    2: (math.sqrt(8) - 3,),
    3: (math.sqrt(3) - 2,),
    4: (
        math.sqrt(664 - math.sqrt(438976)) + math.sqrt(304) - 19,
        math.sqrt(664 + math.sqrt(438976)) - math.sqrt(304) - 19,
    ),
    5: (
        math.sqrt(67.5 - math.sqrt(4436.25)) + math.sqrt(26.25) - 6.5,
        math.sqrt(67.5 + math.sqrt(4436.25)) - math.sqrt(26.25) - 6.5,
    ),
}
# how a line goes on while it is filtered; mirrored in the other modes
_EXTENSIONS = {NEAREST: REFLECT, REFLECT: REFLECT, GRID_WRAP: WRAP}
_LAST_BIT = math.log(1e-17)


def spline_filter1d(input: Any, order: int, axis: int, output: Any, mode: int) -> None:
    """Coefficients of the spline through the elements along an axis; SciPy's compiled function.

    An element that is not finite spoils its whole line in SciPy: such arrays go to the host, which
    waits for the card. So do results that are truncated to integers.
    """
    tensor = computed(input, output)
    if tensor.dtype is not torch.float64:
        raise MissingKernel("mul", "float64")
    if not output._t.is_floating_point():
        raise NeedsHost("a spline rounded to integers")
    length = tensor.shape[axis] if tensor.ndim else 1
    if tensor.numel() and length > 1:
        if not bool(torch.isfinite(tensor).all()):
            raise NeedsHost("a spline through infinities and NaN")
        for pole in _POLES[order]:
            tensor = _through_pole(tensor, pole, axis, _EXTENSIONS.get(mode, MIRROR))
    store(output, tensor)


def _through_pole(tensor: Any, pole: float, axis: int, mode: int) -> Any:
    length = tensor.shape[axis]
    beyond = math.ceil(_LAST_BIT / math.log(-pole))
    if mode == REFLECT and 2 * length - 1 < beyond:
        raise NeedsHost("a short line reflected")
    line = extended(tensor, axis, beyond, beyond, mode, 0.0)
    for backwards in (False, True):
        shift = 1
        while shift <= beyond:
            kept = line.shape[axis] - shift
            near, far = (0, shift) if backwards else (shift, 0)
            grown = line.clone()
            grown.narrow(axis, near, kept).add_(line.narrow(axis, far, kept), alpha=pole**shift)
            line = grown
            shift *= 2
    return line.narrow(axis, beyond, length) * (1 - pole) ** 2


def first_neighbour(places: Any, order: int) -> Any:
    """Number of the first of the ``order + 1`` elements that a spline takes at `places`."""
    return torch.floor(places if order % 2 else places + 0.5) - order // 2


def weights(places: Any, order: int) -> list[Any]:
    """Weights of the ``order + 1`` neighbours of places along an axis (de Boor's recurrence).

    Parameters
    ----------
    places : float tensor
        Coordinates in numbers of elements.
    order : int
        1 to 5.

    Returns
    -------
    list of tensor
        For the neighbours from :func:`first_neighbour` on; they add to 1.
    """
    middle = places if order % 2 else places + 0.5
    u = middle - torch.floor(middle)
    basis = [torch.ones_like(u)]
    for degree in range(1, order + 1):
        grown = [torch.zeros_like(u) for _ in range(degree + 1)]
        for number, value in enumerate(basis):
            grown[number] = grown[number] + (number + 1 - u) * value / degree
            grown[number + 1] = grown[number + 1] + (u + degree - 1 - number) * value / degree
        basis = grown
    # as SciPy, whose last weight is what is missing to 1
    rest = 1 - basis[0]
    for value in basis[1:-1]:
        rest = rest - value
    return [*basis[:-1], rest]

"""The table of methods that draw on the card, and the way over the host for the others.

``ROWS`` holds the distributions with broadcast parameters: name, function, and whether it counts
(int64 results, computed in float64). ``FORMS`` holds the methods with arguments of their own. What
is in neither, and parameters too large for them, is drawn by NumPy's generator on the host, seeded
by words of the same stream, counted and said. A draw that the card cannot compute, for want of
float64, is computed by the same rows on the host, with the same numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from daskasc.array import _dispatch
from daskasc.array._dispatch import NeedsHost, is_array
from daskasc.random import (
    _continuous,
    _counts,
    _gamma,
    _integers,
    _mixtures,
    _multivariate,
    _orders,
    _urn,
)
from daskasc.random._arguments import (
    NUMPYS,
    extremes,
    float_dtype,
    into,
    output,
    parameters,
    tensors,
)
from daskasc.random._bits import SplitMix64
from daskasc.random._words import Source, shape_of


def _increasing(source: Source, name: str, values: list[Any]) -> None:
    """Raise unless parameters on the card increase from left to right by finite steps."""
    for low, high in itertools.pairwise(values):
        difference = np.subtract(high, low)
        if bool((difference < 0).any()):
            raise ValueError(f"{name}: parameters must not decrease from left to right")
        if not bool(np.isfinite(difference).all()):
            raise OverflowError(f"{name}: Range exceeds valid bounds")
    if name == "triangular" and bool((np.subtract(values[2], values[0]) == 0).any()):
        raise ValueError("left == right")


def _fit_the_urn(source: Source, name: str, values: list[Any]) -> None:
    """Raise unless there are as many as are drawn."""
    each = [extremes(source, value) for value in values]
    NUMPYS.hypergeometric(each[0], each[1], 0, size=(0, 3))
    NUMPYS.hypergeometric(0, each[2], 0, size=(0, 3))
    if bool((np.add(values[0], values[1]) < values[2]).any()):
        raise ValueError("ngood + nbad < nsample")


class Row(NamedTuple):
    """A distribution.

    Attributes
    ----------
    function : callable
    counts : bool
        Whether results are int64, computed in float64.
    joint : callable or None
        Check of parameters on the card that cannot be told from the extremes of each.
    """

    function: Callable[..., Any]
    counts: bool = False
    joint: Callable[[Source, str, list[Any]], None] | None = None


ROWS: dict[str, Row] = {
    "beta": Row(_gamma.beta),
    "binomial": Row(_counts.binomial, counts=True),
    "chisquare": Row(_gamma.chisquare),
    "exponential": Row(_continuous.exponential),
    "f": Row(_gamma.f),
    "gamma": Row(_gamma.gamma),
    "geometric": Row(_counts.geometric, counts=True),
    "gumbel": Row(_continuous.gumbel),
    "hypergeometric": Row(_urn.hypergeometric, counts=True, joint=_fit_the_urn),
    "laplace": Row(_continuous.laplace),
    "logistic": Row(_continuous.logistic),
    "lognormal": Row(_continuous.lognormal),
    "logseries": Row(_counts.logseries, counts=True),
    "negative_binomial": Row(_mixtures.negative_binomial, counts=True),
    "noncentral_chisquare": Row(_mixtures.noncentral_chisquare),
    "noncentral_f": Row(_mixtures.noncentral_f),
    "normal": Row(_continuous.normal),
    "pareto": Row(_continuous.pareto),
    "poisson": Row(_counts.poisson, counts=True),
    "power": Row(_continuous.power),
    "rayleigh": Row(_continuous.rayleigh),
    "standard_cauchy": Row(_continuous.standard_cauchy),
    "standard_t": Row(_gamma.standard_t),
    "triangular": Row(_continuous.triangular, joint=_increasing),
    "uniform": Row(_continuous.uniform, joint=_increasing),
    "vonmises": Row(_continuous.vonmises),
    "wald": Row(_continuous.wald),
    "weibull": Row(_continuous.weibull),
    "zipf": Row(_counts.zipf, counts=True),
}


def _by_row(source: Source, name: str, arguments: dict[str, Any]) -> Any:
    row = ROWS[name]
    size = arguments.pop("size")
    given = tuple(arguments.values())
    shape, values = parameters(source, name, given, size, check=row.joint is None)
    if row.joint is not None and any(map(is_array, values)):
        row.joint(source, name, values)
    dtype = source.floats(np.float64) if row.counts else float_dtype(source, np.float64)
    return source.array(row.function(source, shape, dtype, *tensors(source, values, dtype)))


def _standard(name: str) -> Callable[..., Any]:
    """Form of a method with `dtype` and `out` and no parameters."""
    primitives = {
        "random": Source.random,
        "standard_normal": Source.normal,
        "standard_exponential": Source.exponential,
    }

    def form(source: Source, size: Any, dtype: Any, out: Any, method: str | None = None) -> Any:
        extra = {} if method is None else {"method": method}
        getattr(NUMPYS, name)(0, dtype=dtype, **extra)
        shape = output(name, out, dtype, size)
        wanted = source.floats(dtype) if shape is not None else float_dtype(source, dtype)
        drawn = primitives[name](source, shape_of(size) if shape is None else shape, wanted)
        return source.array(drawn) if out is None else into(out, drawn)

    return form


def _standard_gamma(source: Source, shape: Any, size: Any, dtype: Any, out: Any) -> Any:
    NUMPYS.standard_gamma(1.0, 0, dtype=dtype)
    fitting = output("standard_gamma", out, dtype, size)
    drawn_shape, values = parameters(
        source, "standard_gamma", (shape,), size if fitting is None else fitting
    )
    wanted = float_dtype(source, dtype) if fitting is None else source.floats(dtype)
    drawn = _gamma.standard_gamma(source, drawn_shape, wanted, *tensors(source, values, wanted))
    return source.array(drawn) if out is None else into(out, drawn)


def _bytes(source: Source, length: int) -> bytes:
    words = source.raw((-(-length // 8),))
    host = source.array(words, np.dtype("i8"))
    return bytes((host.asnumpy() if is_array(host) else host).tobytes()[:length])


FORMS: dict[str, Callable[..., Any]] = {
    "bytes": _bytes,
    "choice": _orders.choice,
    "dirichlet": _multivariate.dirichlet,
    "integers": _integers.integers,
    "multinomial": _multivariate.multinomial,
    "multivariate_hypergeometric": _urn.multivariate_hypergeometric,
    "multivariate_normal": _multivariate.multivariate_normal,
    "permutation": _orders.permutation,
    "permuted": _orders.permuted,
    "random": _standard("random"),
    "shuffle": _orders.shuffle,
    "standard_exponential": _standard("standard_exponential"),
    "standard_gamma": _standard_gamma,
    "standard_normal": _standard("standard_normal"),
}


def draw(bits: SplitMix64, name: str, arguments: dict[str, Any]) -> Any:
    """Draw by a method of NumPy's generator.

    Parameters
    ----------
    bits : SplitMix64
    name : str
    arguments : dict
        All arguments of NumPy's method by name, in its order.

    Raises
    ------
    HostFallbackError
        The card has no form of it, and ``daskasc.fallback`` is ``error``.
    """
    try:
        return _drawn(Source(bits), name, dict(arguments))
    except NeedsHost as reason:
        own = (name in FORMS or name in ROWS) and not isinstance(reason, _counts.TooLarge)

    def on_host(**given: Any) -> Any:
        if own:
            unset = {"out": None} if "out" in arguments else {}
            return _drawn(Source(bits, host=True), name, {**given, **unset})
        generator = np.random.Generator(np.random.PCG64(bits.host_words(4)))
        return np.asarray(getattr(generator, name)(**given))

    return _dispatch.on_host(f"numpy.random.Generator.{name}", on_host, (), arguments)


def _drawn(source: Source, name: str, arguments: dict[str, Any]) -> Any:
    if name in ROWS:
        return _by_row(source, name, arguments)
    form = FORMS.get(name)
    if form is None:
        raise NeedsHost(name)
    return form(source, **arguments)

"""The table of methods that draw on the card, and the way over the host for the others.

``ROWS`` holds the distributions with broadcast parameters, ``FORMS`` the methods with arguments of
their own. Parameters too large for them are left to NumPy's generator on the host, seeded by words
of the same stream; what the card cannot compute, for want of float64, is computed by the same rows
on the host, with the same numbers. Both are counted and said.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from daskasc.array import _dispatch, _guard
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
    wide : bool
        Whether it is computed in float64 whatever the promotion policy: counts, and what loses
        too many digits in float32.
    joint : callable or None
        Check of parameters on the card that cannot be told from the extremes of each.
    """

    function: Callable[..., Any]
    wide: bool = False
    joint: Callable[[Source, str, list[Any]], None] | None = None


ROWS: dict[str, Row] = {
    "beta": Row(_gamma.beta),
    "binomial": Row(_counts.binomial, wide=True),
    "chisquare": Row(_gamma.chisquare),
    "exponential": Row(_continuous.exponential),
    "f": Row(_gamma.f),
    "gamma": Row(_gamma.gamma),
    "geometric": Row(_counts.geometric, wide=True),
    "gumbel": Row(_continuous.gumbel),
    "hypergeometric": Row(_urn.hypergeometric, wide=True, joint=_fit_the_urn),
    "laplace": Row(_continuous.laplace),
    "logistic": Row(_continuous.logistic),
    "lognormal": Row(_continuous.lognormal),
    "logseries": Row(_counts.logseries, wide=True),
    "negative_binomial": Row(_mixtures.negative_binomial, wide=True),
    "noncentral_chisquare": Row(_mixtures.noncentral_chisquare, wide=True),
    "noncentral_f": Row(_mixtures.noncentral_f, wide=True),
    "normal": Row(_continuous.normal),
    "pareto": Row(_continuous.pareto),
    "poisson": Row(_counts.poisson, wide=True),
    "power": Row(_continuous.power),
    "rayleigh": Row(_continuous.rayleigh),
    "standard_cauchy": Row(_continuous.standard_cauchy),
    "standard_t": Row(_gamma.standard_t),
    "triangular": Row(_continuous.triangular, joint=_increasing),
    "uniform": Row(_continuous.uniform, joint=_increasing),
    "vonmises": Row(_continuous.vonmises, wide=True),
    "wald": Row(_continuous.wald),
    "weibull": Row(_continuous.weibull),
    "zipf": Row(_counts.zipf, wide=True),
}


def _by_row(source: Source, name: str, arguments: dict[str, Any]) -> Any:
    row = ROWS[name]
    size = arguments.pop("size")
    given = tuple(arguments.values())
    shape, values = parameters(source, name, given, size, check=row.joint is None)
    if row.joint is not None and any(map(is_array, values)):
        row.joint(source, name, values)
    result = float_dtype(source, np.float64)
    dtype = source.floats(np.float64) if row.wide else result
    drawn = row.function(source, shape, dtype, *tensors(source, values, dtype))
    return source.array(drawn.to(result) if drawn.is_floating_point() else drawn)


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
    source = Source(bits)
    try:
        with _guard.active():
            return _drawn(source, name, dict(arguments))
    except NeedsHost as reason:
        why = _guard.bare(reason)
        own = not isinstance(reason, _counts.TooLarge)

    if name == "shuffle":
        raise TypeError(
            f"{type(arguments['x']).__name__} cannot be shuffled in place on this card; use "
            "permutation()"
        )

    def on_host(**given: Any) -> Any:
        if own:
            # what is drawn is stored by the caller, who has the array
            if (out := arguments.get("out")) is not None:
                given["out"] = None
                if "size" in given:
                    given["size"] = tuple(out.shape)
            again = Source(bits, host=True, again=source.taken)
            with contextlib.suppress(_counts.TooLarge):
                return _drawn(again, name, dict(given))
        generator = np.random.Generator(np.random.PCG64(bits.host_words(4)))
        return np.asarray(getattr(generator, name)(**given))

    return _dispatch.on_host(f"numpy.random.Generator.{name}", on_host, (), arguments, why)


def _drawn(source: Source, name: str, arguments: dict[str, Any]) -> Any:
    if name in ROWS:
        return _by_row(source, name, arguments)
    return FORMS[name](source, **arguments)

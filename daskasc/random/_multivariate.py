"""Distributions of vectors: multinomial, Dirichlet, multivariate normal."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import torch
from daskasc.random import _gamma
from daskasc.random._arguments import NUMPYS, float_dtype, scalar_types
from daskasc.random._counts import binomial
from daskasc.random._words import Source, shape_of


def _host(value: Any) -> Any:
    """A parameter's values on the host, where NumPy checks them; counted."""
    return value.asnumpy() if is_array(value) else value


def dirichlet(source: Source, alpha: Any, size: Any) -> Any:
    """As :meth:`numpy.random.Generator.dirichlet`."""
    host = np.asarray(_host(alpha))
    NUMPYS.dirichlet(host, size=0)
    dtype = float_dtype(source, np.float64)
    shape = (*shape_of(size), *host.shape)
    return source.array(_gamma.dirichlet(source, shape, dtype, source.tensor(alpha, dtype)))


def multinomial(source: Source, n: Any, pvals: Any, size: Any) -> Any:
    """As :meth:`numpy.random.Generator.multinomial`: a binomial for one category after another."""
    many, shares = _host(n), np.asarray(_host(pvals), np.float64)
    common = np.broadcast_shapes(np.shape(many), shares.shape[:-1])
    if common:
        NUMPYS.multinomial(many, shares, size=(0, *common))
    else:
        NUMPYS.multinomial(many, shares, size=0)
    shape = common if size is None else shape_of(size)
    if common and np.broadcast_shapes(common, shape) != shape:
        raise ValueError(
            f"Output size {shape} is not compatible with broadcast dimensions of inputs {common}."
        )
    source.floats(np.float64)
    left = source.tensor(many if not scalar_types(many) else int(many), torch.int64).expand(shape)
    # the share of each category in what the ones before it have left
    rest = 1.0 - np.cumsum(shares, -1) + shares
    with np.errstate(all="ignore"):
        chances = np.where(rest > 0, np.clip(shares / rest, 0.0, 1.0), 0.0)
    # NumPy gives the last category what is left, whatever its share
    columns = []
    for j in range(shares.shape[-1] - 1):
        chance = source.tensor(np.array(chances[..., j]), torch.float64)
        drawn = binomial(source, shape, torch.float64, left, chance)
        columns.append(drawn)
        left = left - drawn
    return source.array(torch.stack([*columns, left], -1))


def multivariate_normal(
    source: Source, mean: Any, cov: Any, size: Any, check_valid: str, tol: float, method: str
) -> Any:
    """As :meth:`numpy.random.Generator.multivariate_normal`.

    The covariance is factorised by NumPy on the host, with its checks; it is small beside what is
    drawn. The draw and its product are the card's.
    """
    location, spread = (np.asarray(_host(x), np.float64) for x in (mean, cov))
    checks: Any = NUMPYS.multivariate_normal
    checks(location, spread, 0, check_valid, tol, method=method)
    factor = _factor(spread, method)
    dtype = float_dtype(source, np.float64)
    normals = source.normal((*shape_of(size), len(location)), dtype)
    turned = torch.matmul(normals, source.tensor(factor, dtype))
    return source.array(turned.add_(source.tensor(location, dtype)))


def _factor(cov: np.ndarray[Any, Any], method: str) -> np.ndarray[Any, Any]:
    """Matrix A with ``A.T @ A`` the covariance."""
    if method == "cholesky":
        return np.ascontiguousarray(np.linalg.cholesky(cov).T)
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        return np.ascontiguousarray((vectors * np.sqrt(np.abs(values))).T)
    _, values, rows = np.linalg.svd(cov)
    return np.ascontiguousarray(np.sqrt(values)[:, None] * rows)

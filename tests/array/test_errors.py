"""Errors have NumPy's classes: shapes, axes, indices, casting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daskasc.array import from_numpy

# x has shape (2, 3), y has (4,); each expression is an error in NumPy
SHAPES = """
x + y; x == y; x // y; x ** y; np.maximum(x, y); np.hypot(x, y); np.divmod(x, y); np.power(x, y)
np.where(x > 0, x, y); np.clip(x, y, 9); np.copyto(x, y); np.isclose(x, y); np.select([x > 0], [y])
np.add(x, y, out=x); np.add(x, x, out=y); x.__iadd__(y); np.concatenate([x, y]); np.stack([x, y])
np.vstack([x, y]); np.hstack([x, y]); x @ y; np.dot(x, y); np.inner(x, y); np.einsum('ij,j', x, y)
x.reshape(4); x.reshape(4, -1); np.broadcast_to(x, (3,)); np.broadcast_arrays(x, y)
np.polyval(x, y); np.trapezoid(x, y); np.linspace(x, y); np.average(x, weights=y); np.cross(x, y)
np.linalg.inv(x); np.linalg.det(x); np.linalg.cholesky(x); np.linalg.lstsq(x, y)
x.__setitem__(slice(None), y); x.__setitem__([0, 1], y); np.append(x, y, axis=0); np.split(x, 5)
np.squeeze(x, 0); np.place(x, y > 0, [1]); np.putmask(x, y > 0, 1); np.fill_diagonal(y, 1)
np.rot90(x, axes=(0, 0)); np.rot90(x, axes=(0, 5)); np.rot90(x, axes=(0,)); np.interp(x, y, x)
np.argmax(x[:0]); np.max(x[:0]); x.item(); bool(x); np.quantile(x, 1.5); np.partition(x, 9)
np.mean(x, axis=(0, 0)); np.transpose(x, (0, 0)); np.pad(x, -1); np.fft.fft(x, 0)
"""
AXES = """
np.sum(x, axis=3); np.diff(x, axis=5); np.sort(x, axis=3); np.argsort(x, axis=-4)
np.cumsum(x, axis=3); np.median(x, axis=3); np.nanmean(x, axis=7); np.argmax(x, axis=3)
np.moveaxis(x, 0, 7); np.swapaxes(x, 0, 4); np.expand_dims(x, 7)
np.flip(x, 4); np.roll(x, 1, axis=4)
np.ptp(x, axis=3); np.count_nonzero(x, axis=4); np.add.reduce(x, axis=4); x.squeeze(5)
np.add.accumulate(x, axis=3); np.unique(x, axis=6); np.apply_along_axis(np.sum, 4, x)
"""
INDICES = """
x[0, 0, 0]; x[[5]]; x[:, [0, 1, 5]]; x[[True, False, True]]; x[1.0]; x['a']; x[9]; np.take(x, [9])
np.add.at(x, [7], 1); np.add.reduceat(x, [9]); np.insert(x, 9, 1, axis=0); np.delete(x, 9, axis=0)
np.take_along_axis(x, i, 0); x.item(9); x.item(0, 7); x.flat[9]; np.put(x, [99], 1)
"""
TYPES = """
np.bitwise_and(x, x); np.invert(x); x << 1; np.gcd(x, x); -(x > 0); (x > 0) - (x > 0)
np.exp(x, dtype='i4'); x.astype('f4', casting='safe'); np.add(x, 1, casting='no', dtype='f4')
np.sum(x, axis='a'); np.sum(x, axis=1.0); float(x); int(x); len(x.sum()); iter(x.sum())
np.ravel_multi_index((x, x), (2, 2)); np.ldexp(x, x); np.add(x, x, bogus=1); np.exp()
"""
EXPRESSIONS = [
    e.strip()
    for group in (SHAPES, AXES, INDICES, TYPES)
    for e in group.replace("\n", ";").split(";")
    if e.strip()
]


def raised(expression: str, place: Any) -> Exception:
    names = {
        "np": np,
        "x": place(np.ones((2, 3))),
        "y": place(np.ones(4)),
        "i": place(np.ones((2, 2), int)),
    }
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is what is compared
        eval(expression, names)
    return caught.value


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_errors_have_numpys_class(expression: str, no_fallback: None) -> None:
    wanted = raised(expression, np.copy)
    # NumPy's subclasses of TypeError and ValueError for casting and memory are private
    public = next(
        kind
        for kind in type(wanted).__mro__
        if kind.__module__ in ("builtins", "numpy.exceptions", "numpy.linalg")
    )
    found = raised(expression, from_numpy)
    assert isinstance(found, public), f"{type(found).__name__}: {found}"
    assert type(found).__module__ in (
        "builtins",
        "numpy.exceptions",
        "numpy.linalg",
        "numpy._core._exceptions",
    )

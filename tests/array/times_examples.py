"""Calls with times, as text: the same line is evaluated with NumPy arrays and with arrays of times.

``M`` and ``D`` are dates in seconds and days, ``m`` differences, ``T`` dates of two axes, ``E``
differences without elements, ``i`` ``f`` ``b`` ``u`` numbers. ``A(...)`` is ``np.array(...)``, on
the card where the others are.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """Arrays by the names that the lines use."""
    dates = np.array(["2020-01-01", "NaT", "1950-05-05", "2020-01-01"], "M8[s]")
    random = np.random.default_rng(5)
    table = random.integers(-(10**10), 10**10, (3, 4)).astype("M8[s]")
    table[1, 2] = table[0, 0] = "NaT"
    table[2, 1] = table[2, 0]
    return {
        "M": dates,
        "D": dates.astype("M8[D]"),
        "m": np.array([5, "NaT", -7, 0], "m8[s]"),
        "T": table,
        "E": np.empty((0, 3), "m8[s]"),
        "i": np.array([1, 2, 3, 4]),
        "f": np.array([1.5, np.nan, np.inf, -2.5]),
        "b": np.array([True, False, True, False]),
        "u": np.array([1, 2, 3, 2**63], "u8"),
    }


# computed on the card, with NumPy's result
ON_CARD = """
D + 1
1 + M
M == i
M != i
M == m
M + i
i + M
M - i
m + i
m + b
m * i
m * b
m * u
m * f
f * m
m / i
m / 2
m / 2.0
m // 2
m // 2.0
m // f
m // m
m // 0
m / 0
m / m
m % m
m % np.timedelta64(3,'s')
divmod(m, np.timedelta64(2,'s'))
2 * m
m // np.timedelta64(0,'s')
-m
+m
abs(m)
np.sign(m)
np.isnan(M)
np.isinf(M)
np.isfinite(m)
m == 5
m > 5
np.logical_and(m, True)
np.maximum(M, D)
np.maximum(m, 3)
np.fmin(M, D)
np.fmin(m, 3)
np.clip(M, D, None)
np.clip(m, 0, 2)
np.sum(m)
np.mean(m)
np.median(m)
np.median(m[2:])
np.any(m)
np.all(M)
np.any(A([0,0],'m8[s]'))
np.cumsum(m)
np.nansum(m)
np.nanmean(m)
np.nanmin(M)
np.nanmax(M)
np.nanargmin(M)
np.nanargmax(M)
np.argmin(M)
np.argmax(M)
np.min(M)
np.max(M)
np.ptp(M)
np.diff(M)
np.unique(M)
np.unique(A(['NaT','NaT'],'M8[s]'))
np.unique(A(['NaT','NaT'],'M8[s]'), equal_nan=False)
np.isin(M, M)
np.sort(M)
np.argsort(M)
np.searchsorted(np.sort(M), M)
np.lexsort((M, i))
np.full_like(M, 'NaT')
np.full_like(M, 5)
np.full_like(i, M[0])
M.astype('i8')
M.astype('i4')
M.astype('f8')
M.astype('f4')
M.astype('c16')
M.astype('?')
M.astype('u8')
m.astype('f8')
M.astype('m8[s]')
m.astype('M8[s]')
M.astype('M8')
A(['NaT'],'M8').astype('M8[s]')
A([1,2],'m8').astype('m8[s]')
A([1,2],'m8[s]').astype('m8')
i.astype('M8[s]')
i.astype('M8')
i.astype('m8')
f.astype('M8[s]')
f.astype('m8[s]')
u.astype('m8[s]')
b.astype('m8[s]')
A([1+2j]).astype('m8[s]')
A([2**40],'M8[D]').astype('M8[ns]')
A([2**40],'m8[D]').astype('m8[ns]')
A([2**40],'m8[D]') + A([1],'m8[ns]')
A([14],'M8[M]').astype('m8[M]')
A([14],'m8[M]').astype('m8[D]')
A([14],'m8[Y]').astype('m8[M]')
A([14],'M8[M]') + A([1],'m8[D]')
A([14],'M8[M]').astype('M8[D]')
M.astype('M8[M]')
M.astype('M8[Y]')
M.astype('M8[W]')
M.astype('M8[25s]')
np.result_type(m, 1)
np.where(b, m, 0)
np.concatenate([m, i])
np.concatenate([M, D])
np.concatenate([m, m.astype('m8[ns]')], dtype='m8[D]')
np.concatenate([m, m.astype('m8[ns]')], dtype='m8[D]', casting='unsafe')
np.append(M, np.datetime64('2020'))
np.insert(M, 1, 5)
np.insert(M, 1, '2020')
np.insert(D, 1, np.datetime64('2020-01-01T05'))
np.pad(M, 1)
np.pad(M, 1, constant_values=np.datetime64('2000'))
np.pad(M, 1, mode='edge')
np.count_nonzero(m)
np.nonzero(m)
np.trim_zeros(m)
np.tril(A([[1,2],[3,4]],'m8[s]'))
np.diag(m)
np.real(m)
np.imag(m)
np.isreal(m)
np.iscomplexobj(m)
np.nan_to_num(m)
np.array_equal(M, M)
np.array_equal(M, M, equal_nan=True)
np.array_equal(M[2:], D[2:])
np.outer(m, i)
np.trace(A([[1,2],[3,4]],'m8[s]'))
np.ediff1d(M)
np.tile(M,2)
M.tolist()
A([0],'m8[s]').view('M8[s]')
M.view('f8')
M.view('M8[D]')
M.view('i4')
np.minimum.accumulate(M)
np.maximum.accumulate(M)
np.fmin.reduce(M)
np.add.reduce(m)
np.add.accumulate(m)
np.subtract.outer(M, M)
np.logical_or.reduce(m)
np.cumulative_sum(m, include_initial=True)
np.cumulative_sum(m)
np.union1d(M, D)
np.unique_all(M)
np.select([b, ~b],[m, m],default=0)
np.select([b, ~b],[M, M],default=np.datetime64('NaT'))
np.choose([0,1,1,0],[M,D])
np.meshgrid(M,i)
np.max(M, initial=np.datetime64('2030'))
np.max(m, initial=3)
np.max(m, where=b, initial=3)
np.sum(m, initial=np.timedelta64(3,'D'))
np.sum(m, initial=3)
np.sum(m, where=b)
np.mean(m, where=b)
np.sum(m[:0])
np.mean(m[:0])
M.astype('m8[D]')
m.astype('M8[D]')
(m*86400).astype('M8[D]')
M.astype('m8[M]')
m.astype('M8[M]')
M.astype('m8[Y]')
A([14],'m8[M]').astype('M8[M]')
A([14],'m8[M]').astype('M8[D]')
A([14],'M8[M]').astype('m8[D]')
np.where(b, M, m)
np.where(b, m, i)
np.where(b, m, b)
np.minimum(m, i)
np.minimum(m, b)
np.fmax(m, True)
np.isin(m, i)
np.isin(m, [5])
np.isin(i, m)
np.searchsorted(np.sort(m), 3)
np.searchsorted(np.sort(M), D)
np.searchsorted(i, m)
M == 5.5
m == 5.5
np.logical_and(m, m)
np.logical_or(m, 0)
np.logical_xor(m, m)
np.logical_and(M, M)
m + 2**62
m + -2**63
A([5],'m8[s]') // A([-1],'m8[s]')
A([5],'m8[s]') // -1
A([-2**63+1],'m8[s]') // -1
A([7,-7],'m8[s]') / A([2,-2])
A([7,-7],'m8[s]') // A([-2,2])
A([7,-7,7,-7],'m8[s]') % A([-2,2,2,-2],'m8[s]')
A([7,-7,7,-7],'m8[s]') % A([0,0,0,0],'m8[s]')
np.divmod(A([7,-7,7,-7],'m8[s]'), A([0,'NaT',0,0],'m8[s]'))
A([7,-7],'m8[s]') / 0.0
A([7,0],'m8[s]') / A([0,0],'m8[s]')
A([7,-7],'m8[s]') // 2.5
A([7,-7],'m8[s]') / 2.5
A([7,-7],'m8[s]') // 0.0
A([7,-7],'m8[s]') // np.inf
A([7,-7],'m8[s]') * 1e300
A([7,-7],'m8[s]') * np.float32(0.1)
A([2**62],'m8[s]') * 2.0
A([2**62],'m8[s]') * 4
np.max(M, initial=5)
np.max(M, initial=np.datetime64('2030-01-01T00:00:00.5'))
np.max(M[2:], initial=np.datetime64('2030-01-01T00:00:00.5'))
np.max(M, initial=m[0])
np.sum(m[2:], initial=np.timedelta64(3,'D'))
np.sum(m[2:], initial=np.timedelta64(3,'ms'))
np.diff(M, prepend=np.datetime64('2000'))
np.diff(m, append=5)
np.diff(M, n=2)
np.diff(D)
np.insert(M, 1, i)
np.insert(M, 1, m)
np.insert(M, 1, f)
np.median(A([[5,7,-8,2],[1,2,3,4]],'m8[s]'), axis=1)
np.median(A([[5,7,'NaT',2],[1,2,3,4]],'m8[s]'), axis=1, keepdims=True)
np.mean(A([5,-8],'m8[s]'))
np.mean(A([[5,-8]],'m8[s]'),axis=1)
np.pad(m, 1, constant_values=5)
np.pad(m, 1, constant_values=5.5)
np.pad(M, 1, constant_values='2000')
np.pad(m, 1, mode='empty').shape
np.choose([0,1,1,0],[m,i])
np.select([b, ~b],[M, D],default=np.datetime64('NaT'))
np.select([b, ~b],[m, i])
np.lexsort((M, m))
np.lexsort((m, np.zeros(4)))
np.union1d(m, i)
np.append(m, 5)
np.block([[M],[D]])
np.block([[m],[i]])
np.stack([m, i])
np.stack([m, 5*m], dtype='m8[ms]')
np.concatenate([m, f], dtype='m8[s]', casting='unsafe')
np.clip(M, M[2], np.datetime64('2000-01-01T00:00:00.5'))
np.clip(m, i, None)
np.trim_zeros(M)
np.count_nonzero(M, axis=0)
np.may_share_memory(M, M[1:])
np.zeros_like(M, dtype='f8')
np.ones_like(m)
np.ones_like(M)
np.repeat(M, [1,2,0,1])
np.maximum.reduce(M)
np.maximum.reduce(M, initial=M[2])
np.argpartition(M, 1)
np.partition(M, 1)
np.take(M, [0,1], out=D[:2])
np.multiply(m, 2, casting='no')
T.max()
T.min(axis=0)
T.max(axis=1, keepdims=True)
np.nanmax(T, axis=1)
np.nanmin(T, axis=0)
T.argmax(axis=1)
T.argmin(axis=0)
np.sort(T, axis=0)
np.sort(T, axis=None)
np.argsort(T, axis=0, kind='stable')
np.ptp(T, axis=1)
np.unique(T, return_index=True, return_inverse=True, return_counts=True)
np.unique(T, axis=0)
np.diff(T, axis=0)
np.isnat(T).sum(axis=1)
(T - T[0]).mean(axis=0)
(T - T[:1]).sum(axis=1, keepdims=True)
np.median(T - T[0, 0], axis=0)
np.cumsum(T - T[0, 0], axis=1)
np.add.reduce(T - T[0], axis=1)
np.maximum.accumulate(T, axis=1)
np.minimum.accumulate(T, axis=0)
np.fmin.accumulate(T, axis=1)
np.fmax.accumulate(T, axis=1)
np.fmax.reduce(T, axis=0)
np.cumulative_sum(T - T[0, 0], axis=0, include_initial=True)
T.reshape(-1)
T.T
T.ravel(order='F')
np.moveaxis(T, 0, 1)
np.flip(T, 1)
np.roll(T, 2)
np.rot90(T)
np.tile(T, (2, 1))
np.repeat(T, 2, axis=1)
np.squeeze(T[None])
np.expand_dims(T, 1)
np.broadcast_to(M, (2, 4))
np.broadcast_arrays(T, M)
np.atleast_2d(M)
np.atleast_3d(T)
np.meshgrid(M, m)
np.split(M, 2)
np.array_split(T, 3, axis=1)
np.hsplit(T, 2)
np.unstack(T)
np.stack([M, D], axis=1)
np.vstack([M, D])
np.hstack([T, T])
np.dstack([M, D])
np.column_stack([M, D])
np.block([[T], [T.astype('M8[ms]')]])
np.delete(T, 1, axis=0)
np.insert(T, 1, M, axis=0)
np.append(T, T, axis=1)
np.compress([True, False, True], T, axis=0)
np.extract(b, M)
np.take(T, [[1, -1]], axis=1)
np.take_along_axis(T, np.argsort(T, axis=1, kind='stable'), 1)
np.resize(M, (3, 3))
np.pad(T, ((1, 0), (2, 1)), mode='reflect')
np.pad(T, 1, constant_values=np.datetime64('NaT'))
np.diagonal(T)
np.diag(T)
np.triu(T)
np.where(np.isnat(T), np.datetime64('2000-01-01'), T)
np.where(T > M[2])
T[1]
T[:, 1:3]
T[::-1, ::2]
T[[2, 0], [1, 3]]
T[np.isnat(T)]
T[b[:3], 1:]
T[..., None]
T[1, 2]
list(T[0])
len(T)
T.astype('M8[D]')
T.astype('M8[M]')
T.astype('M8[Y]').astype('M8[D]')
T.astype('M8[M]').astype('M8[h]')
(T.astype('M8[M]') - T.astype('M8[Y]')).astype('i8')
T.astype('M8[3M]')
T.astype('M8[5D]').astype('M8[Y]')
T.astype('M8[ns]').view('i8')
T.view('i8')
T.astype('f8')
T.copy()
T.tolist()
T[0, 0].item()
M.tobytes()
np.zeros_like(T)
np.full_like(T, 'NaT')
np.full_like(T, np.datetime64('2001'), dtype='M8[D]', shape=(2,))
np.ones_like(m, shape=(2, 2))
np.isfinite(T)
np.isinf(T)
np.array_equiv(M, T[:1])
np.array_equal(M, D, equal_nan=True)
np.lexsort((M, D, m))
np.searchsorted(np.sort(M), D, side='right')
np.isin(T, M)
np.isin(T, M, invert=True)
np.isin(M, [np.datetime64('2020-01-01')])
np.union1d(T, D)
np.intersect1d(M[2:], D[2:], return_indices=True)
np.setdiff1d(M[2:], D[3:])
np.setdiff1d(D, M[2:])
np.setdiff1d(M, M)
np.setdiff1d(m, i)
np.setxor1d(M, D)
np.setxor1d(E, m)
np.setxor1d(E, E)
np.intersect1d(M, D)
np.intersect1d(m, [5, 6])
np.intersect1d(m, E)
np.setdiff1d(M, D, assume_unique=True)
np.setxor1d(M[2:], D[3:])
np.sort(np.unique_values(M))
np.unique_counts(M)
np.unique_inverse(T[:, 2:])
np.count_nonzero(T, axis=1)
np.all(m, axis=0)
np.clip(T, np.datetime64('1960'), np.datetime64('2000'))
M.clip(None, M[2])
np.minimum(T, M)
np.maximum(T, D)
np.fmin(T, M)
np.fmax(T, M)
T == M
T != M
T < D
T <= D
T > D
T >= D
np.datetime64('2000') < T
T - np.datetime64('2000-01-01T00:00:00.123')
np.datetime64('2000') - T
T + np.timedelta64(3, 'h')
np.timedelta64(3, 'ms') + T
T + np.array(3, 'm8[D]')
[np.datetime64('2000')] * 1 == D[:1]
(T - M) // np.timedelta64(1, 'D')
(T - M) / np.timedelta64(1, 'h')
(T - M) % np.timedelta64(7, 'h')
divmod(T - M, np.timedelta64(7, 'h'))
(T - M) * 0.3
abs(T - D)
-(T - M)
np.outer(m, [1, 2])
np.subtract.outer(M, D)
E.sum(axis=0)
np.sort(E)
np.unique(E)
np.concatenate([E, E])
E - E
np.median(m, keepdims=True)
np.shape(T), np.ndim(T), np.size(T)
T.nbytes, T.itemsize, T.strides
str(M.dtype), M.dtype.kind
bool(M[0]), bool(m[3])
np.result_type(M, 'M8[ms]')
np.can_cast(m, 'm8[ns]')
np.min_scalar_type(M)
np.iscomplexobj(M), np.isrealobj(M)
np.nan_to_num(M)
np.real(M)
""".strip().splitlines()
